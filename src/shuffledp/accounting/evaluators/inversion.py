"""Bounds on the mean positive part of a sum of n independent copies of a discrete variable.

With G a variable and S the sum of n copies of it, what is wanted is D = E[S_+] / n: by Fourier inversion along a
vertical line, 1/(2 pi) int E[exp((l + iw) S)] / (l + iw)^2 dw for any l > 0, after adding to S an independent normal
variable T of a small variance v (docs/theorems.md, "How the sums are evaluated"):

* E[(S + T)_+] >= E[S_+]: an upper bound. With p the density of S + T at 0, E[S_+] >= E[(S + T)_+] - v p: a lower one.
* On a grid of frequencies of step 2 pi / L the integral is a sum that counts S + T + jL too, j = +-1, +-2, ..., all of
  them positive (Poisson): the upper bound still holds, and the lower one subtracts their bound by Chernoff.

The chance that all copies are 0 adds nothing to E[S_+], and would add to E[(S + T)_+]: it is taken out, in closed form.
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.numerics import SMALLEST, exp
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_CUT = 30.0  # log of the factor by which the normal variable damps the last frequency
_FEWEST_TERMS = 1 << 8
_MOST_TERMS = 1 << 17  # frequencies: 20 MB
_MOST_PRODUCTS = 1 << 28  # frequencies times atoms, for one sum
_ALIASING = 1e-8  # relative error by copies of the sum, which sets their distance
_NOISE = 0.01  # first standard deviation of the normal variable, in units of 1 / tilt: mostly enough for 1e-4
_MOST_NOISE = 0.2  # first standard deviation where a rough value is enough
_APPROACH = 0.9  # if a pass leaves more than this share of the sides' distance, another one is not worth its time
_LARGEST_TILT = 600.0
_LEAST_STILL = 0.01
_ROUNDED_UP = 1.01  # a bound that need not be sharp, and may have lost digits in an n-th power
_FLOOR = math.log(SMALLEST)
_CHERNOFF = np.geomspace(0.25, 64.0, 17)


@dataclass(frozen=True, slots=True)
class _Tilted:
    """Discrete variable tilted by exp(tilt * value), and the sum of n independent copies of it.

    ``masses`` are the probabilities of ``values``, none of them 0, before tilting, and ``weights`` after it;
    ``log_growth`` is n log E[exp(l G)], ``unit`` the relative error of a sum over the atoms, ``still`` the chance after
    tilting that all copies are 0, where it is taken out, and ``moment`` the mean absolute value, with errors of values
    in units.
    """

    values: Floats
    masses: Floats
    users: int
    tilt: float
    log_growth: float
    weights: Floats
    unit: float
    still: float
    moment: float

    @property
    def deviation(self) -> float:
        """Standard deviation of the tilted sum."""
        mean, square = float(self.weights @ self.values), float(self.weights @ self.values**2)
        return math.sqrt(self.users * max(square - mean**2, 0.0))


def mean_positive_part(
    values: Floats, masses: Floats, users: int, *, errors: Floats | None = None, tolerance: float = 1e-4
) -> tuple[float, float]:
    """Lower and upper bound on E[(G_1 + ... + G_n)_+] / n; the lower bound is 0 or more.

    ``masses`` are the probabilities of the values of G; what is missing to 1 is on the value 0. Each value may be wrong
    by ``errors``, or by rounding in the last place. An infinite tolerance asks for one pass, which mostly gives 1e-4.

    Guarantees:
        1. The truth for the values and masses lies between the two, with what floating point can do included.
        2. They differ by at most ``tolerance`` of the upper one, unless rounding keeps them apart, or that would take
           more than 2^17 frequencies.
        3. Time and memory do not depend on ``users``.
    """
    used = (masses > 0) & (values != 0)
    errors = np.zeros(len(values)) if errors is None else errors
    if not (values[used] > 0).any():
        return 0.0, 0.0
    tilted = _tilted(values[used], masses[used], users, errors[used])
    # The error is proportional to the variance of the normal variable.
    noise = _NOISE if math.isinf(tolerance) else min(_NOISE * max(math.sqrt(tolerance / 1e-4), 1.0), _MOST_NOISE)
    least, most = 0.0, math.inf
    while True:
        apart = most - least
        lower, upper, terms = _bracket(tilted, noise / tilted.tilt)
        least, most = max(least, lower), min(most, upper)
        larger = max(terms, _FEWEST_TERMS) * 3
        too_large = larger > _MOST_TERMS or larger * len(tilted.values) > _MOST_PRODUCTS
        # Where rounding keeps the sides apart, less noise does not bring them together.
        if most - least <= tolerance * most or too_large or most - least > _APPROACH * apart:
            return least, max(most, SMALLEST)
        noise /= 3


def _tilted(values: Floats, masses: Floats, users: int, errors: Floats) -> _Tilted:
    """Variable tilted to the saddle point of the integrand on the real line.

    The tilt l is near the saddle of log E[exp(l S); not all 0] - 2 log l, where the integrand is least for real l. Any
    tilt would do; a close one keeps terms of the sum from cancelling. So bisection stops early.
    """
    largest, zero = float(values.max()), 1 - float(masses.sum())
    if zero < _LEAST_STILL:  # too few digits to use, and too small to matter
        zero = 0.0
    low, high = -40.0, math.log(_LARGEST_TILT)  # range of log(tilt * largest)
    for _ in range(26):
        middle = (low + high) / 2
        tilt = math.exp(middle) / largest
        total = 1 + float(masses @ np.expm1(tilt * values))
        slope = users * tilt * float((masses * np.exp(tilt * values)) @ values) / total
        low, high = (low, middle) if slope > 2 * (1 - (zero / total) ** users) else (middle, high)
    tilt = math.exp((low + high) / 2) / largest
    growth = float(masses @ np.expm1(tilt * values))
    weights = masses * np.exp(tilt * values) / (1 + growth)
    unit = 4 * (8 + len(values)) * _ROUNDING
    return _Tilted(
        values=values,
        masses=masses,
        users=users,
        tilt=tilt,
        log_growth=users * math.log1p(growth),
        weights=weights,
        unit=unit,
        still=(zero / (1 + growth)) ** users,
        moment=float(weights @ (np.abs(values) + errors / unit)),
    )


def _bracket(tilted: _Tilted, noise: float) -> tuple[float, float, int]:
    """Lower and upper bound on the mean positive part, and the number of frequencies used.

    A normal variable of standard deviation ``noise`` is added.
    """
    variance = noise**2
    period, aliasing = _period(tilted, variance)
    last = math.sqrt(2 * _CUT) / noise
    terms = min(max(math.ceil(last * period / (2 * math.pi)), _FEWEST_TERMS), _MOST_TERMS)
    step = 2 * math.pi / period
    frequencies: Floats = step * np.arange(terms + 1, dtype=np.float64)
    modulus, phase, error = _characteristic(tilted, frequencies, step)
    modulus *= np.exp(-variance * frequencies**2 / 2)
    error *= np.exp(-variance * frequencies**2 / 2)
    phase += variance * tilted.tilt * frequencies
    error += tilted.unit * (tilted.users + 8) * tilted.still
    weight = np.full(terms + 1, 2 / period)
    weight[0] = 1 / period
    kernel = weight / (tilted.tilt**2 + frequencies**2)
    angle = 2 * np.arctan2(frequencies, tilted.tilt)
    still = tilted.still * np.exp(-variance * frequencies**2 / 2)  # its phase is that of T alone
    shift = variance * tilted.tilt * frequencies
    positive = float((kernel * modulus) @ np.cos(phase - angle) - (kernel * still) @ np.cos(shift - angle))
    density = float((weight * modulus) @ np.cos(phase) - (weight * still) @ np.cos(shift))
    # Beyond the last frequency |integrand| <= exp(-v w^2 / 2) / w^2, and without the square for the density.
    end = float(frequencies[-1])
    cut = math.exp(-variance * end**2 / 2) / math.pi
    summation = 8 * _ROUNDING * math.log2(terms) * float(kernel @ modulus)
    spread = float(kernel @ error) + summation + cut / end
    density += (
        float(weight @ error) + 8 * _ROUNDING * math.log2(terms) * float(weight @ modulus) + cut / (end * variance)
    )
    # Bound on the error of n log E[exp(l G)], which includes last-place rounding of values and masses.
    terms_size = tilted.masses @ np.abs(np.expm1(tilted.tilt * tilted.values)) + tilted.tilt * tilted.moment
    guard = float(tilted.unit * (tilted.users * terms_size + abs(tilted.log_growth) + 8))
    log_scale = tilted.log_growth + variance * tilted.tilt**2 / 2 - math.log(tilted.users)
    if log_scale + guard + math.log(abs(positive) + spread + SMALLEST) < _FLOOR:
        return 0.0, SMALLEST, terms
    upper = exp(log_scale + guard + math.log(abs(positive) + spread))
    left = positive - spread - aliasing - variance * density
    lower = exp(log_scale - guard + math.log(left)) if left > 0 else 0.0
    return lower, upper, terms


def _characteristic(tilted: _Tilted, frequencies: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Modulus and phase of the characteristic function of the tilted sum, and a bound on the error.

    Less 1, it is the sum of weight * (exp(iwg) - 1) over the atoms, so that what is raised to the n-th power has lost
    no digits near w = 0. Past the first block of frequencies, exp(iwg) is a product of two entries of tables and the
    sum a product of matrices; then its error is of the order of a rounding unit, times n.
    """
    values, weights, users = tilted.values, tilted.weights, tilted.users
    count = len(frequencies)
    block = math.isqrt(count - 1) + 1
    near = np.outer(frequencies[:block], values)
    real = np.empty(block * block)
    imaginary = np.empty(block * block)
    real[:block], imaginary[:block] = -2 * np.sin(near / 2) ** 2 @ weights, np.sin(near) @ weights
    fine, coarse = np.exp(1j * near), np.exp(1j * np.outer(step * block * np.arange(1, block), values))
    far = (coarse * weights) @ fine.T - weights.sum()
    real[block:], imaginary[block:] = far.real.ravel(), far.imag.ravel()
    real, imaginary = real[:count], imaginary[:count]
    log_modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1 + _ROUNDING)) * (users / 2)
    phase = users * np.arctan2(imaginary, 1 + real)
    modulus = np.exp(np.minimum(log_modulus, 0.0))
    grown = frequencies * tilted.moment
    grown[block:] += weights.sum()
    error = tilted.unit * (users * grown + 8) * modulus
    # Where 1 + (real, imaginary) is near 0, errors are not relative any more: n |z|^(n-1) |dz|, with |z| <= 1/2.
    error[(1 + real) ** 2 + imaginary**2 < 0.25] += tilted.unit * (1 + grown[-1])
    return modulus, phase, error


def _period(tilted: _Tilted, variance: float) -> tuple[float, float]:
    """Period of the numerical inversion, and a bound on its aliasing error.

    The error is at most about `_ALIASING` of the value.
    """
    spread = math.hypot(tilted.deviation, math.sqrt(2) / tilted.tilt)
    size = 1 / (tilted.tilt**2 * spread * math.sqrt(2 * math.pi))
    period = 4 * max(spread, 4 / tilted.tilt)
    aliasing = _aliasing(tilted, variance, period, spread)
    for _ in range(40):
        if aliasing <= _ALIASING * size:
            break
        period *= 1.25
        aliasing = _aliasing(tilted, variance, period, spread)
    return period, aliasing


def _aliasing(tilted: _Tilted, variance: float, period: float, spread: float) -> float:
    """Bound on the aliasing error of an inversion with period L.

    It bounds the sum over j != 0 of E[f(S + T + jL)] for the tilted S + T, where f(s) = s_+ exp(-l s) <= 1 / (e l). For
    j > 0, S + T is above -jL/2, and then f <= jL/2 exp(-l jL/2), since jL/2 >= 1/l; or it is below, with a chance of at
    most E[exp(-h (S + T))] exp(-h jL/2). For j < 0, it must be above |j| L. Sums over j are geometric.
    """
    tilt, half = tilted.tilt, period / 2
    decay = math.exp(-tilt * half)
    inside = half * decay / (1 - decay) ** 2
    slopes = _CHERNOFF / spread
    below = _chernoff(tilted, variance, -slopes, half)
    above = _chernoff(tilted, variance, slopes, period)
    return inside + (below + above) / (math.e * tilt)


def _chernoff(tilted: _Tilted, variance: float, slopes: Floats, distance: float) -> float:
    """Sum of Chernoff bounds on the chances that the tilted S + T is beyond 1, 2, ... distances.

    Above 0 for slopes above 0, below 0 for slopes below 0.
    """
    before = np.exp(tilted.tilt * tilted.values)
    with np.errstate(over="ignore"):  # an infinite growth gives a trivial bound, which is harmless
        after = np.exp(np.outer(tilted.tilt + slopes, tilted.values))
        growth = (after - before) @ tilted.masses / (1 + tilted.masses @ (before - 1))
    shift = variance * (tilted.tilt * slopes + slopes**2 / 2)
    growth = np.maximum(growth, _ROUNDING - 1)  # where the rest is below the smallest float
    powers = tilted.users * np.log1p(growth) + shift - np.abs(slopes) * distance
    bounds = np.exp(np.minimum(powers, 0.0)) / -np.expm1(-np.abs(slopes) * distance)
    return _ROUNDED_UP * float(bounds.min())
