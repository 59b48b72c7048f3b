"""Question for a vector of length 1, whose mean is estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.randomizers.inputs import NORM_TOLERANCE
from shuffledp.survey.questions.question import AnswerColumns, MeanQuestion, Read


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVector(MeanQuestion):
    """Vector of length 1 with ``dimension`` coordinates, in a column of lists.

    The page for respondents cannot ask for one: programs compute vectors, and people do not.
    """

    answers: ClassVar[str] = "vector"
    takes: ClassVar[str] = "vector"
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {"dimension": (2, 1000)}
    epsilon0: float
    dimension: int

    def __post_init__(self) -> None:
        self.randomizer()

    def read(self, answers: AnswerColumns) -> Read:
        """Vectors of length 1; a vector with NaN does not fit."""

        def fits(vectors: NDArray[np.float64]) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = np.abs(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) - 1) <= NORM_TOLERANCE
            return found

        wanted = f"finite numbers that make vectors of length 1 (within {NORM_TOLERANCE:g})"
        return answers.lists(0, self.dimension, wanted, fits)

    @property
    def targets(self) -> tuple[str, ...]:
        """The numbers of the coordinates, as text."""
        return tuple(str(coordinate) for coordinate in range(self.dimension))
