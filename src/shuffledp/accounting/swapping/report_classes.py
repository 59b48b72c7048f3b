"""Classes of report laws that the swap bound takes the worst of: all epsilon0-private randomizers, or one law.

For a person who holds z, with e = exp(epsilon), a report y ~ R(z) tells the victim's two inputs apart by a = R(x)/R(z)
and b = R(x')/R(z), both of mean 1. What counts is g = (a - 1) - e (b - 1).
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.core.table import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportClass:
    """Laws of g, all of them on the same ``values``, of which the worst one counts; each has the mean 0.

    Args:
        values: of g, shape (values,); no law of the class leaves the range that they span.
        masses: of the extreme laws, shape (laws, values).
        mean: 1 - e, what is left of (a - e b) on average.
        excess: a bound on the positive part D of a - e b, on average.
        lowest: the least value of the density against the reservoir that counts.
        highest: the largest one.
        is_one: whether the class is one law; else it contains all mixtures, that of one value too.
    """

    values: Floats
    masses: Floats
    mean: float
    excess: float
    lowest: float
    highest: float
    is_one: bool

    @property
    def range(self) -> float:
        """Largest value of g less the least one."""
        return float(self.values.max() - self.values.min())

    @property
    def size(self) -> float:
        """Largest absolute value of g."""
        return float(np.abs(self.values).max())

    @property
    def variance(self) -> float:
        """The largest variance of g."""
        return float((self.masses @ self.values**2).max())


def any_private(epsilon0: float, epsilon: float) -> ReportClass:
    """All randomizers of this local loss.

    (a, b) lies in the hexagon 1/E <= a, b, a/b <= E. Spreading each point to the corners, with its mean kept, increases
    the mean of a convex function, and laws of mean (1, 1) on the corners are mixtures of exactly five (docs/proofs.md).
    """
    ratio = math.exp(epsilon0)
    growth = math.expm1(epsilon)
    low, high = math.expm1(-epsilon0), math.expm1(epsilon0)  # of a - 1 and b - 1
    corners = np.array([[low, low], [high, high], [0, low], [0, high], [low, 0], [high, 0]])
    values = corners[:, 0] - corners[:, 1] - growth * corners[:, 1]
    likely, rarely = ratio / (ratio + 1), 1 / (ratio + 1)
    masses = np.array(
        [
            [likely, rarely, 0, 0, 0, 0],
            [0, 0, likely, rarely, 0, 0],
            [0, 0, 0, 0, likely, rarely],
            [ratio / (ratio + 2), 0, 0, 1 / (ratio + 2), 0, 1 / (ratio + 2)],
            [0, 1 / (2 * ratio + 1), ratio / (2 * ratio + 1), 0, ratio / (2 * ratio + 1), 0],
        ]
    )
    return ReportClass(
        values=values,
        masses=masses,
        mean=-growth,
        excess=-math.expm1(epsilon - epsilon0) * likely,
        lowest=1 / ratio,
        highest=ratio,
        is_one=False,
    )


def one_law(first: Floats, second: Floats, other: Floats, reservoir: Floats, epsilon: float) -> ReportClass:
    """A row of a channel without zeros, against which two others are told apart.

    Args:
        first: probabilities of each output given x.
        second: given x'.
        other: given z, who sends the report.
        reservoir: of what is drawn from the reservoir.
        epsilon: central privacy loss, in nats.
    """
    growth = math.expm1(epsilon)
    densities = other / reservoir
    values = (first - second) / other - growth * (second - other) / other
    return ReportClass(
        values=values,
        masses=other[np.newaxis],
        mean=-growth,
        excess=float(np.maximum(first - second - growth * second, 0.0).sum()),
        lowest=min(float(densities.min()), 1 - 1e-6),
        highest=max(float(densities.max()), 1 + 1e-6),
        is_one=True,
    )
