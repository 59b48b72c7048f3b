"""Laws of two inputs' reports, against what everybody's reports contain: all that an accountant needs of a randomizer.

For two inputs x, x' of the victim and a measure w that is below the law R(z) of every other person's report (a
"blanket"), put a = R(x)/w and b = R(x')/w. With e = exp(epsilon), and G = a - e b with density w, else 0,

    delta(epsilon) <= E[(G_1 + ... + G_n)_+] / n        (Balle, Bell, Gascon, Nissim 2019, arXiv 1903.02837),

and with w = R(z) this is an equality for the data set in which all others hold z. The right-hand side grows if the
law of (a, b) spreads with its mean kept, and shrinks if parts of it are merged (convex order); it grows if w shrinks.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from shuffledp.accounting.evaluators.inversion import mean_positive_part
from shuffledp.core.table import Floats

LARGEST_EPSILON0 = 300.0  # above, products of exp(epsilon0) leave the floats
_ROUNDING = 2.0**-53


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class ReportLaw:
    """Two inputs' laws of a report, on finitely many cells, as densities against a measure.

    Args:
        first: a, the density of the first input's law in each cell, shape (cells,).
        second: b, that of the second input's, shape (cells,).
        mass: of each cell under the measure, shape (cells,); at most 1 altogether.
        alone_first: probabilities of reports that the measure does not contain, under the first input.
        alone_second: the same under the second input.
    """

    first: Floats
    second: Floats
    mass: Floats
    alone_first: Floats = field(default_factory=_nothing)
    alone_second: Floats = field(default_factory=_nothing)

    @property
    def swapped(self) -> "ReportLaw":
        """With the two inputs exchanged."""
        return ReportLaw(self.second, self.first, self.mass, self.alone_second, self.alone_first)

    @property
    def fisher(self) -> float:
        """The integral of (a - b)^2 w: its root over sqrt(n) is the mu of the Gaussian limit. Infinite if alone."""
        if (self.alone_first != self.alone_second).any():
            return math.inf
        return float(self.mass @ (self.first - self.second) ** 2)

    def deltas(self, epsilon: float, users: int, *, tolerance: float = 1e-4) -> tuple[float, float]:
        """E[(G_1 + ... + G_n)_+] / n, and the reports that stand alone, from below and from above.

        With P = P' + P'' the laws of the histogram with the victim's report among those that stand alone or not,
        (P - e Q)_+ <= (P' - e Q')_+ + (P'' - e Q'')_+. For w = R(z) these do not overlap: equality.

        Args:
            epsilon: 0 or more.
            users: the number n of reports, the victim's included.
            tolerance: relative distance of the two that is aimed at.
        """
        factor = math.exp(epsilon)
        values = (self.first - self.second) - math.expm1(epsilon) * self.second
        errors = 4 * _ROUNDING * (1 + epsilon) * (self.first + factor * self.second)
        lower, upper = mean_positive_part(values, self.mass, users, errors=errors, tolerance=tolerance)
        alone = float(np.maximum(self.alone_first - factor * self.alone_second, 0).sum())
        return lower + alone * (1 - 1e-12), min(upper + alone * (1 + 1e-12), 1.0)


def two_level_blanket(*, epsilon0: float, share: float, overlap: float) -> ReportLaw:
    """The blanket of a randomizer whose density takes two values, for two inputs: its largest, for an upper bound.

    R(z) has the density E v on a set of base mass c = ``share`` that depends on z, and v elsewhere, v = 1/(1 + c
    (E-1)); so w = v times the base measure is below them all.

    Args:
        epsilon0: log E, above 0.
        share: c, above 0 and below 1.
        overlap: base mass that two inputs' sets have in common, at least 0 and 2c - 1.
    """
    ratio = math.exp(epsilon0)
    level = 1 / (1 + share * (ratio - 1))
    only, neither = max(share - overlap, 0.0), max(1 - 2 * share + overlap, 0.0)
    return ReportLaw(
        first=np.array([ratio, 1.0, ratio, 1.0]),
        second=np.array([1.0, ratio, ratio, 1.0]),
        mass=level * np.array([only, only, overlap, neither]),
    )


def two_level_homogeneous(
    *, epsilon0: float, share: float, overlap: float, triple: float | None = None
) -> tuple[ReportLaw, ...]:
    """Exact laws of data sets in which all others hold one value: the first input, the second, and a third value.

    Args:
        epsilon0: log E, above 0.
        share: base mass of each input's set.
        overlap: base mass of what the sets of two inputs have in common.
        triple: that of three inputs' sets; None leaves the third value out.
    """
    ratio = math.exp(epsilon0)
    level = 1 / (1 + share * (ratio - 1))
    only, neither = max(share - overlap, 0.0), max(1 - 2 * share + overlap, 0.0)
    equal = ReportLaw(
        first=np.array([1.0, 1.0, 1.0]),
        second=np.array([1 / ratio, ratio, 1.0]),
        mass=level * np.array([ratio * only, only, ratio * overlap + neither]),
    )
    laws = [equal, equal.swapped]
    if triple is not None:
        cells = [1 - 3 * share + 3 * overlap - triple, share - 2 * overlap + triple, overlap - triple, triple]
        inside = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        base = np.maximum(np.array(cells)[inside.sum(axis=1)], 0.0)
        powers = np.array([1.0, ratio])
        densities = powers[inside]
        third = ReportLaw(
            first=densities[:, 0] / densities[:, 2],
            second=densities[:, 1] / densities[:, 2],
            mass=level * base * densities[:, 2],
        )
        laws.append(third)
    return tuple(laws)


def channel_blanket(matrix: Floats, first: int, second: int) -> ReportLaw:
    """Two rows of a channel against the least entry of every column."""
    return _against(matrix[first], matrix[second], matrix.min(axis=0))


def channel_homogeneous(matrix: Floats, first: int, second: int, others: int) -> ReportLaw:
    """Two rows of a channel where all others hold one input: exact for that data set."""
    return _against(matrix[first], matrix[second], matrix[others])


def _against(first: Floats, second: Floats, measure: Floats) -> ReportLaw:
    """Columns with the same two densities are one cell: together they tell as much."""
    inside = measure > 0
    densities = np.stack([first[inside], second[inside]]) / measure[inside]
    with np.errstate(divide="ignore"):
        keys = np.round(np.log(densities), 13)
    cells = np.unique(keys, axis=1, return_inverse=True)[1].ravel()
    mass, one, other = (np.bincount(cells, weights=part[inside]).astype(float) for part in (measure, first, second))
    alone = ~inside & (first + second > 0)
    return ReportLaw(
        first=one / mass,
        second=other / mass,
        mass=mass,
        alone_first=first[alone],
        alone_second=second[alone],
    )


def laplace_blanket(*, epsilon0: float, cells: int) -> ReportLaw:
    """Laplace noise of scale 1/epsilon0 on inputs 0 and 1 of [0, 1], against the least density of all: from above.

    With E = exp(epsilon0), the least density at y is (epsilon0/2) exp(-epsilon0 max(|y|, |1-y|)). For y <= 1/2 the pair
    (a, b) is (exp(u), 1) where u = epsilon0 min(1, 1 - 2y) has the mass 1/(2E) at epsilon0 and the density
    exp(-(epsilon0 + u)/2) / 4 below; for y >= 1/2 it is the mirror image. In each of the ``cells`` equal intervals of
    u, the mass goes to the ends, so that the mean of a is kept.

    Among all pairs of inputs this one is the worst (`shuffledp.accounting.theorems.blanket_laws`).
    """
    nodes = np.linspace(0.0, epsilon0, cells + 1)
    scale = math.exp(-epsilon0 / 2)
    weight = scale / 2 * (np.exp(-nodes[:-1] / 2) - np.exp(-nodes[1:] / 2))
    moment = scale / 2 * (np.exp(nodes[1:] / 2) - np.exp(nodes[:-1] / 2))  # of exp(u)
    density = np.exp(nodes)
    mass = _spread(weight, moment, density[:-1], density[1:])
    mass[-1] += math.exp(-epsilon0) / 2
    one = np.ones(cells + 1)
    return ReportLaw(
        first=np.concatenate([density, one]), second=np.concatenate([one, density]), mass=np.concatenate([mass, mass])
    )


def _spread(weight: Floats, moment: Floats, low: Floats, high: Floats) -> Floats:
    """Masses on the ends of adjacent cells, the mean of each cell kept; shape (cells + 1,)."""
    share = _share_of_first(weight, moment, high, low)
    mass = np.zeros(len(weight) + 1)
    mass[1:] += share
    mass[:-1] += weight - share
    return mass


def _share_of_first(weight: Floats, moment: Floats, first: Floats, second: Floats) -> Floats:
    """How much of each cell's mass goes to the first of two points, the rest to the second, to keep the cell's mean."""
    width = np.where(first != second, first - second, 1.0)
    return np.clip((moment - weight * second) / width, 0.0, weight)


def laplace_homogeneous(*, epsilon0: float, cells: int) -> ReportLaw:
    """Laplace noise on inputs 0 and 1, all others holding 0, ``cells`` equal intervals of [0, 1] merged: from below.

    Against the law of input 0, a = 1; b is 1/E below 0, with mass 1/2; E above 1, with mass 1/(2E); in between each
    cell's probability under input 1 over that under input 0.
    """
    edges = np.linspace(0.0, epsilon0, cells + 1)
    zero = (np.exp(-edges[:-1]) - np.exp(-edges[1:])) / 2
    one = (np.exp(edges[1:] - epsilon0) - np.exp(edges[:-1] - epsilon0)) / 2
    second = np.concatenate([[math.exp(-epsilon0)], one / zero, [math.exp(epsilon0)]])
    return ReportLaw(
        first=np.ones(cells + 2), second=second, mass=np.concatenate([[0.5], zero, [math.exp(-epsilon0) / 2]])
    )


def discrete_laplace_blanket(*, epsilon0: float, steps: int, cells: int) -> ReportLaw:
    """Discrete Laplace noise on inputs 0 and ``steps`` of 0, ..., steps, against the least law of all: from above.

    With q = exp(-epsilon0 / steps), input x gives report y with probability (1-q) / (1+q) q^|y-x|. Reports below 0, and
    above the range, tell as much as its ends. As for `laplace_blanket`, a is q^(2y - steps) for y <= steps/2, where b
    = 1; the grid points of a half are put together in ``cells`` blocks, if they are more.
    """
    rate = epsilon0 / steps
    places = np.arange(steps // 2 + 1)
    level = -math.expm1(-rate) / (1 + math.exp(-rate))
    weight = level * np.exp(-rate * (steps - places))
    weight[0] = math.exp(-epsilon0) / (1 + math.exp(-rate))  # of all y <= 0
    weight[-1] /= 2 if steps % 2 == 0 else 1  # the middle belongs to both halves
    density = np.exp(rate * (steps - 2 * places))
    if len(places) > cells:
        starts = np.linspace(1, len(places), cells, endpoint=False).astype(np.int64)
        ends = np.append(starts[1:], len(places)) - 1
        blocks = (np.add.reduceat(weight, starts), np.add.reduceat(weight * density, starts))
        share = _share_of_first(*blocks, density[starts], density[ends])
        density = np.concatenate([density[:1], density[starts], density[ends]])
        weight = np.concatenate([weight[:1], share, blocks[0] - share])
    one = np.ones(len(density))
    return ReportLaw(
        first=np.concatenate([density, one]),
        second=np.concatenate([one, density]),
        mass=np.concatenate([weight, weight]),
    )


def discrete_laplace_homogeneous(*, epsilon0: float, steps: int, cells: int) -> ReportLaw:
    """Discrete Laplace noise on inputs 0 and ``steps``, all others holding 0, in blocks of grid points: from below."""
    rate = epsilon0 / steps
    level = -math.expm1(-rate) / (1 + math.exp(-rate))
    places = np.arange(1, steps)
    zero, other = level * np.exp(-rate * places), level * np.exp(-rate * (steps - places))
    if len(places) > cells:
        starts = np.linspace(0, len(places), cells, endpoint=False).astype(np.int64)
        zero, other = np.add.reduceat(zero, starts), np.add.reduceat(other, starts)
    near, far = 1 / (1 + math.exp(-rate)), math.exp(-epsilon0) / (1 + math.exp(-rate))
    mass = np.concatenate([[near], zero, [far]])
    return ReportLaw(first=np.ones(len(mass)), second=np.concatenate([[far], other, [near]]) / mass, mass=mass)
