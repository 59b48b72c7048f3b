"""Question with two choices of one person, randomized jointly and estimated as a cross table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp.analyzers import CrossTableAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import names_of, pair_names, printable
from shuffledp.randomizers.inputs import Category, check_named
from shuffledp.survey.questions.question import AnswerColumns, CategoryQuestion, Read
from shuffledp.survey.questions.single_choice import TEMPLATE, fields_of_choices

_MOST_CELLS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOfChoices(CategoryQuestion):
    """Pair of answers of a person; ``categories`` are two lists, one for each column.

    One report of one randomizer is about both answers of a person: ``epsilon0`` is what it loses about them together.
    """

    answers: ClassVar[str] = "pair"
    num_columns: ClassVar[int] = 2
    template: ClassVar[str] = TEMPLATE
    num_lists: ClassVar[int] = 2
    init_kind: ClassVar[str] = "cross"
    init_title: ClassVar[str] = "A cross table"
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

    def read(self, answers: AnswerColumns) -> Read:
        """Numbers of the pairs; a pair is missing if one of its answers is missing."""
        (first, *of_first), (second, *of_second) = (
            answers.categories(place, each) for place, each in enumerate(self.categories)
        )
        wrong, missing = (one | other for one, other in zip(of_first, of_second, strict=True))
        return first * len(self.categories[1]) + second, wrong, missing

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

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Two choices, one for each column."""
        return fields_of_choices(columns, self.categories)
