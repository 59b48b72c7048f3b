"""Blanket bounds with three kinds of messages, and one data set of k-ary randomized response, at any size."""

import math
from dataclasses import dataclass

from shuffledp.accounting.evaluators.four_atoms import FourAtoms, four_atoms
from shuffledp.accounting.evaluators.three_atoms import ThreeAtoms, three_atoms
from shuffledp.accounting.numerics import SMALLEST, binomial_error, largest_below, smallest_below

__all__ = ["LimitedVariation", "third_value_delta", "third_value_epsilon"]

_OUTSIDE = 1e-8  # of delta
_COARSE, _FINE = (32, 256), (128, 4096)  # cells of the second kind, and of the third over all of them
_WITNESS_CELLS = 256
_LARGEST_EPSILON0 = 300.0  # above, the witness says nothing
_MOST_USERS = 2**52  # counts above would not be whole numbers in floats


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVariation:
    """Randomizers of loss epsilon0 of which no two inputs' laws are farther apart than beta in total variation.

    In units of a blanket w, (R(x), R(x')) has the atoms (E, 1) and (1, E) with mass m = beta / (E - 1) each, and (E, E)
    with mass (1 - m (1 + E)) / E. With A, B, D the numbers of each among n messages,

        delta = E[((E - e) A - (E e - 1) B - E (e - 1) D)_+] / n.

    Args:
        epsilon0: local loss in nats, above 0.
        beta: total variation distance, above 0 and at most (E - 1) / (E + 1).
        users: number of people, 1 or more.
    """

    epsilon0: float
    beta: float
    users: int

    def epsilon(self, *, delta: float) -> float:
        """The least epsilon at this delta, from above."""
        guess = None
        for size, tolerance in ((_COARSE, 1e-3), (_FINE, 1e-6)):
            law = self._law(max(_OUTSIDE * delta, SMALLEST), size)
            guess = smallest_below(
                lambda epsilon, law=law: self._upper(epsilon, law),  # type: ignore[misc]
                level=delta,
                limit=self.epsilon0,
                guess=guess,
                tolerance=tolerance,
            )
        return guess or 0.0

    def delta(self, *, epsilon: float) -> float:
        """Delta at an epsilon, from above; 0 from epsilon0 on."""
        if epsilon >= self.epsilon0:
            return 0.0
        rough = self._upper(epsilon, self._law(SMALLEST, _COARSE))
        return min(rough, self._upper(epsilon, self._law(max(_OUTSIDE * rough, SMALLEST), _FINE)))

    def _law(self, outside: float, size: tuple[int, int]) -> FourAtoms:
        odds = math.exp(-self.epsilon0)
        users = min(self.users, _MOST_USERS)  # more people never hurt
        each = self.beta * odds / -math.expm1(-self.epsilon0)
        both = max(odds * (1 - self.beta * (1 + odds) / -math.expm1(-self.epsilon0)), 0.0)
        return four_atoms(users, each=each, third=both, outside=outside, num_cells=size[0], budget=size[1])

    def _upper(self, epsilon: float, law: FourAtoms) -> float:
        if epsilon >= self.epsilon0:
            return 0.0
        odds, growth = math.exp(-self.epsilon0), math.expm1(epsilon)
        found = law.above(a=-math.expm1(epsilon - self.epsilon0), b=math.exp(epsilon) - odds, c=growth)
        return min(found / (odds * law.users) * (1 + 2 * binomial_error(self.users)) + SMALLEST, 1.0)


def third_value_epsilon(
    *, epsilon0: float, domain_size: int, users: int, delta: float, guess: float | None = None
) -> float:
    """k-ary randomized response where all others hold one third value, with the symbols other than the two merged.

    A lower bound: merging is post-processing. For three values nothing is merged but what has one likelihood ratio.

    Args:
        epsilon0: local loss in nats, above 0.
        domain_size: 3 or more.
        users: number of people.
        delta: strictly between 0 and 1.
        guess: about where the answer is.

    Returns:
        The largest epsilon at which the delta is known to exceed the one given; 0 if none is.
    """
    if not 0 < epsilon0 <= _LARGEST_EPSILON0 or users > _MOST_USERS:
        return 0.0
    for num_cells, tolerance in ((_WITNESS_CELLS // 8, 1e-3), (_WITNESS_CELLS, 1e-6)):
        law = _third_value_law(epsilon0, domain_size, users, _OUTSIDE * delta, num_cells)
        guess = largest_below(
            lambda epsilon, law=law: _third_value(epsilon0, domain_size, epsilon, law),  # type: ignore[misc]
            level=delta,
            limit=epsilon0,
            guess=guess,
            tolerance=tolerance,
        )
    return guess or 0.0


def third_value_delta(*, epsilon0: float, domain_size: int, users: int, epsilon: float) -> float:
    """The delta of `third_value_epsilon` at an epsilon of 0 or more, from below."""
    if epsilon >= epsilon0 or epsilon0 > _LARGEST_EPSILON0 or users > _MOST_USERS:
        return 0.0
    law = _third_value_law(epsilon0, domain_size, users, SMALLEST, 2 * _WITNESS_CELLS)
    return _third_value(epsilon0, domain_size, epsilon, law)


def _third_value_law(epsilon0: float, domain_size: int, users: int, outside: float, num_cells: int) -> ThreeAtoms:
    """The counts of the two values in question where all others hold a third one."""
    chance = math.exp(-epsilon0) / (1 + (domain_size - 1) * math.exp(-epsilon0))
    return three_atoms(users, first=chance, second=chance, outside=max(outside, SMALLEST), num_cells=num_cells)


def _third_value(epsilon0: float, domain_size: int, epsilon: float, law: ThreeAtoms) -> float:
    if epsilon >= epsilon0:
        return 0.0
    odds, factor, growth, users = math.exp(-epsilon0), math.exp(epsilon), math.expm1(epsilon), law.trials
    merged = growth * odds * (domain_size - 2) / (1 + (domain_size - 3) * odds) * odds
    first, second = -math.expm1(epsilon - epsilon0) + merged, factor - odds - merged
    found = law.below(a=first, b=second, c=merged * users) / (odds * users) * (1 - 2 * binomial_error(users))
    return found if found > 1e3 * SMALLEST else 0.0
