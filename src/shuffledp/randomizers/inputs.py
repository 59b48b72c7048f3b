"""Checks of answers (categories, numbers in a range, vectors) and of report columns.

Errors never show a value.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import alike, names_of
from shuffledp.core.validate import invalid

Category = str | int | bool

_MOST_SHOWN = 10  # most categories that a message lists
# What each type of category is called, the kinds of numpy arrays that hold it, and the types of single entries. Whole
# numbers also come as floats: so pandas holds them beside missing ones.
_CATEGORIES: dict[type, tuple[str, str, tuple[type, ...]]] = {
    str: ("text", "U", (str,)),
    int: ("whole numbers", "iuf", (int, float, np.integer, np.floating)),
    bool: ("true or false", "b", (bool, np.bool_)),
}
_TRUTH = (bool, np.bool_)  # types of truth values, which Python takes for the numbers 0 and 1
_LARGEST = 1e100  # largest end of a range: its square is far from the largest float
_LEAST_WIDTH = 1e-100  # least width of a range: far from subnormal floats, which hold fewer digits
NORM_TOLERANCE = 1e-6  # largest distance of a unit vector's length from 1
_TOLERANCE = 1e-9  # largest relative excess of the sum of coordinates over its limit

# ---- categories -----------------------------------------------------------------------------------------------------


def as_answers(values: ArrayLike, domain_size: int) -> NDArray[Any]:
    """Answers as integers in range(domain_size) of the given type, shape (n,).

    Truth values too for a domain of two. Anything else is refused; the message gives places only.
    """
    answers = _column(values)
    if len(answers) == 0:
        return answers.astype(np.uint8)
    if answers.dtype == np.bool_ and domain_size == 2:
        return answers.astype(np.uint8)
    _refuse_missing(answers)
    if answers.dtype.kind not in "iu":
        # Not the dtype itself: the dtype of texts tells the length of the longest one.
        kind = answers.dtype.type.__name__
        raise InvalidParameterError(
            f"values must be integers in range({domain_size}), one number for each category; got values of type {kind}."
            " A randomizer that is made with categories=[...] takes the categories themselves."
        )
    check_categories(answers, domain_size, "values")
    return answers


def as_numbers_of(values: ArrayLike, categories: tuple[Category, ...]) -> NDArray[np.int64]:
    """Category number of each answer, shape (n,).

    A whole number may come as a float. Anything else is refused; the message gives the categories, which are public,
    and places.
    """
    # numpy would make texts of numbers, and of what is missing, that stand beside texts.
    answers = _column(values, dtype=object if isinstance(values, list | tuple) else None)
    if len(answers) == 0:
        return np.zeros(0, dtype=np.int64)
    _refuse_missing(answers)
    called, kinds, types = _CATEGORIES[type(categories[0])]
    kind = answers.dtype.kind
    if kind not in f"{kinds}OT":
        raise InvalidParameterError(
            f"values must be {called}, as the categories {listed(categories)} are; got values of type "
            f"{answers.dtype.type.__name__}."
        )
    held = answers.tolist()
    if kind == "O":
        taken = bool in types
        held = [each if isinstance(each, types) and isinstance(each, _TRUTH) is taken else None for each in held]
    numbers: dict[Any, int] = {category: number for number, category in enumerate(categories)}
    found = np.fromiter(map(numbers.get, held, repeat(-1)), dtype=np.int64, count=len(held))
    others = np.flatnonzero(found < 0)
    if len(others):
        raise InvalidParameterError(
            f"values must be among the categories {listed(categories)}, exactly; {len(others)} are not, first "
            f"values[{others[0]}]."
        )
    return found


def as_categories(categories: Iterable[Any]) -> tuple[Category, ...]:
    """Categories from a list, a numpy array or a pandas index.

    Two or more, all different and of one type.
    """
    if isinstance(categories, str | bytes | Mapping | set | frozenset) or not isinstance(categories, Iterable):
        raise InvalidParameterError(
            f"categories must be a list, in the order of their numbers; got one of type {type(categories).__name__}."
        )
    plain = tuple(each.item() if isinstance(each, np.generic) else each for each in categories)
    check_named(plain, names_of(plain))
    return plain


def check_named(categories: Sequence[Category], names: Sequence[str]) -> None:
    """Refuse fewer than two categories, mixed types, and names that are not distinct lines of text."""
    if len(categories) < 2:
        raise invalid("two or more", categories=list(categories))
    kinds = sorted({type(category).__name__ for category in categories})
    if kinds not in (["str"], ["int"], ["bool"]):
        raise InvalidParameterError(
            f"categories must be all of one type (text, whole numbers or true/false); got {' and '.join(kinds)}."
        )
    for name in names:
        validate.one_line(categories=name)
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise InvalidParameterError(f"categories must be all different; got more than once: {listed(duplicates)}.")
    if same := alike(names):
        raise InvalidParameterError(f"categories must look different; got {same[0]!a} and {same[1]!a}.")


def listed(categories: Sequence[Category]) -> str:
    """Categories as text for a message.

    Only the first ones if there are many.
    """
    more = f", ... ({len(categories)} in all)" if len(categories) > _MOST_SHOWN else ""
    return ", ".join(map(repr, categories[:_MOST_SHOWN])) + more


def _column(values: Any, *, dtype: Any = None) -> NDArray[Any]:
    """Values as an array of one dimension, without masked entries."""
    validate.unmasked(values=values)
    arrow: Any = sys.modules.get("pyarrow")  # without the import no value has a type of pyarrow
    is_arrow = arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray)
    if is_arrow and arrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)  # pyarrow gives numpy wrong values for nulls of a dictionary
    try:
        column = np.asarray(values, dtype=dtype)
    except (ValueError, TypeError):  # numpy's own message may quote a value
        raise InvalidParameterError("values must be one column, shape (n,); got rows of different lengths.") from None
    if column.ndim != 1:
        raise InvalidParameterError(f"values must be one column, shape (n,); got values.shape={column.shape}.")
    return column


def _refuse_missing(answers: NDArray[Any]) -> None:
    """Refuse missing answers (NaN, None), before the types are checked.

    The error has the count and the first place.
    """
    if answers.dtype.kind == "f":
        missing = np.isnan(answers)
    elif answers.dtype.kind == "O":
        missing = np.array([_is_missing(answer) for answer in answers.tolist()], dtype=np.bool_)
    else:
        return
    if missing.any():
        count, first = int(missing.sum()), int(missing.argmax())
        raise InvalidParameterError(
            f"values must be complete; {count} missing, first values[{first}]. Leave such people out (values.dropna() "
            "in pandas, values.drop_nulls() in polars), or make a category of them."
        )


def _is_missing(answer: object) -> bool:
    """Whether an object is None, NaN or a pandas placeholder for a missing value."""
    if isinstance(answer, float):
        return math.isnan(answer)
    return answer is None or type(answer).__name__ in ("NAType", "NaTType")


def check_categories(values: NDArray[Any], domain_size: int, name: str) -> None:
    """Refuse integers outside range(domain_size).

    The error has the first place and the count, never the value.
    """
    if len(values) and not (values.min() >= 0 and values.max() < domain_size):
        outside = np.flatnonzero((values < 0) | (values >= domain_size))
        raise InvalidParameterError(
            f"{name} must be integers in range({domain_size}); {len(outside)} outside, first {name}[{outside[0]}]."
        )


def check_integer_columns(columns: Mapping[str, NDArray[Any]], *names: str) -> None:
    """Refuse columns unless they are integers with exactly these names, in this order.

    One or two names.
    """
    wrong = any(array.dtype.kind not in "iu" or array.ndim != 1 for array in columns.values())
    if wrong or tuple(columns) != names:
        wanted = (
            f"{'one integer column' if len(names) == 1 else 'two integer columns'} {' and '.join(map(repr, names))}"
        )
        found = ", ".join(f"{name} ({array.dtype}, {array.ndim}-d)" for name, array in columns.items())
        raise InvalidParameterError(f"columns must be {wanted}; got {found}.")


# ---- numbers


def check_range(lower: float, upper: float) -> None:
    """Refuse an invalid range: ends must be from -1e100 to 1e100, and ``upper`` above ``lower`` by 1e-100 or more."""
    for name, value in (("lower", lower), ("upper", upper)):
        plain = value.item() if isinstance(value, np.generic) else value  # a float32 does not reach the limits
        if not (_is_number(value) and -_LARGEST <= plain <= _LARGEST):
            raise invalid(f"a finite number from {-_LARGEST:g} to {_LARGEST:g}", **{name: value})
    if not lower < upper:
        raise InvalidParameterError(f"upper must be above lower; got lower={lower!r}, upper={upper!r}.")
    if float(upper) - float(lower) < _LEAST_WIDTH:
        raise InvalidParameterError(f"upper - lower must be {_LEAST_WIDTH:g} or more; got {lower=}, {upper=}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_numbers(values: ArrayLike, *, lower: float, upper: float, clip: bool = False) -> NDArray[np.float64]:
    """Copy of the values as floats, each of which lies between ``lower`` and ``upper``.

    Values outside are refused, or with ``clip`` moved to the nearer end.

    Raises:
        InvalidParameterError: for anything but a column of finite numbers, and for numbers outside the range unless
            they are clipped. The message gives places only.
    """
    numbers, outside = _numbers_and_outside(values, lower, upper)
    places = np.flatnonzero(outside)
    if len(places) and not clip:
        raise InvalidParameterError(
            f"values must be numbers from {lower!r} to {upper!r}; {len(places)} outside, first values[{places[0]}]. "
            "To move them to the nearer end, use clip=True."
        )
    return np.clip(numbers, lower, upper, out=numbers)


def clip_to_range(values: ArrayLike, *, lower: float, upper: float) -> tuple[NDArray[np.float64], int]:
    """Numbers clipped to a range, and the count of numbers that lay outside.

    The count depends on people's values and is not protected by anything: do not publish it.

    Args:
        values: finite numbers, shape (n,).
        lower: least value.
        upper: largest value.

    Returns:
        float64 array of shape (n,), and the number of values that were outside.

    Raises:
        InvalidParameterError: for anything but a column of finite numbers, or a range that is none.

    Example:
        >>> clip_to_range([3.0, 120.0, 45.0], lower=18, upper=99)
        (array([18., 99., 45.]), 2)
    """
    check_range(lower, upper)
    numbers, outside = _numbers_and_outside(values, lower, upper)
    return np.clip(numbers, lower, upper, out=numbers), int(outside.sum())


def _numbers_and_outside(
    values: ArrayLike, lower: float, upper: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    column = _column(values)
    if len(column) and column.dtype.kind not in "iuf":
        if column.dtype.kind == "O":
            others = [place for place, value in enumerate(column) if not _is_number(value)]
            found = f"{len(others)} are something else, first values[{others[0]}]" if others else "got Python objects"
            raise InvalidParameterError(f"values must be numbers, of a numeric type; {found}.")
        # Not the dtype itself: the dtype of texts tells the length of the longest one.
        raise InvalidParameterError(f"values must be numbers; got values of type {column.dtype.type.__name__}.")
    with np.errstate(over="ignore"):  # a long double that is too large becomes infinite, and is refused below
        numbers = column.astype(np.float64)
    places = np.flatnonzero(~np.isfinite(numbers))
    if len(places):
        raise InvalidParameterError(f"values must be finite numbers; {len(places)} are not, first values[{places[0]}].")
    return numbers, (numbers < lower) | (numbers > upper)


# ---- vectors


def as_rows(values: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Fresh array of vectors, shape (n, dimension), from an array or lists.

    A refusal shows no value.
    """
    validate.unmasked(values=values)
    if isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.dtype == object):
        for row in values:  # numpy would drop their masks
            validate.unmasked(values=row)
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
    """Fresh array of vectors with coordinates from ``lower`` to ``upper``, shape (n, dimension).

    Others are refused, or moved to the nearer end of the range.
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
    """Fresh array of nonnegative vectors that sum to ``upper`` at most, shape (n, dimension).

    Not only in floats: what is returned adds up to no more exactly, and so do the floats x / upper. For that a vector
    within 4 (dimension + 4) roundings of the limit is shortened by as much; integers need no such care, and those of
    vectors that are shortened become integers again. Sums of others may exceed ``upper`` by one part in 10^9. With
    ``clip`` coordinates below 0 become 0, and vectors that are too long are shortened, instead of being refused.
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


def as_unit_vectors(values: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Fresh array of vectors of length 1, shape (n, dimension)."""
    vectors = as_rows(values, dimension)
    vectors /= check_norms(vectors, dimension, "values")[:, None]
    return vectors


def check_norms(vectors: NDArray[Any], dimension: int, name: str) -> NDArray[np.float64]:
    """Lengths of vectors, after a check that all are 1.

    The error has the first place and the count, never a vector.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        wrong = np.flatnonzero(~(np.abs(lengths - 1) <= NORM_TOLERANCE))
    if len(wrong):
        raise InvalidParameterError(
            f"{name} must be vectors of {dimension} finite numbers and of length 1 (within {NORM_TOLERANCE:g}); "
            f"{len(wrong)} are not, first {name}[{wrong[0]}]."
        )
    return lengths


def _refuse(wrong: Any, condition: str, *, hint: str = "") -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        raise InvalidParameterError(
            f"values must be {condition}; {len(places)} are not, first values[{places[0]}].{hint}"
        )
