"""PrivUnit: a report is a random unit vector that tends to be near the true vector."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import MeanModel
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import as_unit_vectors, check_norms
from shuffledp.randomness.sources import RandomSource, bernoulli, resolve_source

_WORDS = 2**64
_LARGEST_DIMENSION = 2**20
_LEAST_EPSILON0, _LARGEST_EPSILON0 = 1e-6, 30.0
_GUARD = 1e-9  # nats: the loss is evaluated to 1e-12 (1e-10 in a million dimensions), and stated this much higher
_BATCH = 1 << 17  # coordinates handled at a time: they stay in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivUnitModel(MeanModel):
    """Public description of PrivUnit.

    Args:
        dimension: coordinates of a vector d, from 2 to 2^20.
        depth: (1 - gamma) / 2, where the cap holds the vectors whose product with the true one is at least gamma; above
            0 and at most 1/2.
        cap_words: of the 2^64 values of a random word, how many lead into the cap; below 2^64, and more than the
            share of the sphere that the cap is.
    """

    kind: ClassVar[str] = "priv-unit"
    lower = -1.0
    upper = 1.0
    dimension: int
    depth: float
    cap_words: int

    def __post_init__(self) -> None:
        _check_dimension(self.dimension)
        if not 0 < self.depth <= 0.5:
            raise invalid("above 0 and at most 1/2", depth=self.depth)
        validate.integer_at_least(1, cap_words=self.cap_words)
        for name, made in (("dimension", int), ("depth", float), ("cap_words", int)):
            object.__setattr__(self, name, made(getattr(self, name)))
        least = cap_mass(self.depth, self.dimension) * _WORDS
        if not least < self.cap_words < _WORDS:
            raise invalid(f"above {least:.6g}, the share of the cap, and below 2**64", cap_words=self.cap_words)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, dimension: int, budget_split: float | None = None) -> Self:
        """Model whose stated local loss is at most ``epsilon0``.

        Less by up to 1e-6, or 3e-9 for the best split. The arguments are those of `PrivUnit`.
        """
        validate.positive(epsilon0=epsilon0)
        if not _LEAST_EPSILON0 <= epsilon0 <= _LARGEST_EPSILON0:
            raise invalid(f"from {_LEAST_EPSILON0:g} to {_LARGEST_EPSILON0:g}", epsilon0=epsilon0)
        _check_dimension(dimension)
        available = float(epsilon0) - 2 * _GUARD
        if budget_split is None:
            wanted = best_cap_loss(available, int(dimension))
        else:
            validate.open_probability(budget_split=budget_split)
            wanted = (1 - budget_split) * available
        depth = cap_depth(wanted, int(dimension))
        # The coin gets exactly what the cap, as it has become, leaves over; the words outside hold the digits.
        odds = math.exp(cap_loss(depth, int(dimension)) - available)
        outside = math.ceil(_WORDS * (odds / (1 + odds)))
        return cls(dimension=dimension, depth=depth, cap_words=_WORDS - outside)

    @property
    def gamma(self) -> float:
        """Smallest inner product of a vector in the cap with the true vector."""
        return 1 - 2 * self.depth

    @property
    def p(self) -> float:
        """Probability that the report lies in the cap."""
        return self.cap_words / _WORDS

    @property
    def scale(self) -> float:
        """Expected inner product of a report with the true vector.

        Contributions are reports divided by it. For a small loss it is a small difference of p and the mass of the cap,
        which are both known to some 1e-15: up to 20,000 dimensions its relative error is at most 1e-11 / min(1,
        epsilon0), and typically 1e-14 / epsilon0.
        """
        mass = cap_mass(self.depth, self.dimension)
        return cap_moment(self.depth, self.dimension) * (self.p - mass) / (mass * (1 - mass))

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is the loss of the coin plus the loss of the cap, plus 1e-9.

        The coin has log(p / (1-p)), the cap log((1-c) / c), and 1e-9 is a guard. c is the share of the sphere in the
        cap. The guard covers the error of evaluating c in float64, which is a thousand times smaller. For idealised
        real numbers: see `PrivUnit`.
        """
        coin = math.log(self.cap_words) - math.log(_WORDS - self.cap_words)
        return LocalDP(epsilon=coin + cap_loss(self.depth, self.dimension) + _GUARD)

    @property
    def is_idealized(self) -> bool:
        """True: directions are floating-point numbers, and the loss is evaluated with a guard."""
        return True

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remark on the gap between real numbers and floating-point numbers."""
        return (
            "The randomizer is analyzed in real numbers and computes in floating-point ones, whose last digits could "
            "in principle tell more about a person than stated.",
        )

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law: the set of a vector is the cap around it.

        Opposite caps are disjoint.
        """
        return TwoLevelLaw(share=cap_mass(self.depth, self.dimension), overlap=0.0)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the one column ``vector`` of unit vectors, shape (n, dimension)."""
        vectors = columns.get("vector")
        if list(columns) != ["vector"] or vectors is None or vectors.dtype.kind != "f" or vectors.ndim != 2:
            found = ", ".join(f"{name} ({array.dtype}, {array.ndim}-d)" for name, array in columns.items())
            raise InvalidParameterError(f"columns must be one two-dimensional float column 'vector'; got {found}.")
        if vectors.shape[1] != self.dimension:
            raise InvalidParameterError(f"reports must have {self.dimension} coordinates; got {vectors.shape[1]}.")
        check_norms(vectors, self.dimension, "reports")

    @property
    def swing(self) -> float:
        """Largest change of the sum of vectors by one report: the distance of opposite contributions.

        Contributions are unit vectors over the scale.
        """
        return 2 / self.scale

    @property
    def stray(self) -> float:
        """Largest distance of a report's contribution from a true vector."""
        return 1 + 1 / self.scale

    def contributions(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Reports divided by the scale; shape (n, dimension)."""
        decoded: NDArray[np.float64] = columns["vector"] / self.scale
        return decoded

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64]:
        """Log-likelihood of a vector: ``epsilon0`` for reports in the cap around the vector, else 0.

        Densities are flat inside and outside the cap.
        """
        return np.where(columns["vector"] @ np.asarray(value, dtype=np.float64) >= self.gamma, self.epsilon0, 0.0)

    def noise_variance(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exact noise variance: an isotropic part plus curvature times the squared mean.

        See `noise_covariance`.
        """
        inside = np.clip(mean, self.lower, self.upper)
        variance: NDArray[np.float64] = self.isotropic_variance + self.noise_curvature * inside**2
        return variance

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: a float64 for each coordinate."""
        return 64 * self.dimension

    @property
    def noise_curvature(self) -> float:
        """Curvature gamma / scale - 1 of the noise variance.

        Zero for the best split, near -1 if the coin has all of the loss.
        """
        return self.gamma / self.scale - 1

    @property
    def isotropic_variance(self) -> float:
        """Noise variance common to all directions: (1/m^2 - gamma/m) / d, where m is the scale."""
        return (1 / self.scale - self.gamma) / (self.scale * self.dimension)

    def noise_covariance(self, second_moment: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exact covariance that randomizing adds to a contribution.

        1/n of it is that of the mean of n reports.

        By symmetry E[z z'] of a contribution z made from x is b I + s x x'. From E[T; T >= gamma] = k and
        E[T^2; T >= gamma] = ((d - 1) gamma k + c) / d for the product T of a uniform vector with x, s = gamma / m and
        d b = 1/m^2 - gamma/m. So the covariance is b I + (gamma/m - 1) x x': isotropic for gamma = m, the best split.
        The ``second_moment`` is the average of x x' over the people, shape (d, d), as is what is returned.
        """
        return self.isotropic_variance * np.eye(self.dimension) + self.noise_curvature * second_moment


def _check_dimension(dimension: int) -> None:
    validate.integer_at_least(2, dimension=dimension)
    if dimension > _LARGEST_DIMENSION:
        raise invalid(f"at most {_LARGEST_DIMENSION}", dimension=dimension)


class PrivUnit(Mechanism):
    """Means of unit vectors (PrivUnit, PrivUnit_2).

    With probability p the report is uniform on the cap around the true vector x, the unit vectors v with
    <v, x> >= gamma, and otherwise uniform on the rest of the sphere. Densities differ by the factor
    (p / c) / ((1-p) / (1-c)), where c is the share of the sphere in the cap. This factor is split exactly:
    epsilon0 = log(p / (1-p)) + log((1-c) / c).

    **Idealized real numbers.** The guarantee is that of a report with real coordinates. The report has float64
    coordinates, computed from x, and in principle the last digits of such numbers can tell more than the law allows
    (as for Laplace noise, Mironov 2012). The coin is exact; the direction is not. For float-free guarantees use
    `DiscreteLaplaceMean` or `RoundedMean` on each coordinate, at a much larger error.

    Guarantees:
        1. Each report is (epsilon0, 0)-locally differentially private for ``model.epsilon0``, in idealised real
           numbers. It is evaluated for the depth and the coin actually used, with a guard of 1e-9 added, and is at most
           the epsilon0 asked for and differs from it by less than 1e-6.
        2. Given the product with the true vector, all directions across are equally likely.
        3. Contributions are unbiased for the vector, whose length is first made 1, as far as float64 holds ``scale``.
        4. Reports of different people are independent.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.
        dimension: coordinates of a vector, from 2 to 2^20.
        budget_split: share of the loss that the coin spends, strictly between 0 and 1. None is the best one, for which
            the noise is isotropic: between 0.2 and 0.65, less in high dimensions.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018, Algorithm 1 (arXiv 1812.00984); Asi, Feldman, Talwar 2022 (with
        the best split, the smallest variance in a large family of unbiased randomizers; arXiv 2205.02466).

    Example:
        >>> randomizer = PrivUnit(epsilon0=4.0, dimension=3)
        >>> reports = randomizer.randomize([[1, 0, 0], [0, 0.6, 0.8]])
        >>> reports["vector"].shape, round(randomizer.model.scale, 4)
        ((2, 3), 0.7616)
    """

    model_type: ClassVar[type[Any]] = PrivUnitModel
    answers: ClassVar[str] = "vector"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "dimension")
    best_for: ClassVar[str] = "vectors in many dimensions"
    model: PrivUnitModel

    def __init__(self, *, epsilon0: float, dimension: int, budget_split: float | None = None) -> None:
        self.model = PrivUnitModel.from_epsilon0(epsilon0=epsilon0, dimension=dimension, budget_split=budget_split)

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports, one per vector.

        Args:
            values: vectors of length 1 (within 1e-6; they are then made exactly so), shape (n, dimension): an array,
                or a column of lists.
            source: randomness; None is the cryptographic source.

        Returns:
            Reports with the column ``vector``, float64, shape (n, dimension): unit vectors.

        Raises:
            InvalidParameterError: for vectors of another length or number of coordinates, or with a coordinate that is
                no finite number; the message gives places only.
        """
        source, dimension = resolve_source(source), self.model.dimension
        vectors = as_unit_vectors(values, dimension)
        in_cap = bernoulli(self.model.cap_words, len(vectors), source=source)
        reports = np.empty((len(vectors), dimension))
        rows = max(1, _BATCH // dimension)
        for start in range(0, len(vectors), rows):
            batch = slice(start, start + rows)
            _respond(vectors[batch], in_cap[batch], self.model, source, out=reports[batch])
        return self._reports({"vector": reports}, source)


def _respond(
    vectors: NDArray[np.float64],
    in_cap: NDArray[np.bool_],
    model: PrivUnitModel,
    source: RandomSource,
    *,
    out: NDArray[np.float64],
) -> None:
    """Random report T x + sqrt(1 - T^2) w for each unit vector x.

    w is uniform among the unit vectors orthogonal to x.
    """
    draw = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator))
    depths = depths_within(draw.random(len(vectors)), in_cap, depth=model.depth, dimension=model.dimension)
    draw.standard_normal(out=out)
    for _ in range(2):  # once more, for the few that are nearly parallel to their vector
        out -= np.einsum("ij,ij->i", out, vectors)[:, None] * vectors
    lengths = np.sqrt(np.einsum("ij,ij->i", out, out))
    # 1 - T^2 = 4 depth (1 - depth) keeps its digits where T = 1 - 2 depth is near 1.
    out *= (2 * np.sqrt(depths * (1 - depths)) / lengths)[:, None]
    out += (1 - 2 * depths)[:, None] * vectors


# ---- caps of the sphere ---------------------------------------------------------------------------------------------
# A cap around a unit vector u holds the unit vectors v with <v, u> >= gamma. Its *depth* (1 - gamma) / 2, the share of
# the diameter that it takes, keeps the digits of a small cap, which gamma does not hold. For uniform v in d dimensions
# the depth (1 - <v, u>) / 2 has the Beta(a, a) law, a = (d - 1) / 2. scipy takes most of a second to import, and most
# tasks need none of it: so it is imported where it is used.


def cap_mass(depth: float, dimension: int) -> float:
    """Share of the sphere that lies in a cap, to a relative error of 1e-12.

    So `cap_loss` has that absolute error.
    """
    from scipy import special

    half = (dimension - 1) / 2
    return float(special.betainc(half, half, depth))


def cap_loss(depth: float, dimension: int) -> float:
    """Loss of a cap: the log-odds that a uniform vector lies outside it.

    log((1 - mass) / mass).
    """
    mass = cap_mass(depth, dimension)
    return math.log1p(-mass) - math.log(mass)


def cap_depth(loss: float, dimension: int) -> float:
    """Depth of the cap that has this `cap_loss`; 0 or more."""
    from scipy import special

    half = (dimension - 1) / 2
    return float(special.betaincinv(half, half, special.expit(-loss)))


def cap_moment(depth: float, dimension: int) -> float:
    """Integral over the cap of the inner product with its center, by the uniform law on the whole sphere.

    E[<v, u>; v in the cap] = (1 - gamma^2)^a / ((d - 1) B(1/2, a)), a = (d - 1) / 2. Bhowmick et al. 2018 print the
    same with B(a, a) 2^(d-2), by the duplication formula.
    """
    from scipy import special

    half = (dimension - 1) / 2
    gamma = 1 - 2 * depth
    # 1 - gamma^2 = 4 depth (1 - depth); each form keeps its digits where it is used.
    log_area = math.log1p(-(gamma**2)) if gamma < 0.5 else math.log(4 * depth) + math.log1p(-depth)
    return math.exp(half * log_area - math.log(dimension - 1) - float(special.betaln(0.5, half)))


def best_cap_loss(epsilon0: float, dimension: int) -> float:
    """Loss of the cap, in nats and at most epsilon0, at which reports vary least.

    With c the mass, k the moment and E = exp(epsilon0), the scale is m = k (E - 1) / (1 + (E - 1) c). Since
    dc = -f dgamma and dk = -gamma f dgamma with the same density f, its derivative has the sign of m - gamma. So
    m - gamma falls wherever it is 0: that is at one place, and there m is largest.
    """
    from scipy import optimize

    growth = math.expm1(epsilon0)

    def excess(loss: float) -> float:
        depth = cap_depth(loss, dimension)
        scale = cap_moment(depth, dimension) * growth / (1 + growth * cap_mass(depth, dimension))
        return scale - (1 - 2 * depth)

    if excess(epsilon0) > 0:  # only where gamma and the scale are both 1 in floats
        return epsilon0
    return float(optimize.brentq(excess, 0.0, epsilon0, xtol=1e-12 * epsilon0))


def depths_within(
    shares: NDArray[np.float64], in_cap: NDArray[np.bool_], *, depth: float, dimension: int
) -> NDArray[np.float64]:
    """Random depths inside or outside the cap, from uniform shares by the inverse of the depth's law."""
    from scipy import special

    half = (dimension - 1) / 2
    mass = cap_mass(depth, dimension)
    # Outside, the opposite pole is the near one: each tail is inverted from its own end.
    from_pole = np.where(in_cap, shares * mass, shares * (1 - mass))
    depths = special.betaincinv(half, half, from_pole)
    bounded: NDArray[np.float64] = np.where(in_cap, np.minimum(depths, depth), np.maximum(1 - depths, depth))
    return bounded
