"""Poisson and binomial probabilities that keep 14 digits up to billions of counts, and windows that hold all the rest.

Loader's saddle-point form: the logarithm of a factorial, of which large numbers lose seven digits, never appears.

References:
    Catherine Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["NEGLIGIBLE", "binomial", "central_binomial", "poisson", "window"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEGLIGIBLE = 46.0  # nats: exp(-46) = 1e-20 of probability may be left out
_SERIES = 0.1
_TERMS = 10
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_TABLE = 16
_TINY = 1e-290


def _stirling_errors() -> Floats:
    """log(n!) minus Stirling's formula, for the n where the series is too short: downward from where it is not.

    One step is (n + 1/2) log(1 + 1/n) - 1, a series of positive terms.
    """
    error = float(sum(value * float(_TABLE) ** -(2 * place + 1) for place, value in enumerate(_STIRLING)))
    found = []
    for n in range(_TABLE - 1, 0, -1):
        error += sum((2.0 * n + 1) ** (-2 * term) / (2 * term + 1) for term in range(20, 0, -1))
        found.append(error)
    return np.array([0.0, *reversed(found)])


_SMALL = _stirling_errors()


def _stirling(n: Floats) -> Floats:
    """log(n!) - log(sqrt(2 pi n) (n / e)^n), 0 for n = 0."""
    large = np.maximum(n, _TABLE)
    series = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series / large**2 + coefficient
    out: Floats = np.where(n < _TABLE, _SMALL[np.minimum(n, _TABLE - 1).astype(np.int64)], series / large)
    return out


def _deviance(x: Floats, mean: ArrayLike) -> Floats:
    """The deviance x log(x / mean) + mean - x, without cancellation where x is near the mean; ``mean`` above 0."""
    mean = np.asarray(mean, dtype=np.float64)
    v = (x - mean) / (x + mean)
    series = np.zeros_like(v)
    for term in range(_TERMS, 0, -1):
        series = series * v**2 + 1 / (2 * term + 1)
    near = (x - mean) * v + 2 * x * v**3 * series
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(mean, _TINY)  # the quotient by less could overflow
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
    y, least = n - x, np.nextafter(0.0, 1.0)  # in place of means of 0, of no trials
    deviance = _deviance(x, np.maximum(n * chance, least)) + _deviance(y, np.maximum(n * (1 - chance), least))
    inner = (x > 0) & (y > 0)
    scale = np.where(inner, 2 * np.pi * x * y / np.maximum(n, 1), 1.0)
    out: Floats = np.exp(_stirling(n) - _stirling(x) - _stirling(y) - deviance) / np.sqrt(scale)
    return out


def central_binomial(half: int) -> float:
    """C(2m, m) / 4^m for m = ``half``, 0 or more."""
    if half == 0:
        return 1.0
    twice, once = _stirling(np.array([2.0 * half, float(half)]))
    return math.exp(twice - 2 * once) / math.sqrt(math.pi * half)


def window(trials: float, chance: float, *, nats: float = NEGLIGIBLE) -> tuple[int, int]:
    """The first and last count that matter: beyond either lies at most exp(-nats) of Bin(trials, chance).

    The same holds for the Poisson law of mean ``trials * chance`` (Bernstein), of which counts may exceed ``trials``.
    """
    mean = trials * chance
    reach = math.sqrt(2 * mean * nats)
    return max(0, math.floor(mean - reach)), math.ceil(mean + reach + nats)
