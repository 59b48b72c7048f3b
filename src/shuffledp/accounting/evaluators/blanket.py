"""Blankets of three kinds of messages, with a bracket whose cost does not depend on the number of people.

delta = w sum_N Pr[N] F(N + 1) / (N + 1),  N ~ Bin(n - 1, w),  F(m) = E[(a A - b B - c m)_+],

where N counts the other people's messages from the blanket of mass w, and (A, B) the two kinds of interest among m of
them. F(m) / m does not grow with m, because a further message of the blanket is post-processing.
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.evaluators.binomial import Blocks, binomial_blocks
from shuffledp.accounting.evaluators.three_atoms import ThreeAtoms, three_atoms
from shuffledp.accounting.numerics import SMALLEST, binomial_error, largest_below, smallest_below

__all__ = ["LimitedVariation", "third_value_delta", "third_value_epsilon"]

_OUTSIDE = 1e-8  # of delta
_COARSE, _FINE = (16, 32), (64, 128)  # numbers of messages, and cells for each
_WITNESS_CELLS = 256
_LARGEST_EPSILON0 = 300.0  # of the witness: above, it says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedVariation:
    """Randomizers of loss epsilon0 of which no two inputs' laws are farther apart than beta in total variation.

    The blanket has mass (1 + beta) / E. Its atoms are (E, 1) and (1, E) with mass m = beta / (E - 1) each, and (E, E) with
    the rest; G = a' - e b' at an atom (a', b').

    Args:
        epsilon0: local loss in nats, above 0.
        beta: total variation distance, above 0 and at most (E - 1) / (E + 1).
        users: number of people, 1 or more.
    """

    epsilon0: float
    beta: float
    users: int

    @property
    def weight(self) -> float:
        """The mass of the blanket."""
        return min((1 + self.beta) * math.exp(-self.epsilon0), 1.0)

    @property
    def share(self) -> float:
        """The chance that a message of the blanket is of the first kind, and of the second."""
        return min(self.beta / (1 + self.beta) / -math.expm1(-self.epsilon0), 0.5)

    def epsilon(self, *, delta: float) -> float:
        """The least epsilon at this delta, from above."""
        guess = None
        for size, tolerance in ((_COARSE, 1e-3), (_FINE, 1e-6)):
            laws = self._laws(_OUTSIDE * delta, size)
            guess = smallest_below(
                lambda epsilon, laws=laws: self._sum(epsilon, *laws),  # type: ignore[misc]
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
        rough = self._sum(epsilon, *self._laws(SMALLEST, _COARSE))
        return min(rough, self._sum(epsilon, *self._laws(_OUTSIDE * rough, _FINE)))

    def _laws(self, outside: float, size: tuple[int, int]) -> tuple[Blocks, list[ThreeAtoms]]:
        outside = max(outside, SMALLEST)
        num_blocks, num_cells = size
        blocks = binomial_blocks(self.users - 1, self.weight, outside=outside, num_blocks=num_blocks)
        laws = [
            three_atoms(int(others) + 1, first=self.share, second=self.share, outside=outside, num_cells=num_cells)
            for others in blocks.lows
        ]
        return blocks, laws

    def _sum(self, epsilon: float, blocks: Blocks, laws: list[ThreeAtoms]) -> float:
        if epsilon >= self.epsilon0:
            return 0.0
        factor, width = math.exp(epsilon), -math.expm1(-self.epsilon0)
        cost = math.expm1(epsilon) / width
        given = np.array([law.above(a=factor, b=1.0, c=cost * law.trials) / law.trials for law in laws])
        found = (1 + self.beta) * width * float(blocks.most @ given)
        return min(found * (1 + 2 * binomial_error(self.users)) + blocks.outside + SMALLEST, 1.0)


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
    if not 0 < epsilon0 <= _LARGEST_EPSILON0:
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
    if epsilon >= epsilon0 or epsilon0 > _LARGEST_EPSILON0:
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
