"""Spacings of the positions of a noisy sort: the spread of each group, and gaps that use up a budget."""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.laws.noisy_sort_sampling import checked_positions

_ROUND_DOWN = 1 - 2.0**-36  # what groups of up to 2^15 members lose to rounding is below it
_ROUNDING = 2.0**-52
_DAMPING = 0.5
_LEAST_RATIO = 0.1  # of a spread to the budget: gaps that start from less would be out of all proportion
_GAIN = 1e-9  # of the logarithm of the product: less may be how this machine rounds logarithms


class RankGroups(NamedTuple):
    """Groups as ascending ranks, one group after the other.

    Group i has ``ranks[starts[i]:starts[i + 1]]``; ``starts`` has one entry more than there are groups.
    """

    ranks: Integers
    starts: Integers

    @classmethod
    def of(cls, groups: object, num_items: int) -> Self:
        """Groups of any kind, sorted and checked.

        Args:
            groups: an iterable of the ranks of each group, in any order; or RankGroups.
            num_items: ranks are below it.

        Raises:
            InvalidParameterError: if a rank is out of range or occurs twice in a group.
        """
        if isinstance(groups, cls):
            return groups
        try:
            lists = [np.sort(np.asarray(group)) for group in groups]  # type: ignore[attr-defined]
        except TypeError as error:
            raise InvalidParameterError("groups must be an iterable of arrays of ranks.") from error
        for number, group in enumerate(lists):
            ranks = group.size == 0 or np.issubdtype(group.dtype, np.integer)
            if group.ndim != 1 or not ranks or (np.diff(group) <= 0).any():
                raise InvalidParameterError(f"groups must hold distinct ranks; group {number} does not.")
            if group.size and not 0 <= group[0] <= group[-1] < num_items:
                raise InvalidParameterError(
                    f"groups must hold ranks from 0 to {num_items - 1}; group {number} does not."
                )
        starts = np.cumsum([0, *(group.size for group in lists)], dtype=np.int64)
        joined = np.concatenate([np.empty(0, dtype=np.int64), *lists]).astype(np.int64)
        return cls(joined, starts)

    @property
    def mirrors(self) -> Integers:
        """Mirror of each membership: the place equally far from the other end of its group."""
        sizes = np.diff(self.starts)
        return np.repeat(self.starts[:-1] + self.starts[1:] - 1, sizes) - np.arange(self.ranks.size)

    def sums(self, values: Floats) -> Floats:
        """Sum over each group of values given for memberships; 0 for an empty group."""
        out = np.zeros(self.starts.size - 1)
        full = np.diff(self.starts) > 0
        if full.any():
            out[full] = np.add.reduceat(values, self.starts[:-1][full])
        return out


def sort_spreads(positions: ArrayLike, groups: object, *, power: int = 1) -> Floats:
    """Spread of each group: how far its positions move under reversal, the costliest permutation.

    With t the sorted positions of a group of g: the sum over all i of ``abs(t_(g+1-i) - t_(i))``, which over the scale
    is the loss of a sort with Laplace noise; or with ``power=2`` the root of the sum of squares, which over the scale
    is the mu of a sort with Gaussian noise. Unit spacing and power 1 give the exact footrule sensitivity. What is
    returned is not below the exact value of these positions.

    Args:
        positions: n finite numbers, nondecreasing.
        groups: the ranks of each group, or `RankGroups`.
        power: 1 or 2.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> sort_spreads([0.0, 0.25, 0.5, 1.0], [[0, 1, 2], [2, 3]]).round(9).tolist()
        [1.0, 1.0]
    """
    at = _ascending(positions)
    validate.one_of((1, 2), power=power)
    members = RankGroups.of(groups, at.size)
    return _spreads(at, members, members.mirrors, power)[0]


def _spreads(at: Floats, members: RankGroups, mirrors: Integers, power: int) -> tuple[Floats, Floats]:
    """Spreads, rounded up, and the signed distance of each membership from its mirror."""
    there = at[members.ranks]
    distances = there - there[mirrors]
    sums = members.sums(np.abs(distances)) if power == 1 else np.sqrt(members.sums(distances**2))
    return sums * (1 + (np.diff(members.starts) + 8) * _ROUNDING), distances


def _ascending(positions: ArrayLike) -> Floats:
    at = checked_positions(positions)
    if (np.diff(at) < 0).any():
        raise InvalidParameterError("positions must be nondecreasing.")
    return at


def positions_of_gaps(gaps: ArrayLike) -> Floats:
    """Positions from 0 on, as running sums of gaps.

    An infinite gap (a cut between blocks) counts as 0.

    Gaps are rounded down to multiples of a power of 2, below 2^-51 of the last position, so that all sums are exact:
    no distance is larger than the sum of its gaps.

    Args:
        gaps: n - 1 numbers of 0 or more.

    Raises:
        InvalidParameterError: if a gap is negative or no number.

    Example:
        >>> positions_of_gaps([1.0, 2.0]).tolist()
        [0.0, 1.0, 3.0]
    """
    steps = np.asarray(gaps, dtype=np.float64)
    if steps.ndim != 1 or not (steps >= 0).all():
        raise InvalidParameterError("gaps must be numbers of 0 or more in one dimension.")
    steps = np.where(np.isinf(steps), 0.0, steps)
    grid = math.ldexp(1.0, max(math.frexp(math.fsum(steps))[1] - 52, -1022))
    return np.concatenate(([0.0], np.cumsum(np.floor(steps / grid) * grid)))


def uniform_gaps(num_items: int, sensitivity: float, budget: float) -> Floats:
    """Equal gaps of ``budget / sensitivity``; infinite gaps if the sensitivity is 0.

    Args:
        num_items: n, 1 or more.
        sensitivity: the largest spread that any group has at unit gaps, 0 or more.
        budget: what the spread may be in units of the scale, alpha or mu; 0 or more.

    Example:
        >>> uniform_gaps(3, 4, 2.0).round(9).tolist()
        [0.5, 0.5]
    """
    validate.integer_at_least(1, num_items=num_items)
    validate.nonnegative(sensitivity=sensitivity, budget=budget)
    gap = math.inf if sensitivity == 0 else budget / sensitivity * _ROUND_DOWN
    return np.full(int(num_items) - 1, gap)


def adaptive_gaps(
    num_items: int, first: ArrayLike, last: ArrayLike, sensitivities: ArrayLike, budget: float, *, cap: float = math.inf
) -> Floats:
    """Gap at each place: the smallest ``budget / sensitivity`` of the groups whose window spans it.

    No group's spread then exceeds the budget: inside its window all gaps are at most its own quotient. Each gap is
    rounded down by 2^-36 of itself, so that `sort_spreads` of their positions is at most the budget for groups of up to
    2^15 members.

    Args:
        num_items: n, 1 or more.
        first: the lowest rank of each group.
        last: its highest rank.
        sensitivities: its spread at unit gaps, 0 or more: the exact footrule sensitivity for Laplace noise, and for
            Gaussian noise the root of the sum over i of (r_(g+1-i) - r_(i))^2.
        budget: alpha, or mu; 0 or more.
        cap: what a gap is that no group spans. Infinity marks a cut; sort what lies on its sides apart.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> adaptive_gaps(4, [0, 2], [1, 3], [2, 4], 1.0).tolist()  # doctest: +ELLIPSIS
        [0.49999..., inf, 0.24999...]
    """
    validate.integer_at_least(1, num_items=num_items)
    validate.nonnegative(budget=budget, cap=cap)
    low, high = np.asarray(first, dtype=np.int64), np.asarray(last, dtype=np.int64)
    spread = np.asarray(sensitivities, dtype=np.float64)
    if not low.shape == high.shape == spread.shape or low.ndim != 1:
        raise InvalidParameterError("first, last and sensitivities must be arrays of one length.")
    if low.size and (low.min() < 0 or (high < low).any() or high.max() >= num_items or not (spread >= 0).all()):
        raise InvalidParameterError(f"windows must lie in 0 to {num_items - 1} and sensitivities be 0 or more.")
    wide = (high > low) & (spread > 0)
    limits = budget / spread[wide] * _ROUND_DOWN
    gaps = _least_over_windows(int(num_items) - 1, low[wide], high[wide], limits)
    return np.minimum(gaps, cap) if cap < math.inf else gaps


def _least_over_windows(size: int, starts: Integers, stops: Integers, limits: Floats) -> Floats:
    """Smallest limit for each place, over the windows [start, stop) that contain the place.

    A window is two overlapping ones whose length is a power of 2, and these are halved from the longest on.
    """
    levels = np.frexp((stops - starts).astype(np.float64))[1] - 1
    least = np.full(size, math.inf)
    for level in range(int(levels.max(initial=0)), -1, -1):
        here, length = levels == level, 1 << level
        np.minimum.at(least, starts[here], limits[here])
        np.minimum.at(least, stops[here] - length, limits[here])
        half = length // 2
        if half:
            halved = least.copy()
            halved[half:] = np.minimum(least[half:], least[:-half])
            least = halved
    return least


def refined_gaps(gaps: ArrayLike, groups: object, budget: float, *, power: int = 1, rounds: int = 200) -> Floats:
    """Gaps within the budget, with a product no smaller than the product of the given feasible gaps.

    Maximizing the sum of the logarithms of the gaps, no group's spread above the budget, is a convex program. At its
    solution each gap is 1 over the sum of (multiplier * derivative of the spread by the gap); multipliers of groups
    that are above (below) their budget are raised (lowered) until little changes, and the gaps are scaled by the exact
    largest spread at last, so that `sort_spreads` of their positions is at most the budget. Some gaps may be shortened.

    Args:
        gaps: n - 1 gaps, above 0; infinite ones (cuts) stay.
        groups: the ranks of each group, or `RankGroups`; none may span a cut.
        budget: alpha, or mu; above 0.
        power: 1 for Laplace noise, 2 for Gaussian.
        rounds: number of updates of the multipliers; more never make the result worse.

    Raises:
        InvalidParameterError: if an argument is out of range, or a group exceeds the budget at the given gaps.
    """
    best = np.array(gaps, dtype=np.float64)
    validate.positive(budget=budget)
    validate.one_of((1, 2), power=power)
    validate.integer_at_least(0, rounds=rounds)
    if best.ndim != 1 or not (best > 0).all():
        raise InvalidParameterError("gaps must be numbers above 0 in one dimension.")
    members = RankGroups.of(groups, best.size + 1)
    mirrors, inner = members.mirrors, np.isfinite(best)
    owners = np.repeat(np.arange(members.starts.size - 1), np.diff(members.starts))
    cuts = np.concatenate(([0], np.cumsum(~inner)))[members.ranks]
    if (cuts != cuts[mirrors]).any():
        raise InvalidParameterError("groups must not span an infinite gap.")
    spreads, distances = _spreads(positions_of_gaps(best), members, mirrors, power)
    if spreads.max(initial=0) > budget:
        raise invalid(f"at least the largest spread of a group, {spreads.max():.6g}", budget=budget)
    if not inner.any() or spreads.max(initial=0) == 0:
        return best
    multipliers = np.square(np.square(np.square(np.maximum(spreads / budget, _LEAST_RATIO))))
    current = best.copy()
    for _ in range(rounds):
        factors = multipliers if power == 1 else multipliers / np.where(spreads > 0, spreads, 1)
        slopes = 2 * (np.sign(distances) if power == 1 else distances) * factors[owners]
        prices = np.cumsum(np.bincount(members.ranks, slopes, best.size + 1)[::-1])[::-1][1:]
        current = np.where(inner & (prices > 0), 1 / np.where(prices > 0, prices, 1), current)
        spreads, distances = _spreads(positions_of_gaps(current), members, mirrors, power)
        if not spreads.max() > 0:  # gaps of so different sizes that the small ones are lost in the sums
            break
        feasible = current * np.where(inner, budget / spreads.max() * _ROUND_DOWN, 1)
        longer = np.log(feasible[inner] / best[inner]).sum() > _GAIN
        if longer and _spreads(positions_of_gaps(feasible), members, mirrors, power)[0].max() <= budget:
            best = feasible
        multipliers *= (spreads / budget) ** _DAMPING
    return best
