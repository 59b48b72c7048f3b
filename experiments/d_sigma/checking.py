"""Whether rows are those that are expected, up to the tolerance of each measured column."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["differing"]

Row = dict[str, Any]

_FACTOR = 2.0  # by which errors may differ, which are themselves estimates from a few repetitions
_NOTHING = 0.01  # of the tolerance


def differing(rows: Sequence[Row], expected: Sequence[Row], tolerances: Mapping[str, float]) -> list[str]:
    """What differs, in words; nothing if the rows are the expected ones.

    Args:
        rows: in the order of the expected ones.
        expected: what they are compared with.
        tolerances: the greatest difference by column. Other columns must be equal, but errors may differ by a factor of
            two, or where both are far below the tolerance of their column.
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
            if not _as_expected(name, row[name], other[name], tolerances)
        ]
    return found


def _as_expected(name: str, one: object, other: object, tolerances: Mapping[str, float]) -> bool:
    measured = name.removesuffix(" error")
    if name == measured or not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return _near(one, other, tolerances.get(name, 0.0))
    low, high = sorted((one, other))
    return high <= max(_FACTOR * low, _NOTHING * tolerances.get(measured, 0.0))


def _near(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=tolerance)
    return one == other
