"""Sums of floats without rounding, so that summaries of parts add up to that of the whole whatever the order."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidParameterError

__all__ = ["exact_sums"]

_MANTISSA = 53  # bits
_LOWER = 27  # bits of the lower part; sums of 2^20 such parts are exact in float64
_BATCH = 1 << 18  # numbers at a time


def exact_sums(values: NDArray[np.float64]) -> tuple[Fraction, ...]:
    """The exact sum of each column.

    Each float is an integer of 53 bits times a power of two. Integers of equal powers are added, in two parts that
    cannot overflow; then the powers are put together.

    Args:
        values: finite numbers, shape (n, columns).

    Raises:
        InvalidParameterError: if a number is not finite.

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
