"""Whether rows are the expected ones: what is exact must be equal, and what is measured as near as its error allows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.special import fdtri, stdtrit

Row = dict[str, Any]

# The measured columns, each with the column that says from how many repetitions, at least, its error is.
COUNTS = {
    "rho": "repetitions",
    "vote": "repetitions",
    "control": "repetitions",
    "bayes": "learned",
    "lambda": "learned",
    "8 ways": "releases",
    "4 ways": "releases",
    "2 ways": "releases",
}
_FEWEST = 3  # repetitions: the error of two may be zero by chance
_CHANCE = 1e-5  # that two runs of the same experiment, with other draws, are said to differ in a cell
_NOTHING = 0.01  # of the tolerance: errors below it are none


def differing(rows: Sequence[Row], expected: Sequence[Row], tolerances: Mapping[str, float]) -> list[str]:
    """What differs, in words; nothing if the rows are the expected ones.

    Measured columns depend on what scikit-learn learns and on orders that rounding decides, so that another version or
    another processor repeats the experiment with other draws. They may differ by their tolerance, or by as much as
    their standard errors explain, whichever is more; errors by a factor that so many repetitions explain. Of fewer than
    three repetitions nothing but the range is compared.

    Args:
        rows: in the order of the expected ones.
        expected: what they are compared with.
        tolerances: the greatest difference by column, 0 where there is none.
    """
    if len(rows) != len(expected):
        return [f"{len(rows)} rows where {len(expected)} are expected"]
    found = []
    for number, (row, other) in enumerate(zip(rows, expected, strict=True), 1):
        if row.keys() != other.keys():
            return [f"row {number} has other columns: {', '.join(row.keys() ^ other.keys())}"]
        found += [
            f"row {number}, {name}: {row[name]} where {other[name]} is expected"
            for name in row
            if not _as_expected(name, row, other, tolerances)
        ]
    return found


def _as_expected(name: str, row: Row, other: Row, tolerances: Mapping[str, float]) -> bool:
    measured, one, two = name.removesuffix(" error"), row[name], other[name]
    errors: tuple[Any, Any] = (row.get(f"{measured} error"), other.get(f"{measured} error"))
    if measured not in COUNTS or not all(isinstance(each, (int, float)) for each in (one, two, *errors)):
        return _near(one, two, tolerances.get(name, 0.0))
    if not 0 <= one <= (1 if name in COUNTS and name != "lambda" else math.inf):
        return False
    count, tolerance = min(row[COUNTS[measured]], other[COUNTS[measured]]), tolerances.get(measured, 0.0)
    if count < _FEWEST:
        return True
    if name != measured:
        low, high = sorted((one, two))
        return bool(high <= max(low * math.sqrt(fdtri(count - 1, count - 1, 1 - _CHANCE / 2)), _NOTHING * tolerance))
    explained = stdtrit(2 * (count - 1), 1 - _CHANCE / 2) * math.hypot(*errors)
    return bool(abs(one - two) <= max(tolerance, explained))


def _near(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=tolerance)
    return one == other
