"""Estimates by region, from a view whose labels are slots."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import SHARES, Estimate, normal_half_width
from shuffledp.core.flow import Summary, View
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.randomness.replayable import SeededSource
from shuffledp.randomness.sources import RandomSource

_MOST_WEIGHTS = 50_000_000
_LEAST_CURVATURE = -0.999999
NUM_DRAWS = 64  # of simulations
_FEW_REGIONS = 1 << 15
_AT_A_TIME = 1 << 20  # slots
_DOUBT = 3.0  # times z^2 slots: of the answers around fewer ones nothing is taken for known

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionalSummary(Summary):
    """Weighted sums over the reports in the slots of each region.

    Args:
        model: the randomizer's model.
        weights: sum of the weights of the reports seen, shape (regions,).
        squares: sum of their squares.
        sums: weighted sums over reports, shape (regions, targets): of supports of values, or of contributions.
        second: weighted sums of the squares of contributions; the same as ``sums`` for supports.
        num_reports: reports seen.
    """

    model: LocalModel
    weights: NDArray[np.float64]
    squares: NDArray[np.float64]
    sums: NDArray[np.float64]
    second: NDArray[np.float64]
    num_reports: int

    def __add__(self, other: "RegionalSummary") -> "RegionalSummary":
        if self.model != other.model or self.sums.shape != other.sums.shape:
            raise IncomparableError("summaries must be of one model and of the same regions.")
        names = ("weights", "squares", "sums", "second", "num_reports")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


class _Drawing(Protocol):
    def model(self, num_users: int) -> ShuffleModel:
        """Public description of the shuffle; ``num_users`` must be the shuffler's number of people."""

    def moves(self, *, source: RandomSource | None = None) -> Iterator[tuple[Integers, Integers]]:
        """Slots and the senders of their reports, in pairs of equally long arrays, one pair for each part."""


class _ReportOrigins(NamedTuple):
    """Origins of the reports in a region's slots, in simulated draws.

    ``chances`` are for each pair of regions the sum, over the people j of the second, of the variance of "the report of
    j lies in the first", over the squared number of the first's slots.
    """

    shares: Floats  # of a region's slots, that hold a report from each region; shape (draws, regions, regions)
    chances: Floats

    def variance(self, within: Floats, spreads: Floats, level: float) -> Floats:
        """Variances of averages over regions' slots, from the mean and variance of one person's value by region.

        A variance found from fewer draws than usual is stretched as Student's quantiles are at this ``level``.
        """
        from scipy.special import stdtrit

        few, usual = (stdtrit(draws - 1, (1 + level) / 2) for draws in (len(self.shares), NUM_DRAWS))
        moved: Floats = (self.shares @ within).var(axis=0, ddof=1) * max(1.0, few / usual) ** 2
        out: Floats = moved + np.maximum(self.chances @ spreads, 0.0)
        return out

    def most(self, slots: Floats) -> Floats:
        """Upper bound on the variances of regional averages of any values in a range of width 1.

        A quarter per slot is the most where slots are filled independently, and with v_j the variance of "the report of
        j lies here" half the sum of all v_j where who lies here makes others' lying here less likely. Of that sum six
        times as much is taken: the law of a handful of slots is far from normal, and anything that happens with 5%
        then has its place in an interval of 95%.
        """
        found: Floats = np.minimum(3 * self.chances.sum(axis=1), 0.25 / slots)
        return found


def _simulated(shuffler: _Drawing, region: Numbers, sizes: Floats, num_draws: int) -> _ReportOrigins:
    """Origins of reports in simulated draws, with fixed seeds so that all parties compute equal errors."""
    count = sizes.size
    shares, overlaps = np.zeros((num_draws, count, count)), np.zeros((count, count))
    lands, last = np.empty_like(region), np.empty_like(region)
    for number in range(num_draws):
        found = np.zeros(count**2, dtype=np.int64)
        for slots, owners in shuffler.moves(source=SeededSource(0).substream("regions", number)):
            here = region[slots]
            pairs = here.astype(np.int64) * count + region[owners]
            found += np.bincount(pairs, minlength=count**2)
            if number:
                again = pairs[last[owners] == here]
                overlaps += np.bincount(again, minlength=count**2).reshape(count, count)
            lands[owners] = here
        shares[number] = found.reshape(count, count) / sizes[:, None]
        lands, last = last, lands
    chances = shares.mean(axis=0) / sizes[:, None] - overlaps / (num_draws - 1) / sizes[:, None] ** 2
    return _ReportOrigins(shares, np.maximum(chances, 0.0))


class RegionalAnalyzer:
    """Frequencies or means by region, from the reports in the region's slots.

    A shuffle that keeps slots puts into a region's slots mostly reports from there, and some from nearby. So what is
    estimated is a *smoothed* target: the average over the region's slots of the answers that lie in them. It is that of
    the region itself only as far as answers vary slowly from place to place. Nothing is sharpened.

    Guarantees:
        1. Unbiased for the smoothed target of this batch: the expected share (or mean) of the answers that lie in the
           region's slots, over the shuffle's randomness.
        2. ``standard_error`` is the error from randomizing, and with a ``shuffler`` also that from which answers happen
           to lie there; without one it is about those that do. Up to about a dozen slots the latter error is that of
           the worst answers, and beyond they weigh ever less. ``sampling_error`` is the further error if each answer is
           itself a draw, from chances that depend on the place.
        3. Summaries of parts add up to the summary of the whole.
        4. No interval of a share reaches below 0 or above 1; estimates may, since they are unbiased.

    Args:
        regions: the public region of each slot, any labels, shape (slots,); or None, and
        weights: shape (regions, slots), 0 or more: how much the report in a slot counts for a region.
        shuffler: what shuffled, whose public law is simulated; None if nothing was shuffled, or with ``weights``.
        num_draws: of the simulation, 2 or more.
        where: a public description of each region; None is its label or number.
        level: coverage of the intervals, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if not exactly one of ``regions`` and ``weights`` is given, or they are out of range.

    Example:
        >>> from shuffledp import IdentityShuffler, KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=2).randomize([0, 1, 0, 0])
        >>> analyzer = RegionalAnalyzer(regions=["west", "west", "east", "east"])
        >>> estimate = analyzer.estimate(analyzer.summarize(IdentityShuffler().shuffle(reports)))
        >>> [(row["where"]["region"], row["target"], round(row["estimate"], 6)) for row in estimate.rows()][:2]
        [('east', '0', 1.0), ('east', '1', -0.0)]
    """

    def __init__(
        self,
        *,
        regions: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        shuffler: "_Drawing | None" = None,
        num_draws: int = NUM_DRAWS,
        where: "tuple[Mapping[str, Any], ...] | None" = None,
        level: float = 0.95,
    ) -> None:
        validate.open_probability(level=level)
        if (regions is None) == (weights is None):
            raise InvalidParameterError("exactly one of regions and weights must be given.")
        validate.integer_at_least(2, num_draws=num_draws)
        if shuffler is not None and regions is None:
            raise InvalidParameterError("shuffler must be given with regions, not with weights.")
        self.level = level
        self._landing: _ReportOrigins | None = None
        self._weights: Floats | None = None
        if weights is not None:
            self._weights = _checked_weights(weights)
            self.num_slots, count = self._weights.shape[1], len(self._weights)
            names = list(range(count))
        else:
            labels = np.asarray(regions)
            if labels.ndim != 1 or labels.size == 0:
                raise invalid("one label per slot", shape_of_regions=labels.shape)
            names, self._region = _numbered(labels)
            self.num_slots, count = labels.size, len(names)
            self._sizes = _counted(self._region, count).astype(np.float64)
        self.where = tuple({"region": name} for name in names) if where is None else tuple(where)
        if len(self.where) != count:
            raise invalid(f"one for each of {count} regions", len_where=len(self.where))

        if shuffler is not None:
            shuffler.model(self.num_slots)
            self._landing = _simulated(shuffler, self._region, self._sizes, int(num_draws))

    @classmethod
    def from_kernel(cls, points: ArrayLike, centers: ArrayLike, bandwidth: float, *, level: float = 0.95) -> Self:
        """Analyzer with Gaussian weights exp(-distance^2 / (2 bandwidth^2)) around centers, for smooth maps and lines.

        Args:
            points: the public place of each slot, shape (slots,) or (slots, columns).
            centers: where to estimate, shape (centers,) or (centers, columns).
            bandwidth: above 0, in the units of the points.
            level: as above.

        Raises:
            InvalidParameterError: if a number is not finite, or shapes disagree.
        """
        validate.positive(bandwidth=bandwidth)
        at, around = (_as_columns(each, name) for each, name in ((points, "points"), (centers, "centers")))
        if at.shape[1] != around.shape[1]:
            raise invalid(f"with {at.shape[1]} columns, as points", shape_of_centers=around.shape)
        squared = ((around[:, None, :] - at[None]) ** 2).sum(axis=2)
        where = tuple({"center": row.tolist() if row.size > 1 else float(row[0])} for row in around)
        return cls(weights=np.exp(-squared / (2 * bandwidth**2)), where=where, level=level)

    @property
    def blur(self) -> Floats:
        """Expected share of each region's slots that hold a report from each region, shape (regions, regions).

        Raises:
            InvalidParameterError: without a shuffler.
        """
        if self._landing is None:
            raise InvalidParameterError("shuffler must be given, since nothing is blurred without one; got None.")
        found: Floats = self._landing.shares.mean(axis=0)
        return found

    def summarize(self, view: View) -> RegionalSummary:
        """Weighted sums of a view.

        Raises:
            UnsupportedModelError: if the view's labels are no people's slots, or its reports stand for no values.
            InvalidParameterError: if there is another number of slots.
        """
        if not isinstance(view.reports.model, FrequencyModel | MeanModel):
            raise UnsupportedModelError(
                f"estimates by region need values or numbers; got reports of {view.reports.model.kind!r}."
            )
        if view.labels is None or not view.shuffle.keeps_places:
            raise UnsupportedModelError(
                f"estimates by region need labels that are people's slots; got a {view.shuffle.kind!r} shuffle."
            )
        if view.shuffle.num_labels != self.num_slots:
            raise invalid(f"the slots of the regions, {self.num_slots}", num_labels=view.shuffle.num_labels)
        if view.shuffle.dummies is not None:
            raise UnsupportedModelError("estimates by region are not known for dummy reports.")
        said, second = _what_reports_say(view)
        weights, squares, sums, seconds = self._sum(view.labels, said, second)
        return RegionalSummary(
            model=view.reports.model, weights=weights, squares=squares, sums=sums, second=seconds, num_reports=len(view)
        )

    def _sum(self, labels: Integers, said: Floats, second: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        if self._weights is not None:
            here = self._weights[:, labels]
            return here.sum(axis=1), (here**2).sum(axis=1), here @ said, here @ second
        regions, count = self._region[labels], len(self.where)
        weights = np.bincount(regions, minlength=count).astype(np.float64)
        sums = _sums_of(regions, said, count)
        seconds = sums if second is said else _sums_of(regions, second, count)
        return weights, weights, sums, seconds

    def estimate(self, summary: RegionalSummary) -> Estimate:
        """Estimate with a row per region and value (or coordinate), with ``where``; leaves out regions without reports.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, is of other regions, or holds no report
                with a weight.
        """
        validate.instance_of(RegionalSummary, summary=summary)
        if len(summary.weights) != len(self.where):
            raise invalid(f"one for each of {len(self.where)} regions", num_regions=len(summary.weights))
        seen = np.flatnonzero(summary.weights > 0)
        if seen.size == 0:
            raise invalid("a summary of one report or more in some region", num_reports=summary.num_reports)
        total = summary.weights[seen, None]
        per_report = summary.squares[seen, None] / total**2
        model = summary.model
        low, high = range_of(model)
        estimate, noise, spread = estimates_of(model, summary.sums[seen] / total, summary.second[seen] / total)
        shuffling = np.zeros_like(estimate)
        if self._landing is not None:
            within = np.zeros((len(self.where), estimate.shape[1]))
            spreads = within.copy()
            within[seen], spreads[seen] = estimate, spread
            shuffling = self._landing.variance(within, spreads, self.level)[seen]
            most = self._landing.most(self._sizes)[seen, None] * (high - low) ** 2
            doubt = np.minimum(_DOUBT * normal_half_width(self.level) ** 2 / total, 1.0)
            shuffling += doubt * np.maximum(most - shuffling, 0.0)
        drawing = np.maximum(spread * per_report - shuffling, 0.0)
        names = [str(target) for target in range(estimate.shape[1])] if estimate.shape[1] > 1 else ["value"]
        return Estimate(
            statistic=("frequency" if isinstance(model, FrequencyModel) else "mean") + " by region",
            target=tuple(name for _ in seen for name in names),
            estimate=estimate.ravel(),
            standard_error=np.sqrt(noise * per_report + shuffling).ravel(),
            sampling_error=np.sqrt(drawing).ravel(),
            possible=(low, high),
            level=self.level,
            where=tuple(self.where[place] for place in seen.tolist() for _ in names),
            num_reports=summary.num_reports,
        )


def _sums_of(regions: Numbers, columns: Floats, count: int) -> Floats:
    """Sum of each column over each region's reports, shape (regions, columns)."""
    return np.column_stack([np.bincount(regions, column, minlength=count) for column in columns.T]).astype(np.float64)


def _parts_of(numbers: Numbers) -> Iterator[Numbers]:
    """Parts of an array, each of a bounded length, to save memory."""
    return (numbers[start : start + _AT_A_TIME] for start in range(0, numbers.size, _AT_A_TIME))


def _counted(numbers: Numbers, length: int) -> Integers:
    """Number of times that each number below ``length`` occurs."""
    found = np.zeros(length, dtype=np.int64)
    for part in _parts_of(numbers):
        found += np.bincount(part, minlength=length)
    return found


def _numbered(labels: NDArray[Any]) -> tuple[list[Any], Numbers]:
    """Distinct labels, ascending, and for each label its index among them, in the smallest integer type."""
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= _FEW_REGIONS:
        found, numbers = np.unique(labels, return_inverse=True)
        return found.tolist(), numbers
    distinct = np.flatnonzero(_counted(labels, _FEW_REGIONS))
    number_of = np.zeros(_FEW_REGIONS, dtype=np.min_scalar_type(distinct.size))
    number_of[distinct] = np.arange(distinct.size)
    return distinct.tolist(), np.concatenate([number_of[part] for part in _parts_of(labels)])


def _what_reports_say(view: View) -> tuple[Floats, Floats]:
    """Contribution of each report to each target (1 or 0 for support), and its square, shape (reports, targets)."""
    model, columns = view.reports.model, view.reports.columns
    if isinstance(model, FrequencyModel):
        supports = [model.supports(columns, value) for value in range(model.domain_size)]
        said = np.column_stack(supports).astype(np.float64)
        return said, said
    numbers: Any = model
    said = numbers.contributions(columns).reshape(len(view), numbers.dimension)
    return said, said**2


def estimates_of(model: LocalModel, first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Estimates and two variances per report (randomizing, answers), from mean contributions and squares."""
    return (_of_frequencies if isinstance(model, FrequencyModel) else _of_means)(model, first, second)


def _of_frequencies(model: LocalModel, support: Floats, _: Floats) -> tuple[Floats, Floats, Floats]:
    """Estimated shares, with the variances per report of randomizing and of drawing an answer."""
    p, q = getattr(model, "p"), getattr(model, "q")  # noqa: B009
    mixed = (support - q) / (p - q)
    share = np.clip(mixed, 0, 1)
    noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
    return mixed, noise, share * (1 - share)


def _of_means(model: LocalModel, mean: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Estimated means, with the variances per report of randomizing and of the values."""
    numbers: Any = model
    variance = np.maximum(second - mean**2, 0.0)
    at_mean = np.array([numbers.noise_variance(row) for row in mean])
    curvature = numbers.noise_curvature
    if curvature < _LEAST_CURVATURE:
        return mean, np.maximum(at_mean, variance), np.zeros_like(mean)
    inside = np.clip(mean, numbers.lower, numbers.upper)
    most = (numbers.upper - inside) * (inside - numbers.lower)
    spread = np.clip((variance - at_mean) / (1 + curvature), 0.0, most)
    return mean, at_mean + curvature * spread, spread


def range_of(model: LocalModel) -> tuple[float, float]:
    """Least and largest of the values that are averaged, between which every average lies; 0 and 1 for frequencies."""
    numbers: Any = model
    return SHARES if isinstance(model, FrequencyModel) else (float(numbers.lower), float(numbers.upper))


def _checked_weights(weights: ArrayLike) -> Floats:
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all() or (array < 0).any():
        raise InvalidParameterError(
            f"weights must be finite numbers of 0 or more, one row per region; got shape {array.shape}."
        )
    if array.size > _MOST_WEIGHTS:
        raise invalid(f"at most {_MOST_WEIGHTS}: use regions, or fewer centers", num_weights=array.size)
    return array


def _as_columns(places: ArrayLike, name: str) -> Floats:
    array = np.asarray(places, dtype=np.float64)
    if array.ndim not in (1, 2) or array.size == 0 or not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must be finite numbers, one row each; got shape {array.shape}.")
    return array.reshape(len(array), -1)
