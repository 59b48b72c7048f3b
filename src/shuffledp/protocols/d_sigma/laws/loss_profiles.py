"""Loss profiles: bounds on delta at every alpha, for shuffles of one group in order and reversed.

For a group, the two laws are of the data in order and of the data with the group reversed: no other exchange inside the
group loses more, at any alpha and for any number of releases (docs/theorems.md). A profile is the law of the loss under
the data in order, from above; or, where that is too fine to be told from rounding, Renyi divergences.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import gaussian_alpha, gaussian_delta

ORDERS: Floats = 1 + np.geomspace(1e-3, 1e6, 91)  # of Renyi divergences
ROUND_UP = 1 + 1e-9
_FFT_ERROR = 2e-15  # times log2 of the size, and for each factor half of it: relative to the law's Euclidean norm
_RATIO = 1.3  # of the largest to the smallest group in a class
_SUMMED = 1e-13  # relative: rounding of running sums
_LARGEST = 700.0  # exponentials of more are no floats
_SUSPECT = 0.01  # of delta: where rounding may be more, the transform is not asked


@dataclass(frozen=True, eq=False)
class LossProfile:
    """Loss profile of one pair of laws: upper bounds on delta at every alpha.

    Args:
        losses: possible losses above 0, ascending; empty if only the other two bounds are known.
        chances: probability of each, for the data in order.
        remainder: probability that is not in ``chances``, and their rounding; 1 if there are none.
        pure: the largest loss, infinity included.
        divergences: Renyi divergence at each of `ORDERS`.
    """

    losses: Floats
    chances: Floats
    remainder: float
    pure: float
    divergences: Floats

    def delta(self, alpha: float) -> float:
        """Upper bound on delta at this alpha.

        Raises:
            InvalidParameterError: if alpha is negative.
        """
        validate.nonnegative(alpha=alpha)
        if alpha >= self.pure:
            return 0.0
        powers = (ORDERS - 1) * (self.divergences - alpha + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        least = math.exp(min(float(powers.min()), 0.0))
        start = int(np.searchsorted(self.losses, alpha, side="right"))
        weights = -np.expm1(alpha - self.losses[start:])
        return min(least, float(self.chances[start:] @ weights) + self.remainder, 1.0)

    def curve(self, alphas: Floats) -> Floats:
        """Upper bounds on delta at each of these alphas, 0 or more, from running sums with rounding added."""
        powers = (ORDERS - 1) * (self.divergences - alphas[:, None] + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
        found = np.exp(np.minimum(powers.min(axis=1), 0.0))
        if self.losses.size:
            start = np.searchsorted(self.losses, alphas, side="right")
            above = np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)[start]
            scaled = np.append(np.cumsum((self.chances * np.exp(-self.losses))[::-1])[::-1], 0.0)[start]
            listed = np.maximum(above - np.exp(np.minimum(alphas, _LARGEST)) * scaled, 0.0)
            found = np.minimum(found, listed + _SUMMED * above + self.remainder)
        return np.where(alphas >= self.pure, 0.0, found)

    def alpha(self, delta: float) -> float:
        """Upper bound on the loss alpha at this delta; 0 if delta is met without any loss.

        Raises:
            InvalidParameterError: if delta is not strictly between 0 and 1.
        """
        validate.open_probability(delta=delta)
        spent = np.log(delta) + np.log(ORDERS)
        bounds = self.divergences + np.log1p(-1 / ORDERS) - spent / (ORDERS - 1)
        least = max(min(self.pure, float(bounds.min())), 0.0)
        if self.remainder > _SUSPECT * delta:
            return least
        return min(least, self._crossing(delta - self.remainder))

    def _crossing(self, level: float) -> float:
        """Alpha at which the delta of the listed losses equals ``level``.

        Between losses delta is linear in e^alpha.
        """
        above = np.cumsum(self.chances[::-1])[::-1]
        scaled = np.cumsum((self.chances * np.exp(-self.losses))[::-1])[::-1]
        if self.losses.size == 0 or above[0] - scaled[0] <= level:
            return 0.0
        corners = above - np.exp(self.losses) * scaled if self.losses[-1] < _LARGEST else np.full(above.size, math.inf)
        place = int(np.flatnonzero(corners > level)[-1]) + 1 if (corners > level).any() else 0
        if place >= self.losses.size:
            return float(self.losses[-1])
        return max(math.log((above[place] - level) / scaled[place]) * (1 + 1e-12) + 1e-12, 0.0)


@dataclass(frozen=True, eq=False)
class WorstProfile:
    """Loss profile of the worst of several groups: at every alpha the largest delta of the groups' profiles.

    Each group is first summed over its releases, and then the largest is taken.
    """

    parts: tuple[LossProfile, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidParameterError("parts must hold one profile or more; got none.")

    @property
    def pure(self) -> float:
        """Largest loss of any of the groups."""
        return max(each.pure for each in self.parts)

    def delta(self, alpha: float) -> float:
        """Upper bound on delta at this alpha, see `LossProfile.delta`."""
        return max(each.delta(alpha) for each in self.parts)

    def curve(self, alphas: Floats) -> Floats:
        """Upper bounds on delta at these alphas, see `LossProfile.curve`."""
        found: Floats = np.max([each.curve(alphas) for each in self.parts], axis=0)
        return found

    def alpha(self, delta: float) -> float:
        """Upper bound on alpha at this delta, see `LossProfile.alpha`."""
        return max(each.alpha(delta) for each in self.parts)


def without_losses(pure: float, divergences: Floats) -> LossProfile:
    """Loss profile known only by its largest loss and its Renyi divergences."""
    return LossProfile(np.zeros(0), np.zeros(0), 1.0, pure, divergences)


def from_spectrum(
    spectrum: NDArray[np.complex128], size: int, places: tuple[int, int], factors: int
) -> tuple[Floats, float]:
    """Probabilities in a window of places, from the law's Fourier transform, and a bound on all rounding.

    Args:
        spectrum: half of the transform, as `numpy.fft.rfft` gives it; of places modulo the size.
        size: of the transform; what lies outside of the window is folded into it.
        places: first and last place of the window.
        factors: how many transforms were multiplied.
    """
    first, last = places
    law = np.roll(np.fft.irfft(spectrum, size), -first)[: last - first + 1]
    norm = math.sqrt(size) * float(np.linalg.norm(law))
    return np.maximum(law, 0.0), _FFT_ERROR * (math.log2(size) + factors / 2) * norm


@dataclass(frozen=True)
class GaussianProfile:
    """Loss profile of a Gaussian sort on one group: that of a Gaussian mechanism.

    Squares of mu add up over releases.

    Args:
        mu: root of the sum of squared moves when the group is reversed, in units of the noise, times that of the number
            of releases.
    """

    mu: float

    @property
    def pure(self) -> float:
        """Largest loss: infinite, but 0 for a group whose reversal moves no position."""
        return math.inf if self.mu else 0.0

    def delta(self, alpha: float) -> float:
        """Delta at this alpha, see `LossProfile.delta`."""
        return gaussian_delta(self.mu, alpha)

    def curve(self, alphas: Floats) -> Floats:
        """Delta at each of these alphas, see `LossProfile.curve`."""
        return np.array([gaussian_delta(self.mu, alpha) for alpha in alphas.tolist()])

    def alpha(self, delta: float) -> float:
        """Alpha at this delta, see `LossProfile.alpha`."""
        return gaussian_alpha(self.mu, delta)


@dataclass(frozen=True)
class ResponseProfile:
    """Loss profile of randomized response to one yes or no: the worst profile with this largest loss.

    Args:
        pure: the largest loss, finite.
    """

    pure: float

    def delta(self, alpha: float) -> float:
        """Delta at this alpha, see `LossProfile.delta`."""
        return float(self.curve(np.array([alpha]))[0])

    def curve(self, alphas: Floats) -> Floats:
        """Delta at each of these alphas, see `LossProfile.curve`."""
        found: Floats = -np.expm1(np.minimum(alphas - self.pure, 0.0)) / (1 + math.exp(-self.pure)) * ROUND_UP
        return found

    def alpha(self, delta: float) -> float:
        """Alpha at this delta, see `LossProfile.alpha`."""
        rest = 1 - delta * (1 + math.exp(-self.pure))
        return max(self.pure + math.log(rest), 0.0) * ROUND_UP if rest > 0 else 0.0


Profile = LossProfile | WorstProfile | GaussianProfile | ResponseProfile


@dataclass(frozen=True, eq=False)
class SizedProfile:
    """Loss profile that bounds every group of one size class.

    Args:
        smallest: people in the smallest of these groups.
        largest: people in the largest.
        num_groups: how many groups they are.
        profile: bounds the profile of each of them.
    """

    smallest: int
    largest: int
    num_groups: int
    profile: Profile


def size_classes(sizes: Integers) -> list[Integers]:
    """Numbers of the groups of two people or more, in classes of about equal size.

    The smallest groups are first.
    """
    found: list[Integers] = []
    left = np.flatnonzero(sizes > 1)
    left = left[np.argsort(sizes[left], kind="stable")]
    while left.size:
        most = max(int(sizes[left[0]]) + 1, int(sizes[left[0]] * _RATIO))
        inside = int(np.searchsorted(sizes[left], most, side="right"))
        found.append(left[:inside])
        left = left[inside:]
    return found
