"""The answers that randomizers of categories take: integers 0..k-1 in any column, refused without being shown."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import InvalidParameterError

__all__ = ["as_answers", "check_range"]


def as_answers(values: ArrayLike, domain_size: int) -> NDArray[Any]:
    """The values as an array of integers.

    Args:
        values: integers in range(domain_size), shape (n,): a list, numpy array, Arrow, pandas or polars column.
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
    if answers.dtype.kind not in "iu":
        # Not the dtype itself: that of texts tells how long the longest is.
        kind = answers.dtype.type.__name__
        raise InvalidParameterError(f"values must be integers in range({domain_size}); got values of type {kind}.")
    check_range(answers, domain_size, "values")
    return answers


def check_range(values: NDArray[Any], domain_size: int, name: str) -> None:
    """Refuse integers outside range(domain_size), naming the first place and the number of them, never the value."""
    if len(values) and not (values.min() >= 0 and values.max() < domain_size):
        outside = np.flatnonzero((values < 0) | (values >= domain_size))
        raise InvalidParameterError(
            f"{name} must be integers in range({domain_size}); {len(outside)} outside, first {name}[{outside[0]}]."
        )
