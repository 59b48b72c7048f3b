"""Upper bounds on the integral F(theta) of the swap bound, over cells of theta.

They hold at both ends of a cell, and so do the chords between.

With M(s) = E exp(s g), sigma = lam theta / J, and k(y) = exp(c^2 (1 - y^2) / 2) / (1 + y^2),

    F(theta) = 1/(pi lam) int_0^inf |M(sigma (1 + iy))|^J k(y) dy.

The integral has four parts, each bounded by a function that is convex in theta on a cell (docs/proofs.md,
"Swap bound", L1 to L4): up to y_c by chords in y^2; up to y_1 by its left end; up to y_2, where |M| <= 1 is known, by
the variance; and the tail by M(sigma). The worst law of a class is taken at each point. Double precision with an error
budget, not interval arithmetic: differences are formed without cancellation, and J log |M| is good to 1e-9.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shuffledp.accounting.swapping.report_classes import ReportClass
from shuffledp.core.table import Floats

_STEP, _COARSER = 0.12, 2.5  # step of theta in log F; factor outside the likely part
_MOST_NODES = 2000
_NEAR_CELLS, _NEAR_REACH, _MIDDLE_CELLS = 56, 7.0, 130
_LARGEST_SPREAD, _LARGEST_NEED = 1.2, 1.98
_TAYLOR = 1e-3
_LEAST_STEEPNESS = 1e-6
_FRACTIONS = (1.0, 0.95, 0.9, 0.84, 0.77, 0.68, 0.56, 0.4, 0.0)  # borders of classes, as shares of the largest variance


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilt:
    """Choices of one bound: tilt lam, smoothing c, and number J of people who are not donors.

    lam and c are free choices.
    """

    rate: float
    smoothing: float
    people: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellBounds:
    """Upper bounds on log F at both ends of each cell of theta.

    F lies below the chord between them. Cell i leads from ``edges[i]`` to ``edges[i + 1]``.

    ``scale`` is log F near theta = 1, and ``steepness`` the b of exp(b theta^2 / 2), the approximate shape of F.
    """

    edges: Floats
    lefts: Floats
    rights: Floats
    scale: float
    steepness: float


def cell_bounds(
    reports: ReportClass, tilt: Tilt, *, deviation: float, truncation: float, cut: bool
) -> CellBounds | None:
    """Bounds on F in cells up to the truncation; None if steps are too large or cells too many.

    Args:
        reports: report laws of the people who are not donors.
        tilt: the free choices.
        deviation: approximate standard deviation of theta.
        truncation: largest theta.
        cut: whether to bound laws of a small variance apart: worth it for many people.
    """
    rate, people, spread = tilt.rate, tilt.people, reports.range
    steepness = max(rate**2 * reports.variance / people, _LEAST_STEEPNESS)
    last = max(min(truncation, _LARGEST_SPREAD * people / (rate * spread)), 1.0)
    sigma = rate * last / people
    if _need(sigma * spread) >= _LARGEST_NEED or sigma * reports.size > math.pi / 2:
        return None
    edges = _nodes(reports.lowest, last, truncation, steepness, deviation)
    if edges is None:
        return None
    inside = int(np.searchsorted(edges, last))
    regions = _regions(sigma, reports)
    lefts, rights = _inside(reports, tilt, regions, edges[: inside + 1], cut=cut)
    if inside < len(edges) - 1:
        growths = people * _log_growth(reports, rate * edges[inside:] / people)
        beyond = growths + tilt.smoothing**2 / 2 + math.log(math.pi / 2)
        lefts, rights = np.append(lefts, beyond[:-1]), np.append(rights, beyond[1:])
    lefts, rights = (each - math.log(math.pi * rate) for each in (lefts, rights))
    if not (np.isfinite(lefts).all() and np.isfinite(rights).all()):
        return None
    middle = max(int(np.searchsorted(edges, 1.0)) - 1, 0)
    return CellBounds(edges=edges, lefts=lefts, rights=rights, scale=float(rights[middle]), steepness=steepness)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Regions:
    """Borders y_c, y_1 and y_2 of the four parts of the integral, for the largest sigma.

    With X = sigma range there, and need(X).
    """

    near: float
    start: float
    end: float
    spread: float
    need: float


def _regions(sigma: float, reports: ReportClass) -> _Regions:
    spread = sigma * reports.range
    need = _need(spread)
    turn = 2 * math.asin(math.sqrt(need / 2))
    highest, lowest = sigma * float(reports.values.max()), -sigma * float(reports.values.min())
    low, high = 0.0, 1.0
    for _ in range(60):
        near = (low + high) / 2
        convex = near * highest + 2 * math.atan(near) <= math.pi / 2 and near * lowest <= math.pi / 2
        low, high = (near, high) if convex else (low, near)
    return _Regions(near=low, start=turn / spread, end=(2 * math.pi - turn) / spread, spread=spread, need=need)


def _need(spread: float) -> float:
    """Function need(X) = e^X (X - 1) + 1, by its series.

    The closed form cancels.
    """
    total, term = 0.0, spread * spread / 2  # X^(j+2) / (j+2)!
    for place in range(200):
        total += term * (place + 1)
        term *= spread / (place + 3)
        if term * (place + 2) < 1e-18 * total:
            break
    return total * (1 + 1e-13)


def _nodes(lowest: float, last: float, truncation: float, steepness: float, deviation: float) -> Floats | None:
    """Edges of cells, among them ``last`` and the truncation; None if there are too many."""
    found, theta, root = [lowest], lowest, math.sqrt(steepness)
    for end in (last, truncation):
        while theta < end:
            step = _STEP / max(root, steepness * theta)
            if end == last and abs(theta - 1) > 4 * deviation:
                step *= _COARSER
            theta = min(theta + step, end)
            if end - theta < 0.2 * step:
                theta = end
            found.append(theta)
            if len(found) > _MOST_NODES:
                return None
    return np.array(found)


def exp_excess(power: Floats) -> Floats:
    """Exponential excess e^x - 1 - x."""
    series = power**2 / 2 * (1 + power / 3 * (1 + power / 4 * (1 + power / 5)))
    with np.errstate(over="ignore"):
        return np.asarray(np.where(np.abs(power) < _TAYLOR, series, np.expm1(power) - power))


def weighted(rows: Floats, weights: Floats) -> Floats:
    """Sums of values times weights, for each row of values and each row of weights.

    Weights have the shape (values,), or (rows, values). In one thread: the threads of a linear algebra library would
    wait for each other for longer than these sums take.
    """
    return np.asarray(np.einsum("...i,ji->...j" if weights.ndim > 1 else "...i,i->...", rows, weights))


def _log_growth(reports: ReportClass, sigma: Floats) -> Floats:
    """Log of the largest M(sigma) over the class of laws."""
    return np.asarray(np.log1p((reports.masses @ exp_excess(np.outer(reports.values, sigma))).max(axis=0)))


def _log_modulus(reports: ReportClass, sigma: Floats, turns: Floats) -> Floats:
    """Log of a bound on |M(sigma (1 + iy))| for y up to y_c, over the class of laws.

    The shape is (sigmas, turns). Re M - 1 and Im M are means of convex functions of g, 0 or more: the largest of the
    extreme laws bounds each.
    """
    powers = np.multiply.outer(reports.values, sigma)[..., np.newaxis]
    angles = powers * turns
    halves, sines = np.sin(angles / 2), np.sin(angles)
    cubes = np.where(
        np.abs(angles) < _TAYLOR, -(angles**3) / 6 * (1 - angles**2 / 20 * (1 - angles**2 / 42)), sines - angles
    )
    real = exp_excess(powers) - 2 * np.exp(powers) * halves**2
    imaginary = np.expm1(powers) * sines + cubes
    shape = (len(reports.values), -1)
    worst, turned = (
        weighted(reports.masses, part.reshape(shape).T).max(axis=0).reshape(len(sigma), len(turns))
        for part in (real, imaginary)
    )
    return np.asarray(np.log1p(2 * worst + worst**2 + turned**2) / 2)


def _inside(reports: ReportClass, tilt: Tilt, regions: _Regions, edges: Floats, *, cut: bool) -> tuple[Floats, Floats]:
    """Log of the integral at both ends of cells, where sigma times the range of g is small."""
    sigma, square = tilt.rate * edges / tilt.people, tilt.smoothing**2
    root = math.sqrt(max(tilt.rate**2 * reports.variance / tilt.people, _LEAST_STEEPNESS))
    turns = np.unique(np.append(np.linspace(0, min(regions.near, _NEAR_REACH / root), _NEAR_CELLS + 1), regions.near))
    logs = tilt.people * _log_modulus(reports, sigma, turns)
    near = weighted(np.exp(logs - logs[:, :1]), _chord_weights(turns, square))
    rest = math.exp(square * (1 - turns[-1] ** 2) / 2) * _arc(regions.near, regions.start)
    near += np.exp(logs[:, -1] - logs[:, 0]) * rest
    far = tilt.people * _log_growth(reports, sigma) + math.log(_tail(regions.end, tilt.smoothing))
    smooth = np.logaddexp(logs[:, 0] + np.log(near), far)
    middle = _middle(reports, tilt, regions, sigma[:-1], reports.variance if reports.is_one else 0.0)
    lefts, rights = np.logaddexp(smooth[:-1], middle), np.logaddexp(smooth[1:], middle)
    if reports.is_one or not cut:
        return lefts, rights
    large = _middle(reports, tilt, regions, sigma[:-1], _FRACTIONS[1] * reports.variance)
    small = _small_laws(reports, tilt, regions, edges)
    others = (
        np.maximum(np.logaddexp(smooth[:-1], large), small[0]),
        np.maximum(np.logaddexp(smooth[1:], large), small[1]),
    )
    better = others[0] + others[1] < lefts + rights  # both chords hold on each cell
    return np.where(better, others[0], lefts), np.where(better, others[1], rights)


def _chord_weights(turns: Floats, square: float) -> Floats:
    """Weights of nodes in the integral of the kernel k(y), for chords in y^2."""
    left, right = turns[:-1], turns[1:]
    arcs = np.arctan((right - left) / (1 + left * right))
    later = np.clip(((right - left) - (1 + left**2) * arcs) / (right**2 - left**2), 0.0, arcs)
    factors = np.exp(square * (1 - left**2) / 2)
    weights = np.zeros(len(turns))
    weights[:-1] += factors * (arcs - later)
    weights[1:] += factors * later
    return np.asarray(weights * (1 + 1e-12))


def _arc(start: float, end: float) -> float:
    """Difference arctan(end) - arctan(start)."""
    return math.atan((end - start) / (1 + start * end))


def _tail(end: float, smoothing: float) -> float:
    """Bound on the integral of the kernel k(y) from ``end`` to infinity."""
    gauss = math.sqrt(math.pi / 2) * math.erfc(smoothing * end / math.sqrt(2)) / smoothing
    return math.exp(smoothing**2 / 2) / (1 + end**2) * gauss + 1e-300


def _middle(reports: ReportClass, tilt: Tilt, regions: _Regions, sigma: Floats, least: float) -> Floats:
    """Log of the integral from y_1 to y_2 for each cell.

    For laws of at least this variance, and each sigma or more.
    """
    turns = np.geomspace(regions.start, regions.end, _MIDDLE_CELLS + 1)
    left, right = turns[:-1], turns[1:]
    spread = reports.range
    first, last = 2 * np.sin(np.outer(sigma * spread, left) / 2) ** 2, 2 * np.sin(regions.spread * right / 2) ** 2
    away = np.maximum(np.minimum(first, last) - regions.need, 0.0)
    decay = tilt.people * least * math.exp(-regions.spread) / spread**2
    arcs = np.arctan((right - left) / (1 + left * right)) * np.exp(tilt.smoothing**2 * (1 - left**2) / 2)
    return np.asarray(np.log(weighted(np.exp(-decay * away), arcs) + 1e-300))


def _small_laws(reports: ReportClass, tilt: Tilt, regions: _Regions, edges: Floats) -> tuple[Floats, Floats]:
    """Log of the integral at both ends of cells, for laws of small variance only.

    Small is below 0.95 of the largest variance. By the variance alone: need(X) - 1 + cos(Xy) is convex in y^2, and for
    y <= 1 in theta.
    """
    sigma = tilt.rate * edges / tilt.people
    root = math.sqrt(max(tilt.rate**2 * reports.variance / tilt.people, _LEAST_STEEPNESS))
    turns = np.unique(np.append(np.linspace(0, min(1.0, _NEAR_REACH / root), _NEAR_CELLS + 1), 1.0))
    weights = _chord_weights(turns, tilt.smoothing**2)
    weights[-1] += _arc(1.0, regions.start)
    spread = sigma * reports.range
    needs = np.array([_need(float(each)) for each in spread])
    above = np.maximum(needs[:, np.newaxis] - 2 * np.sin(np.outer(spread, turns) / 2) ** 2, 0.0)
    growing = tilt.people / reports.range**2 * reports.variance * np.exp(spread)[:, np.newaxis] * above
    far = tilt.people * _log_growth(reports, sigma) + math.log(_tail(regions.end, tilt.smoothing))
    lefts, rights = far[:-1], far[1:]
    for most, least in pairwise(_FRACTIONS[1:]):
        powers = most * growing
        near = powers[:, 0] + np.log(weighted(np.exp(powers - powers[:, :1]), weights))
        smooth = np.logaddexp(near, far)
        middle = _middle(reports, tilt, regions, sigma[:-1], least * reports.variance)
        lefts = np.maximum(lefts, np.logaddexp(smooth[:-1], middle))
        rights = np.maximum(rights, np.logaddexp(smooth[1:], middle))
    return lefts, rights
