"""Vectors of numbers as people hold them: read into rows, checked or clipped."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError

__all__ = ["as_rows", "as_simplex_vectors", "as_vectors"]

_TOLERANCE = 1e-9  # by which the sum of coordinates may exceed its limit, in units of it


def as_rows(values: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """A fresh array of vectors, shape (n, dimension), from an array or a column of lists.

    Raises:
        InvalidParameterError: for anything else; the message shows no value.
    """
    _validate.unmasked(values=values)
    if isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.dtype == object):
        for row in values:  # numpy would drop their masks
            _validate.unmasked(values=row)
    try:
        array = np.asarray(values)
        if array.dtype == object and array.ndim == 1:  # a column of lists or arrays
            array = np.array([np.asarray(row) for row in array])
    except (ValueError, TypeError):  # numpy's own message may quote a value
        raise InvalidParameterError(
            f"values must be vectors of {dimension} coordinates; got rows of different lengths."
        ) from None
    if array.ndim >= 1 and len(array) == 0:
        return np.empty((0, dimension))
    if array.dtype.kind not in "iuf":
        kind = array.dtype.type.__name__
        raise InvalidParameterError(f"values must be vectors of {dimension} numbers; got values of type {kind}.")
    if array.ndim != 2 or array.shape[1] != dimension:
        raise InvalidParameterError(
            f"values must be vectors of {dimension} coordinates, shape (n, {dimension}); got shape {array.shape}."
        )
    with np.errstate(over="ignore"):  # a long double that is too large becomes infinite, and is refused
        return array.astype(np.float64)


def as_vectors(
    values: ArrayLike, dimension: int, *, lower: float, upper: float, clip: bool = False
) -> NDArray[np.float64]:
    """A fresh array of vectors whose coordinates are from ``lower`` to ``upper``, shape (n, dimension).

    Args:
        values: vectors, as `as_rows` takes them.
        dimension: coordinates of a vector.
        lower: least coordinate.
        upper: largest coordinate.
        clip: move coordinates outside the range to its nearer end, instead of refusing their vectors.

    Raises:
        InvalidParameterError: for other vectors; the message gives places only.
    """
    vectors = as_rows(values, dimension)
    _refuse(~np.isfinite(vectors).all(axis=1), "vectors of finite numbers")
    outside = ((vectors < lower) | (vectors > upper)).any(axis=1)
    if not clip:
        _refuse(outside, f"vectors of numbers from {lower!r} to {upper!r}", hint=" To move them inside, use clip=True.")
    return np.clip(vectors, lower, upper, out=vectors)


def as_simplex_vectors(
    values: ArrayLike, dimension: int, *, upper: float, integer: bool = False, clip: bool = False
) -> NDArray[np.float64]:
    """A fresh array of vectors with coordinates of 0 or more that add up to ``upper`` at most, shape (n, dimension).

    Not only in floats: what is returned adds up to no more exactly, and so do the floats x / upper. For that a vector
    within 4 (dimension + 4) roundings of the limit is shortened by as much; integers need no such care.

    Args:
        values: vectors, as `as_rows` takes them; their sums may exceed ``upper`` by one part in 10^9, unless
            they are integers.
        dimension: coordinates of a vector.
        upper: the limit of their sums.
        integer: coordinates are integers; those of vectors that are shortened become integers again.
        clip: replace coordinates below 0 by 0 and shorten vectors that are too long, instead of refusing them.

    Raises:
        InvalidParameterError: for other vectors; the message gives places only.
    """
    vectors = as_rows(values, dimension)
    _refuse(~np.isfinite(vectors).all(axis=1), "vectors of finite numbers")
    tolerated = upper if integer else upper * (1 + _TOLERANCE)
    if not clip:
        with np.errstate(over="ignore"):
            outside = (vectors < 0).any(axis=1) | (vectors.sum(axis=1) > tolerated)
        condition = f"vectors of numbers of 0 or more that add up to {upper!r} at most"
        _refuse(outside, condition, hint=" To move them inside, use clip=True.")
    # Nothing larger than the limit is needed to tell directions of what is clipped, but for overflow.
    np.clip(vectors, 0.0, np.finfo(np.float64).max / (2 * dimension), out=vectors)
    sums, limit = vectors.sum(axis=1), upper if integer else upper * (1 - (dimension + 4) * 2.0**-51)
    long = sums > limit
    shortened = vectors[long] * (limit / sums[long])[:, None]
    vectors[long] = np.floor(shortened) if integer else shortened
    return vectors


def _refuse(wrong: Any, condition: str, *, hint: str = "") -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        raise InvalidParameterError(
            f"values must be {condition}; {len(places)} are not, first values[{places[0]}].{hint}"
        )
