"""Question with one answer out of several named categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.text import names_of, printable
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.randomizers.inputs import Category, check_named
from shuffledp.survey.questions.question import AnswerColumns, CategoryQuestion, Read

TEMPLATE = 'kind = "k-rr"  # the true answer, or by chance another\n$epsilon0'


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleChoice(CategoryQuestion):
    """Choice of one of several named categories, whose shares are estimated."""

    answers: ClassVar[str] = "category"
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {"categories": (2, 500)}
    template: ClassVar[str] = TEMPLATE
    num_lists: ClassVar[int] = 1
    may_follow: ClassVar[bool] = True
    init_kind: ClassVar[str] = "survey"
    init_title: ClassVar[str] = "A survey"
    epsilon0: float
    categories: tuple[Category, ...]
    missing_category: bool = False
    follow_up: bool = False

    def __post_init__(self) -> None:
        check_named(self.categories, self.targets)
        self.randomizer()  # refuses, before a collection, an epsilon0 that cannot be represented
        if self.follow_up:
            self.require_known_sums()

    def read(self, answers: AnswerColumns) -> Read:
        """Answers as numbers of their categories, with masks of wrong and of missing answers."""
        return answers.categories(0, self.categories)

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> FrequencyAnalyzer:
        """The analyzer of the frequencies of the categories."""
        del columns
        return FrequencyAnalyzer(level=level)

    def plan(self, protocol: ProtocolModel, *, delta: float, alone: bool) -> FamilyPlan | None:
        """Plan of a blanket of random messages, if its errors are far smaller at the same central loss."""
        if alone:
            return None
        from shuffledp.planning.blanket_plan import better_blanket

        return better_blanket(protocol, delta, self.expected_error(protocol.num_senders).standard_error)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return names_of(self.categories)

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the categories."""
        return self.names

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The categories of the one private column."""
        return (self.categories,)

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """One choice among the categories."""
        return fields_of_choices(columns, self.categories_of_answers)

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the table with the planner's number of invented categories."""
        names = [f"answer {place}" for place in range(1, int(numbers["categories"]) + 1)]
        return {"epsilon0": epsilon0, "categories": names}


def fields_of_choices(columns: Sequence[str], categories: Sequence[Sequence[Category]]) -> list[dict[str, Any]]:
    """Fields of the page with a choice for each column."""
    named = zip(map(printable, columns), categories, strict=True)
    return [{"label": label, "answers": [printable(each) for each in names_of(of)]} for label, of in named]
