"""The ``[randomizer]`` section: one class per kind, whose fields are the keys of the section."""

import math
from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from shuffledp._described import Described
from shuffledp._validate import invalid
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Analyzer, Randomizer
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.tasks.section import Section, one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from shuffledp.models import FrequencyModel
    from shuffledp.tasks.protocols import Circumstances

__all__ = ["CategoricalSection", "Category", "ExpectedError", "KaryRandomizedResponseSection", "RandomizerSection"]

Category = str | int | bool

MISSING_CATEGORY = "(missing)"

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError(Described):
    """How far an estimate will be off, before there is any data.

    Args:
        at: what the people are supposed to answer, which the errors depend on.
        standard_error: of what randomizing adds, for the people in the batch.
        sampling_error: the further error if they are a random sample of a large population.
    """

    at: str
    standard_error: float
    sampling_error: float


class RandomizerSection(Section):
    """How each answer is randomized; ``kind`` chooses the subclass."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[randomizer]"
    kind: ClassVar[str]
    key: ClassVar[str] = "randomizer"  # of the section in the task
    answers: ClassVar[str]  # how the private column is read: "category"
    needs_expected: ClassVar[bool] = False  # whether the task must say how many people are planned for
    missing_category: bool  # whether not having answered is an answer too

    def within(self, circumstances: "Circumstances") -> Self:
        """The section as part of a task, whose other sections some need to know."""
        del circumstances
        return self

    @abstractmethod
    def randomizer(self) -> Randomizer:
        """The randomizer that runs on the device."""

    @abstractmethod
    def analyzer(self, *, level: float) -> Analyzer[Any]:
        """The analyzer that fits its reports, with intervals of this coverage."""

    @abstractmethod
    def expected_error(self, num_users: int) -> ExpectedError:
        """The errors to be expected with so many people, all of whose reports arrive."""

    @property
    @abstractmethod
    def targets(self) -> tuple[str, ...]:
        """One name per row of the estimate."""

    def targets_of(self, column: str) -> tuple[str, ...]:
        """The same as a release of this private column names them."""
        del column
        return self.targets

    @property
    def least_people(self) -> int:
        """With fewer nothing may be released, whatever the task's smallest batch is."""
        return 1

    @property
    def most_people(self) -> int | None:
        """With more nothing can be released; None for any number."""
        return None

    @property
    def reads(self) -> str:
        """What the private column holds, by the name of how it is read."""
        return self.answers

    @property
    def clips(self) -> bool:
        """Whether answers outside a range are moved to its nearer end."""
        return False

    @property
    def clipping(self) -> str:
        """What becomes of answers outside a range, in a sentence; "" where nothing is changed."""
        return ""

    def unit_of(self, num_users: int) -> float:
        """What an average over so many people is multiplied by to be in the units of the estimate."""
        del num_users
        return 1.0

    def shared(self) -> dict[str, Any]:
        """What other randomizers may take over from this one."""
        return {key: value for key, value in self.to_dict().items() if key != self.tag_key}

    def instead(self, member: "type[RandomizerSection]") -> "RandomizerSection":
        """Another randomizer with all values of this one that it has keys for, and its defaults for the rest.

        Raises:
            InvalidParameterError: if it cannot take them, or needs others.
        """
        theirs = {field.name for field in fields(cast(Any, member))}
        shared = {key: value for key, value in self.shared().items() if key in theirs}
        return RandomizerSection.from_dict({member.tag_key: member.kind, **shared})

    @property
    @abstractmethod
    def categories_of_answers(self) -> tuple[Category, ...]:
        """The answers in the private column, in the order of their numbers."""

    def named(self, reports: "pa.Table") -> "pa.Table":
        """Reports as people read them in a file, such as names of categories in place of numbers."""
        return reports

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Reports as the randomizer made them: what undoes `named`."""
        return reports

    @abstractmethod
    def with_missing_category(self) -> "RandomizerSection":
        """The section in which not having answered is an answer too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoricalSection(RandomizerSection):
    """Answers that are one of some named categories, and frequencies of these.

    A subclass says by its ``kind`` and ``randomizer`` how their numbers are randomized.

    Args:
        epsilon0: local privacy loss in nats.
        categories: the possible answers, two or more, all of one type and all different; public, so fixed beforehand.
        missing_category: whether not having answered is one more category; set by the task's ``missing = "category"``.

    Raises:
        InvalidParameterError: for fewer than two categories, duplicates, mixed types, or text that is empty or has
            control characters; and as the randomizer does.
    """

    answers: ClassVar[str] = "category"
    epsilon0: float
    categories: tuple[Category, ...]
    missing_category: bool = False

    def __post_init__(self) -> None:
        if len(self.categories) < 2:
            raise invalid("two or more", categories=list(self.categories))
        kinds = sorted({type(category).__name__ for category in self.categories})
        if kinds not in (["str"], ["int"], ["bool"]):
            raise InvalidParameterError(
                f"categories must be all of one type (text, whole numbers or true/false); got {' and '.join(kinds)}."
            )
        targets = self.targets
        for name in targets:
            one_line(categories=name)
        duplicates = [repr(name) for name, count in Counter(targets).items() if count > 1]
        if duplicates:
            shown = ", ".join(duplicates[:_MOST_SHOWN]) + (", ..." if len(duplicates) > _MOST_SHOWN else "")
            raise InvalidParameterError(f"categories must be all different; got more than once: {shown}.")
        self.randomizer()  # refuses an epsilon0 that cannot be represented, before anything is collected

    @property
    def domain_size(self) -> int:
        """Number of categories, with the one for people who did not answer."""
        return len(self.categories) + self.missing_category

    def analyzer(self, *, level: float) -> FrequencyAnalyzer:
        """Frequencies of the categories."""
        return FrequencyAnalyzer(level=level)

    def expected_error(self, num_users: int) -> ExpectedError:
        """The errors of a category that as many people hold as any other."""
        share = 1 / self.domain_size
        noise = cast("FrequencyModel", self.randomizer().model).noise_variance(share)
        return ExpectedError(
            at=f"a frequency of 1/{self.domain_size}",
            standard_error=math.sqrt(noise / num_users),
            sampling_error=math.sqrt(share * (1 - share) / num_users),
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """The categories as text."""
        extra = (MISSING_CATEGORY,) if self.missing_category else ()
        return (*(_as_text(category) for category in self.categories), *extra)

    @property
    def categories_of_answers(self) -> tuple[Category, ...]:
        """The categories."""
        return self.categories

    def with_missing_category(self) -> "CategoricalSection":
        """One more category, after the others, for people who did not answer."""
        return replace(self, missing_category=True)


class KaryRandomizedResponseSection(CategoricalSection):
    """k-ary randomized response on named categories; the keys are those of `CategoricalSection`."""

    __slots__ = ()
    kind: ClassVar[str] = "k-rr"

    def randomizer(self) -> KaryRandomizedResponse:
        """k-ary randomized response over the numbers of the categories."""
        return KaryRandomizedResponse(epsilon0=self.epsilon0, domain_size=self.domain_size)

    def named(self, reports: "pa.Table") -> "pa.Table":
        """The column ``value`` dictionary-encoded, with the categories as dictionary."""
        import pyarrow as pa

        codes = reports.column("value").combine_chunks().cast(pa.int32())
        named = pa.DictionaryArray.from_arrays(codes, pa.array(self.targets))
        return reports.set_column(reports.column_names.index("value"), "value", named)

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """The numbers of the categories again; a name that is none of them becomes a number out of range."""
        import pyarrow as pa
        import pyarrow.compute as pc

        targets = pa.array(self.targets)
        names = reports.column("value").cast(targets.type)
        codes = pc.index_in(names, targets).fill_null(len(targets))
        return reports.set_column(reports.column_names.index("value"), "value", codes)


def _as_text(category: Category) -> str:
    return str(category).lower() if isinstance(category, bool) else str(category)
