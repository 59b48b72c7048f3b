"""Upper bound on the mean positive part of a weighted sum of copies of a discrete variable.

The copies are independent. With G a variable, w_1, w_2, ... weights and S = shift + the sum of w_i G_i, what is wanted
is E[S_+]. It is inverted as in `shuffledp.accounting.evaluators.inversion`, for equal weights and from both sides: a
small normal variable and a grid of frequencies can only raise the result. What floating point can do is added, too. The
chance that all G_i are 0 is taken out, and put back in closed form.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.accounting.numerics import SMALLEST, exp
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_CUT = 30.0  # log of the factor by which the normal variable damps the last frequency
_NOISE = 0.01  # standard deviation of the normal variable, in units of 1 / tilt
_PERIOD = (18.0, 45.0)  # standard deviations, and units of 1 / tilt: the rest is below 1e-10
_MOST_TERMS = 1 << 18
_CHUNK = 1 << 20  # frequencies times atoms at once: 16 MB
_LARGEST_TILT = 600.0
_LEAST_STILL = 0.01
_NEGLIGIBLE = 45.0  # minus the logarithm of a modulus below which a frequency needs no further factor


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedSum:
    """Weighted sum S of independent copies of a discrete variable G, plus a shift.

    For each class it has the weight times ``counts`` copies. ``values`` of G have probabilities ``masses``, which sum
    to at most 1 (the rest is on 0), and may be wrong by ``errors``; ``weights`` are above 0, and the ``shift`` is from
    above.
    """

    values: Floats
    masses: Floats
    weights: Floats
    counts: Floats
    shift: float
    errors: Floats

    def positive_part(self) -> float:
        """Upper bound on E[S_+], in a time that does not depend on the counts.

        Where the values are those of a blanket bound at an epsilon between 0 and epsilon0, and the shift is that of
        weights which add up to 1, mostly within 1e-3 of the truth, relative. Elsewhere it may be far above the truth.
        """
        if not (self.values[self.masses > 0] > 0).any():
            return max(self.shift, 0.0) + SMALLEST
        tilt, noise = self.tilt, _NOISE / self.tilt
        period = _PERIOD[0] * self._deviation + _PERIOD[1] / tilt
        terms = min(math.ceil(math.sqrt(2 * _CUT) / noise * period / (2 * math.pi)), _MOST_TERMS)
        frequencies = 2 * math.pi / period * np.arange(terms + 1, dtype=np.float64)
        damping = np.exp(-((noise * frequencies) ** 2) / 2)
        modulus, phase, error = self._characteristic(frequencies)
        turned = frequencies * (self.shift + noise**2 * tilt) - 2 * np.arctan2(frequencies, tilt)
        kernel = np.full(terms + 1, 2 / period) * damping / (tilt**2 + frequencies**2)
        kernel[0] /= 2
        wave = modulus * np.cos(phase + turned) - self._still * np.cos(turned)
        size = float(kernel @ (modulus + self._still))
        cut = math.exp(-((noise * frequencies[-1]) ** 2) / 2) / math.pi / float(frequencies[-1])
        spread = float(kernel @ error) + (8 * math.log2(terms) + 64) * _ROUNDING * size + cut
        found = max(float(kernel @ wave), 0.0) + spread
        log_scale = self._log_growth + tilt * self.shift + (noise * tilt) ** 2 / 2
        guard = self._unit * (self._log_error + abs(log_scale) + 8)
        all_zero = math.exp(min(self._log_zeros + self._unit * (float(self.counts.sum()) + 8), 0.0))
        inverted = exp(log_scale + guard + math.log(found)) + max(self.shift, 0.0) * all_zero
        # The sum of the positive parts of the shift and of all copies: (a + b)_+ <= a_+ + b_+.
        part = float(self.masses @ (np.maximum(self.values, 0.0) + self.errors))
        of_parts = (max(self.shift, 0.0) + float(self.counts @ self.weights) * part) * (1 + 1e-12)
        return min(inverted, of_parts) + SMALLEST

    @cached_property
    def tilt(self) -> float:
        """Tilt near the minimum of the integrand on the real line."""
        largest = float((self.values * self.weights.max()).max())
        low, high = -40.0, math.log(_LARGEST_TILT)
        for _ in range(40):
            middle = (low + high) / 2
            tilt = math.exp(middle) / largest
            grown, total = self._grown(tilt)
            mean = float(self.counts * self.weights @ ((grown * self.values).sum(axis=1) / total)) + self.shift
            still = math.exp(self._log_zeros - float(self.counts @ np.log(total)))
            low, high = (low, middle) if tilt * mean > 2 * (1 - still) else (middle, high)
        return math.exp((low + high) / 2) / largest

    def _grown(self, tilt: float) -> tuple[Floats, Floats]:
        """Tilted masses and the generating function at a tilt, for each class of copies.

        The masses are multiplied by exp(tilt * weight * value).
        """
        powers = tilt * np.outer(self.weights, self.values)
        return self.masses * np.exp(powers), 1 + np.expm1(powers) @ self.masses

    @cached_property
    def _tilted(self) -> Floats:
        """Tilted probabilities of the values of G in each class; shape (classes, values)."""
        grown, total = self._grown(self.tilt)
        return np.asarray(grown / total[:, None])

    @cached_property
    def _unit(self) -> float:
        return 4 * (8 + len(self.values)) * _ROUNDING

    @cached_property
    def _moments(self) -> Floats:
        """Mean absolute value of one copy after tilting, times the weight of its class; shape (classes,).

        The errors of values are added, in units.
        """
        return np.asarray(self.weights * (self._tilted @ (np.abs(self.values) + self.errors / self._unit)))

    @cached_property
    def _log_growth(self) -> float:
        return float(self.counts @ np.log1p(self._grown(self.tilt)[1] - 1))

    @cached_property
    def _log_error(self) -> float:
        """Bound on the error of `_log_growth`, as a multiple of the rounding error of one operation.

        The error of a logarithm is the relative error of the generating function.
        """
        powers = np.expm1(self.tilt * np.outer(self.weights, self.values))
        summed = (np.abs(powers) @ self.masses + 1.0) / self._grown(self.tilt)[1]
        return float(self.counts @ (summed + self.tilt * self._moments))

    @cached_property
    def _deviation(self) -> float:
        means, squares = self._tilted @ self.values, self._tilted @ self.values**2
        return math.sqrt(float(self.counts * self.weights**2 @ np.maximum(squares - means**2, 0.0)))

    @cached_property
    def _zero(self) -> float:
        """Chance of the value 0; a small chance is taken as 0.

        It has few digits and does not matter.
        """
        zero = 1 - float(self.masses.sum())
        return zero if zero > _LEAST_STILL else 0.0

    @property
    def _log_zeros(self) -> float:
        """Logarithm of the chance that all copies are 0."""
        return float(self.counts.sum()) * math.log(self._zero) if self._zero > 0 else -math.inf

    @property
    def _still(self) -> float:
        """Chance, after tilting, that all copies are 0."""
        return math.exp(self._log_zeros - self._log_growth)

    def _characteristic(self, frequencies: Floats) -> tuple[Floats, Floats, Floats]:
        """Modulus, phase and error of the characteristic function of the tilted sum without its shift.

        With an error of e for a factor f, a product of powers changes by at most that of (|f| + e) times the sum of
        count * e / (|f| + e). No factor is above 1, so that a frequency is left, with a modulus of 0 and all that there
        may be as the error, when the factors so far are negligible together: after a few classes most are.
        """
        found, places = np.zeros((4, len(frequencies))), np.arange(len(frequencies))
        sums = found.copy()
        for kind in np.argsort(-self.counts * self.weights**2, kind="stable"):
            count = self.counts[kind]
            size, angle, error = self._factor(frequencies[places], kind)
            sums[0] += count * np.log(np.maximum(size, SMALLEST))
            sums[1] += count * np.log(size + error)
            sums[2] += count * error / (size + error)
            sums[3] += count * angle
            going_on = sums[1] > -_NEGLIGIBLE
            if np.count_nonzero(going_on) < 0.9 * len(places):
                found[:, places] = sums
                places, sums = places[going_on], sums[:, going_on]
        found[:, places] = sums
        log_modulus, log_larger, relative, phase = found
        modulus, larger = np.exp(np.minimum(log_modulus, 0.0)), np.exp(np.minimum(log_larger, 0.0))
        bound = larger * (relative + 8 * self._unit * (1 + np.abs(phase)))
        left = log_larger <= -_NEGLIGIBLE
        return np.where(left, 0.0, modulus), phase, np.where(left, larger + bound, bound)

    def _factor(self, frequencies: Floats, kind: int) -> tuple[Floats, Floats, Floats]:
        """Modulus, phase and error of one copy's factor in the characteristic function.

        The factor is 1 + sum of mass * (exp(iwg) - 1).
        """
        weight, tilted = self.weights[kind], self._tilted[kind]
        real, imaginary = np.ones(len(frequencies)), np.zeros(len(frequencies))
        rows = max(_CHUNK // max(len(frequencies), 1), 1)
        for start in range(0, len(tilted), rows):
            block = slice(start, start + rows)
            angles = np.outer(weight * frequencies, self.values[block])
            real -= 2 * np.sin(angles / 2) ** 2 @ tilted[block]
            imaginary += np.sin(angles) @ tilted[block]
        error = self._unit * (self._moments[kind] * frequencies + 1.0)
        error[frequencies == 0] = 0.0
        return np.hypot(real, imaginary), np.arctan2(imaginary, real), error
