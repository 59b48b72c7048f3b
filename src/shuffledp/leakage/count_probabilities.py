"""Poisson and binomial probabilities with 14 digits up to billions of counts, and a rule for long sums over counts.

Loader's saddle-point form: the logarithm of a factorial, of which large numbers lose seven digits, never appears.

References:
    Catherine Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core.table import Floats, Integers

NEGLIGIBLE = 46.0  # nats: exp(-46) = 1e-20 of probability may be left out
_SERIES = 0.1
_TERMS = 10
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_TABLE = 16
_TINY = 1e-290
_NODES = 16

# Errors log(n!) minus Stirling's formula for small n, where the series is too short.
_SMALL = np.log(
    [1.0, *(math.factorial(n) * math.exp(n) / (n**n * math.sqrt(2 * math.pi * n)) for n in range(1, _TABLE))]
)


def _stirling(n: Floats) -> Floats:
    """Error of Stirling's formula, log(n!) - log(sqrt(2 pi n) (n / e)^n); 0 for n = 0."""
    large = np.maximum(n, _TABLE)
    series = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series / large**2 + coefficient
    out: Floats = np.where(n < _TABLE, _SMALL[np.minimum(n, _TABLE - 1).astype(np.int64)], series / large)
    return out


def _deviance(x: Floats, mean: ArrayLike) -> Floats:
    """Deviance x log(x / mean) + mean - x, without cancellation where x is near the mean; ``mean`` above 0."""
    mean = np.asarray(mean, dtype=np.float64)
    v = (x - mean) / (x + mean)
    series = np.zeros_like(v)
    for term in range(_TERMS, 0, -1):
        series = series * v**2 + 1 / (2 * term + 1)
    near = (x - mean) * v + 2 * x * v**3 * series
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(mean, _TINY)  # a smaller divisor could overflow
        far = np.where(x > 0, x * (np.log(np.where(x > 0, x, 1) / low) + np.log(low / mean)), 0.0) + mean - x
    out: Floats = np.where(np.abs(v) < _SERIES, near, far)
    return out


def poisson(counts: ArrayLike, mean: float) -> Floats:
    """Probabilities of these counts, 0 or more, under a Poisson law; ``mean`` above 0."""
    x = np.asarray(counts, dtype=np.float64)
    scale = np.where(x > 0, 2 * np.pi * x, 1.0)
    out: Floats = np.exp(-_stirling(x) - _deviance(x, mean)) / np.sqrt(scale)
    return out


def binomial(counts: ArrayLike, trials: ArrayLike, chance: float) -> Floats:
    """Probabilities of these counts, from 0 to ``trials``, under a binomial law."""
    x, n = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    if chance <= 0 or chance >= 1:
        certain: Floats = (x == (n if chance >= 1 else 0)).astype(np.float64)
        return certain
    y, least = n - x, np.nextafter(0.0, 1.0)  # replaces the mean 0 of no trials
    deviance = _deviance(x, np.maximum(n * chance, least)) + _deviance(y, np.maximum(n * (1 - chance), least))
    inner = (x > 0) & (y > 0)
    scale = np.where(inner, 2 * np.pi * x * y / np.maximum(n, 1), 1.0)
    out: Floats = np.exp(_stirling(n) - _stirling(x) - _stirling(y) - deviance) / np.sqrt(scale)
    return out


def window(trials: float, chance: float, *, nats: float = NEGLIGIBLE) -> tuple[int, int]:
    """Smallest and largest likely count of Bin(trials, chance).

    Beyond either lies a probability of at most exp(-nats).

    The same holds for the Poisson law of mean ``trials * chance`` (Bernstein), of which counts may exceed ``trials``.
    """
    mean = trials * chance
    reach = math.sqrt(2 * mean * nats)
    return max(0, math.floor(mean - reach)), math.ceil(mean + reach + nats)


def integer_quadrature(count: int, smoothness: float) -> tuple[Integers, Floats]:
    """Nodes and weights for a sum over 0, ..., count - 1 of a function that is smooth on blocks of a given length.

    Blocks have 16 rounded Chebyshev nodes, with weights that are exact for polynomials of degree 15 summed over the
    integers of the block. Blocks that are hardly longer are summed in full.
    """
    length = int(min(smoothness, count))
    if length < 2 * _NODES:
        return np.arange(count), np.ones(count)
    whole = count // length
    nodes, weights = _block_rule(length)
    starts = length * np.arange(whole)
    places = [(starts[:, None] + nodes).ravel(), np.arange(whole * length, count)]
    left = places[1].size
    if left >= 2 * _NODES:
        last_nodes, last_weights = _block_rule(left)
        places[1] = whole * length + last_nodes
    else:
        last_weights = np.ones(left)
    return np.concatenate(places), np.concatenate([np.tile(weights, whole), last_weights])


def _block_rule(length: int) -> tuple[Integers, Floats]:
    angles = (np.arange(_NODES) + 0.5) * np.pi / _NODES
    nodes = np.round((1 - np.cos(angles)) * (length - 1) / 2).astype(np.int64)
    polynomials = np.polynomial.chebyshev.chebvander(2 * np.arange(length) / (length - 1) - 1, _NODES - 1)
    weights: Floats = np.linalg.solve(polynomials[nodes].T, polynomials.sum(axis=0))
    return nodes, weights
