"""Quantile of the largest of several correlated normal errors (max |t|), for intervals that hold together."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, ndtr, ndtri

from shuffledp.core import validate
from shuffledp.core.estimates import normal_half_width
from shuffledp.core.table import Floats

_FEW, _POINTS, _MORE = 10, 1 << 12, 1 << 14  # directions of few errors, and of more: the coverage is off by about .001
_MOST_INDEPENDENT = 50  # errors; of more, the directions are too few, and the bound is hardly larger
_AT_ONCE = 1 << 21  # numbers in memory
_SMALLEST = 1e-12  # relative, of variances that are not rounding


def level_of_each(covariance: Floats, level: float) -> float:
    """Coverage of each of several intervals such that all of them hold together with probability ``level``.

    With errors that are jointly normal, it is that of the quantile of the largest of them, each in standard errors. It
    is never above what Bonferroni's inequality gives, which holds for any errors.

    Args:
        covariance: of the errors, shape (errors, errors); some may be 0.
        level: with which all hold, strictly between 0 and 1.

    Returns:
        The level of each interval: ``level`` of a single one, and up to 1 - (1 - ``level``) / errors.

    References:
        Hothorn, Bretz, Westfall 2008 (max |t|); Genz and Bretz 2009 (its quantile, by direction and distance).

    Example:
        >>> alike = np.full((3, 3), 1.0)  # one error, three times
        >>> round(level_of_each(alike, 0.95), 3), round(level_of_each(np.eye(3), 0.95), 3)
        (0.95, 0.983)
    """
    validate.open_probability(level=level)
    bonferroni = 1 - (1 - level) / max(len(covariance), 1)
    roots = _roots(covariance)
    if roots.shape[1] < 2:
        return level if len(roots) else bonferroni
    if roots.shape[1] > _MOST_INDEPENDENT:
        return bonferroni
    largest, half = _largest(roots), roots.shape[1] / 2

    def short_of(quantile: float) -> float:
        return float(gammainc(half, np.square(quantile / largest) / 2).mean()) - level

    least, most = normal_half_width(level), normal_half_width(bonferroni)
    if short_of(most) <= 0:
        return bonferroni
    return 1 - 2 * float(ndtr(-brentq(short_of, least, most, xtol=1e-4) if short_of(least) < 0 else -least))


def _roots(covariance: Floats) -> Floats:
    """Vectors of length 1 for the nonzero errors, with the errors' correlations as inner products."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _SMALLEST * max(float(values.max(initial=0.0)), np.finfo(np.float64).tiny)
    rows = vectors[:, kept] * np.sqrt(values[kept])
    lengths = np.linalg.norm(rows, axis=1)
    some = lengths > _SMALLEST * lengths.max(initial=0.0)
    return np.asarray(rows[some] / lengths[some, np.newaxis])


def _largest(roots: Floats) -> Floats:
    """Largest absolute error at distance 1 from 0, in each of evenly spread directions.

    The distance of an error from 0 is integrated out.
    """
    root = brentq(lambda each: each ** (roots.shape[1] + 1) - each - 1, 1.0, 2.0)
    steps = root ** -np.arange(1.0, roots.shape[1] + 1)
    points = _POINTS if roots.shape[1] <= _FEW else _MORE
    block, found = max(_AT_ONCE // max(roots.shape), 1), []
    for start in range(0, points, block):
        places = np.arange(start, min(start + block, points)) + 1
        normal = ndtri((0.5 + np.outer(places, steps)) % 1)
        found.append(np.abs(normal @ roots.T).max(axis=1) / np.linalg.norm(normal, axis=1))
    return np.concatenate(found)
