"""Cross table of two private answers that are randomized together: cells, margins, row shares and differences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from shuffledp.analyzers.frequencies import FrequencyAnalyzer, FrequencySummary
from shuffledp.analyzers.frequency_sums import FrequencySums
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.core.flow import View
from shuffledp.core.table import Floats
from shuffledp.core.text import names_of, pair_names
from shuffledp.core.validate import invalid

MARGIN, ROW_SHARE, DIFFERENCE = (f"frequency ({what})" for what in ("margin", "row share", "difference of row shares"))
_GRID = 129  # places along each of two row shares
_LEAST_ROW = 1e-9  # share of the people in a row, where the estimate is none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CrossTable(Estimate):
    """Shares of the people in each cell, row after row, with the numbers derived from the cells.

    Args:
        columns: names of the two answers; the first one gives the rows.
        categories: the names of the rows, and of the columns.
        margins: shares of the rows, then of the columns.
        row_shares: of the people in each row the shares of the columns.
        differences: by how much the shares in each row but the first are larger than those in the first, for each
            column but the first.
        others: see `Estimate`; ``target`` has the cells, and after them people without an answer if these are counted.
    """

    columns: tuple[str, str]
    categories: tuple[tuple[str, ...], tuple[str, ...]]
    margins: Estimate
    row_shares: Estimate
    differences: Estimate

    @property
    def derived(self) -> tuple[Estimate, ...]:
        """Margins, row shares and differences of row shares."""
        return (self.margins, self.row_shares, self.differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTableAnalyzer:
    """Analyzer of cross tables from reports on pairs of answers.

    It takes any randomizer whose errors have known covariances.

    Guarantees:
        1. Shares of cells and margins are unbiased, add up, and have the errors and intervals of `FrequencySums`.
        2. The interval of a row share t = cell / row is that of Fieller: all t at which cell - t row is not told from
           0. So it covers however few people are in the row. Row shares are kept within 0 and 1, and an interval
           beyond them moves along: it is not narrower for being beyond.
        3. The interval of a difference of two row shares holds all differences of two shares at which both are not told
           from 0 together: the least of their joint statistic is at most the square of the normal quantile.
        4. Of reports so few that counts are not nearly normal, both follow from intervals of the cell and of the rest
           of its row that hold together with probability ``level`` (Bonferroni), and cover more often.
        5. ``standard_error`` of a row share or a difference is half the width of the interval divided by the normal
           quantile of ``level``. They are not unbiased.

    Args:
        categories: lists of categories for rows and columns, each of two or more different ones.
        columns: the names of the two answers, for the names of the targets.
        level: coverage of the intervals, strictly between 0 and 1.

    Raises:
        InvalidParameterError: for other categories, names or level.

    References:
        Fieller 1954 (ratios); Guggenberger, Kleibergen, Mavroeidis, Chen 2012 (one of two parameters).

    Example:
        >>> from shuffledp import KaryRandomizedResponse, Pipeline, UniformShuffler
        >>> from shuffledp.testing import SeededSource
        >>> answers = [["No", "Yes"], ["No", "Yes"]]
        >>> pipeline = Pipeline(
        ...     randomizer=KaryRandomizedResponse(epsilon0=2.0, categories=answers),
        ...     shuffler=UniformShuffler(),
        ...     analyzer=CrossTableAnalyzer(categories=answers, columns=("smokes", "drinks")),
        ... )
        >>> people = {"smokes": ["No", "Yes"] * 5000, "drinks": ["No", "Yes", "Yes", "Yes"] * 2500}
        >>> release = pipeline.run(people, delta=1e-6, source=SeededSource(1))
        >>> release.estimate.target[1], release.estimate.differences.target
        ('No, Yes', ('drinks: Yes | smokes: Yes - No',))
    """

    categories: Sequence[Sequence[str | int | bool]]
    columns: tuple[str, str] = ("rows", "columns")
    level: float = 0.95

    def __post_init__(self) -> None:
        validate.open_probability(level=self.level)
        named = tuple(names_of(each) for each in self.categories)
        if len(named) != 2 or any(len(each) < 2 or len(set(each)) < len(each) for each in named):
            raise invalid("two lists, each of two or more different ones", categories=list(self.categories))
        if len(self.columns) != 2:
            raise invalid("two names", columns=list(self.columns))
        object.__setattr__(self, "categories", named)
        object.__setattr__(self, "columns", tuple(self.columns))

    def summarize(self, view: View) -> FrequencySummary:
        """Support counts of a view; see `FrequencyAnalyzer`."""
        return FrequencyAnalyzer().summarize(view)

    def estimate(self, summary: FrequencySummary) -> CrossTable:
        """Cross table with shares of cells, named as "No, Yes", and with numbers derived from the cells.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, holds no report, or is of another number
                of values than there are cells, with one more for people without an answer or not.
            UnsupportedModelError: if it is not known how the errors of different cells go together.
        """
        sums, (rows, columns) = FrequencySums(summary), (names_of(each) for each in self.categories)
        shape = len(rows), len(columns)
        extra = summary.model.domain_size - shape[0] * shape[1]
        if extra not in (0, 1):
            raise InvalidParameterError(
                f"categories must make {summary.model.domain_size} pairs, one for each value, or one fewer; "
                f"got {shape[0]} times {shape[1]}."
            )
        names = (*pair_names(rows, columns), *([str(shape[0] * shape[1])] * extra))
        every = np.eye(len(names))
        cells = every[: len(names) - extra].reshape(*shape, -1)
        margins = np.concatenate([cells.sum(axis=1), cells.sum(axis=0)])
        first, second = self.columns
        sides = [f"{first}: {name}" for name in rows] + [f"{second}: {name}" for name in columns]
        shares = sums.estimate(every, names, statistic="frequency", level=self.level)
        return CrossTable(
            **{field.name: getattr(shares, field.name) for field in fields(Estimate)},
            columns=(first, second),
            categories=(rows, columns),
            margins=sums.estimate(margins, sides, statistic=MARGIN, level=self.level),
            row_shares=self._row_shares(sums, cells),
            differences=self._differences(sums, cells),
        )

    def _row_shares(self, sums: FrequencySums, cells: Floats) -> Estimate:
        """Share of each column among the people of each row."""
        (first, second), (rows, columns) = self.columns, (names_of(each) for each in self.categories)
        parts = cells.reshape(-1, cells.shape[2])
        wholes = np.repeat(cells.sum(axis=1), len(columns), axis=0)
        targets = [f"{second}: {name} | {first}: {row}" for row in rows for name in columns]
        shares, ends = _ratio(sums, parts, wholes, self.level)
        return self._of_ratios(targets, shares, ends, ROW_SHARE, sums.num_reports)

    def _differences(self, sums: FrequencySums, cells: Floats) -> Estimate:
        """Differences between row shares and the first row's shares.

        For all rows and columns except the first.
        """
        (first, second), (rows, columns) = self.columns, (names_of(each) for each in self.categories)
        wholes = cells.sum(axis=1)
        found = [
            _difference(sums, (cells[row, column], wholes[row]), (cells[0, column], wholes[0]), self.level)
            for row in range(1, len(rows))
            for column in range(1, len(columns))
        ]
        targets = [f"{second}: {name} | {first}: {row} - {rows[0]}" for row in rows[1:] for name in columns[1:]]
        shares, ends = np.array([each[0] for each in found]), np.array([each[1:] for each in found])
        return self._of_ratios(targets, shares, ends, DIFFERENCE, sums.num_reports)

    def _of_ratios(
        self, targets: Iterable[str], estimates: Floats, ends: Floats, statistic: str, num_reports: int
    ) -> Estimate:
        return Estimate(
            statistic=statistic,
            target=tuple(targets),
            estimate=estimates,
            standard_error=(ends[:, 1] - ends[:, 0]) / (2 * normal_half_width(self.level)),
            interval=ends,
            level=self.level,
            num_reports=num_reports,
        )


def _ratio(sums: FrequencySums, parts: Floats, wholes: Floats, level: float) -> tuple[Floats, Floats]:
    """Shares of parts in wholes, clipped to 0 and 1, with the shares' intervals.

    Shapes (rows,) and (rows, 2).
    """
    ratios = sums.values(parts) / np.maximum(sums.values(wholes), _LEAST_ROW)
    if _nearly_normal(sums, parts, wholes):
        return _kept_within(0.0, ratios, _fieller(sums, parts, wholes, level))
    shares, (low, high) = np.clip(ratios, 0.0, 1.0), _bonferroni(sums, parts, wholes, level)
    return shares, np.stack([np.minimum(low, shares), np.maximum(high, shares)], axis=1)


def _nearly_normal(sums: FrequencySums, parts: Floats, wholes: Floats) -> bool:
    """Whether errors of parts, rests of wholes, and differences between values are nearly normal.

    Then so is the error of part - t whole.
    """
    return sums.tells_apart_normally and bool(sums.nearly_normal(np.concatenate([parts, wholes - parts])).all())


def _fieller(sums: FrequencySums, parts: Floats, wholes: Floats, level: float) -> Floats:
    """Ends of Fieller's intervals for the ratio part / whole, shape (rows, 2).

    Each t in it has (part - t whole)^2 <= z^2 times the variance of this difference.

    Where the whole is not told from 0, neither are shares from each other, and all t are among them.
    """
    part, whole, square = sums.values(parts), sums.values(wholes), normal_half_width(level) ** 2
    leading = whole**2 - square * sums.variances(wholes)
    middle = part * whole - square * sums.covariances(parts, wholes)
    last = part**2 - square * sums.variances(parts)
    told = (leading > 0) & (whole > 0)
    safe = np.where(told, leading, 1.0)
    spread = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
    ends = np.where(told, (middle - spread) / safe, -np.inf), np.where(told, (middle + spread) / safe, np.inf)
    return np.stack(ends, axis=1)


def _bonferroni(sums: FrequencySums, parts: Floats, wholes: Floats, level: float) -> tuple[Floats, Floats]:
    """Smallest and largest possible share, if the part and the rest of the whole lie in their intervals."""
    (least, most), (least_rest, most_rest) = (
        sums.intervals(weights, (1 + level) / 2).T for weights in (parts, wholes - parts)
    )
    low = least / np.maximum(least + most_rest, _LEAST_ROW)
    return low, 1 - least_rest / np.maximum(most + least_rest, _LEAST_ROW)


def _kept_within(least: float, estimates: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Estimates clipped to the possible range up to 1, with intervals extended to contain the clipped estimates.

    An interval beyond all possible values, which happens now and then, does not become a single point at their end.
    """
    kept = np.clip(estimates, least, 1.0)
    moved = ends + (kept - estimates)[..., None]
    low, high = np.minimum(ends, moved)[..., 0], np.maximum(ends, moved)[..., 1]
    low, high = np.minimum(np.clip(low, least, 1.0), kept), np.maximum(np.clip(high, least, 1.0), kept)
    return kept, np.stack([low, high], axis=-1)


def _difference(
    sums: FrequencySums, one: tuple[Floats, Floats], other: tuple[Floats, Floats], level: float
) -> tuple[float, float, float]:
    """Difference between two shares, each a pair (part, whole), and the ends of its interval.

    It is ``one`` less ``other``.

    Pairs of shares are tried on a grid, which the interval exceeds by one step. Impossible shares are tried too: where
    one pair of possible ones alone has a difference, such as 1, its joint statistic would have two degrees of freedom.
    """
    weights = np.stack([*one, *other])
    parts, wholes = weights[::2], weights[1::2]
    if not _nearly_normal(sums, parts, wholes):
        (mine, theirs), (first, second) = _ratio(sums, parts, wholes, (1 + level) / 2)
        return float(mine - theirs), float(first[0] - second[1]), float(first[1] - second[0])
    (mine, theirs), (first, second) = _ratio(sums, parts, wholes, level)
    difference, ends = float(mine - theirs), _fieller(sums, parts, wholes, level)
    if not np.isfinite(ends).all():
        return difference, float(first[0] - second[1]), float(first[1] - second[0])
    grids = [np.linspace(low, high, _GRID) for low, high in ends]
    mine, theirs = grids[0][:, None], grids[1][None, :]
    g = sums.values(weights)
    s = sums.covariances(np.repeat(weights, 4, axis=0), np.tile(weights, (4, 1))).reshape(4, 4)
    u, v = g[0] - mine * g[1], g[2] - theirs * g[3]
    uu = s[0, 0] - 2 * mine * s[0, 1] + mine**2 * s[1, 1]
    vv = s[2, 2] - 2 * theirs * s[2, 3] + theirs**2 * s[3, 3]
    uv = s[0, 2] - theirs * s[0, 3] - mine * s[1, 2] + mine * theirs * s[1, 3]
    # Not told from 0 together: (u, v) times the inverse of their covariance times (u, v), without dividing by 0.
    inside = u**2 * vv - 2 * u * v * uv + v**2 * uu <= normal_half_width(level) ** 2 * (uu * vv - uv**2)
    apart = mine - theirs
    tried = apart[inside] if inside.any() else apart  # where none of the grid is inside, all that lies between the ends
    step = sum(float(grid[1] - grid[0]) for grid in grids)
    around = np.array([float(tried.min()) - step, float(tried.max()) + step])
    (over, under), (all_over, all_under) = sums.values(parts), sums.values(wholes)
    _, (low, high) = _kept_within(-1.0, over / all_over - under / all_under, around)
    return difference, min(float(low), difference), max(float(high), difference)
