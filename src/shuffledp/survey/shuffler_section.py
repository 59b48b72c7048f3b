"""The table ``[shuffler]``, generated from the registry of shufflers.

Its keys are the keyword arguments of the shuffler that ``kind`` names. A family (about nothing else, about groups of
people, about a graph of them) adds what only a task knows: what becomes of public columns, and which rows take part.
"""

import inspect
from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Shuffler, View
from shuffledp.core.table import Integers
from shuffledp.planning.family_plan import Around, FamilyPlan
from shuffledp.protocols.family import ShufflerKind, families
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.shufflers import UniformShuffler
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey.section import Section

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.people.assignment import Groups
    from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
    from shuffledp.protocols.d_sigma.survey.groups import Grouping
    from shuffledp.survey.columns import Column

ROW = "row"  # the column beside each report that says which row of the input it comes from

# The kinds of the registry, and choices among them that depend on what the task says.
TASK_KINDS: dict[str, ShufflerKind] = dict(KINDS)
for _family in families():
    TASK_KINDS.update(_family.choices)


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
        """The sections of all kinds of this family, sorted by kind."""
        made = ((kind, section_of(kind)) for kind in sorted(TASK_KINDS))
        return {kind: member for kind, member in made if issubclass(member, cls)}

    @classmethod
    def _member(cls, tag: Any) -> type[Self]:
        """The section of one kind; sections of other kinds are not generated."""
        known = section_of(tag) if isinstance(tag, str) and tag in TASK_KINDS else None
        return known if known is not None and issubclass(known, cls) else cast(type[Self], super()._member(tag))

    def pinned(self, folder: Path) -> "ShufflerSection":
        """The section with the digest of its files in the task's folder, if it has any."""
        del folder
        return self

    def within(self, fakes: int) -> Self:
        """The section as part of a task with this number of fake senders."""
        del fakes
        return self

    @property
    def gamma(self) -> float | None:
        """Imperfection gamma that the shuffle promises; 0 for a uniform shuffle, None where nothing is promised."""
        return None

    def in_rounds(self, shuffler: Shuffler, num_messages: int) -> Shuffler:
        """The section's shuffler for people who send several messages each.

        Where one buffer for all of them is an open problem, each message gets a shuffle of its own.
        """
        if num_messages == 1:
            return shuffler
        from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffler
        from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler

        return ParallelShuffler(shuffler, num_messages) if isinstance(shuffler, ImperfectShuffler) else shuffler

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
    def shuffler(self, grouping: "Grouping | Strata | None" = None) -> Shuffler:
        """The shuffler; inside groups or strata it is for the people of ``grouping`` alone."""

    def shuffler_for(
        self,
        column: "Column",
        around: Around | None = None,
        *,
        num_users: int | None = None,
        progress: Progress | None = None,
    ) -> Shuffler:
        """The shuffler of a private column as in a run; refused if what it is about is not given.

        ``around`` are groups, strata or graphs of the people. A number of rounds that the task leaves open is worked
        out, and ``progress`` told how many were accounted for. Of ``num_users`` people in unknown strata the smallest
        is as small as it may be.
        """
        del column, num_users, progress
        return self.shuffler(cast(Any, around))

    def with_dummies_of(self, column: "Column", shuffler: Shuffler) -> Shuffler:
        """A shuffler of the section for this column instead, whose randomizer makes dummies, if there are any."""
        del column
        return shuffler

    def require_planned(self, column: "Column", num_users: int, around: Around | None = None) -> None:
        """Refuse planned people, or what is ``around`` them, if nothing would be released."""

    def family_plan(
        self, column: "Column", around: Around | None, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> FamilyPlan | None:
        """What the family of the shuffler adds to the plan of a task; None if nothing."""
        del column, around, shuffler, progress
        return None

    @property
    def is_drawn(self) -> bool:
        """Whether the shuffle is about a graph that is drawn at random, another one for each number of people."""
        return False

    @property
    def keeps_public(self) -> bool:
        """Whether public columns stay attached to slots; otherwise they are detached, and never even read."""
        return TASK_KINDS[self.kind].keeps_public

    def attached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """Columns that travel with each report: ``public`` if the shuffler keeps them, or the row's number."""
        if self.keeps_public:
            return public
        return () if self.num_rows is None else (ROW,)

    def detached(self, public: tuple[str, ...]) -> tuple[str, ...]:
        """Columns of ``public`` that the shuffle removes."""
        return () if self.keeps_public else public

    @abstractmethod
    def could_have_made(self, view: View) -> bool:
        """Whether the shuffler makes views like this one."""

    @property
    def keywords(self) -> dict[str, Any]:
        """The keys as keyword arguments."""
        return {each.name: getattr(self, each.name) for each in fields(cast(Any, self))}


class PlainSection(ShufflerSection):
    """Family of the shufflers that need nothing but the reports."""

    __slots__ = ()
    of_rows: ClassVar[tuple[str, ...]] = ()  # keys that hold a number for each row of the input

    def __post_init__(self) -> None:
        self.shuffler()

    def shuffler(self, grouping: "Grouping | Strata | None" = None) -> Shuffler:
        """The shuffler made from the keys."""
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
        """Whether the view has the shuffler's model, and, where labels are people, each person's messages."""
        messages = view.reports.model.num_messages
        if self.keeps_public:
            each = np.repeat(np.arange(view.reports.num_users), messages)
            if view.labels is None or not np.array_equal(view.labels, each):
                return False
        return view.shuffle == self.in_rounds(self.shuffler(), messages).model(view.reports.num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSection(ShufflerSection):
    """Family of the shufflers that hide the order inside groups and leave each report near its sender."""

    needs_groups: ClassVar[bool] = True
    order: str = "auto"

    def __post_init__(self) -> None:
        from shuffledp.protocols.d_sigma.people.orders import METHODS

        validate.one_of(METHODS, order=self.order)
        check = TASK_KINDS[self.kind].check
        if check is not None:
            check()(**{key: value for key, value in self.keywords.items() if key != "order"})

    def around(self, groups: "Groups", order: Integers) -> "SlotShuffler":
        """The shuffler for these groups around this reference order."""
        return cast("SlotShuffler", TASK_KINDS[self.kind].make(**{**self.keywords, "groups": groups, "order": order}))

    def shuffler(self, grouping: "Grouping | Strata | None" = None) -> "SlotShuffler":
        """The shuffler for these groups; refused without groups."""
        if grouping is None or isinstance(grouping, Strata):
            raise InvalidParameterError(
                f"groups must be given for a {self.kind!r} shuffle, which is about them; got None. They are made from "
                "the input: `shuffledp plan TASK.toml --input FILE` says what to expect."
            )
        return self.around(grouping.groups, grouping.order(self.order))

    def family_plan(
        self, column: "Column", around: Around | None, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> FamilyPlan | None:
        """What the shuffle does to the groups, if they are known."""
        del progress
        from shuffledp.protocols.d_sigma.survey.groups import Grouping
        from shuffledp.protocols.d_sigma.survey.planned_groups import plan_of_groups

        if not isinstance(around, Grouping) or column.groups is None:
            return None
        return plan_of_groups(self, column.groups, around, cast("SlotShuffler", shuffler))

    def could_have_made(self, view: View) -> bool:
        """Whether each slot has one report; groups are compared where they are made."""
        return view.labels is not None and len(view) == view.shuffle.num_users


# ---- one section for each kind of the registry ----------------------------------------------------------------------

_NUMBERS, _LISTS = ArrayLike | None, tuple[float, ...] | None  # arrays of numbers are lists in a file


@cache
def section_of(kind: str) -> type[ShufflerSection]:
    """The section of one kind, with the keys of its family and the further parameters of its shuffler."""
    row = TASK_KINDS[kind]
    if row.about == "graph":
        from shuffledp.protocols.network.survey.network_section import NetworkSection

        return NetworkSection
    family: type[ShufflerSection] = GroupedSection if row.about == "groups" else PlainSection
    known = {"groups", *row.without, *(getattr(family, "__dataclass_fields__", ()))}
    further = [each for name, each in inspect.signature(row.make).parameters.items() if name not in known]
    of_rows = tuple(each.name for each in further if each.annotation == _NUMBERS)
    keys = [each.replace(annotation=_LISTS) if each.name in of_rows else each for each in further]
    return family.for_kind(kind, keys, is_uniform=row.make is UniformShuffler, of_rows=of_rows)


def uniform_section() -> ShufflerSection:
    """The default section, for a task without a table ``[shuffler]``."""
    return section_of("uniform")()
