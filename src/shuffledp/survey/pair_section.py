"""The table ``[randomizer]`` of two private columns whose answers are randomized jointly: a cross table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shuffledp.analyzers import CrossTableAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import names_of, pair_names, printable
from shuffledp.randomizers.inputs import Category, check_named
from shuffledp.survey.randomizer_section import FrequencySection, RandomizerSection, members_of

_MOST_CELLS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSection(FrequencySection):
    """Family for pairs of answers; ``categories`` are two lists, one for each column.

    One report of one randomizer is about both answers of a person: ``epsilon0`` is what it loses about them together.
    """

    answers: ClassVar[str] = "pair"
    num_columns: ClassVar[int] = 2
    epsilon0: float
    categories: tuple[tuple[Category, ...], ...]
    missing_category: bool = False

    def __post_init__(self) -> None:
        if len(self.categories) != 2:
            raise InvalidParameterError(
                "categories must be one list, or two for two columns whose answers are randomized jointly; got "
                f"{len(self.categories)} lists."
            )
        for each in self.categories:
            check_named(each, names_of(each))
        check_named(self.names, self.targets)
        if len(self.names) > _MOST_CELLS:
            raise InvalidParameterError(f"categories must make at most {_MOST_CELLS:,} pairs; got {len(self.names):,}.")
        self.require_known_sums()

    @classmethod
    def is_meant(cls, table: Mapping[str, Any]) -> bool:
        """Whether a table ``[randomizer]`` has lists of categories."""
        given = table.get("categories")
        return isinstance(given, list | tuple) and any(isinstance(each, list | tuple) for each in given)

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all randomizers of categories, by kind."""
        return members_of(cls, PairSection)

    def readers(self) -> dict[str, type[RandomizerSection]]:
        """The sections of all randomizers that read the same answers, by kind."""
        return dict(PairSection.members())

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> CrossTableAnalyzer:
        """The cross table of the columns."""
        first, second = map(printable, columns)
        return CrossTableAnalyzer(categories=self.categories, columns=(first, second), level=level)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs: the first column's category, then the second's."""
        first, second = map(names_of, self.categories)
        return pair_names(first, second)

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The categories of each column."""
        return self.categories
