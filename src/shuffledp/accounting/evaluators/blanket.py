"""The blanket bound from a total variation distance: three kinds of messages, at any size."""

import math
from dataclasses import dataclass

from shuffledp.accounting.evaluators.four_atoms import FourAtoms, four_atoms
from shuffledp.accounting.numerics import SMALLEST, binomial_error, smallest_below

__all__ = ["LimitedVariation"]

_OUTSIDE = 1e-8  # of delta
_COARSE, _FINE = (32, 256), (128, 4096)  # cells of the second kind, and of the third over all of them
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
