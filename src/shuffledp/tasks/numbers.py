"""The ``[randomizer]`` section for private columns of numbers or of vectors, which are averaged."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

import numpy as np

from shuffledp.analyzers import MeanAnalyzer
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Analyzer, Randomizer
from shuffledp.randomizers import DiscreteLaplaceMean, OneBitMean, PrivUnit, RoundedMean
from shuffledp.tasks.randomizers import Category, ExpectedError, RandomizerSection

if TYPE_CHECKING:
    from shuffledp.models import MeanModel

__all__ = [
    "DiscreteLaplaceMeanSection",
    "MeanSection",
    "NumberSection",
    "OneBitMeanSection",
    "OutOfRange",
    "PrivUnitSection",
    "RoundedMeanSection",
]


class OutOfRange(StrEnum):
    """What to do with numbers outside the range."""

    REFUSE = "refuse"
    CLIP = "clip"


class MeanSection(RandomizerSection):
    """A section whose answers are averaged: no categories, so that a missing answer cannot be one more of them."""

    __slots__ = ()
    missing_category = False

    def analyzer(self, *, level: float) -> Analyzer[Any]:
        """The mean."""
        return MeanAnalyzer(level=level)

    def expected_error(self, num_users: int) -> ExpectedError:
        """The errors where the values lie evenly around the middle of the range."""
        model = cast("MeanModel", self.randomizer().model)
        middle, spread = np.full(model.dimension, (model.lower + model.upper) / 2), self.expected_spread
        noise = float(model.noise_variance(middle)[0]) + model.noise_curvature * spread
        return ExpectedError(
            at=self.expected_values,
            standard_error=math.sqrt(noise / num_users),
            sampling_error=math.sqrt(spread / num_users),
        )

    def targets_of(self, column: str) -> tuple[str, ...]:
        """The column, or its coordinates in square brackets."""
        names = self.targets
        return (column,) if len(names) == 1 else tuple(f"{column}[{name}]" for name in names)

    @property
    @abstractmethod
    def expected_values(self) -> str:
        """What values people are supposed to have, while nothing is known of them."""

    @property
    @abstractmethod
    def expected_spread(self) -> float:
        """The variance of such values, in each coordinate."""

    @property
    def categories_of_answers(self) -> tuple[Category, ...]:
        """None: answers are numbers."""
        return ()

    def with_missing_category(self) -> NoReturn:
        """Refused: a mean has no place for people who did not answer.

        Raises:
            InvalidParameterError: always.
        """
        raise InvalidParameterError(
            f"missing must be 'refuse' or 'drop' where answers are averaged, as by {self.kind!r}; "
            "got missing='category'."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSection(MeanSection):
    """What the sections for numbers in a range have in common.

    Args:
        epsilon0: local privacy loss in nats.
        lower: least value; public, so fixed beforehand.
        upper: largest value; public, so fixed beforehand.
        out_of_range: whether a number outside the range stops the run, or is moved to the nearer end.

    Raises:
        InvalidParameterError: as the randomizer does.
    """

    answers: ClassVar[str] = "number"
    integer: ClassVar[bool] = False  # whether only whole numbers are answers
    epsilon0: float
    lower: float
    upper: float
    out_of_range: OutOfRange = OutOfRange.REFUSE

    def __post_init__(self) -> None:
        self.randomizer()  # refuses what cannot be represented, before anything is collected

    @property
    def clips(self) -> bool:
        """Whether numbers outside the range are moved to its nearer end."""
        return self.out_of_range is OutOfRange.CLIP

    @property
    def clipping(self) -> str:
        """What becomes of numbers outside the range."""
        return f"Answers outside {self.lower:g} to {self.upper:g} count as the nearer end." if self.clips else ""

    @property
    def expected_values(self) -> str:
        """Evenly spread values, whose mean is the middle of the range."""
        return f"values spread evenly from {self.lower:g} to {self.upper:g}"

    @property
    def expected_spread(self) -> float:
        """That of the uniform law."""
        return (self.upper - self.lower) ** 2 / 12

    @property
    def targets(self) -> tuple[str, ...]:
        """One mean."""
        return ("value",)

    @abstractmethod
    def randomizer(self) -> Randomizer:
        """The randomizer that runs on the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceMeanSection(NumberSection):
    """Discrete Laplace noise on a grid.

    Args:
        num_steps: steps of the grid over the range.
    """

    kind: ClassVar[str] = "laplace-mean"
    num_steps: int = 1000

    def randomizer(self) -> DiscreteLaplaceMean:
        """Discrete Laplace noise."""
        return DiscreteLaplaceMean(
            epsilon0=self.epsilon0, lower=self.lower, upper=self.upper, num_steps=self.num_steps, clip=self.clips
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBitMeanSection(NumberSection):
    """One bit from each person."""

    kind: ClassVar[str] = "one-bit-mean"

    def randomizer(self) -> OneBitMean:
        """The one-bit mean."""
        return OneBitMean(epsilon0=self.epsilon0, lower=self.lower, upper=self.upper, clip=self.clips)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedMeanSection(NumberSection):
    """A few levels, and randomized response between them.

    Args:
        num_levels: steps between the levels; left out, the number that is best for epsilon0.
    """

    kind: ClassVar[str] = "rounded-mean"
    num_levels: int | None = None

    def randomizer(self) -> RoundedMean:
        """The rounded mean."""
        return RoundedMean(
            epsilon0=self.epsilon0, lower=self.lower, upper=self.upper, num_levels=self.num_levels, clip=self.clips
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivUnitSection(MeanSection):
    """PrivUnit for unit vectors.

    Args:
        epsilon0: local privacy loss in nats.
        dimension: numbers in each list of the private column.
        budget_split: share of the loss that the coin spends; left out, the best one.

    Raises:
        InvalidParameterError: as the randomizer does.
    """

    kind: ClassVar[str] = "priv-unit"
    answers: ClassVar[str] = "vector"
    epsilon0: float
    dimension: int
    budget_split: float | None = None

    def __post_init__(self) -> None:
        self.randomizer()

    def randomizer(self) -> PrivUnit:
        """PrivUnit."""
        return PrivUnit(epsilon0=self.epsilon0, dimension=self.dimension, budget_split=self.budget_split)

    @property
    def expected_values(self) -> str:
        """Vectors in all directions, whose mean is zero."""
        return "each coordinate of unit vectors in all directions"

    @property
    def expected_spread(self) -> float:
        """The squares of the coordinates add to 1."""
        return 1 / self.dimension

    @property
    def targets(self) -> tuple[str, ...]:
        """The numbers of the coordinates."""
        return tuple(str(coordinate) for coordinate in range(self.dimension))
