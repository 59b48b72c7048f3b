"""Whether rows are the expected ones: what is computed must be equal, and what is drawn as near as its error allows."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import fdtri, stdtrit

from experiments.showing import as_cell

Row = dict[str, Any]
Cells = dict[str, str]

_ERRORS = 5.0  # standard errors: among thousands of cells one in a million may not be said to differ
_CHANCE = 1e-5  # the same for few repetitions, where Student's t is wider
_FEWEST = 3  # repetitions: the error of two may be zero by chance
_DIGITS = 6  # of a number in a file
_ROUNDING = 1e-6  # of two computers
_NOTHING = 1e-12  # what is left of zero after rounding
_TRIFLE = 0.01  # of the tolerance: errors below it are none


@dataclass(frozen=True)
class Drawn:
    """What is said of a column that is drawn.

    Args:
        error: the column of its standard error.
        count: the column that says from how many repetitions, at least, the error is; None if there are many.
        least: the least value that there can be.
        most: the largest one.
    """

    error: str
    count: str | None = None
    least: float = 0.0
    most: float = math.inf


def differing(
    rows: Sequence[Row],
    expected: Sequence[Cells],
    *,
    key: Sequence[str],
    drawn: Mapping[str, Drawn],
    tolerances: Mapping[str, float],
) -> list[str]:
    """Everything that differs, in words; nothing if the rows are the expected ones.

    What is computed must be equal in all digits of the file. What is drawn depends on numpy's streams, on what
    scikit-learn learns and on orders that rounding decides, so that another version repeats the experiment with other
    draws: it may differ by five of the standard errors of both rows (more by Student's t if repetitions are few), or by
    its tolerance, whichever is more; errors by a factor that so many repetitions explain. Of fewer than three
    repetitions nothing but the range is compared.

    Args:
        rows: as they were computed.
        expected: the cells of a file.
        key: the columns that tell rows apart.
        drawn: by column.
        tolerances: the greatest difference by column, 0 where there is none.
    """
    if not rows or not expected:
        return [f"{len(rows)} rows where {len(expected)} are expected"]
    found = list(_of_lists("column", list(rows[0]), list(expected[0])))
    if any(name not in each for name in key for each in (rows[0], expected[0])):
        return found
    names, others = [_name(row, key) for row in rows], [_name(cells, key) for cells in expected]
    found += _of_lists("row", names, others)
    places = dict(zip(others, expected, strict=True))
    for name, row in zip(names, rows, strict=True):
        cells = places.get(name, {})
        found += [
            f"row {name}, {column}: {as_cell(row[column])} where {cells[column]} is expected"
            for column in row
            if column in cells and not _as_expected(column, row, cells, drawn, tolerances)
        ]
    return found


def _name(row: Mapping[str, Any], key: Sequence[str]) -> str:
    return ", ".join(f"{column} {as_cell(row[column])}" for column in key)


def _of_lists(kind: str, found: list[str], expected: list[str]) -> Iterator[str]:
    """What is missing, superfluous, there too often, or in another place."""
    if len(found) != len(expected):
        yield f"{len(found)} {kind}s where {len(expected)} are expected"
    here, there = Counter(found), Counter(expected)
    yield from (f"missing {kind}: {name}" for name in (there - here).elements())
    yield from (f"superfluous {kind}: {name}" for name in (here - there).elements())
    pairs = zip((name for name in here if name in there), (name for name in there if name in here), strict=True)
    if pair := next((pair for pair in pairs if pair[0] != pair[1]), None):
        one, two = pair
        yield f"other order of {kind}s: {one} where {two} is expected"


def _as_expected(
    column: str, row: Row, cells: Cells, drawn: Mapping[str, Drawn], tolerances: Mapping[str, float]
) -> bool:
    errors = {each.error: name for name, each in drawn.items()}
    measured = errors.get(column, column)
    law, tolerance = drawn.get(measured), tolerances.get(measured, 0.0)
    spread = None if law is None else _errors_and_count(law, row, cells)
    value, other = row[column], _number(cells[column])
    if law is None or spread is None or other is None or not isinstance(value, (int, float)):
        return _equal(value, cells[column], tolerances.get(column, 0.0))
    one, two, count = spread
    is_error = column in errors
    if not (0.0 if is_error else law.least) <= value <= (math.inf if is_error else law.most):
        return False
    if count < _FEWEST:
        return True
    if is_error:
        low, high = sorted((value, other))
        factor = 2.0 if math.isinf(count) else math.sqrt(fdtri(count - 1, count - 1, 1 - _CHANCE / 2))
        return bool(high <= max(low * factor, _TRIFLE * tolerance)) or _equal(value, cells[column], 0.0)
    wide = _ERRORS if math.isinf(count) else max(_ERRORS, stdtrit(2 * (count - 1), 1 - _CHANCE / 2))
    return bool(abs(value - other) <= wide * math.hypot(one, two)) or _equal(value, cells[column], tolerance)


def _errors_and_count(law: Drawn, row: Row, cells: Cells) -> tuple[float, float, float] | None:
    """The errors of both rows, and the lesser number of repetitions; None where a row has no error."""
    one, two = row.get(law.error), _number(cells.get(law.error, ""))
    counts = (math.inf, math.inf) if law.count is None else (row.get(law.count), _number(cells.get(law.count, "")))
    if one is None or two is None or counts[0] is None or counts[1] is None:
        return None
    return float(one), two, min(float(counts[0]), counts[1])


def _equal(value: object, cell: str, tolerance: float) -> bool:
    """Whether a file with this cell may come from the value: the last digit is rounded."""
    other = _number(cell)
    if other is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(as_cell(value)) == cell
    if isinstance(value, int):
        return str(value) == cell or abs(value - other) <= tolerance
    last = 10.0 ** (math.floor(math.log10(abs(other))) + 1 - _DIGITS) if other and math.isfinite(other) else 0.0
    return value == other or abs(value - other) <= tolerance + last / 2 + _ROUNDING * abs(value) + _NOTHING


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
