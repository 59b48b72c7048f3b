"""Test of independence of two answers that are randomized together, from the reports about both."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.cross_tables import CrossTable
from shuffledp.analyzers.frequencies import FrequencySummary
from shuffledp.analyzers.frequency_sums import FrequencySums
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.table import Floats

_LEAST_MARGIN = 3.0  # standard errors: categories of a smaller share are merged
_SIZE = 0.05  # of a single test
_CONVERGED, _MOST_STEPS = 1e-12, 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Independence:
    """Result of a test of independence of two answers.

    Args:
        columns: names of both answers.
        statistic: of the test; nearly chi-square under independence, with ``degrees`` of freedom.
        degrees: (r - 1)(c - 1) for r rows and c columns that are not merged.
        p_value: chance of so large a statistic if both answers are independent.
        merged: for each column the names of the categories that were merged into one, since each was too rare; or ().
        method: "likelihood" for k-RR, and "wald" for other randomizers.
        differs: whether it is told from independence by Holm's procedure over all comparisons; by itself, at 5%.
    """

    columns: tuple[str, str]
    statistic: float
    degrees: int
    p_value: float
    merged: tuple[tuple[str, ...], tuple[str, ...]]
    method: str
    differs: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON."""
        return {
            "columns": list(self.columns),
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "merged": [list(each) for each in self.merged],
            "method": self.method,
            "differs": self.differs,
        }


def independence(table: CrossTable, model: FrequencyModel) -> Independence | None:
    """Test of independence of both answers of a cross table; None if too few categories are common enough.

    A chi-square test of the reports themselves would be wrong: noise is common to all cells, so that reports depend on
    both answers unless a margin is uniform. Here the law of reports q + (p - q) a_i b_j is fitted by maximum
    likelihood. Categories whose estimated margin is below three standard errors are merged first.

    Guarantees:
        1. Under independence the chance of a p-value below 5% is at most 7%, with some hundred reports or more. That is
           seen in simulations, not proved.

    Args:
        table: from reports of everybody, without dummies.
        model: of its reports; not "olh" or "hadamard", of which it is not known how errors of cells go together.

    Raises:
        UnsupportedModelError: for another model.

    References:
        Dempster, Laird, Rubin 1977 (EM); Pearson 1900; Wald 1943.
    """
    if model.joint_support is None:
        raise UnsupportedModelError(
            f"a test of independence needs a randomizer whose covariances between values are known, such as 'k-rr', "
            f"'oue' or 'subset'; got {model.kind!r}."
        )
    summary = _summary(table, model)
    rows, columns = (_merging(table, side) for side in (0, 1))
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    if min(shape) < 2:
        return None
    cell = rows[:, None] * shape[1] + columns[None, :]  # where each cell goes
    joint = model.joint_support
    if joint.with_own == joint.of_others == 0:
        statistic, method = _likelihood(summary, cell, shape), "likelihood"
    else:
        statistic, method = _wald(summary, cell, shape), "wald"
    degrees = (shape[0] - 1) * (shape[1] - 1)
    return Independence(
        columns=table.columns,
        statistic=statistic,
        degrees=degrees,
        p_value=(p_value := _beyond(statistic, degrees)),
        merged=(_named(table.categories[0], rows), _named(table.categories[1], columns)),
        method=method,
        differs=p_value <= _SIZE,
    )


def _summary(table: CrossTable, model: FrequencyModel) -> FrequencySummary:
    """Support counts from which the table was made."""
    counts = np.rint((table.estimate * (model.p - model.q) + model.q) * table.num_reports).astype(np.int64)
    return FrequencySummary(model=model, counts=counts, num_reports=table.num_reports)


def _merging(table: CrossTable, side: int) -> NDArray[np.int64]:
    """Number of the merged category for each category of one side; rare categories share the last number."""
    start, size = (0, len(table.categories[0]))[side], len(table.categories[side])
    margin = table.margins.estimate[start : start + size]
    error = table.margins.standard_error[start : start + size]
    order = np.argsort(margin, kind="stable")
    rare = margin < _LEAST_MARGIN * error
    if rare.any():  # one category with others' help is common enough, or takes the next one in
        while rare.sum() < size and margin[rare].sum() < _LEAST_MARGIN * math.sqrt(float(np.square(error[rare]).sum())):
            rare[next(place for place in order.tolist() if not rare[place])] = True
        if rare.sum() == 1:
            rare[next(place for place in order.tolist() if not rare[place])] = True
    found = np.full(size, int((~rare).sum()), dtype=np.int64)
    found[~rare] = np.arange(int((~rare).sum()))
    return found


def _likelihood(summary: FrequencySummary, cell: NDArray[np.int64], shape: tuple[int, int]) -> float:
    """Pearson's statistic of the counts against the best-fitting independent law.

    The law is fitted by maximum likelihood. Merged cells have the noise of all of them; people without an answer are
    one more value, of any share.
    """
    p, q, cells = summary.model.p, summary.model.q, shape[0] * shape[1]
    place = np.append(cell.ravel(), np.full(summary.model.domain_size - cell.size, cells, dtype=np.int64))
    counts = np.bincount(place, summary.counts).astype(np.float64)
    noise, total = q * np.bincount(place), float(counts.sum())
    rows, columns, none = np.full(shape[0], 1 / shape[0]), np.full(shape[1], 1 / shape[1]), (len(counts) - cells) / 2
    for _ in range(_MOST_STEPS):
        true = np.append((1 - none) * np.outer(rows, columns).ravel(), none)[: len(counts)]
        law = noise + (p - q) * true
        # A report is the truth, or noise whatever that is: expected people of each value.
        people = counts * (p - q) * true / law + true * float((counts * noise / law).sum())
        table = people[:cells].reshape(shape)
        before = np.concatenate([rows, columns])
        rows, columns = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
        none = float(people[cells:].sum()) / total
        if np.abs(np.concatenate([rows, columns]) - before).max() < _CONVERGED:
            break
    return float(np.square(counts - total * law) @ (1 / (total * law)))


def _wald(summary: FrequencySummary, cell: NDArray[np.int64], shape: tuple[int, int]) -> float:
    """Wald's statistic of the differences between cells and products of margins, with exact covariances."""
    cells = shape[0] * shape[1]
    weights = np.zeros((cells, summary.model.domain_size))
    weights[cell.ravel(), np.arange(cell.size)] = 1.0
    sums = FrequencySums(summary)
    share = sums.values(weights).reshape(shape)
    first, second = np.repeat(weights, cells, axis=0), np.tile(weights, (cells, 1))

    def spread(each: Floats) -> Floats:
        return sums.variances(each) + sums.sampling_variances(each)

    covariance = (spread(first + second) - spread(first - second)).reshape(cells, cells) / 4
    rows, columns, answered = share.sum(axis=1), share.sum(axis=0), float(share.sum())
    apart, slopes = [], []
    for row in range(shape[0] - 1):
        for column in range(shape[1] - 1):
            # cell x all - row x column: 0 under independence, also among those who answered alone.
            slope = np.full(shape, share[row, column])
            slope[row, column] += answered
            slope[row, :] -= columns[column]
            slope[:, column] -= rows[row]
            apart.append(share[row, column] * answered - rows[row] * columns[column])
            slopes.append(slope.ravel())
    jacobian = np.array(slopes)
    return float(np.array(apart) @ np.linalg.solve(jacobian @ covariance @ jacobian.T, np.array(apart)))


def _beyond(statistic: float, degrees: int) -> float:
    """Probability that a chi-square variable exceeds the statistic."""
    from scipy.special import gammaincc

    return float(gammaincc(degrees / 2, statistic / 2))


def _named(names: tuple[str, ...], places: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of the merged categories."""
    found = [name for name, place in zip(names, places.tolist(), strict=True) if (places == place).sum() > 1]
    return tuple(found)
