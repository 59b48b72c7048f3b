"""Means of numbers or vectors from randomized reports: unbiased, with errors from the randomizer and from sampling."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.local_models import LEAST_CURVATURE, MeanModel
from shuffledp.core.shuffle_models import DummyReports
from shuffledp.core.validate import invalid

_LARGEST_COVARIANCE = 2048  # coordinates: the matrix takes 32 MiB
_LEAST_CORRELATION = 1e-6
_MANTISSA = 53  # bits
_LOWER = 27  # bits of the lower part; sums of 2^20 such parts are exact in float64
_BATCH = 1 << 18  # numbers at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanSummary(Summary):
    """Exact sums of the contributions of the reports so far.

    So the order of adding does not matter.

    Args:
        model: the randomizer's model.
        dummies: the dummy reports to correct for, if the shuffler adds any.
        arrival_share: expected share of people whose own reports are in the view, a random sample of all if below 1.
        sums: of the contributions, one per coordinate.
        squares: of their squares, one per coordinate.
        num_reports: reports seen.

    Raises:
        InvalidParameterError: if there is not one sum, and one sum of squares of 0 or more, for each coordinate.
    """

    model: MeanModel
    dummies: DummyReports | None = None
    arrival_share: float = 1.0
    sums: tuple[Fraction, ...]
    squares: tuple[Fraction, ...]
    num_reports: int

    def __post_init__(self) -> None:
        validate.integer_at_least(0, num_reports=self.num_reports)
        dimension = self.model.dimension
        if len(self.sums) != dimension or len(self.squares) != dimension or min(self.squares) < 0:
            raise invalid(f"{dimension} sums of squares of 0 or more", len_squares=len(self.squares))

    def __add__(self, other: "MeanSummary") -> "MeanSummary":
        mine = (self.model, self.dummies, self.arrival_share)
        if not isinstance(other, MeanSummary) or mine != (other.model, other.dummies, other.arrival_share):
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        return replace(
            self,
            sums=tuple(mine + theirs for mine, theirs in zip(self.sums, other.sums, strict=True)),
            squares=tuple(mine + theirs for mine, theirs in zip(self.squares, other.squares, strict=True)),
            num_reports=self.num_reports + other.num_reports,
        )

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean contribution of all reports, including dummies, shape (dimension,)."""
        return np.array([float(total / self.num_reports) for total in self.sums])

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the contributions, unbiased; 0 for a single report; shape (dimension,)."""
        others = max(self.num_reports - 1, 1)
        pairs = zip(self.squares, self.sums, strict=True)
        # Squares are rounded one by one, so that equal contributions may give a difference below 0.
        return np.array([max(float((square - total**2 / self.num_reports) / others), 0.0) for square, total in pairs])


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanAnalyzer:
    """Means of numbers or vectors, for any randomizer with unbiased reports (`MeanModel`).

    The estimate is the mean contribution; one row for a number, one per coordinate for vectors.

    Guarantees:
        1. Unbiased for the mean of the people in the batch, for all values of theirs; but where a shuffle does not hand
           in everybody's report with the same chance, as walks with protocol "single" or "padded" after few rounds,
           only where values do not go with that chance.
        2. ``standard_error`` is the error from randomizing, and from a shuffle that adds dummies or loses reports, and
           ``sampling_error`` the further error if the batch is a random sample of a population. What reports cannot
           tell from randomizing counts as randomizing, so that the first is then an upper bound, and both together are
           right: of the spread of the values, the part within one step of a grid; and all of it for one bit, where
           ``sampling_error`` is None.
        3. No estimate is clipped: it may lie outside the range. Intervals are around the value in the range that is
           nearest to it, and end where the range does, so that they cover no less than intervals that are not cut.
        4. For vectors of up to 2048 coordinates ``covariance`` is that of the errors from randomizing, if the people's
           vectors are all alike; so too if they are not, where the noise is the same in all directions, as for PrivUnit
           with the best split: then different coordinates are uncorrelated.

    Dummies are corrected for. If they were made from a value, that value is taken off; if they average out to nothing,
    their contributions have mean 0, and what the spread of the dummies adds is taken from the reports themselves.

    Args:
        level: coverage of the intervals, strictly between 0 and 1.

    Example:
        >>> from shuffledp.randomizers import OneBitMean
        >>> from shuffledp.shufflers import UniformShuffler
        >>> from shuffledp.randomness.replayable import SeededSource
        >>> reports = OneBitMean(epsilon0=3.0, lower=0, upper=10).randomize([2.5] * 1000, source=SeededSource(1))
        >>> analyzer = MeanAnalyzer()
        >>> estimate = analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports)))
        >>> bool(abs(estimate.estimate[0] - 2.5) < 4 * estimate.standard_error[0])
        True
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)

    def summarize(self, view: View) -> MeanSummary:
        """Sums of the contributions of a view's reports.

        Raises:
            UnsupportedModelError: if the reports do not stand for numbers or vectors, so that means have no meaning.
        """
        model, count = view.reports.model, len(view.reports)
        if not isinstance(model, MeanModel):
            raise UnsupportedModelError(f"means need reports of numbers or vectors; got reports of {model.kind!r}.")
        contributions = model.contributions(view.reports.columns).reshape(count, model.dimension)
        return MeanSummary(
            model=model,
            dummies=model.named(view.shuffle.dummies),
            arrival_share=view.shuffle.arrival_share,
            sums=exact_sums(contributions),
            squares=exact_sums(contributions**2),
            num_reports=count,
        )

    def estimate(self, summary: MeanSummary) -> Estimate:
        """Mean with standard errors and intervals: a row named "value", or a numbered row per coordinate.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, or holds no report.
            UnsupportedModelError: if dummies were made from a value that the randomizer does not take.
        """
        validate.instance_of(MeanSummary, summary=summary)
        if summary.num_reports == 0:
            raise invalid("a summary of one report or more", num_reports=summary.num_reports)
        model, total = summary.model, summary.num_reports
        mean, variance = summary.mean, summary.variance
        noise = _noise(model, mean, variance)
        spread = np.maximum(variance - noise, 0.0)
        error, people = noise / total, float(total)
        if summary.dummies is not None:
            people = total * (1 - summary.dummies.fraction)
            mean, error, spread = _without_dummies(summary, noise, spread)
        sampling = spread / people
        if summary.dummies is None or summary.dummies.value is not None:  # else all spread is in the error already
            error = error + sampling * (1 - summary.arrival_share)  # of a sample of the people, without replacement
        single = model.dimension == 1
        return Estimate(
            statistic="mean",
            target=("value",) if single else tuple(str(coordinate) for coordinate in range(model.dimension)),
            estimate=mean,
            standard_error=np.sqrt(error),
            sampling_error=np.sqrt(sampling * summary.arrival_share) if model.tells_spread else None,
            covariance=_covariance(summary, error),
            possible=(model.lower, model.upper),
            level=self.level,
            num_reports=total,
        )


def _noise(model: MeanModel, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average noise variance of a report, from the mean and the variance of all contributions.

    The variance is noise plus spread, and the noise is N + C spread with N and C known (`MeanModel`). So the spread is
    (variance - N) / (1 + C), between 0 and that of values at both ends of the range. Where it cannot be told, all of
    the variance counts as noise.
    """
    at_mean, curvature = model.noise_variance(mean), model.noise_curvature
    if model.noise_curvature < LEAST_CURVATURE:
        return np.maximum(at_mean, variance)
    inside = np.clip(mean, model.lower, model.upper)
    most = (model.upper - inside) * (inside - model.lower)
    spread = np.clip((variance - at_mean) / (1 + curvature), 0.0, most)
    noise: NDArray[np.float64] = at_mean + curvature * spread
    return noise


def _covariance(summary: MeanSummary, error: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Covariance of the errors from randomizing, with these variances; None if unknown, and for numbers."""
    model, mean = summary.model, summary.mean
    if not 1 < model.dimension <= _LARGEST_COVARIANCE or summary.dummies is not None:
        return None
    noise = model.noise_covariance(np.outer(mean, mean))
    if noise is None:
        return None
    covariance: NDArray[np.float64] = noise / summary.num_reports
    np.fill_diagonal(covariance, error)
    # What is left of equal directions is rounding.
    deviations = np.sqrt(error)
    covariance[np.abs(covariance) < _LEAST_CORRELATION * np.outer(deviations, deviations)] = 0.0
    return covariance


def _without_dummies(
    summary: MeanSummary, noise: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean of people's values, the mean's variance, and the values' spread, corrected for dummies.

    With a share f of dummies whose mean is c, the mean of all reports is (1 - f) mean + f c, and the spread of all
    values is (1 - f) spread + f (spread of the dummies) + f (1 - f) (mean - c)^2.
    """
    model, dummies = summary.model, summary.dummies
    if dummies is None:
        raise invalid("given", dummies=dummies)
    center, share = _center(model, dummies), dummies.fraction
    mean = (summary.mean - share * center) / (1 - share)
    between = share * (1 - share) * (mean - center) ** 2
    if dummies.value is None:
        # Dummies of unknown values add their spread to the error: at most all that the reports show.
        noise = np.maximum(noise, summary.variance - between)
    unknown_share = ((mean - center) * dummies.standard_error / (1 - share)) ** 2
    error = noise / summary.num_reports / (1 - share) ** 2 + unknown_share
    return mean, error, np.maximum(spread - between, 0.0) / (1 - share)


def _center(model: MeanModel, dummies: DummyReports) -> float:
    """Mean contribution of a dummy report."""
    if dummies.value is None:
        return 0.0
    if model.dimension > 1 or not model.lower <= dummies.value <= model.upper:
        raise UnsupportedModelError(f"means need dummies made from one of their values; got {dummies!r}.")
    return float(dummies.value)


# ---- sums without rounding, so that the order in which summaries of parts are added does not matter ------------------


def exact_sums(values: NDArray[np.float64]) -> tuple[Fraction, ...]:
    """Exact sum of each column of finite numbers.

    Each float is an integer of 53 bits times a power of two. Integers of equal powers are added, in two parts that
    cannot overflow; then the powers are put together.

    Example:
        >>> exact_sums(np.array([[1e300], [1.0], [-1e300]]))
        (Fraction(1, 1),)
    """
    if not np.isfinite(values).all():
        raise InvalidParameterError("values must be finite numbers; got others.")
    columns = values.shape[1]
    totals = [Fraction(0)] * columns
    rows = max(1, _BATCH // columns)
    for start in range(0, len(values), rows):
        for column, total in enumerate(_sums(values[start : start + rows])):
            totals[column] += total
    return tuple(totals)


def _sums(values: NDArray[np.float64]) -> list[Fraction]:
    mantissas, exponents = np.frexp(values)
    integers = np.ldexp(mantissas, _MANTISSA).astype(np.int64)
    least = int(exponents.min())
    powers, columns = int(exponents.max()) - least + 1, values.shape[1]
    slots = ((exponents - least) * columns + np.arange(columns)).ravel()
    upper, lower = (
        np.bincount(slots, weights=part.ravel(), minlength=powers * columns).astype(np.int64).reshape(powers, columns)
        for part in (integers >> _LOWER, integers & (2**_LOWER - 1))
    )
    unit = Fraction(2) ** (least - _MANTISSA)
    found = []
    for column in range(columns):
        total = 0
        for power in np.flatnonzero(upper[:, column] | lower[:, column]).tolist():
            total += ((int(upper[power, column]) << _LOWER) + int(lower[power, column])) << power
        found.append(total * unit)
    return found
