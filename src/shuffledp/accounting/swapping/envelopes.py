"""Privacy profile of a pair of laws: a convex envelope of points on a curve of delta.

It holds in both directions, so that releases compose.

The true profile H(g), g = exp(epsilon), is convex on all of (0, inf), at least 1 - g, and if its two directions are
one, H(1/g) = 1 - 1/g + H(g)/g. So the lower convex hull of points (g, delta), of their mirror images (1/g, 1 - 1/g +
delta/g), of (1/E, 1 - 1/E) and of (E, 0) is above H on [1/E, E], between points too. A hull of the points from 1 on
alone need not be the profile of a pair of laws: mirrored afterwards, its mass at the ratio 1 can be negative.
"""

from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.privacy_losses import lower_hull
from shuffledp.core.errors import ContradictionError
from shuffledp.core.table import Floats

_ROUNDING = 1e-9
_ROUND_UP = 1 + 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Envelope:
    """Privacy profile, linear between given likelihood ratios.

    ``growths``, the ratios less 1, ascend from 1/E - 1 to E - 1.
    """

    growths: Floats
    deltas: Floats

    @property
    def masses(self) -> Floats:
        """Probabilities under Q of the likelihood ratios P/Q, at the given ratios.

        They are the jumps of the slope, which is -1 before 1/E and 0 after E.
        """
        slopes = np.concatenate([[-1.0], np.diff(self.deltas) / np.diff(self.growths), [0.0]])
        return np.asarray(np.diff(slopes))

    def delta(self, epsilon: float) -> float:
        """Delta of the profile at an epsilon."""
        return float(self.curve(np.array([epsilon]))[0])

    def curve(self, epsilons: Floats) -> Floats:
        """Delta of the profile at epsilons of 0 or more; 0 from epsilon0 on."""
        growths = np.expm1(np.minimum(epsilons, np.log1p(self.growths[-1])))
        found = np.interp(growths, self.growths, self.deltas) * _ROUND_UP
        return np.asarray(np.where(growths >= self.growths[-1], 0.0, np.clip(found, 0.0, 1.0)))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at which the profile is at most delta, rounded up."""
        before = int(np.searchsorted(-self.deltas, -delta / _ROUND_UP)) - 1
        if before < 0:
            return 0.0
        (left, right), (high, low) = self.growths[before : before + 2], self.deltas[before : before + 2]
        growth = left + (high - delta / _ROUND_UP) / (high - low) * (right - left)
        return max(float(np.log1p(growth)) * _ROUND_UP, 0.0)


def envelope(epsilon0: float, epsilons: Floats, deltas: Floats) -> Envelope:
    """Convex envelope of points on one or more curves of delta that hold in both directions.

    Args:
        epsilon0: local privacy loss in nats, from which on delta is 0.
        epsilons: epsilons of the points, from 0 to below epsilon0, in any order.
        deltas: deltas of the points.

    Raises:
        ContradictionError: if the envelope is not the profile of a pair of laws.
    """
    once = -np.expm1(-epsilon0) / (1 + np.exp(-epsilon0))  # delta of binary response at the ratio 1
    places = np.concatenate([np.expm1(epsilons), np.expm1(-epsilons), [0.0, np.expm1(epsilon0), np.expm1(-epsilon0)]])
    mirrored = -np.expm1(-epsilons) + deltas * np.exp(-epsilons)
    values = np.concatenate([deltas, mirrored, [once, 0.0, -np.expm1(-epsilon0)]])
    order = np.lexsort((values, places))
    places, values = places[order], values[order]
    first = np.append(True, np.diff(places) > 0)  # least value among equal ratios
    kept = lower_hull(places[first], values[first])
    found = Envelope(growths=places[first][kept], deltas=values[first][kept])
    masses = found.masses
    if masses.min() < -_ROUNDING or abs(masses.sum() - 1) > _ROUNDING or abs(masses @ found.growths) > _ROUNDING:
        raise ContradictionError("the envelope of a curve of delta is not the profile of a pair of laws: a bug.")
    return found
