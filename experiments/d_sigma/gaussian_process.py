"""The Gaussian-process attack: answers vary smoothly over places, so a surface through the reports shows them."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.spatial.distance import cdist

from shuffledp.core import validate
from shuffledp.core.flow import View
from shuffledp.core.table import Floats
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, needed, reports_by_slot

_LENGTHS = (0.02, 0.04, 0.08, 0.16, 0.32)  # of the widest extent of the points
_RATIOS = np.logspace(-4, 1, 16)  # variance of the surface over that of the noise
_JITTER = 1e-8


class _Surface(NamedTuple):
    """Predictions, and how well the surface explains what was seen (profiled log evidence)."""

    predicted: Floats
    evidence: float


class GaussianProcessAttack:
    """Guesses by Gaussian-process regression of what reports say, with their noise taken out, on public places.

    One surface per value, all with a squared exponential kernel. Its support is a sample of the places (subset of
    regressors), so that time is proportional to the number of people. Length scale and noise are those under which what
    is seen is the likeliest.

    Args:
        num_centers: places of the sample, 1 or more; all, where there are fewer people.
        length_scale: of the kernel, in the units of the points; None chooses it from fractions of their extent.
        seed: of the sample, 0 or more.

    References:
        Meehan et al. 2022, Figure 1; Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, Section
        8.3.1.
    """

    def __init__(self, *, num_centers: int = 300, length_scale: float | None = None, seed: int = 0) -> None:
        validate.integer_at_least(1, num_centers=num_centers)
        validate.positive(length_scale=1 if length_scale is None else length_scale)
        validate.integer_at_least(0, seed=seed)
        self.num_centers, self.length_scale, self._seed = int(num_centers), length_scale, seed

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """One answer per person: that of the highest surface.

        Args:
            view: of randomized response, with or without slots.
            side_information: with ``points``.

        Raises:
            InvalidParameterError: if ``points`` is not known or not finite, or there is not one report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        found: NDArray[np.int64] = self.surfaces(view, side_information).argmax(axis=1)
        return found

    def surfaces(self, view: View, side_information: SideInformation) -> Floats:
        """The estimated share of each value at everybody's place, shape (people, values). Arguments as in `infer`."""
        points = np.asarray(needed(side_information, "points"), dtype=np.float64)
        points = points[:, None] if points.ndim == 1 else points
        if points.size == 0:
            raise validate.invalid("of one person and one column or more", shape_of_points=points.shape)
        if not np.isfinite(points).all():
            raise validate.invalid("finite", points="a number that is not")
        model = view.reports.model
        said = reports_by_slot(view, len(points))
        p, q, size = (getattr(model, name) for name in ("p", "q", "domain_size"))
        shares = (np.eye(size)[said] - q) / (p - q)
        mean = shares.mean(axis=0)
        best = max(self._fits(points, shares - mean), key=lambda surface: surface.evidence)
        found: Floats = best.predicted + mean
        return found

    def _fits(self, points: Floats, shares: Floats) -> Iterator[_Surface]:
        draw = np.random.default_rng(self._seed)
        centers = points[draw.permutation(len(points))[: self.num_centers]]
        extent = float(np.ptp(points, axis=0).max()) or 1.0
        lengths = [self.length_scale] if self.length_scale else [share * extent for share in _LENGTHS]
        for length in lengths:
            yield _fit(_kernel(points, centers, length), _kernel(centers, centers, length), shares)


def _kernel(left: Floats, right: Floats, length: float) -> Floats:
    found: Floats = np.exp(-cdist(left / length, right / length, "sqeuclidean") / 2)
    return found


def _fit(across: Floats, among: Floats, shares: Floats) -> _Surface:
    """The posterior mean at all points, for the ratio of variances with the highest evidence."""
    root = cholesky(among + _JITTER * np.eye(len(among)), lower=True)
    features = solve_triangular(root, across.T, lower=True)
    values, vectors = eigh(features @ features.T)
    values, along = np.maximum(values, 0), vectors.T @ (features @ shares)
    total, count = float((shares**2).sum()), int(shares.size)

    def evidence(ratio: float) -> float:
        shrunk = ratio / (1 + ratio * values)
        left = total - float((shrunk[:, None] * along**2).sum())
        spent = float(np.log1p(ratio * values).sum())
        return -(count * math.log(max(left, _JITTER)) + int(shares.shape[1]) * spent) / 2

    ratio = max(_RATIOS.tolist(), key=evidence)
    weights = vectors @ ((ratio / (1 + ratio * values))[:, None] * along)
    return _Surface(features.T @ weights, evidence(ratio))
