"""What randomizers of categories share: how they are made, and the answers they take, refused without being shown."""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError
from shuffledp.models import FrequencyModel

__all__ = ["AnswerRandomizer", "as_answers", "check_range"]


class AnswerRandomizer:
    """What randomizers of categories share: solved from a loss and a domain, or from a model."""

    _model_type: ClassVar[type[Any]]  # of a `FrequencyModel` that can be solved from these two
    model: FrequencyModel

    def __init__(self, *, epsilon0: float, domain_size: int) -> None:
        self.model = self._model_type.from_epsilon0(epsilon0=epsilon0, domain_size=domain_size)

    @classmethod
    def from_model(cls, model: FrequencyModel) -> Self:
        """The randomizer that a model describes.

        Raises:
            InvalidParameterError: for the model of another randomizer.
        """
        _validate.instance_of(cls._model_type, model=model)
        randomizer = cls.__new__(cls)
        randomizer.model = model
        return randomizer

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon0={self.model.epsilon0!r}, domain_size={self.model.domain_size})"


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
    _validate.unmasked(values=values)
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
