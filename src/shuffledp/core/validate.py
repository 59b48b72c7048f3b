"""Checks of arguments, passed by name so that an error states the name.

Each function takes keyword arguments and raises `InvalidParameterError` for the first one that fails.
"""

import math
from collections.abc import Collection
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import has_controls

_LEAST_EDGES, _MOST_EDGES = 3, 1001  # of bins, two to a thousand
_LARGEST_EDGE = 1e100  # what is squared stays far from the largest float
_LARGEST_INTEGER = 10**300
_TOO_LONG_TO_SHOW = 10**40
_COLLECTIONS = (np.ndarray, list, tuple, dict, set, frozenset)


def invalid(condition: str, /, **value: Any) -> InvalidParameterError:
    """Error about one parameter: ``invalid("positive", epsilon0=-1)`` reads "epsilon0 must be positive; got ...".

    Of a collection it shows the size only.
    """
    ((name, shown),) = value.items()
    shown = shown.item() if isinstance(shown, np.number) else shown
    if isinstance(shown, _COLLECTIONS) and not name.startswith("shape_of"):
        return InvalidParameterError(f"{name} must be {condition}; got {name} {_in_outline(shown)}.")
    if isinstance(shown, int) and abs(shown) >= _TOO_LONG_TO_SHOW:
        digits = math.ceil(abs(shown).bit_length() * math.log10(2))
        return InvalidParameterError(f"{name} must be {condition}; got {name} with about {digits} digits.")
    return InvalidParameterError(f"{name} must be {condition}; got {name}={shown!r}.")


def _in_outline(value: Any) -> str:
    """Type and size of a collection in words, without its entries, which may be people's answers."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"of shape {value.shape}"
    return f"of type {type(value).__name__}" + ("" if isinstance(value, np.ndarray) else f" with {len(value)} entries")


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # an integer of hundreds of digits: no float is near it
        return False


def positive(**values: Any) -> None:
    """Check that numbers are finite, real and above 0."""
    for name, value in values.items():
        if not (_number(value) and 0 < value < math.inf):
            raise invalid("a finite number above 0", **{name: value})


def nonnegative(**values: Any) -> None:
    """Check that numbers are real and at least 0; infinity is allowed."""
    for name, value in values.items():
        if not (_number(value) and value >= 0):
            raise invalid("a number that is 0 or more", **{name: value})


def integer_at_least(least: int, **values: Any) -> None:
    """Check that values are integers (not booleans) from ``least`` to 10**300."""
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise invalid(f"an integer that is {least} or more", **{name: value})
        if int(value) > _LARGEST_INTEGER:
            raise invalid("at most 10**300", **{name: value})


def open_probability(**values: Any) -> None:
    """Check that numbers are probabilities strictly between 0 and 1."""
    for name, value in values.items():
        if not (_number(value) and 0 < value < 1):
            raise invalid("a number strictly between 0 and 1", **{name: value})


def probability(**values: Any) -> None:
    """Check that numbers are probabilities from 0 to 1, both included."""
    for name, value in values.items():
        if not (_number(value) and 0 <= value <= 1):
            raise invalid("a number from 0 to 1", **{name: value})


def one_of(allowed: Collection[Any], **values: Any) -> None:
    """Check that values are members of the given collection."""
    for name, value in values.items():
        if value not in allowed:
            choices = ", ".join(repr(choice) for choice in allowed)
            raise invalid(f"one of {choices}", **{name: value})


def edges_of_bins(edges: Any) -> tuple[float, ...]:
    """Ascending edges of 2 to 1,000 bins, as floats."""
    found = _ascending(edges)
    if not _LEAST_EDGES <= len(found) <= _MOST_EDGES or max(-found[0], found[-1]) > _LARGEST_EDGE:
        size = f"{_LEAST_EDGES} to {_MOST_EDGES:,}"
        raise invalid(f"{size} ascending numbers, each from {-_LARGEST_EDGE:g} to {_LARGEST_EDGE:g}", edges=edges)
    return found


def levels_of_quantiles(quantiles: Any) -> tuple[float, ...]:
    """Quantile levels, ascending and strictly between 0 and 1, as floats; may be empty."""
    found = _ascending(quantiles)
    if not isinstance(quantiles, Collection) or len(found) != len(quantiles) or any(not 0 < each < 1 for each in found):
        raise invalid("ascending numbers strictly between 0 and 1", quantiles=quantiles)
    return found


def _ascending(numbers: Any) -> tuple[float, ...]:
    """Numbers as floats if they strictly ascend, else an empty tuple."""
    held = list(numbers) if isinstance(numbers, Collection) and not isinstance(numbers, str | bytes) else []
    found = tuple(float(each) for each in held) if all(map(_number, held)) else ()
    return found if all(one < other for one, other in pairwise(found)) else ()


def instance_of(kind: type | tuple[type, ...], **values: Any) -> None:
    """Check that values are instances of the class or classes; the error shows the value's type only.

    A class is not taken for its instance, though it has the methods of an interface.
    """
    for name, value in values.items():
        if not isinstance(value, kind) or isinstance(value, type):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(each.__name__ for each in kinds)
            raise InvalidParameterError(f"{name} must be a {expected}; got {name} of type {type(value).__name__}.")


def one_line(**values: str) -> None:
    """Check that texts are nonempty and have no control characters.

    Some control characters reverse or garble shown text.
    """
    for name, text in values.items():
        if not text or has_controls(text):
            raise invalid("text that is not empty, in one line and without control characters", **{name: text})


def unmasked(**values: Any) -> None:
    """Refuse numpy arrays with masked entries, whose placeholder numbers would be taken for answers."""
    for name, value in values.items():
        if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
            masked = np.flatnonzero(np.ma.getmaskarray(value).reshape(len(np.atleast_1d(value)), -1).any(axis=1))
            raise InvalidParameterError(f"{name} must be complete; {len(masked)} masked, first {name}[{masked[0]}].")
