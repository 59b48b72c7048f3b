"""Families of randomizers: the base classes of all kinds, for a device and for a task file.

A class gives the constructor, the run, and the keys in a task file.
"""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import FrequencyModel, MeanModel
from shuffledp.core.table import frozen
from shuffledp.core.text import names_of
from shuffledp.randomizers.answer_domains import Bins, CategoryPairs
from shuffledp.randomizers.inputs import (
    Category,
    as_answers,
    as_categories,
    as_numbers,
    as_numbers_of,
    check_range,
    listed,
)
from shuffledp.randomness.sources import RandomSource, resolve_source

Columns = dict[str, NDArray[Any]]
Categories = Iterable[Category] | Iterable[Iterable[Category]] | Bins


class Mechanism:
    """Base of the randomizers that run on a device.

    The keyword arguments of a subclass are the keys of a task file.

    Attributes:
        model_type: the class of the models that describe it, to which it makes itself known.
        answers: what people answer: "category", "number" in a range, "vector" of length 1, or "open" text.
        file_form: how files hold its reports: "columns" as they are, a "category" by its name, packed "bits" as bytes.
        section: the table of a task file that it is written in: "randomizer", or "protocol" where its parameters follow
            from the whole task.
        shown: the parameters of the model that its ``repr`` shows.
        best_for: when to choose it, in a few words, for the table of randomizers.
    """

    model_type: ClassVar[type[Any]]
    answers: ClassVar[str]
    file_form: ClassVar[str] = "columns"
    section: ClassVar[str] = "randomizer"
    shown: ClassVar[tuple[str, ...]]
    best_for: ClassVar[str] = ""
    model: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "model_type" in cls.__dict__:
            cls.model_type.mechanism = cls

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Randomizer of a given model."""
        validate.instance_of(cls.model_type, model=model)
        randomizer = cls.__new__(cls)
        randomizer.model = model
        return randomizer

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def _shown(self) -> list[str]:
        """Parameters with their values, for the ``repr``."""
        return [f"{name}={getattr(self.model, name)!r}" for name in self.shown]

    @abstractmethod
    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports on the values, in the order of the values.

        One report for each value, or ``num_messages`` of them.
        """

    def _reports(self, columns: Columns, source: RandomSource) -> Reports:
        """Reports with these columns.

        No other object may hold the columns.
        """
        held = {name: frozen(column) for name, column in columns.items()}
        return Reports(held, self.model, seeded=source.reproducible)


class CategoryRandomizer(Mechanism):
    """Base of category randomizers: a model solved from a loss and from categories or their number.

    Attributes:
        categories: the answers that people give, in the order of their numbers, pairs of answers, or bins of numbers;
            None where they give the numbers of categories.
    """

    answers: ClassVar[str] = "category"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "domain_size")
    model: FrequencyModel
    categories: tuple[Category, ...] | CategoryPairs | Bins | None = None

    def __init__(
        self, *, epsilon0: float, domain_size: int | None = None, categories: Categories | None = None
    ) -> None:
        self._solve(domain_size, categories, epsilon0=epsilon0)

    def _solve(self, domain_size: int | None, categories: Categories | None, **parameters: Any) -> None:
        """Solve the model from the parameters and either the categories or their number."""
        if (domain_size is None) is (categories is None):
            found = "neither" if categories is None else "both"
            raise InvalidParameterError(f"domain_size must be given, or else the categories themselves; got {found}.")
        if categories is not None:
            self.categories = _answers_of(categories)
            domain_size = len(self.categories)
        self.model = self.model_type.from_epsilon0(domain_size=domain_size, **parameters)

    @property
    def answer_names(self) -> tuple[str, ...] | None:
        """Answers as text, in the order of their numbers; None if answers are given as numbers."""
        if self.categories is None or isinstance(self.categories, tuple):
            return None if self.categories is None else names_of(self.categories)
        return self.categories.names

    @property
    def in_numbers(self) -> Self:
        """Randomizer of the same model that takes numbers of categories."""
        if self.categories is None:
            return self
        randomizer = copy(self)
        randomizer.categories = None
        return randomizer

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports, one per value, with the columns that the class states.

        Args:
            values: the categories that were answered, or integers in range(domain_size) where only their number is
                given, shape (n,): a list, numpy array, Arrow, pandas or polars column; of pairs two such columns.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if a value is none of the categories, or missing; the message gives places only.
        """
        source = resolve_source(source)
        return self._reports(self._randomized(self._numbers(values), source), source)

    def _numbers(self, values: ArrayLike) -> NDArray[Any]:
        """Numbers of categories as a column."""
        if self.categories is None:
            return as_answers(values, self.model.domain_size)
        if isinstance(self.categories, tuple):
            return as_numbers_of(values, self.categories)
        return self.categories.numbers(values)

    def _shown(self) -> list[str]:
        """Parameters for the ``repr``; categories are listed if they are few, else counted."""
        shown = super()._shown()
        if self.categories is None:
            return shown
        named = f"[{listed(self.categories)}]" if isinstance(self.categories, tuple) else repr(self.categories)
        return [f"categories={named}" if "domain_size" in each else each for each in shown]

    @abstractmethod
    def _randomized(self, answers: NDArray[Any], source: RandomSource) -> Columns:
        """Report columns for these checked answers."""


def _answers_of(categories: Any) -> tuple[Category, ...] | CategoryPairs | Bins:
    """Categories from the argument ``categories``.

    A list, two lists of jointly randomized answers, or bins.
    """
    if isinstance(categories, Bins):
        return categories
    held = list(categories) if isinstance(categories, Iterable) and not isinstance(categories, str) else []
    if held and all(isinstance(each, Iterable) and not isinstance(each, str | bytes) for each in held):
        return CategoryPairs.of(held)
    return as_categories(categories)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeModel(MeanModel):
    """Description of a randomizer of numbers in a range.

    Subclasses add how a number is randomized.

    Args:
        lower: least value, from -1e100 to 1e100.
        upper: largest value, above ``lower`` by 1e-100 or more, up to 1e100.
    """

    dimension = 1
    lower: float
    upper: float

    def __post_init__(self) -> None:
        check_range(self.lower, self.upper)
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))


class RangeRandomizer(Mechanism):
    """Base of randomizers of numbers in a range: a model, and a rule for values outside the range."""

    answers: ClassVar[str] = "number"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "lower", "upper")
    clip: bool

    def __init__(self, *, epsilon0: float, lower: float, upper: float, clip: bool = False) -> None:
        self.model = self.model_type.from_epsilon0(epsilon0=epsilon0, lower=lower, upper=upper)
        self.clip = clip

    @classmethod
    def from_model(cls, model: Any, *, clip: bool = False) -> Self:
        """Randomizer of a given model and a rule for values outside the range."""
        randomizer = super().from_model(model)
        randomizer.clip = clip
        return randomizer

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, clip={self.clip})"

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports on the values, with the columns that the class states.

        Args:
            values: numbers from ``lower`` to ``upper``, shape (n,): a list, numpy, Arrow, pandas or polars column; or
                vectors of such, shape (n, dimension), where the class takes them.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if a value is not a finite number in the range; the message gives places only.
        """
        source = resolve_source(source)
        return self._reports(self._randomized(self._numbers(values), source), source)

    @abstractmethod
    def _randomized(self, numbers: NDArray[np.float64], source: RandomSource) -> Columns:
        """Report columns for these checked numbers."""

    def _numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        """Copy of the values as floats in the range."""
        return as_numbers(values, lower=self.model.lower, upper=self.model.upper, clip=self.clip)
