"""Base class of a task's questions, each with the randomizer of its answers.

A question is a value: how its answers are read, which randomizers fit, what is estimated, and how the page for
respondents, the planner and a first task file ask for it. Each type is a module beside this one, and a line of
`question_kinds`. In a task file it is the table ``[randomizer]``, whose keys are those of the type and the keyword
arguments of the randomizer that ``kind`` names: the sections are generated from the registry of randomizers.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers import MeanAnalyzer
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import NO_ANSWER, NOT_ASKED, Estimate
from shuffledp.core.flow import Analyzer, Randomizer
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.text import printable
from shuffledp.planning.family_plan import FamilyPlan
from shuffledp.planning.mechanism_choice import ExpectedError, expected_error
from shuffledp.planning.trusted_curator import TrustedCurator, curator_beside
from shuffledp.randomizers.families import Mechanism
from shuffledp.randomizers.inputs import Category
from shuffledp.randomizers.randomizer_kinds import keywords_of, mechanisms
from shuffledp.survey.questions.question_kinds import question_type
from shuffledp.survey.questions.report_forms import FORMS
from shuffledp.survey.section import Circumstances, OutOfRange, Section

if TYPE_CHECKING:
    import pyarrow as pa


MISSING_CATEGORY = NO_ANSWER
Read = tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]  # values, and masks of wrong and of missing answers


class AnswerColumns(Protocol):
    """Private columns of a batch of rows, as a question reads them; places count the columns from 0."""

    clipped: int  # answers moved to an end of the range so far

    def categories(self, place: int, categories: tuple[Category, ...]) -> Read:
        """Answers of a column as numbers of categories."""

    def in_range(self, place: int, ends: tuple[float, float], *, clip: bool, whole: bool, title: str) -> Read:
        """Answers of a column as numbers in a range; ``clip`` moves numbers outside to the nearer end."""

    def lists(self, place: int, length: int, wanted: str, fits: Callable[[NDArray[np.float64]], Any]) -> Read:
        """Answers of a column as lists of numbers, shape (rows, length); ``fits`` accepts valid lists."""

    def texts(self, place: int, spelled: Callable[[str], str]) -> Read:
        """Answers of a column as texts in one spelling; a text that becomes empty is missing."""

    def tick_lists(self, place: int, options: tuple[str, ...], separator: str) -> Read:
        """Ticks, shape (rows, options), from lists of options or from texts that join them by the separator."""

    def tick_column(self, place: int, option: str) -> Read:
        """Truth values of one option, from a column of its own."""


class Question(Section):
    """Question with its randomizer; subclasses are generated from the registry of randomizers."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[randomizer]"
    kind: ClassVar[str]
    mechanism: ClassVar[type[Mechanism]]
    renamed: ClassVar[Mapping[str, str]] = {}  # keyword arguments that are no keys, with their properties
    key: ClassVar[str] = "randomizer"  # the section's key in the task
    answers: ClassVar[str]  # its name in the registry of questions
    takes: ClassVar[str]  # the ``answers`` of the randomizers that fit
    beside: ClassVar[tuple[str, ...] | None] = None  # keys beside the table, where a task names the question by `kind`
    num_columns: ClassVar[int] = 1  # private columns whose answers are randomized jointly
    needs_uniform: ClassVar[bool] = False  # whether estimates need one shuffle of everybody, or none at all
    on_one_machine: ClassVar[bool] = False  # whether estimates need all reports at one place
    needs_apart: ClassVar[bool] = False  # whether the one who serves the page may not also mix and analyze
    needs_expected: ClassVar[bool] = False  # whether the task must say how many people are planned for
    controls: ClassVar[Mapping[str, tuple[float, float]]] = {}  # the planner's numbers, each with its least and largest
    template: ClassVar[str] = ""  # table of a first task file, but for categories; $epsilon0 is its line
    head: ClassVar[str] = ""  # the lines beside that table: `kind`, and the keys `beside`
    num_lists: ClassVar[int] = 0  # lists of categories that follow it there
    init_kind: ClassVar[str] = ""  # by which `init` offers it; "" if it does not
    init_title: ClassVar[str] = ""  # how the name of such a task begins
    fits_many_numbers: ClassVar[bool] = False  # whether `init` takes it for a column with many different numbers
    keeps_missing: ClassVar[bool] = False  # whether a missing answer can be one more category
    missing_category: bool  # whether it is
    may_follow: ClassVar[bool] = False  # whether "(not asked)" can be one more answer
    follow_up: bool = False  # whether it is

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """Sections of all randomizers that fit the question, sorted by kind."""
        kinds = mechanisms("randomizer").items()
        own = getattr(cls, "answers", None)
        fit = {kind: each for kind, each in kinds if own is None or each.answers == cls.takes}
        made = ((kind, section_of(question_type(own or each.answers), kind, each)) for kind, each in fit.items())
        return {kind: member for kind, member in made if issubclass(member, cls)}

    def to_dict(self) -> dict[str, Any]:
        """All keys of the table, defaults included; without ``follow_up`` where everybody is asked."""
        table = super().to_dict()
        return {key: value for key, value in table.items() if value or key != "follow_up"}

    def within(self, circumstances: Circumstances) -> Self:
        """The section as part of a task, for kinds that depend on other sections."""
        del circumstances
        return self

    def randomizer(self) -> Randomizer:
        """The randomizer that runs on the device, made from the keys of the section."""
        names = keywords_of(self.mechanism)
        return self.mechanism(**{name: getattr(self, self.renamed.get(name, name)) for name in names})

    @abstractmethod
    def read(self, answers: AnswerColumns) -> Read:
        """Answers of a batch as the randomizer takes them, with masks of wrong and of missing answers."""

    @abstractmethod
    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> Analyzer[Any]:
        """Analyzer of the question's reports for these columns, with intervals of coverage ``level``."""

    def expected_error(self, num_users: int) -> ExpectedError:
        """Expected errors with this number of people if all their reports arrive."""
        return expected_error(self.randomizer().model, num_users)

    def local_errors(self, num_users: int) -> dict[str, float]:
        """Standard errors of local randomizers to compare with, by kind; empty if the task uses one itself."""
        del num_users
        return {}

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """Names of the estimates, one for each row."""

    def targets_of(self, column: str) -> tuple[str, ...]:
        """Names of the rows in a release of this private column."""
        del column
        return self.targets

    def named_rows(self, estimate: Estimate, column: str) -> Estimate:
        """The estimate of a release of this private column, with the names of its rows."""
        return estimate.with_targets(self.targets_of(column))

    @property
    def least_people(self) -> int:
        """Fewest people for a release, whatever the task's smallest batch is."""
        return 1

    @property
    def most_people(self) -> int | None:
        """Largest number of people of a release; None for any number."""
        return None

    @property
    def read_from(self) -> tuple[str, ...]:
        """Input columns that hold the answers in place of the private column; usually empty."""
        return ()

    def in_place_of_missing(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Answers with the category for missing answers where an answer is missing."""
        return np.where(missing, len(self.targets) - 1 - self.follow_up, values)

    def where_not_asked(self, values: NDArray[Any], asked: NDArray[np.bool_]) -> NDArray[Any]:
        """Answers with "(not asked)", the last category, for people who were not asked."""
        return np.where(asked, values, len(self.targets) - 1)

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of answers for comparisons and follow-up questions; empty where there are none."""
        return ()

    def gave(self, values: NDArray[Any], place: int) -> NDArray[np.bool_]:
        """Mask of the answers that are, or contain, the answer at a place in `offered`."""
        return np.asarray(values == place)

    def as_follow_up(self) -> Self:
        """The section of a question with "(not asked)" as one more answer.

        Raises:
            InvalidParameterError: for answers that are averaged, or given in pairs.
        """
        if not self.may_follow:
            raise InvalidParameterError(
                'after must be left out but for one choice, ticks, a number in bins and open answers, where "(not '
                f'asked)" can be one more answer; got answers of kind {self.answers!r}.'
            )
        return cast(Self, replace(cast(Any, self), follow_up=True))

    @property
    def clips(self) -> bool:
        """Whether answers outside a range are moved to its nearer end."""
        return False

    @property
    def clipping(self) -> str:
        """A sentence about answers outside a range; "" where no answer is changed."""
        return ""

    def require_columns(self, columns: Sequence[str]) -> None:
        """Require the number of private columns that the question is about."""
        if len(columns) != self.num_columns:
            lists = "two lists, one for each of the columns" if self.num_columns == 1 else "one list for the column"
            raise InvalidParameterError(
                f"[randomizer] categories must be {lists} {', '.join(map(repr, columns))}; got "
                f"{'two lists' if self.num_columns == 2 else 'no two lists'}."
            )

    def curator_beside(self, protocol: ProtocolModel, stated: Guarantee) -> TrustedCurator | None:
        """Trusted curator to compare with a protocol, with the guarantee ``stated``; None without a finite loss."""
        return curator_beside(protocol, stated)

    def plan(self, protocol: ProtocolModel, *, delta: float, alone: bool) -> FamilyPlan | None:
        """Plan that the question adds to a task's plan, or None; ``alone`` leaves out other ways to ask."""
        del protocol, delta, alone
        return None

    def unit_of(self, num_users: int) -> float:
        """Factor that turns an average over this number of people into the unit of the estimate."""
        del num_users
        return 1.0

    def shared(self) -> dict[str, Any]:
        """Keys and values that another randomizer may take over: all except the kind."""
        return {key: value for key, value in self.to_dict().items() if key != self.tag_key}

    def alternatives(self) -> "dict[str, type[Question]]":
        """The sections of all other randomizers for the same answers, by kind."""
        return {kind: member for kind, member in question_type(self.answers).members().items() if kind != self.kind}

    def instead(self, member: "type[Question]") -> "Question":
        """Section of another kind, with this section's values for all shared keys and defaults otherwise."""
        theirs = {field.name for field in fields(cast(Any, member))}
        shared = {key: value for key, value in self.shared().items() if key in theirs}
        return member.from_dict({member.tag_key: member.kind, **shared})

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The categories of each private column, in the order of their numbers; empty for other answers."""
        return ()

    def typed_answers(self, columns: Sequence[str]) -> tuple[tuple[object, ...], ...]:
        """Answers that can be typed for each column, in words; empty where any number can be typed."""
        return self.categories_of_answers or ((),) * len(columns)

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Fields of the page for respondents, one for each column; empty if the page cannot ask the question."""
        del columns
        return []

    def no_answers(self, words: Any) -> list[str]:
        """Names of non-answers, such as "(not asked)", in the page's ``words``."""
        said = {"no_answer": self.missing_category, "not_asked": self.follow_up}
        return [words.told(name) for name, holds in said.items() if holds]

    def page_names(self, words: Any) -> list[str]:
        """Names of the reports as the page shows them, by their numbers, in the page's ``words``."""
        del words
        return [printable(name) for name in self.targets]

    @classmethod
    def planned(cls, epsilon0: float, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Keys of the question's table in the planner: ``epsilon0``, and the numbers set by its `controls`."""
        known = {field.name for field in fields(cast(Any, cls))}
        return {"epsilon0": epsilon0, **{name: numbers[name] for name in cls.controls if name in known}}

    def named(self, reports: "pa.Table") -> "pa.Table":
        """Reports as a file holds them: categories by name, packed bits as binary strings, all else unchanged."""
        return FORMS[self.mechanism.file_form][0](reports, self.targets)

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Reports in the library's form, the inverse of `named`; wrong columns yield invalid reports."""
        return FORMS[self.mechanism.file_form][1](reports, self.targets)

    @abstractmethod
    def with_missing_category(self) -> "Question":
        """The section with one more category, for people who did not answer."""


class CategoryQuestion(Question):
    """Base class of the questions that estimate frequencies of categories.

    ``missing_category``, whether a missing answer is one more category, is set by the task's ``missing = "category"``.
    """

    __slots__ = ()
    takes: ClassVar[str] = "category"
    keeps_missing: ClassVar[bool] = True
    renamed: ClassVar[Mapping[str, str]] = {"domain_size": "domain_size"}

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""

    @property
    def domain_size(self) -> int:
        """Number of categories, including the category for people who did not answer."""
        return len(self.targets)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the categories, including names for people who did not answer or were not asked."""
        return (*self.names, *[MISSING_CATEGORY] * self.missing_category, *[NOT_ASKED] * self.follow_up)

    def require_known_sums(self) -> None:
        """Refuse a kind whose covariances between categories are unknown, since sums of categories need them."""
        try:
            cast(FrequencyModel, self.randomizer().model).support_variance(np.zeros(self.domain_size))
        except UnsupportedModelError:
            raise InvalidParameterError(
                "kind must be another one where shares are added up, as in cross tables and histograms: how the "
                f"errors of categories go together is not worked out for {self.kind!r}; got kind={self.kind!r}."
            ) from None

    def page_names(self, words: Any) -> list[str]:
        """Names of the categories as the page shows them; non-answers are in the page's own ``words``."""
        return [*map(printable, self.names), *self.no_answers(words)]

    def with_missing_category(self) -> Self:
        """The section with one more category, the last, for people who did not answer."""
        return cast(Self, replace(cast(Any, self), missing_category=True))


class MeanQuestion(Question):
    """Base of the questions whose answers are averaged; a missing answer cannot be one more category."""

    __slots__ = ()
    missing_category = False

    def analyzer(self, *, level: float, columns: tuple[str, ...]) -> Analyzer[Any]:
        """Analyzer that estimates the mean."""
        del columns
        return MeanAnalyzer(level=level)

    def targets_of(self, column: str) -> tuple[str, ...]:
        """The column's name; for vectors, with each coordinate in square brackets."""
        names = self.targets
        return (column,) if len(names) == 1 else tuple(f"{column}[{name}]" for name in names)

    def with_missing_category(self) -> NoReturn:
        """Refuse a category for missing answers, which a mean cannot hold."""
        raise InvalidParameterError(
            f"missing must be 'refuse' or 'drop' where answers are averaged, as by {self.kind!r}; "
            "got missing='category'."
        )


class RangeKeys:
    """Keys of a range of numbers: its `ends`, and the treatment of numbers outside."""

    __slots__ = ()
    lower: Any
    upper: Any
    out_of_range: OutOfRange

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of the range."""
        return self.lower, self.upper

    @property
    def clips(self) -> bool:
        """Whether numbers outside the range are moved to its nearer end."""
        return self.out_of_range is OutOfRange.CLIP

    @property
    def clipping(self) -> str:
        """A sentence about numbers outside the range."""
        lower, upper = self.ends
        return f"Answers outside {lower:g} to {upper:g} count as the nearer end." if self.clips else ""

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Field for a number in the range."""
        lower, upper = self.ends
        return [{"label": printable(columns[0]), "lower": lower, "upper": upper, "clip": self.clips}]


# ---- one section for each question and randomizer, -----------------------------------------------------------------

_MADE: dict[tuple[type[Question], str, type[Mechanism]], type[Question]] = {}  # a class is made once


def section_of(family: type[Any], kind: str, mechanism: type[Mechanism]) -> type[Any]:
    """Class of the section of one kind; its keys are the question's, and the randomizer's other parameters."""
    if (family, kind, mechanism) not in _MADE:
        known = {each.name for each in fields(cast(Any, family))} | set(family.renamed)
        further = [each for name, each in keywords_of(mechanism).items() if name not in known]
        _MADE[family, kind, mechanism] = family.for_kind(kind, further, mechanism=mechanism)
    return _MADE[family, kind, mechanism]
