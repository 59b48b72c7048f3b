"""The answers that randomizers of categories take: integers 0..k-1 in any column, refused without being shown."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import InvalidParameterError

__all__ = ["as_answers", "check_range"]


def as_answers(values: ArrayLike, domain_size: int) -> NDArray[Any]:
    """The values as an array of integers.

    Args:
        values: integers in range(domain_size), shape (n,): a list, numpy array, Arrow, pandas or polars column; also
            truth values, if there are two possible answers.
        domain_size: number of possible answers.

    Returns:
        Integers of the type that came, shape (n,).

    Raises:
        InvalidParameterError: if a value is not an integer in range(domain_size); the message gives places only.
    """
    try:
        answers = np.asarray(values)
    except (ValueError, TypeError):  # numpy's own message may quote a value
        raise InvalidParameterError("values must be one column, shape (n,); got rows of different lengths.") from None
    if answers.ndim != 1:
        raise InvalidParameterError(f"values must be one column, shape (n,); got values.shape={answers.shape}.")
    if len(answers) == 0:
        return answers.astype(np.uint8)
    if answers.dtype == np.bool_ and domain_size == 2:
        return answers.astype(np.uint8)
    _refuse_missing(answers)
    if answers.dtype.kind not in "iu":
        # Not the dtype itself: that of texts tells how long the longest is.
        kind = answers.dtype.type.__name__
        raise InvalidParameterError(
            f"values must be integers in range({domain_size}), one number for each category; got values of type {kind}."
        )
    check_range(answers, domain_size, "values")
    return answers


def _refuse_missing(answers: NDArray[Any]) -> None:
    """Columns with gaps reach numpy as floats with NaN or as objects with None; say so, instead of naming the type."""
    if answers.dtype.kind == "f":
        missing = np.isnan(answers)
    elif answers.dtype.kind == "O":
        missing = np.array([_is_missing(answer) for answer in answers.tolist()], dtype=np.bool_)
    else:
        return
    if missing.any():
        count, first = int(missing.sum()), int(missing.argmax())
        raise InvalidParameterError(f"values must be complete; {count} missing, first values[{first}].")


def _is_missing(answer: object) -> bool:
    return answer is None or (isinstance(answer, float) and math.isnan(answer))


def check_range(values: NDArray[Any], domain_size: int, name: str) -> None:
    """Refuse integers outside range(domain_size), naming the first place and the number of them, never the value."""
    if len(values) and not (values.min() >= 0 and values.max() < domain_size):
        outside = np.flatnonzero((values < 0) | (values >= domain_size))
        raise InvalidParameterError(
            f"{name} must be integers in range({domain_size}); {len(outside)} outside, first {name}[{outside[0]}]."
        )
