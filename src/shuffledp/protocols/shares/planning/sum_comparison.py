"""Ways to a mean of numbers at one central loss: local reports, one or many shuffled messages, or a curator."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.sum_models import SumModel
from shuffledp.planning.crowd_losses import epsilon0_of_crowd
from shuffledp.planning.mechanism_choice import expected_error
from shuffledp.planning.trusted_curator import trusted_curator
from shuffledp.protocols.shares.planning.calibrated_bits import counted_bits
from shuffledp.protocols.shares.planning.certified_messages import split_and_mix
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix
from shuffledp.randomizers import model_of_kind

LIARS = 0.01  # share of the people, of whom the table says what they can do

_KINDS = ("one-bit-mean", "rounded-mean", "laplace-mean")  # of one message


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMean:
    """Mean to plan for: its range, and the central loss."""

    lower: float
    upper: float
    epsilon: float
    delta: float

    @property
    def ends(self) -> dict[str, float]:
        """Ends of the range, as keyword arguments."""
        return {"lower": self.lower, "upper": self.upper}

    @property
    def private(self) -> dict[str, float]:
        """The central loss, as keyword arguments."""
        return {"epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True, slots=True, kw_only=True)
class WayToSum:
    """One way to a mean, for several numbers of people.

    Args:
        name: of the way.
        errors: standard error of the mean for each number of people, NaN where the way does not exist.
        error: for the number of people planned.
        messages: of each person, for that number; 0 where the way does not exist.
        size: bytes of all these messages, before they are sealed.
        trusted: who could read answers, or link reports to people.
        moved: most by which one person in a hundred who lies can move the mean; infinite without a limit.
    """

    name: str
    errors: tuple[float, ...]
    error: float
    messages: int
    size: int
    trusted: str
    moved: float


def compared_sums(wanted: PlannedMean, planned: int, people: Sequence[int]) -> tuple[WayToSum, ...]:
    """All ways to a mean, for the planned number of people and for other numbers."""
    found = []
    for name, (make, trusted) in _WAYS.items():
        model = _tried(make, wanted, planned)
        if make is _split and model is not None:  # how many messages are certified takes a moment
            model = _tried(_certified, wanted, planned)
        found.append(
            WayToSum(
                name=name,
                errors=tuple(_error(_tried(make, wanted, users), users) for users in people),
                error=_error(model, planned),
                messages=0 if model is None else model.num_messages,
                size=0 if model is None else -(-model.num_messages * (model.report_bits or 64) // 8),
                trusted=trusted,
                moved=math.nan if model is None or model.stray is None else LIARS * model.stray,
            )
        )
    return (*found, _curator(wanted, planned, people))


def _curator(wanted: PlannedMean, planned: int, people: Sequence[int]) -> WayToSum:
    one = model_of_kind("one-bit-mean", epsilon0=1.0, **wanted.ends)
    *errors, error = (
        trusted_curator(one, num_users=users, **wanted.private).standard_error for users in (*people, planned)
    )
    return WayToSum(
        name="curator",
        errors=tuple(errors),
        error=error,
        messages=1,
        size=8,
        trusted="curator, not to tell",
        moved=LIARS * (wanted.upper - wanted.lower),
    )


def _local(wanted: PlannedMean, users: int) -> LocalModel:
    """Best randomizer with one message per person, without a shuffler."""
    return _best(wanted, users, wanted.epsilon)


def _shuffled(wanted: PlannedMean, users: int) -> LocalModel:
    """Best randomizer with one message per person, for a uniform shuffle."""
    return _best(wanted, users, epsilon0_of_crowd(users, **wanted.private))


def _best(wanted: PlannedMean, users: int, epsilon0: float) -> LocalModel:
    models = [model_of_kind(kind, epsilon0=epsilon0, **wanted.ends) for kind in _KINDS]
    return min(models, key=lambda model: expected_error(model, users).standard_error)


def _counted(wanted: PlannedMean, users: int) -> LocalModel:
    found = counted_bits(
        num_users=users, epsilon=wanted.epsilon, delta=wanted.delta, lower=wanted.lower, upper=wanted.upper
    )
    return found.model


def _split(wanted: PlannedMean, users: int) -> LocalModel:
    """Split-and-mix model with two messages for a value.

    The error does not depend on the number of messages.
    """
    found = SplitAndMix(num_users=users, epsilon=wanted.epsilon, lower=wanted.lower, upper=wanted.upper, num_shares=2)
    return found.model


def _certified(wanted: PlannedMean, users: int) -> LocalModel:
    """Split-and-mix model with the fewest certified messages through uniform rounds."""
    found = split_and_mix(
        num_users=users, epsilon=wanted.epsilon, delta=wanted.delta, lower=wanted.lower, upper=wanted.upper
    )
    return found.model


_WAYS: Mapping[str, tuple[Callable[[PlannedMean, int], LocalModel], str]] = {
    "local": (_local, "nobody"),
    "one message": (_shuffled, "shuffler, not to link"),
    "counted bits": (_counted, "shuffler, not to read"),
    "split and mix": (_split, "shuffler or hosts, not to read"),
}


def _tried(make: Callable[[PlannedMean, int], LocalModel], wanted: PlannedMean, users: int) -> LocalModel | None:
    try:
        return make(wanted, users)
    except InvalidParameterError:
        return None


def _error(model: LocalModel | None, users: int) -> float:
    """Standard error of the mean; for models of sums, with the largest variance that rounding can add."""
    if model is None:
        return math.nan
    if isinstance(model, SumModel):
        return math.sqrt(model.sum_variance(users)) / users
    return expected_error(model, users).standard_error
