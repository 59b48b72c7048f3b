"""Local losses that crowds allow at one central loss, and influence of false reports at these losses."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.accounting import THEOREMS
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel

_STEPS = 12  # of bisection: to a part in a thousand or so
_LARGEST = 30.0  # local loss that is tried


def epsilon0_of_crowd(num_users: int, *, epsilon: float, delta: float) -> float:
    """Local loss at which a uniform shuffle reaches a central loss, for any randomizer.

    By one theorem that holds for every randomizer and takes milliseconds, "strong-pair": `calibrate.epsilon0` finds a
    little more. At least ``epsilon``, which needs no shuffle.

    Example:
        >>> 5 < epsilon0_of_crowd(10_000, epsilon=1.0, delta=1e-6) < 5.51
        True
    """
    validate.integer_at_least(1, num_users=num_users)
    validate.positive(epsilon=epsilon)
    validate.open_probability(delta=delta)
    theorem = next(each for each in THEOREMS if each.id == "strong-pair")
    shuffle, low, high = UniformShuffleModel(num_users=num_users), epsilon, max(epsilon, _LARGEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        model = ProtocolModel(local=LdpModel(epsilon0=middle), shuffle=shuffle)
        met = theorem.applies(model, delta=delta) and theorem.epsilon(model, delta=delta) <= epsilon
        low, high = (middle, high) if met else (low, middle)
    return low


def crowds_around(num_users: int) -> tuple[int, ...]:
    """Numbers of people for a curve, up to a hundred times ``num_users``.

    From a hundredth of this number, but from at least 100, to at most a billion.
    """
    first, last = max(100, num_users // 100), min(10**9, 100 * max(num_users, 100))
    span = math.log(last / first)
    return tuple(dict.fromkeys([*(round(first * math.exp(span * step / 8)) for step in range(8)), last]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """Influence (swing) of one report at one central loss, by number of people.

    With a shuffle and without.

    Args:
        people: numbers of people.
        shuffled: swing of one report for each of them, at the local loss that they may have.
        alone: swing at a local loss as large as the central one.
    """

    people: tuple[int, ...]
    shuffled: tuple[float, ...]
    alone: float


def robustness(
    make: Callable[[float], LocalModel], people: Sequence[int], *, epsilon: float, delta: float
) -> Robustness | None:
    """Robustness for several numbers of people; None if one report's swing is unknown or unlimited.

    Args:
        make: gives the model of a randomizer for a local loss; it may refuse large ones.
        people: numbers of people, ascending.
        epsilon: the central loss, in nats.
        delta: its remainder.
    """
    alone, shuffled = make(epsilon).swing, list[float]()
    if alone is None or math.isinf(alone):
        return None
    for users in people:
        found = _largest_made(make, epsilon0_of_crowd(users, epsilon=epsilon, delta=delta), epsilon)
        shuffled.append(found.swing or math.nan)
    return Robustness(people=tuple(people), shuffled=tuple(shuffled), alone=alone)


def _largest_made(make: Callable[[float], LocalModel], epsilon0: float, least: float) -> LocalModel:
    """Model with this local loss; if none can be made, with the largest of several smaller losses."""
    while epsilon0 > least:
        try:
            return make(epsilon0)
        except InvalidParameterError:
            epsilon0 *= 0.9
    return make(least)
