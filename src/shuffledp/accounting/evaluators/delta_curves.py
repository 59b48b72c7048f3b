"""Curves of delta against epsilon over several pairs of inputs, and epsilon at a delta, on the side that is safe."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shuffledp.accounting.evaluators.report_densities import ReportLaw
from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon

_CLOSE = 1e-5  # in log delta: how near a bound must come to the delta asked for
_MOST_STEPS = 40
_COARSE, _TOLERANCE = 0.03, 1e-4  # relative, between the two sides of delta
_LARGEST_EPSILON = 300.0


@dataclass(frozen=True, slots=True)
class LawFamily:
    """Pairs of inputs, all of them considered at once, for a number of users.

    Args:
        laws: one for each ordered pair of inputs (and data set of the others) that counts.
        users: number of reports, the victim's included.
        limit: an epsilon from which on the delta is 0 anyway; infinity if there is none.
    """

    laws: Sequence[ReportLaw]
    users: int
    limit: float = math.inf

    @property
    def mu(self) -> float:
        """The parameter of the Gaussian limit for many users: the largest root of a Fisher constant, over sqrt(n)."""
        return math.sqrt(max(law.fisher for law in self.laws) / self.users)

    def upper(self, epsilon: float, *, tolerance: float = _TOLERANCE) -> float:
        """No delta of any pair is above this.

        All are bounded roughly; then the largest ones are refined, until what is left is smaller anyway.
        """
        if len(self.laws) == 1:
            return self.laws[0].deltas(epsilon, self.users, tolerance=tolerance)[1]
        rough = sorted(((self._roughly(law, epsilon)[1], place) for place, law in enumerate(self.laws)), reverse=True)
        if tolerance == math.inf:
            return rough[0][0]
        worst = 0.0
        for bound, place in rough:
            if bound <= worst:
                break
            worst = max(worst, self.laws[place].deltas(epsilon, self.users, tolerance=tolerance)[1])
        return worst

    def lower(self, epsilon: float, *, tolerance: float = _TOLERANCE) -> float:
        """The delta of some pair is at least this."""
        if len(self.laws) == 1:
            return self.laws[0].deltas(epsilon, self.users, tolerance=tolerance)[0]
        rough = [self._roughly(law, epsilon) for law in self.laws]
        best = max(rough)[0]
        if tolerance == math.inf:
            return best
        place = max(range(len(rough)), key=lambda each: rough[each][1])
        return max(best, self.laws[place].deltas(epsilon, self.users, tolerance=tolerance)[0])

    def epsilon_above(self, delta: float) -> float:
        """An epsilon at which no pair exceeds this delta: close to the least one, never below it."""
        worst = 0.0
        for law in self._most_telling:
            alone = LawFamily((law,), self.users, self.limit)
            if worst < self.limit and self._may_exceed(law, worst, delta):
                worst = alone._solve(alone.upper, delta, start=worst, aim=_CLOSE)[1]
        return worst

    def epsilon_below(self, delta: float, *, start: float = 0.0) -> float:
        """An epsilon at which some pair exceeds this delta: close to the largest one, never above it.

        Args:
            delta: strictly between 0 and 1.
            start: what is returned if no pair exceeds the delta beyond it.
        """
        best = start
        for law in self._most_telling:
            alone = LawFamily((law,), self.users, self.limit)
            if best < self.limit and self._may_exceed(law, best, delta) and alone.lower(best) > delta:
                best = alone._solve(alone.lower, delta, start=best, aim=-_CLOSE)[0]
        return best

    @property
    def _most_telling(self) -> list[ReportLaw]:
        """Those that are the worst for many users come first: mostly the others need but one look."""
        return sorted(self.laws, key=lambda law: law.fisher, reverse=True)

    def _roughly(self, law: ReportLaw, epsilon: float) -> tuple[float, float]:
        return law.deltas(epsilon, self.users, tolerance=math.inf)

    def _may_exceed(self, law: ReportLaw, epsilon: float, delta: float) -> bool:
        """Whether upper bounds leave that open: ever better ones, since the first one mostly tells."""
        looks = (_COARSE, math.inf, _TOLERANCE)
        return all(law.deltas(epsilon, self.users, tolerance=tolerance)[1] > delta for tolerance in looks)

    def _solve(self, curve: Callable[..., float], delta: float, start: float, aim: float) -> tuple[float, float]:
        """Two close epsilons: at the first the curve was found above delta, at the second not (or it is the limit).

        One value may do for both, since only the side that is aimed at counts. One pass for each look is a bound too,
        and mostly as good as any: more are made only where it is not.
        """

        def excess(epsilon: float, tolerance: float) -> float:
            return math.log(max(curve(epsilon, tolerance=tolerance), SMALLEST)) - math.log(delta) + aim

        guess = gaussian_epsilon(self.mu, delta)
        found = _narrowed(lambda epsilon: excess(epsilon, math.inf), start, self.limit, guess)
        lower, upper = self._roughly(self.laws[0], found[0] if aim < 0 or found[1] == self.limit else found[1])
        if upper - lower <= _TOLERANCE * upper:
            return found
        return _narrowed(lambda epsilon: excess(epsilon, _TOLERANCE), start, self.limit, found[0])


def _narrowed(excess: Callable[[float], float], start: float, limit: float, guess: float) -> tuple[float, float]:
    """The ends of a bracket of the root of a falling function; twice the same where it is within `_CLOSE` of 0.

    The function is above 0 at the start, and below at the limit. The guess is walked away from until the root lies
    between; then false position with halved weights ("Illinois").
    """
    low, low_value, high, high_value = start, _CLOSE, limit, -math.inf
    probe, stuck, step = min(max(guess, 1.02 * start), (start + limit) / 2, _LARGEST_EPSILON), 0, 1.02
    for _ in range(_MOST_STEPS):
        value = excess(probe)
        if abs(value) < _CLOSE:
            return probe, probe
        if value > 0:
            stuck = max(stuck, 0) + 1
            low, low_value = probe, value
            high_value = high_value / 2 if stuck > 1 else high_value
        else:
            stuck = min(stuck, 0) - 1
            high, high_value = probe, value
            low_value = low_value / 2 if stuck < -1 else low_value
        if high - low <= 1e-9 * high or low >= _LARGEST_EPSILON:
            break
        if high_value == -math.inf:
            probe = min(step * low, (low + high) / 2, _LARGEST_EPSILON)
        elif low == start:
            probe = max(high / step, (low + high) / 2)
        else:
            probe = low + (high - low) * low_value / (low_value - high_value)
        step = min(step**2, 2.0)
    return low, high
