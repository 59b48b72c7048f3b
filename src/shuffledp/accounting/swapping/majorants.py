"""Majorant of the swap bound's function B(theta): a nonnegative sum of exponentials.

Its mean has a closed form. With m(theta) = sum_i c_i exp(q_i theta), m >= B(min(theta, T)) + D (theta - T)_+ is
certified cell by cell: m over exp(lam (1 - e) theta) is convex, hence above its tangent at the middle of a cell, which
is above F at both ends, and F is below its chord; beyond T the slope of m at T is enough. A linear programme chooses
the weights, and is not trusted: they are scaled up until the worst row is met.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.swapping.linear_programme import least_cost
from shuffledp.accounting.swapping.report_classes import ReportClass
from shuffledp.accounting.swapping.tilted_integrals import CellBounds, weighted
from shuffledp.core.table import Floats

_BETWEEN, _BEYOND, _SLOPES = (
    0.7,
    3.0,
    1.15,
)  # in roots of b: spacing of exponents, and reach beyond the largest slope; factor of that slope
_LATER = (1.15, 1.35, 1.6, 2.0)  # times the last exponent, where theta may exceed the truncation
_MOST_EXPONENTS = 60
_LARGEST_POWER = 600.0
_WORST_SLACK = 0.2
_SPARE = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Majorant:
    """Majorant as the sum of exp(log_weight_i + exponent_i theta) over i."""

    log_weights: Floats
    exponents: Floats

    def log_mean(self, log_moments: Floats) -> Floats:
        """Log of the majorant's mean, from the logs of E exp(exponent_i theta).

        Those have the shape (..., exponents).
        """
        powers = self.log_weights + log_moments
        top = powers.max(axis=-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(powers - top).sum(axis=-1)))


def majorant(
    reports: ReportClass, rate: float, cells: CellBounds, log_costs: Callable[[Floats], Floats]
) -> Majorant | None:
    """Certified majorant of nearly the least cost; None if none is found.

    Args:
        reports: report laws of the people who are not donors.
        rate: the tilt lam.
        cells: bounds on F, up to the truncation.
        log_costs: log of the cost of an exponential, by exponent.
    """
    base, truncation = rate * reports.mean, float(cells.edges[-1])
    steps = _steps(cells, is_truncated=reports.highest > truncation)
    exponents = base + steps
    logs = log_costs(exponents) - steps
    kept = logs < _LARGEST_POWER
    steps, exponents, logs = steps[kept], exponents[kept], logs[kept]
    rows = _cell_rows(cells, steps)
    if reports.highest > truncation:
        level = math.log(reports.excess) - base * truncation - cells.scale
        rows = np.vstack([rows, _times_exp(exponents, steps * (truncation - 1) - level)])
    if not np.isfinite(rows).all() or not len(steps):
        return None
    weights = least_cost(rows, np.exp(logs))
    if weights is None or not np.isfinite(weights).all():
        return None
    slack = float(weighted(rows, weights).min())
    if not slack >= _WORST_SLACK:
        return None
    weights = weights / min(slack, 1.0) * _SPARE
    used = weights > 0
    return Majorant(log_weights=cells.scale - steps[used] + np.log(weights[used]), exponents=exponents[used])


def _steps(cells: CellBounds, *, is_truncated: bool) -> Floats:
    """Exponents of the majorant, relative to the exponent of exp(lam m theta)."""
    slope = float(((cells.rights - cells.lefts) / np.diff(cells.edges)).max())
    root = math.sqrt(cells.steepness)
    last = _SLOPES * max(slope, 0.0) + _BEYOND * root
    found = np.arange(0.0, last, max(_BETWEEN * root, last / _MOST_EXPONENTS))
    return np.append(found, found[-1] * np.array(_LATER)) if is_truncated else found


def _cell_rows(cells: CellBounds, steps: Floats) -> Floats:
    """Rows of the linear program: values of the exponentials' tangents at both ends of each cell.

    In units of the bound to reach.
    """
    middles, halves = (cells.edges[1:] + cells.edges[:-1]) / 2, np.diff(cells.edges) / 2
    powers = np.outer(middles - 1, steps) + cells.scale
    turns = np.outer(halves, steps)
    lefts = _times_exp(1 - turns, powers - cells.lefts[:, np.newaxis])
    rights = _times_exp(1 + turns, powers - cells.rights[:, np.newaxis])
    return np.vstack([lefts, rights])


def _times_exp(factors: Floats, powers: Floats) -> Floats:
    """Product of each factor and exp(power), or less: powers are cut at a limit.

    So a row that is met holds without the limit too. Powers above the limit count as the limit. That makes less of a
    positive product but more of a negative one, which therefore is not a number: no majorant.
    """
    clipped = np.where((factors < 0) & (powers > _LARGEST_POWER), np.nan, np.minimum(powers, _LARGEST_POWER))
    return np.asarray(factors * np.exp(clipped))
