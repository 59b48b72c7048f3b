"""Classes of report laws for the swap bound: all epsilon0-private randomizers, or one law.

The bound holds for the worst law of a class. For a person who holds z, with e = exp(epsilon), a report y ~ R(z) tells
the victim's two inputs apart by a = R(x)/R(z) and b = R(x')/R(z), both of mean 1. What counts is g = (a - 1) - e (b -
1).
"""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.core.table import Floats

ROUNDING = 1e-14  # relative difference of values that are the same but for the order of multiplications


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportClass:
    """Class of laws of the evidence g in another person's report, with common values and mean 0.

    The worst law counts.

    Args:
        values: values of g, shape (values,); no law of the class leaves their range.
        masses: masses of the extreme laws, shape (laws, values).
        mean: 1 - e, the mean of a - e b.
        excess: bound on the mean of the positive part D of a - e b.
        lowest: least density against the reservoir that counts.
        highest: largest density against the reservoir that counts.
        is_one: whether the class is one law; otherwise it contains all mixtures, and the constant law.
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
        """Width of the range of g: largest value minus least value."""
        return float(self.values.max() - self.values.min())

    @property
    def size(self) -> float:
        """Largest absolute value of g."""
        return float(np.abs(self.values).max())

    @property
    def variance(self) -> float:
        """Largest variance of g over the class."""
        return float((self.masses @ self.values**2).max())


def any_private(epsilon0: float, epsilon: float) -> ReportClass:
    """Class of all randomizers with local privacy loss ``epsilon0``.

    (a, b) lies in the hexagon 1/E <= a, b, a/b <= E. Spreading each point to the corners, with its mean kept, increases
    the mean of a convex function, and laws of mean (1, 1) on the corners are mixtures of exactly five (docs/proofs.md).
    """
    ratio = math.exp(epsilon0)
    growth = math.expm1(epsilon)
    low, high = math.expm1(-epsilon0), math.expm1(epsilon0)  # extremes of a - 1 and b - 1
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
    """Class of one report law, for another person who holds input z.

    The victim's inputs x and x' are told apart against it.

    Args:
        first: probabilities of each output given x.
        second: probabilities of each output given x'.
        other: probabilities given z, the input of the person who reports.
        reservoir: probabilities of a draw from the reservoir.
        epsilon: central privacy loss, in nats.
    """
    growth = math.expm1(epsilon)
    densities = other / reservoir
    values, masses = merged((first - second) / other - growth * (second - other) / other, other)
    return ReportClass(
        values=values,
        masses=masses[np.newaxis],
        mean=-growth,
        excess=float(np.maximum(first - second - growth * second, 0.0).sum()),
        lowest=min(float(densities.min()), 1 - 1e-6),
        highest=max(float(densities.max()), 1 + 1e-6),
        is_one=True,
    )


def merged(values: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """Ascending values and their masses; values that differ only by rounding are merged to their mean.

    Such values belong to outputs that tell the same.

    Returns:
        The values in ascending order, and their masses.
    """
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    starts = np.flatnonzero(np.append(True, np.diff(values) > ROUNDING * np.abs(values).max()))
    together = np.add.reduceat(masses, starts)
    return np.add.reduceat(values * masses, starts) / together, together
