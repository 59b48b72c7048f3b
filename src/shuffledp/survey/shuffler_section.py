"""The table ``[shuffler]``, generated from the registry of shufflers.

Its keys are the keyword arguments of the shuffler that ``kind`` names. A family of protocols whose shuffles are about
groups of people, their strata or a graph of them has a section of its own, which adds what only a task knows.
"""

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.described import keys_of
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Analyzer, Progress, Shuffler, View
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import Around, FamilyPlan
from shuffledp.protocols.family import ShufflerKind, families
from shuffledp.shufflers import UniformShuffler
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey.section import Section
from shuffledp.survey.shuffle_result import ShuffleResult

if TYPE_CHECKING:
    from shuffledp.core.local_models import LocalModel
    from shuffledp.survey.columns import Column
    from shuffledp.survey.task import Task

KEYS = tuple(key for family in families() for key in family.task.keys)  # what tasks say beside [shuffler]
ROW = "row"  # the column beside each report that says which row of the input it comes from

# The kinds of the registry, and choices among them that depend on what the task says.
TASK_KINDS: dict[str, ShufflerKind] = dict(KINDS)
for _family in families():
    TASK_KINDS.update(_family.choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFrom:
    """Public columns that groups or strata of people are made from, with a word for the result.

    Args:
        what: "groups", for example; "" where nothing is made.
        numbers: columns of coordinates.
        labels: columns of labels.
        weights: columns of numbers above 0.
    """

    what: str = ""
    numbers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of coordinates, labels and weights, in this order."""
        return (*self.numbers, *self.labels, *self.weights)


class ShufflerSection(Section):
    """Choice of the shuffler; ``kind`` names it in the registry, from which each subclass is generated."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[shuffler]"
    kind: ClassVar[str]
    is_uniform: ClassVar[bool] = False  # whether it is the uniform shuffle, which need not hold all reports in memory
    needs_groups: ClassVar[bool] = False  # whether it hides the order inside groups, which the task must then have
    needs_graph: ClassVar[bool] = False  # whether reports walk along a graph, which is read where they do
    needs_strata: ClassVar[bool] = False  # whether it shuffles inside strata, which are made from public columns
    of_each_column: ClassVar[bool] = False  # whether each private column of a task needs a shuffler of its own

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all kinds that are subclasses of this one, sorted by kind."""
        made = ((kind, section_of(kind)) for kind in sorted(TASK_KINDS))
        return {kind: member for kind, member in made if issubclass(member, cls)}

    @classmethod
    def _member(cls, tag: Any) -> type[Self]:
        """Class of the section of one kind, which alone is generated."""
        known = section_of(tag) if isinstance(tag, str) and tag in TASK_KINDS else None
        return known if known is not None and issubclass(known, cls) else cast(type[Self], super()._member(tag))

    def pinned(self, folder: Path) -> "ShufflerSection":
        """The section with the digest of its files, for kinds of shuffle that read files."""
        del folder
        return self

    @property
    def beside(self) -> dict[str, Any]:
        """Top-level keys of the task that belong to the shuffle, with their values."""
        return {}

    @property
    def made_from(self) -> MadeFrom:
        """Public columns that the shuffler needs from all people."""
        return MadeFrom()

    @property
    def is_weighted(self) -> bool:
        """Whether people count by weights."""
        return False

    def check(self, column: "Column") -> None:
        """Refuse a column whose other keys do not fit the section."""
        del column

    def fewest_together(self, public: Mapping[str, NDArray[Any]]) -> int | None:
        """Fewest people in any region of strata, from public columns; None without regions.

        Refuses columns that cannot be what the section takes them for.
        """
        del public
        return None

    def analyzer(self, analyzer: Analyzer[Any]) -> Analyzer[Any]:
        """Analyzer of the shuffler's view, made from an analyzer of the reports."""
        return analyzer

    def divided(self, column: "Column", whole: View, estimate: Estimate) -> tuple[Estimate, ShuffleResult | None]:
        """Estimate for all people, and the result that the shuffle adds, both from the estimate of a whole view."""
        del column, whole
        return estimate, None

    def of_people(self, num_users: int) -> Around | None:
        """Graph or overlay that follows from the number of people alone; None if there is none."""
        del num_users
        return None

    def imagined(self, num_users: int, size: int) -> Around | None:
        """Groups of at most ``size`` imagined people, or a graph of them; None if the shuffle needs neither."""
        del size
        return self.of_people(num_users)

    def check_members(self, task: "Task") -> None:
        """Refuse a task whose reports members cannot pass on among themselves."""
        del task
        raise invalid("'network' where members pass reports on", **{"[shuffler] kind": self.kind})

    @property
    def no_service(self) -> str:
        """Reason why services cannot run this kind of shuffle, for kinds without a service."""
        return "nothing would be shuffled" if self.kind == "none" else "no service has it"

    @property
    def in_words(self) -> str:
        """Name of the shuffle in a sentence."""
        return "no shuffle" if self.kind == "none" else f"a {self.kind} shuffle"

    def messages_of(self, shuffler: Shuffler, num_messages: int) -> float:
        """Mean number of messages sent by a person who has ``num_messages`` reports."""
        del shuffler
        return float(num_messages)

    def within(self, fakes: int) -> Self:
        """Section for a task with this number of fake senders."""
        del fakes
        return self

    @property
    def gamma(self) -> float | None:
        """Imperfection gamma that the shuffle promises; 0 for a uniform shuffle, None without a promise."""
        return None

    @property
    def is_kept_by_uniform(self) -> bool:
        """Whether a uniform shuffle also keeps this section's promise on the order of all people."""
        return self.gamma is not None and self.num_rows is None

    def in_rounds(self, shuffler: Shuffler, local: "LocalModel") -> Shuffler:
        """The section's shuffler, adapted to people who may send several messages of this model."""
        del local
        return shuffler

    @property
    def num_rows(self) -> int | None:
        """Number of rows the input must have, if the section has a value for each row; else None."""
        return None

    def shuffler_of(self, rows: NDArray[np.int64]) -> Shuffler:
        """The shuffler for the people in these rows of the input, counted from 0; see `num_rows`."""
        del rows
        return self.shuffler()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the section needs beside the task file."""
        return ()

    @abstractmethod
    def shuffler(self, grouping: object = None) -> Shuffler:
        """The shuffler; inside groups or strata, it is made for the people of ``grouping`` alone."""

    def shuffler_for(
        self,
        column: "Column",
        around: Around | None = None,
        *,
        num_users: int | None = None,
        progress: Progress | None = None,
    ) -> Shuffler:
        """Shuffler of a private column as in a run; refused if the people or the graph it needs are missing.

        ``around`` are groups, strata or graphs of the people. A number of rounds that the task leaves open is worked
        out, and ``progress`` told how many were accounted for. Of ``num_users`` people in unknown strata the smallest
        is as small as it may be.
        """
        del column, num_users, progress
        return self.shuffler(cast(Any, around))

    def with_dummies_of(self, column: "Column", shuffler: Shuffler) -> Shuffler:
        """Shuffler of the section; dummies, in shuffles that add any, come from another column's randomizer."""
        del column
        return shuffler

    def require_planned(self, column: "Column", num_users: int, around: Around | None = None) -> None:
        """Refuse planned people, with their groups or graph, if nothing would be released."""

    def family_plan(
        self, column: "Column", around: Around | None, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> FamilyPlan | None:
        """Plan that the family of the shuffler adds to a task's plan; None if it adds nothing."""
        del column, around, shuffler, progress
        return None

    def detailed(self, statements: tuple[PrivacyStatement, ...], shuffler: Shuffler) -> tuple[PrivacyStatement, ...]:
        """Statements of a column's plan, with details of the shuffler for the joint loss with other columns."""
        del shuffler
        return statements

    def named_household(self, column: "Column", pipeline: Any, num_users: int, **options: Any) -> Any:
        """Audit of an attack that identifies a household of the task; None if no statement is about it.

        Options are ``trials``, ``confidence``, ``source`` and ``progress``.
        """
        del column, pipeline, num_users, options
        return None

    def guessed_household(self, column: "Column", pipeline: Any, num_users: int, **options: Any) -> Any:
        """Audit of an attack that guesses a household's common answer; None if no statement is about it.

        Options are those of `named_household`.
        """
        del column, pipeline, num_users, options
        return None

    @property
    def is_drawn(self) -> bool:
        """Whether the shuffle uses a random graph, drawn anew for each number of people."""
        return False

    @property
    def keeps_public(self) -> bool:
        """Whether public columns stay attached to slots; otherwise they are detached, and never even read."""
        return TASK_KINDS[self.kind].keeps_public

    def attached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """Columns sent with each report: ``public`` if the shuffler keeps them, or the row's number."""
        if self.keeps_public:
            return public
        return () if self.num_rows is None else (ROW,)

    def detached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """Columns of ``public`` that the shuffle removes."""
        return () if self.keeps_public else public

    @abstractmethod
    def could_have_made(self, view: View) -> bool:
        """Whether the shuffler could have made this view."""

    @property
    def keywords(self) -> dict[str, Any]:
        """Keys of the table, as keyword arguments of the shuffler."""
        return {each.name: getattr(self, each.name) for each in keys_of(type(self))}


class PlainSection(ShufflerSection):
    """Base of the tables of shufflers that need only the reports."""

    __slots__ = ()
    of_rows: ClassVar[tuple[str, ...]] = ()  # keys that hold a number for each row of the input

    def __post_init__(self) -> None:
        self.shuffler()

    def shuffler(self, grouping: object = None) -> Shuffler:
        """The shuffler made from the keys of the table."""
        del grouping
        return TASK_KINDS[self.kind].make(**self.keywords)

    @property
    def gamma(self) -> float | None:
        """Imperfection gamma of the shuffler's model, the same for all numbers of people."""
        return self.shuffler().model(2).imperfection

    @property
    def num_rows(self) -> int | None:
        """Length of the key that has a number for each row; None without such a key."""
        return next((len(self.keywords[key]) for key in self.of_rows if self.keywords[key] is not None), None)

    def shuffler_of(self, rows: NDArray[np.int64]) -> Shuffler:
        """The shuffler for the people in these rows, with their own numbers."""
        given = {key: self.keywords[key] for key in self.of_rows if self.keywords[key] is not None}
        theirs = {key: np.asarray(values)[rows] for key, values in given.items()}
        return TASK_KINDS[self.kind].make(**{**self.keywords, **theirs})

    def could_have_made(self, view: View) -> bool:
        """Whether a view fits the shuffler's model, with all messages of each person where labels are people."""
        local = view.reports.model
        if self.keeps_public:
            each = np.repeat(np.arange(view.reports.num_users), local.num_messages)
            if view.labels is None or not np.array_equal(view.labels, each):
                return False
        return view.shuffle == self.in_rounds(self.shuffler(), local).model(view.reports.num_users)


# ---- one section for each kind of the registry ----------------------------------------------------------------------

_NUMBERS, _LISTS = ArrayLike | None, tuple[float, ...] | None  # arrays of numbers are lists in a file


@cache
def section_of(kind: str) -> type[ShufflerSection]:
    """Class of the section of one kind; its keys are its base's, and the shuffler's other parameters."""
    row = TASK_KINDS[kind]
    base: type[ShufflerSection] = PlainSection if row.section is None else row.section()
    if "kind" in vars(base):
        return base
    known = {"groups", *row.without, *getattr(base, "__dataclass_fields__", ())}
    further = [each for name, each in inspect.signature(row.make).parameters.items() if name not in known]
    of_rows = tuple(each.name for each in further if each.annotation == _NUMBERS)
    keys = [each.replace(annotation=_LISTS) if each.name in of_rows else each for each in further]
    return base.for_kind(kind, keys, is_uniform=row.make is UniformShuffler, of_rows=of_rows)


def uniform_section() -> ShufflerSection:
    """The default section, for a task without a table ``[shuffler]``."""
    return section_of("uniform")()


def with_shuffler(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Task's table with the keys of groups or strata moved into the shuffler's section."""
    if not isinstance(data, Mapping) or not set(KEYS).intersection(data):
        return data
    given = data.get("shuffler", uniform_section())
    section = given if isinstance(given, ShufflerSection) else ShufflerSection.from_dict(given)
    for family in families():
        keys = {key: data[key] for key in family.task.keys if key in data}
        section = family.task.section(section, keys) if keys else section
    return {key: value for key, value in data.items() if key not in KEYS} | {"shuffler": section}
