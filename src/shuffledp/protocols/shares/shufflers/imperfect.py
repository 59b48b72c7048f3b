"""Imperfect shufflers: exchanging two reports changes the probability of an order by a bounded factor.

A shuffle is gamma-imperfect if for all permutations pi and pi' that are k exchanges of two items apart,
Pr[pi] <= exp(k gamma) Pr[pi']. At gamma = 0 it is the uniform shuffle.

References:
    Ghazi, Kumar, Manurangsi, Nelson, Zhou, "Differentially Private Aggregation via Imperfect Shuffling", 2023.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.described import without_none
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import ColludingShuffleModel, LabelMeaning, PositionLaw, SwapWindows
from shuffledp.core.table import Integers, Table, frozen
from shuffledp.laws import sample_mallows, sample_noisy_sort, stay_probability
from shuffledp.randomness.permutations import compose
from shuffledp.randomness.sources import RandomSource, resolve_source

CONSTRUCTIONS = ("cayley", "delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImperfectShuffleModel(ColludingShuffleModel):
    """Public description of an imperfect shuffle.

    Args:
        num_users: users in the batch, 1 or more.
        imperfection: "gamma" in papers, 0 or more, finite.
        construction: how the order is drawn: "cayley", "delay", or "assumed" for a shuffler that somebody else runs and
            whose imperfection is their promise.
        reordered: whether something else, independent of it, reorders what comes out.
        num_colluding: people who may work together with the analyst, and hide nobody. Given the places of their
            reports, the order of the others is gamma-imperfect still.
        messages_per_round: messages of each user in this one buffer. The order is that of all of them.
    """

    kind: ClassVar[str] = "imperfect"
    labels: ClassVar[LabelMeaning] = LabelMeaning.POSITION
    num_users: int
    imperfection: float = field()
    construction: str
    reordered: bool = False
    num_colluding: int = 0
    messages_per_round: int = 1

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users, messages_per_round=self.messages_per_round)
        _checked_loss(imperfection=self.imperfection)
        validate.instance_of(bool, reordered=self.reordered)
        validate.one_of((*CONSTRUCTIONS, "assumed"), construction=self.construction)
        self._check_colluding()

    @property
    def is_uniform(self) -> bool:
        """Whether every order is equally likely: True without imperfection and without colluders."""
        return self.imperfection == 0 and self.num_colluding == 0

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the fields, without ``messages_per_round`` where it is 1."""
        several = self.messages_per_round if self.messages_per_round > 1 else None
        table = super(ImperfectShuffleModel, self).to_dict() | {"messages_per_round": several}
        return without_none(table, "messages_per_round")

    @property
    def num_labels(self) -> int:
        """Number of places, one for each message."""
        return self.num_users * self.messages_per_round

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Swap window of all honest people, whose cost is the imperfection; empty for several messages.

        The imperfection is the cost of exchanging any two.
        """
        if self.messages_per_round > 1:
            return ()
        size = max(1, self.num_honest)
        return (SwapWindows(sizes=(size,), costs=(self.imperfection,), people=self.num_users),)

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Position law of the Mallows order: one place is likelier, all other places are equally likely.

        Only if the order is not reordered and nobody colludes.
        """
        if self.messages_per_round > 1:
            return ()
        if self.num_colluding or self.reordered or self.construction != "cayley" or self.num_users == 1:
            return super(ImperfectShuffleModel, self).position_laws()
        stays = stay_probability(self.num_users, self.imperfection, distance="cayley")
        others = (1 - stays) / (self.num_users - 1)
        return (PositionLaw(weights=(stays, others), counts=(1, self.num_users - 1)),)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remark on the assumed imperfection, and on the loss if the true imperfection is larger."""
        what = "reports" if self.messages_per_round == 1 else "messages"
        messages = f"{what} of any two people" if self.messages_per_round == 1 else "messages of all people"
        delays = (
            f"It is assumed that the {messages} come in at most one unit of time apart, at times that "
            f"do not depend on the answers, and that only the order in which {what} leave is seen, never when.",
        )
        independent = ("What reorders reports after the shuffle is assumed independent of it and of the answers.",)
        return (
            *(delays if self.construction == "delay" else ()),
            *(independent if self.reordered else ()),
            f"That the shuffle is no more imperfect than gamma = {self.imperfection:.6g} is a promise about the "
            "shuffler: nothing here measures it. If its true imperfection is a larger number, only what follows from "
            "that number holds.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObliviousShuffleModel(ColludingShuffleModel):
    """Public description of a differentially oblivious shuffle run by another party, such as a protocol of servers.

    Args:
        num_users: users in the batch, 1 or more.
        epsilon: exchanging the reports of two honest people, whatever they are, changes the probability of anything
            seen by a factor of at most exp(epsilon), finite,
        delta: apart from this remainder, from 0 to 1.
        num_colluding: people who may work together with the analyst, and hide nobody.
    """

    kind: ClassVar[str] = "differentially-oblivious"
    labels: ClassVar[LabelMeaning] = LabelMeaning.POSITION
    num_users: int
    epsilon: float
    delta: float = 0.0
    num_colluding: int = 0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)
        _checked_loss(epsilon=self.epsilon)
        validate.probability(delta=self.delta)
        self._check_colluding()

    @property
    def is_oblivious(self) -> bool:
        """Always False: the observed execution may depend on the reports, bounded by `exchange_privacy`."""
        return False

    @property
    def exchange_privacy(self) -> tuple[float, float]:
        """Promised privacy (epsilon1, delta1) of the external shuffle."""
        return (self.epsilon, self.delta)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remark on the assumption that the external party keeps its promise."""
        return (
            f"That exchanging two people's reports shows no more than epsilon = {self.epsilon:.6g} and delta = "
            f"{self.delta:.6g} is a promise about the shuffler: nothing here measures it. If the truth is larger "
            "numbers, everything stated holds with those in their place.",
        )


class ImperfectShuffler:
    """Base of shufflers that publish all reports in an order from a gamma-imperfect law.

    Labels are places in that order. Public columns are detached: the place beside a report tells something about whose
    it is, so that nothing of a person may stand beside a place.
    """

    construction: ClassVar[str]
    imperfection: float

    def model(self, num_users: int) -> ImperfectShuffleModel:
        """Public description for this number of users."""
        gamma, construction = float(self.imperfection), self.construction
        return ImperfectShuffleModel(num_users=num_users, imperfection=gamma, construction=construction)

    def of_messages(self, each: int) -> "ImperfectShuffler":
        """This shuffler for ``each`` consecutive reports of every person."""
        del each
        return self

    @abstractmethod
    def draw(self, num_reports: int, *, source: RandomSource | None = None) -> Integers:
        """Random order: place k is for the report in row ``order[k]``; int64, shape (num_reports,)."""

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached)
        source: RandomSource | None = None,
    ) -> View:
        """View with the reports in a random order from `draw`, labeled by place.

        Place k holds the report of the person ``draw(...)[k]``.

        The arguments are those of `UniformShuffler.shuffle`, one row per person.

        Raises:
            InvalidParameterError: if there is no report.
            UnsupportedModelError: if people send several reports each, for which `ParallelShuffler` makes buffers.
        """
        messages = reports.model.num_messages
        if messages != 1:
            raise UnsupportedModelError(
                f"an imperfect shuffler by itself takes one report of each person; {reports.model.kind!r} sends "
                f"num_messages={messages}. Use ParallelShuffler(shuffler, {messages}), a round for each message, or "
                f"ParallelShuffler(shuffler, 1, messages_per_round={messages}), one buffer for all of them."
            )
        model, source = self.model(reports.num_users), resolve_source(source)
        shuffled = reports.take(self.draw(model.num_users, source=source))
        return View(reports=shuffled, labels=np.arange(model.num_users), shuffle=model, source=source)


@dataclass(frozen=True, kw_only=True)
class CayleyShuffler(ImperfectShuffler):
    """Shuffler with orders from the Mallows law of Cayley's distance: Pr[pi] ~ exp(-gamma * exchanges that pi takes).

    Guarantees:
        1. Exactly gamma-imperfect, and no less: every exchange of two reports changes the distance by 1.
        2. imperfection = 0 is the uniform law.
        3. Public columns are not in the view.

    Args:
        imperfection: gamma, a finite number of 0 or more.

    Raises:
        InvalidParameterError: if it is out of range.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1, 2, 1])
        >>> CayleyShuffler(imperfection=0.5).shuffle(reports)
        View(4 reports of 'k-rr', 'imperfect' shuffle, labels are positions)
    """

    construction: ClassVar[str] = "cayley"
    imperfection: float

    def __post_init__(self) -> None:
        _checked_loss(imperfection=self.imperfection)

    def draw(self, num_reports: int, *, source: RandomSource | None = None) -> Integers:
        """Random order, exactly from the law, in time O(num_reports)."""
        return sample_mallows(num_reports, self.imperfection, distance="cayley", source=source)


@dataclass(frozen=True, kw_only=True, eq=False)
class DelayShuffler(ImperfectShuffler):
    """Shuffler that delays each report by Laplace noise of scale 2 / gamma, and publishes the order of departure.

    A report that comes in at time t leaves at t plus its noise (relative to a common wait, so that it may be negative).
    Exchanging two people whose times differ by d changes every probability by a factor of at most exp(gamma d).

    Guarantees:
        1. gamma-imperfect for all times of arrival from 0 to 1, even adversarial ones, if they do not depend on the
           answers and only the order leaves the buffer: never the times of departure.
        2. imperfection = 0 is the uniform law.
        3. Public columns are not in the view.

    Args:
        imperfection: gamma, a finite number of 0 or more.
        offsets: when each person's report comes in, from 0 to 1; the unit is the longest time between two. None draws
            as if they came in evenly, in the order of the rows: what is guaranteed is the same for all offsets.

    Raises:
        InvalidParameterError: if one is out of range.

    References:
        Ghazi et al. 2023, the introduction's example (whose first mention of the scale, 2 / alpha, means 2 / gamma).
    """

    construction: ClassVar[str] = "delay"
    imperfection: float
    offsets: ArrayLike | None = field(default=None, repr=False)  # who came when, if they are real

    def __post_init__(self) -> None:
        _checked_loss(imperfection=self.imperfection)
        if self.offsets is not None:
            object.__setattr__(self, "offsets", _checked_offsets(self.offsets))

    def of_messages(self, each: int) -> ImperfectShuffler:
        """This shuffler for several messages of each person, all sent at the person's time."""
        return self if self.offsets is None else replace(self, offsets=np.repeat(np.asarray(self.offsets), each))

    def draw(self, num_reports: int, *, source: RandomSource | None = None) -> Integers:
        """Random order of departure.

        Raises:
            InvalidParameterError: if offsets are given for another number of reports.
        """
        if self.offsets is not None and len(np.asarray(self.offsets)) != num_reports:
            raise InvalidParameterError(
                f"offsets must be one for each of {num_reports} reports; got {len(np.asarray(self.offsets))}."
            )
        times = np.linspace(0, 1, num_reports) if self.offsets is None else self.offsets
        scale = math.nextafter(2 / self.imperfection, math.inf) if self.imperfection else math.inf
        return sample_noisy_sort(times, scale=scale, source=source)


@dataclass(frozen=True, kw_only=True)
class ComposedShuffler(ImperfectShuffler):
    """Imperfect shuffle followed by an independent reordering, for example by a network.

    Guarantees:
        1. As imperfect as the first shuffle, whatever the second does, if it depends neither on it nor on the answers.

    Args:
        first: the imperfect shuffler.
        second: gives an order of the reports, as a permutation; called with the number and the source.

    References:
        Ghazi et al. 2023, Lemma 4.7.
    """

    first: ImperfectShuffler
    second: Callable[[int, RandomSource | None], ArrayLike]

    def __post_init__(self) -> None:
        validate.instance_of(ImperfectShuffler, first=self.first)

    def model(self, num_users: int) -> ImperfectShuffleModel:
        """Model of the first shuffle, with its assumptions, marked as reordered."""
        return replace(self.first.model(num_users), reordered=True)

    def draw(self, num_reports: int, *, source: RandomSource | None = None) -> Integers:
        """Random order after both shuffles.

        Raises:
            InvalidParameterError: if ``second`` gives no permutation of them.
        """
        source = resolve_source(source)
        return compose(self.first.draw(num_reports, source=source), self.second(num_reports, source))


def imperfect_shuffler(
    *, imperfection: float, construction: str = "cayley", offsets: ArrayLike | None = None
) -> ImperfectShuffler:
    """Shuffler of a gamma-imperfect law, by the name of its construction.

    Args:
        imperfection: gamma, a finite number of 0 or more; 0 is the uniform shuffle.
        construction: "cayley" (`CayleyShuffler`, exactly gamma) or "delay" (`DelayShuffler`, at most gamma).
        offsets: when reports come in, for "delay" only; None is any time from 0 to 1.

    Raises:
        InvalidParameterError: if an argument is out of range, or offsets are given for another construction.

    Example:
        >>> imperfect_shuffler(imperfection=0.5).model(1000).imperfection
        0.5
    """
    validate.one_of(CONSTRUCTIONS, construction=construction)
    if construction == "delay":
        return DelayShuffler(imperfection=imperfection, offsets=offsets)
    if offsets is not None:
        raise InvalidParameterError(
            f"offsets must be None unless construction is 'delay'; got offsets with construction={construction!r}."
        )
    return CayleyShuffler(imperfection=imperfection)


def _checked_offsets(offsets: ArrayLike) -> NDArray[np.float64]:
    """Offsets as a read-only array of times from 0 to 1; other values are refused."""
    try:
        times = np.array(offsets, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError("offsets must be numbers from 0 to 1 in one dimension.") from error
    outside = np.flatnonzero(~((times >= 0) & (times <= 1)))
    if times.ndim != 1 or outside.size:
        where = f"offsets[{outside[0]}] is not" if times.ndim == 1 else f"shape {times.shape}"
        raise InvalidParameterError(f"offsets must be numbers from 0 to 1 in one dimension; {where}.")
    return frozen(times)


def _checked_loss(**losses: float) -> None:
    """Refuse losses that are not finite numbers of 0 or more."""
    validate.nonnegative(**losses)
    for name, loss in losses.items():
        if math.isinf(loss):
            raise validate.invalid("finite: an infinite one promises nothing", **{name: loss})
