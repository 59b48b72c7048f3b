"""Comparison of the ways to ask for several answers at one central loss: error and local loss.

A message about each option errs least where many people answer, and one message in all has the least local loss;
whole sets tell which options go together (docs/several-answers.md).
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, cast

from shuffledp.accounting import account, epsilon_of
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.tick_models import TicksModel
from shuffledp.laws.gaussian_noise import gaussian_mu
from shuffledp.planning.calibrate import epsilon0 as calibrated
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import expected_error
from shuffledp.randomizers import KINDS

WAYS = ("columns", "one-option", "all-sets")
_CROWDED = 0.25  # share of n mu^2, about, above which there are too many sets to tell them apart
_CORRECTIONS = 2  # of the loss of columns, which takes up to a second each


@dataclass(frozen=True, slots=True, kw_only=True)
class TickWay(Described):
    """Way of asking several answers, with its losses and its error.

    Args:
        way: a kind of the table ``[randomizer]``.
        chosen: whether it is the task's.
        epsilon0: local loss of one message, in nats.
        local: local loss of all messages of one person.
        messages: of one person.
        standard_error: of the share of an option that one in ten ticks, from randomizing.
        sets: number of sets that are told apart; None where single options are.
        is_crowded: whether there are too many sets for the number of people.
    """

    way: str
    chosen: bool
    epsilon0: float
    local: float
    messages: int
    standard_error: float
    sets: int | None = None
    is_crowded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TickWays(FamilyPlan):
    """Comparison of the ways of asking at the task's ``central`` loss, the least error first.

    Args:
        central: epsilon of everything released; that of others is as large, to about one in a hundred.
        delta: its remainder.
        ways: with those left out that cannot have such a loss.
    """

    key: ClassVar[str] = "ways"
    central: float
    delta: float
    ways: tuple[TickWay, ...]

    def to_dict(self) -> dict[str, Any]:
        """Central loss, and the ways in the order of their errors."""
        return {"central": self.central, "delta": self.delta, "ways": [each.to_dict() for each in self.ways]}

    def warnings_for(self, models: Sequence[ProtocolModel]) -> tuple[str, ...]:
        """Warning if the chosen way asks for too many sets of options; empty otherwise.

        Too many sets cannot be told apart.
        """
        del models
        return tuple(
            f"All {each.sets:,} sets are too many for this number of people: shares, and pairs even more, err far more "
            "than by a message about each option."
            for each in self.ways
            if each.chosen and each.is_crowded
        )


@lru_cache(maxsize=32)
def compared_ways(protocol: ProtocolModel, delta: float, local_at_most: float | None = None) -> TickWays | None:
    """Comparison of ways to ask at a tick protocol's central loss; None without a finite loss.

    None also for a protocol without ticks, a loss of 0, or a shuffle that is not uniform.
    """
    own, stated = protocol.local, account(protocol, delta=delta).guarantee
    if not isinstance(own, TicksModel) or not isinstance(stated, DifferentialPrivacy):
        return None
    central, honest = stated.epsilon, protocol.shuffle.num_honest
    if not 0 < central < math.inf or not protocol.shuffle.is_uniform:
        return None
    found = [_way(own, protocol.num_senders, central, delta, chosen=True)]
    for kind in WAYS:
        if kind != own.kind:
            with suppress(InvalidParameterError):
                model = _at_loss(kind, protocol, central, delta, local_at_most)
                found.append(_way(model, protocol.num_senders, central, delta, honest=honest))
    return TickWays(central=central, delta=delta, ways=tuple(sorted(found, key=lambda each: each.standard_error)))


def _way(
    model: TicksModel, people: int, central: float, delta: float, *, chosen: bool = False, honest: int | None = None
) -> TickWay:
    count: int | None = getattr(model, "num_sets", None)
    room = _CROWDED * (honest or people) * gaussian_mu(central, delta) ** 2
    return TickWay(
        way=model.kind,
        chosen=chosen,
        epsilon0=model.epsilon0 if model.separate is None else model.separate.epsilon0,
        local=model.epsilon0,
        messages=model.num_messages,
        standard_error=expected_error(model, people).standard_error,
        sets=count,
        is_crowded=count is not None and count > room,
    )


def _at_loss(kind: str, protocol: ProtocolModel, central: float, delta: float, most: float | None) -> TicksModel:
    """Model of another way of asking at this central loss, with a local loss of at most ``most``.

    No limit if ``most`` is None.
    """
    own = cast(TicksModel, protocol.local)

    def made(loss: float) -> TicksModel:
        found = KINDS[kind].model_type.from_epsilon0(epsilon0=loss, num_options=own.num_options, at_most=own.at_most)
        return cast(TicksModel, found)

    if kind == WAYS[0]:
        loss, cap = _columns_loss(made, protocol, central, delta), math.inf if most is None else most
        return made(min(loss, cap / own.most_differing))
    people = protocol.shuffle.num_honest
    solved = calibrated(target_epsilon=central, delta=delta, num_users=people, randomizer=made)
    return made(min(float(solved.value), math.inf if most is None else most))


def _columns_loss(
    family: Callable[[float], TicksModel], protocol: ProtocolModel, central: float, delta: float
) -> float:
    """Local loss of a message about each option, for a central loss.

    First by the limit of many people, then corrected.
    """
    people, wanted = protocol.shuffle.num_honest, gaussian_mu(central, delta)
    differing, aim = family(1.0).most_differing, wanted
    for turn in range(_CORRECTIONS + 1):
        information = people * aim**2 / differing  # (E - 1)^2 / E
        loss = 2 * math.asinh(math.sqrt(information) / 2)
        if turn < _CORRECTIONS:
            stated = epsilon_of(account(replace(protocol, local=family(loss)), delta=delta).guarantee)
            aim *= wanted / gaussian_mu(min(stated, loss * differing), delta)
    return loss
