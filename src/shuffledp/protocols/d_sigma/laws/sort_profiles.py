"""Loss profiles of Laplace sorts: sums of losses of shifted Laplace laws, one for each group member.

A group whose positions are reversed moves its i-th member by d_i. The loss is that of Laplace noise (scale 1) against
the same noise shifted by d_i, independently for each i. It grows with each d_i, and at a fixed sum it grows the more
unequal they are (it is Schur-convex), so that shifts whose sums of the k largest are at least as large for every k
dominate.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.laws.loss_profiles import (
    ORDERS,
    ROUND_UP,
    LossProfile,
    from_spectrum,
    without_losses,
)

STEPS = 6000
_LOUD = 2.0  # shifts of more add little to the deviation
_MOST_PLACES = 1 << 21
_ROUNDED = 2.0**-52  # of sums of two numbers
_FINEST = 1e-14  # a finer grid of losses is lost in rounding
_NOTHING = 1e-20
_MIXED = 7  # laws are multiplied in an order in which frequencies vanish soon
_LEFT_OUT = math.log(1e-15)  # probability beyond either end of the grid
_UNDERFLOW = 1e-300  # no more than this is lost of a sum that is too small for a float
_TRIALS = np.geomspace(0.1, 30, 21)  # rates for Chernoff's bound, in inverse standard deviations


def laplace_profile(distances: ArrayLike, *, releases: int = 1, steps: int = STEPS) -> LossProfile:
    """Upper bound on the loss profile of a Laplace sort (noise of scale 1) on one group.

    Each shift is brought to a grid so that the k largest never add up to less, and the loss of a shift is replaced by
    the one with the chords of its profile: what is stated is an upper bound, and exact but for the grid. Losses too
    small for any grid are bounded by their largest sum alone.

    Args:
        distances: d_i = t_(g+1-i) - t_(i) for i = 1, ..., floor(g / 2), with the group's sorted positions t, 0 or more
            and in any order; each counts twice, for the two members that change places.
        releases: how many independent shuffles of the same group, 1 or more.
        steps: of the grid in a standard deviation of the loss, about; fewer are quicker, and the bound less tight.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> spacing = 4 / (96**2 / 2)  # 96 people at equal distances, of pure alpha 4
        >>> found = laplace_profile(spacing * np.arange(1, 96, 2))
        >>> round(found.pure, 6), round(found.alpha(1e-6), 3)
        (4.0, 2.021)
    """
    shifts = np.sort(np.asarray(distances, dtype=np.float64))[::-1]
    validate.integer_at_least(1, releases=releases, steps=steps)
    if shifts.ndim != 1 or not (np.isfinite(shifts) & (shifts >= 0)).all():
        raise InvalidParameterError("distances must be finite numbers of 0 or more in one dimension.")
    shifts = shifts[shifts > 0]
    pure = 2 * releases * math.fsum(shifts.tolist()) * (1 + 1e-12)
    divergences = releases * laplace_divergences(shifts)
    if shifts.size == 0:
        return LossProfile(np.zeros(0), np.zeros(0), 0.0, 0.0, np.zeros(ORDERS.size))
    step = math.sqrt(2 * releases * float((np.minimum(shifts, _LOUD) ** 2).sum())) / steps
    if step < _FINEST:  # of all pairs of laws with so small a largest loss, a coin that tells them apart is the worst
        return LossProfile(np.array([pure]), np.array([0.5 * math.exp(pure)]), _ROUNDED, pure, divergences)
    step = _aligned(step, float(shifts[-1]))
    if shifts[0] / step > _MOST_PLACES:
        return without_losses(pure, divergences)
    places, counts = np.unique(_on_grid(shifts, step), return_counts=True)
    kinds = zip(places.tolist(), counts.tolist(), strict=True)
    laws = [_ShiftLaw(place, step, 2 * releases * count) for place, count in kinds if place > 0]
    losses, chances, remainder = _sum_of(laws, step)
    above = losses > 0
    return LossProfile(losses[above], chances[above], remainder, pure, divergences)


def laplace_divergences(distances: Floats) -> Floats:
    """Renyi divergences of one release of a Laplace sort, one for each order in `ORDERS`.

    The arguments are those of `laplace_profile`.
    """
    orders = ORDERS[:, None]
    shifts, counts = np.unique(distances, return_counts=True)
    with np.errstate(over="ignore"):
        shrink = np.log1p((orders - 1) / (2 * orders - 1) * np.expm1(-(2 * orders - 1) * shifts))
    logs = (orders - 1) * shifts + shrink
    found: Floats = 2 * (np.maximum(logs, 0.0) @ counts) / (ORDERS - 1) * ROUND_UP
    return found


def dominating_distances(groups: Iterable[Floats]) -> Floats:
    """Distances whose loss profile bounds the profile of every group.

    For every k their k largest add up to no less than the k largest of any group.

    Args:
        groups: for each group its distances, as for `laplace_profile`, largest first.

    Example:
        >>> dominating_distances([np.array([1.0, 1.0]), np.array([1.5, 0.1])]).tolist()
        [1.5, 0.5]
    """
    sums = np.zeros(1)
    for distances in groups:
        added = np.concatenate(([0.0], np.cumsum(distances)))
        if added.size > sums.size:
            sums = np.concatenate((sums, np.full(added.size - sums.size, sums[-1])))
        sums[: added.size] = np.maximum(sums[: added.size], added)
        sums[added.size :] = np.maximum(sums[added.size :], added[-1])
    corners = _upper_hull(sums)
    return np.diff(np.interp(np.arange(sums.size), corners, sums[corners]))


def few_distances(distances: Floats, *, kinds: int = 24) -> tuple[Floats, Integers]:
    """Few distinct distances with their counts; their loss profile bounds the given distances' profile.

    Their sums lie on tangents to the sums of the given ones, which are concave: no sum of the k largest is less, and
    the sum of all is the same.

    Args:
        distances: largest first, as `dominating_distances` gives them.
        kinds: stretches of about equal distances that are joined; there are at most three times as many values.

    Example:
        >>> values, counts = few_distances(np.arange(1000.0, 0, -1), kinds=4)
        >>> values.size <= 12, int(counts.sum()), round(float(values @ counts), 6)
        (True, 1000, 500500.0)
    """
    values, counts = np.unique(distances[distances > 0], return_counts=True)
    if values.size <= 3 * kinds:
        return values[::-1], counts[::-1]
    rungs = np.linspace(distances[0], 0.0, kinds + 1)[1:-1]
    ends = np.unique([0, *np.searchsorted(-distances, -rungs), distances.size])
    parts = [_on_two_tangents(distances[start:end]) for start, end in pairwise(ends.tolist())]
    joined, counts = np.unique(np.concatenate(parts), return_counts=True)
    return joined[::-1], counts[::-1]


def _on_two_tangents(part: Floats) -> Floats:
    """Array with the size and sum of ``part``: its first and last value repeated, and at most one between."""
    first, last = float(part[0]), float(part[-1])
    if first == last:
        return part
    spare = math.fsum((part - last).tolist())
    whole = min(math.floor(spare / (first - last)), part.size - 1)
    found = np.full(part.size, last)
    found[:whole] = first
    found[whole] = last + max(spare - whole * (first - last), 0.0)
    return found


def _upper_hull(values: Floats) -> Integers:
    kept: list[int] = []
    for place, value in enumerate(values.tolist()):
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            if (values[last] - values[before]) * (place - before) > (value - values[before]) * (last - before):
                break
            kept.pop()
        kept.append(place)
    return np.array(kept)


def _aligned(step: float, least: float) -> float:
    """Grid step, at most ``step``, that divides ``least``; half of ``step`` if ``least`` is smaller."""
    return least / math.ceil(least / step) if least >= step else step / 2


def _on_grid(shifts: Floats, step: float) -> Integers:
    """Shifts in grid steps; each sum of the first k shifts is rounded up, by less than a step."""
    sums = np.ceil(np.cumsum(shifts) / step * (1 - 1e-12)).astype(np.int64)
    return np.diff(sums, prepend=0)


class _ShiftLaw(NamedTuple):
    """Laplace shifts by ``place`` steps: how many, and an upper bound on the loss law of each."""

    place: int
    step: float
    times: int

    @property
    def masses(self) -> Floats:
        """Probabilities of losses of -place, ..., place steps, from changes of slope of the profile's chords."""
        place, half = self.place, math.exp(self.step / 2)
        inner = np.arange(-place, place + 1)
        found: Floats = np.exp((inner - place) * self.step / 2) * ((half - 1) / (half + 1))
        found[-1] = half / (half + 1)
        found[0] = math.exp(-place * self.step) * half / (half + 1)
        return found

    def transform(self, frequencies: Integers, size: int) -> NDArray[np.complex128]:
        """Fourier transform of ``masses`` at these frequencies: a geometric sum and the two ends."""
        place, half = self.place, math.exp(self.step / 2)
        turn = np.exp(-2j * math.pi / size * (frequencies * place % size))
        ratio = half * np.exp(-2j * math.pi / size * frequencies)
        fall = math.exp(-place * self.step)
        inner = (turn - ratio * fall / turn) / (ratio - 1)
        found: NDArray[np.complex128] = (inner * (half - 1) + (turn + fall / turn) * half) / (half + 1)
        return found


def _sum_of(laws: list[_ShiftLaw], step: float) -> tuple[Floats, Floats, float]:
    """Law of the sum of all losses: possible sums, probabilities, and a bound on tails and rounding."""
    kinds = [(law, law.masses) for law in laws]
    first, last = _window(kinds)
    size = 1 << (last - first).bit_length()
    spectrum = _spectrum(laws, size)
    factors = sum(law.times for law in laws)
    chances, rounding = from_spectrum(spectrum, size, (first, last), factors)
    losses: Floats = np.arange(first, last + 1, dtype=np.float64) * (step * (1 + 1e-15))
    return losses, chances, rounding + 2 * math.exp(_LEFT_OUT)


def _spectrum(laws: list[_ShiftLaw], size: int) -> NDArray[np.complex128]:
    """Fourier transform of the law of the sum; 0 at frequencies where its product falls to 1e-20."""
    alive, found = np.arange(size // 2 + 1), np.ones(size // 2 + 1, dtype=np.complex128)
    for law in sorted(laws, key=lambda each: (each.place % _MIXED, -each.place)):
        found = found * _power(law.transform(alive, size), law.times)
        kept = np.abs(found) > _NOTHING
        alive, found = alive[kept], found[kept]
    whole = np.zeros(size // 2 + 1, dtype=np.complex128)
    whole[alive] = found
    return whole


def _power(values: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """Integer power by squaring, quicker than numpy's power for complex numbers."""
    found = values if times & 1 else np.ones_like(values)
    while times := times >> 1:
        values = values * values
        if times & 1:
            found = found * values
    return found


def _window(kinds: list[tuple[_ShiftLaw, Floats]]) -> tuple[int, int]:
    """First and last place of the sum of losses; each tail outside has probability below 1e-15 (Chernoff)."""
    whole = sum(law.place * law.times for law, _ in kinds)
    inner = [np.arange(-law.place, law.place + 1) for law, _ in kinds]
    means = [float(masses @ at) for (_, masses), at in zip(kinds, inner, strict=True)]
    variance = sum(
        law.times * float(masses @ (at - mean) ** 2)
        for (law, masses), at, mean in zip(kinds, inner, means, strict=True)
    )
    ends = []
    for sign in (-1, 1):
        far = float(whole)
        for rate in _TRIALS / math.sqrt(variance):
            log_moment = sum(law.times * _log_moment(sign * rate, law, masses) for law, masses in kinds)
            far = min(far, (log_moment - _LEFT_OUT) / rate)
        ends.append(sign * min(math.ceil(far), whole))
    return min(ends[0], -1), max(ends[1], 1)


def _log_moment(rate: float, law: _ShiftLaw, masses: Floats) -> float:
    powers = rate * np.arange(-law.place, law.place + 1)
    top = abs(rate) * law.place
    return top + math.log(max(float(masses @ np.exp(powers - top)), _UNDERFLOW))
