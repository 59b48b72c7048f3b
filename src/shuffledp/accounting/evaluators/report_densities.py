"""Report laws of two inputs, as densities against a measure; delta is evaluated from report laws.

For two inputs x, x' of the victim and a measure w that is below the law R(z) of every other person's report (a
"blanket"), put a = R(x)/w and b = R(x')/w. With e = exp(epsilon), and G = a - e b with density w, else 0,

    delta(epsilon) <= E[(G_1 + ... + G_n)_+] / n        (Balle, Bell, Gascon, Nissim 2019, arXiv 1903.02837),

and with w = R(z) this is an equality for the data set in which all others hold z. The right-hand side grows if the
law of (a, b) spreads with its mean kept, and shrinks if parts of it are merged (convex order); it grows if w shrinks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from shuffledp.accounting.evaluators.inversion import mean_positive_part
from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon
from shuffledp.core.table import Floats

LARGEST_EPSILON0 = 300.0  # above it, products of exp(epsilon0) overflow
_ROUNDING = 2.0**-53
_CLOSE = 1e-5  # in log delta: accepted distance of a bound from the given delta
_MOST_STEPS = 40
_APART, _APPROACH = 0.5, 0.9  # of the upper bound: lower bounds below this get more passes; a useful gain
_COARSE, _TOLERANCE = 0.03, 1e-4  # relative, between the two sides of delta


@dataclass(frozen=True, slots=True)
class ReportLaw:
    """Laws of a report for two inputs, as densities against a common measure on finitely many cells.

    The inputs' densities are ``first`` (a) and ``second`` (b), and the measure of each cell is ``mass``, at most 1
    altogether; ``alone_first`` and ``alone_second`` are probabilities of reports that the measure does not contain.
    """

    first: Floats
    second: Floats
    mass: Floats
    alone_first: Floats = field(default_factory=lambda: np.empty(0))
    alone_second: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def swapped(self) -> "ReportLaw":
        """Report law with the two inputs exchanged."""
        return ReportLaw(self.second, self.first, self.mass, self.alone_second, self.alone_first)

    @property
    def fisher(self) -> float:
        """Fisher constant, the integral of (a - b)^2 w.

        mu of the Gaussian limit is its root over sqrt(n).
        """
        if (self.alone_first != self.alone_second).any():
            return math.inf
        return float(self.mass @ (self.first - self.second) ** 2)

    def deltas(self, epsilon: float, users: int, *, tolerance: float = 1e-4) -> tuple[float, float]:
        """Lower and upper bound on delta at an epsilon among this number of users, to a tolerance.

        It is E[(G_1 + ... + G_n)_+] / n, plus the reports that stand alone. With P = P' + P'' the laws of the histogram
        with the victim's report among those that stand alone or not, (P - e Q)_+ <= (P' - e Q')_+ + (P'' - e Q'')_+.
        For w = R(z) these do not overlap: equality.
        """
        factor = math.exp(epsilon)
        values = (self.first - self.second) - math.expm1(epsilon) * self.second
        errors = 4 * _ROUNDING * (1 + epsilon) * (self.first + factor * self.second)
        lower, upper = mean_positive_part(values, self.mass, users, errors=errors, tolerance=tolerance)
        alone = float(np.maximum(self.alone_first - factor * self.alone_second, 0).sum())
        return lower + alone * (1 - 1e-12), min(upper + alone * (1 + 1e-12), 1.0)


def two_level_blanket(*, epsilon0: float, share: float, overlap: float) -> ReportLaw:
    """Report law of two inputs of a two-density randomizer against its largest blanket.

    It is for an upper bound.

    R(z) has the density E v on a set of base mass c = ``share`` that depends on z, and v elsewhere, v = 1/(1 + c
    (E-1)); so w = v times the base measure is below them all. ``overlap`` is what two sets have in common, at least 0
    and 2c - 1.
    """
    ratio = math.exp(epsilon0)
    level = 1 / (1 + share * (ratio - 1))
    only, neither = max(share - overlap, 0.0), max(1 - 2 * share + overlap, 0.0)
    return ReportLaw(
        first=np.array([ratio, 1.0, ratio, 1.0]),
        second=np.array([1.0, ratio, ratio, 1.0]),
        mass=level * np.array([only, only, overlap, neither]),
    )


def two_level_homogeneous(
    *, epsilon0: float, share: float, overlap: float, triple: float | None = None
) -> tuple[ReportLaw, ...]:
    """Exact report laws where all other people hold the first input, the second, or a third value.

    The base masses are those of one input's set (``share``), of what two have in common, and of what three have; None
    leaves the third value out.
    """
    ratio = math.exp(epsilon0)
    level = 1 / (1 + share * (ratio - 1))
    only, neither = max(share - overlap, 0.0), max(1 - 2 * share + overlap, 0.0)
    equal = ReportLaw(
        first=np.array([1.0, 1.0, 1.0]),
        second=np.array([1 / ratio, ratio, 1.0]),
        mass=level * np.array([ratio * only, only, ratio * overlap + neither]),
    )
    laws = [equal, equal.swapped]
    if triple is not None:
        cells = [1 - 3 * share + 3 * overlap - triple, share - 2 * overlap + triple, overlap - triple, triple]
        inside = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        base = np.maximum(np.array(cells)[inside.sum(axis=1)], 0.0)
        first, second, third = np.array([1.0, ratio])[inside].T
        laws.append(ReportLaw(first=first / third, second=second / third, mass=level * base * third))
    return tuple(laws)


def channel_law(first: Floats, second: Floats, measure: Floats) -> ReportLaw:
    """Report law of two rows of a channel, as densities against a measure.

    The measure is another row, for example, or the least entry of every column. Columns with the same two densities are
    one cell: together they tell as much.
    """
    inside = measure > 0
    densities = np.stack([first[inside], second[inside]]) / measure[inside]
    with np.errstate(divide="ignore"):
        keys = np.round(np.log(densities), 13)
    cells = np.unique(keys, axis=1, return_inverse=True)[1].ravel()
    mass, one, other = (np.bincount(cells, weights=part[inside]).astype(float) for part in (measure, first, second))
    alone = ~inside & (first + second > 0)
    return ReportLaw(
        first=one / mass, second=other / mass, mass=mass, alone_first=first[alone], alone_second=second[alone]
    )


def laplace_blanket(*, epsilon0: float, cells: int) -> ReportLaw:
    """Report law of Laplace noise on inputs 0 and 1, for an upper bound.

    As densities against the least density; the noise has the scale 1/epsilon0, and inputs lie in [0, 1]. The least
    density at y is (epsilon0/2) exp(-epsilon0 max(|y|, |1-y|)). For y <= 1/2 the pair (a, b) is (exp(u), 1), where u =
    epsilon0 min(1, 1 - 2y) has the mass 1/(2E) at epsilon0 and the density exp(-(epsilon0 + u)/2) / 4 below; for y >=
    1/2 it is the mirror image. In each of the ``cells`` equal intervals of u, the mass goes to the ends, so that the
    mean of a is kept. Among all pairs of inputs this one is the worst (docs/proofs.md).
    """
    nodes = np.linspace(0.0, epsilon0, cells + 1)
    scale = math.exp(-epsilon0 / 2)
    weight = scale / 2 * (np.exp(-nodes[:-1] / 2) - np.exp(-nodes[1:] / 2))
    moment = scale / 2 * (np.exp(nodes[1:] / 2) - np.exp(nodes[:-1] / 2))  # of exp(u)
    density = np.exp(nodes)
    share = _share_of_first(weight, moment, density[1:], density[:-1])
    mass = np.zeros(cells + 1)
    mass[1:] += share
    mass[:-1] += weight - share
    mass[-1] += math.exp(-epsilon0) / 2
    one = np.ones(cells + 1)
    return ReportLaw(
        first=np.concatenate([density, one]), second=np.concatenate([one, density]), mass=np.concatenate([mass, mass])
    )


def _share_of_first(weight: Floats, moment: Floats, first: Floats, second: Floats) -> Floats:
    """Mass of the first of two points in each cell, chosen so that the cell's mean is kept.

    The second point has the rest of the mass.
    """
    width = np.where(first != second, first - second, 1.0)
    return np.clip((moment - weight * second) / width, 0.0, weight)


def laplace_homogeneous(*, epsilon0: float, cells: int) -> ReportLaw:
    """Report law of Laplace noise on 0 and 1, for a lower bound.

    All others hold 0. [0, 1] is merged into ``cells`` equal cells.

    Against the law of input 0, a = 1; b is 1/E below 0, with mass 1/2; E above 1, with mass 1/(2E); in between each
    cell's probability under input 1 over that under input 0.
    """
    edges = np.linspace(0.0, epsilon0, cells + 1)
    zero = (np.exp(-edges[:-1]) - np.exp(-edges[1:])) / 2
    one = (np.exp(edges[1:] - epsilon0) - np.exp(edges[:-1] - epsilon0)) / 2
    second = np.concatenate([[math.exp(-epsilon0)], one / zero, [math.exp(epsilon0)]])
    return ReportLaw(
        first=np.ones(cells + 2), second=second, mass=np.concatenate([[0.5], zero, [math.exp(-epsilon0) / 2]])
    )


def discrete_laplace_blanket(*, epsilon0: float, steps: int, cells: int) -> ReportLaw:
    """Report law of discrete Laplace noise on 0 and ``steps``, for an upper bound.

    As densities against the least law. With q = exp(-epsilon0 / steps), input x gives report y with probability (1-q) /
    (1+q) q^|y-x|. Reports below 0, and above the range, tell as much as its ends. As for `laplace_blanket`, a is q^(2y
    - steps) for y <= steps/2, where b = 1; the grid points of a half are put together in ``cells`` blocks, if they are
    more.
    """
    rate = epsilon0 / steps
    places = np.arange(steps // 2 + 1)
    level = -math.expm1(-rate) / (1 + math.exp(-rate))
    weight = level * np.exp(-rate * (steps - places))
    weight[0] = math.exp(-epsilon0) / (1 + math.exp(-rate))  # of all y <= 0
    weight[-1] /= 2 if steps % 2 == 0 else 1  # the middle belongs to both halves
    density = np.exp(rate * (steps - 2 * places))
    if len(places) > cells:
        starts = np.linspace(1, len(places), cells, endpoint=False).astype(np.int64)
        ends = np.append(starts[1:], len(places)) - 1
        blocks = (np.add.reduceat(weight, starts), np.add.reduceat(weight * density, starts))
        share = _share_of_first(*blocks, density[starts], density[ends])
        density = np.concatenate([density[:1], density[starts], density[ends]])
        weight = np.concatenate([weight[:1], share, blocks[0] - share])
    one = np.ones(len(density))
    return ReportLaw(
        first=np.concatenate([density, one]),
        second=np.concatenate([one, density]),
        mass=np.concatenate([weight, weight]),
    )


def discrete_laplace_homogeneous(*, epsilon0: float, steps: int, cells: int) -> ReportLaw:
    """Report law of discrete Laplace noise on 0 and ``steps``, for a lower bound.

    All others hold 0. Points are merged into blocks.
    """
    rate = epsilon0 / steps
    level = -math.expm1(-rate) / (1 + math.exp(-rate))
    places = np.arange(1, steps)
    zero, other = level * np.exp(-rate * places), level * np.exp(-rate * (steps - places))
    if len(places) > cells:
        starts = np.linspace(0, len(places), cells, endpoint=False).astype(np.int64)
        zero, other = np.add.reduceat(zero, starts), np.add.reduceat(other, starts)
    near, far = 1 / (1 + math.exp(-rate)), math.exp(-epsilon0) / (1 + math.exp(-rate))
    mass = np.concatenate([[near], zero, [far]])
    return ReportLaw(first=np.ones(len(mass)), second=np.concatenate([[far], other, [near]]) / mass, mass=mass)


# ---- several pairs of inputs at once, and epsilon at a delta, on the side that is safe -------------------------------


@dataclass(frozen=True, slots=True)
class LawFamily:
    """Report laws of several pairs of inputs, with the number of users, the victim included.

    There is a law for each ordered pair (and data set of the others) that counts; from ``limit`` on delta is 0 anyway.
    """

    laws: Sequence[ReportLaw]
    users: int
    limit: float = math.inf

    @property
    def mu(self) -> float:
        """Parameter mu of the Gaussian limit for many users.

        The root of the largest Fisher constant, over sqrt(n).
        """
        return math.sqrt(max(law.fisher for law in self.laws) / self.users)

    def upper(self, epsilon: float, *, tolerance: float = _TOLERANCE) -> float:
        """Upper bound on the largest delta of any pair.

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
        """Lower bound on the largest delta of any pair."""
        if len(self.laws) == 1:
            return self.laws[0].deltas(epsilon, self.users, tolerance=tolerance)[0]
        rough = [self._roughly(law, epsilon) for law in self.laws]
        best = max(rough)[0]
        if tolerance == math.inf:
            return best
        place = max(range(len(rough)), key=lambda each: rough[each][1])
        return max(best, self.laws[place].deltas(epsilon, self.users, tolerance=tolerance)[0])

    def epsilon_above(self, delta: float) -> float:
        """Epsilon at which the delta of every pair is at most the given delta.

        It is close to the least such epsilon, never below it.
        """
        worst = 0.0
        for law in self._most_telling:
            alone = LawFamily((law,), self.users, self.limit)
            if worst < self.limit and self._may_exceed(law, worst, delta):
                worst = alone._solve(alone.upper, delta, start=worst, aim=_CLOSE)[1]
        return worst

    def epsilon_below(self, delta: float, *, start: float = 0.0) -> float:
        """Epsilon at which the delta of some pair exceeds the given delta; else ``start``.

        It is close to the largest such epsilon, never above it.
        """
        best = start
        for law in self._most_telling:
            alone = LawFamily((law,), self.users, self.limit)
            if best < self.limit and self._may_exceed(law, best, delta) and alone.lower(best) > delta:
                best = alone._solve(alone.lower, delta, start=best, aim=-_CLOSE)[0]
        return best

    @property
    def _most_telling(self) -> list[ReportLaw]:
        """Report laws in descending order of their Fisher constants.

        So a rough bound is mostly enough for the later ones.
        """
        return sorted(self.laws, key=lambda law: law.fisher, reverse=True)

    def _roughly(self, law: ReportLaw, epsilon: float) -> tuple[float, float]:
        return law.deltas(epsilon, self.users, tolerance=math.inf)

    def _may_exceed(self, law: ReportLaw, epsilon: float, delta: float) -> bool:
        """Whether the delta of one pair of inputs may exceed ``delta`` at an epsilon.

        Upper bounds of growing precision are tried; the first mostly decides.
        """
        looks = (_COARSE, math.inf, _TOLERANCE)
        return all(law.deltas(epsilon, self.users, tolerance=tolerance)[1] > delta for tolerance in looks)

    def _solve(self, curve: Callable[..., float], delta: float, start: float, aim: float) -> tuple[float, float]:
        """Bracket of the epsilon at which a curve falls to delta.

        The curve is above delta at the first end, not at the second (or that end is the limit). One value may do for
        both, since only the side that is aimed at counts. One pass for each look is a bound too, and mostly as good as
        any: more are made only where it is not.
        """

        def excess(epsilon: float, tolerance: float) -> float:
            return math.log(max(curve(epsilon, tolerance=tolerance), SMALLEST)) - math.log(delta) + aim

        guess = gaussian_epsilon(self.mu, delta)
        found = _narrowed(lambda epsilon: excess(epsilon, math.inf), start, self.limit, guess)
        there = found[0] if aim < 0 or found[1] == self.limit else found[1]
        lower, upper = self._roughly(self.laws[0], there)
        if upper - lower <= _TOLERANCE * upper:
            return found
        if aim > 0 and lower < _APART * upper and curve(there, tolerance=_TOLERANCE) > _APPROACH * upper:
            return found  # rounding keeps the sides apart, so that another search would end here too
        return _narrowed(lambda epsilon: excess(epsilon, _TOLERANCE), start, self.limit, found[0])


def _narrowed(excess: Callable[[float], float], start: float, limit: float, guess: float) -> tuple[float, float]:
    """Bracket of the root of a falling function.

    Both ends are equal where the function is within `_CLOSE` of 0. The function is above 0 at the start, and below at
    the limit. The guess is walked away from until the root lies between; then false position with halved weights
    ("Illinois").
    """
    low, low_value, high, high_value = start, _CLOSE, limit, -math.inf
    probe, stuck, step = min(max(guess, 1.02 * start), (start + limit) / 2, LARGEST_EPSILON0), 0, 1.02
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
        if high - low <= 1e-9 * high or low >= LARGEST_EPSILON0:
            break
        if high_value == -math.inf:
            probe = min(step * low, (low + high) / 2, LARGEST_EPSILON0)
        elif low == start:
            probe = max(high / step, (low + high) / 2)
        else:
            probe = low + (high - low) * low_value / (low_value - high_value)
        step = min(step**2, 2.0)
    return low, high
