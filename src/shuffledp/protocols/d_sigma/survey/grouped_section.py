"""Table ``[shuffler]`` of shuffles that hide the order inside groups, beside the table ``[groups]``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.described import ELSEWHERE, decode, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Shuffler, View
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Integers
from shuffledp.core.validate import invalid
from shuffledp.planning.family_plan import Around, FamilyPlan
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.survey.columns import Column, Missing
from shuffledp.survey.shuffler_section import TASK_KINDS, MadeFrom, ShufflerSection

if TYPE_CHECKING:
    from shuffledp.protocols.d_sigma.people.assignment import Groups
    from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSection(ShufflerSection):
    """Table of a shuffler that hides the order inside groups and leaves reports near their senders."""

    needs_groups: ClassVar[bool] = True
    in_words: ClassVar[str] = "a shuffle inside groups"
    order: str = "auto"
    groups: GroupsSection | None = field(default=None, metadata=ELSEWHERE)

    def __post_init__(self) -> None:
        from shuffledp.protocols.d_sigma.people.orders import METHODS

        validate.one_of(METHODS, order=self.order)
        check = TASK_KINDS[self.kind].check
        if check is not None:
            check()(**{key: value for key, value in self.keywords.items() if key != "order"})

    def to_dict(self) -> dict[str, Any]:
        """Keys of the table, without an empty ``delta`` of a Mallows shuffle."""
        table = super(GroupedSection, self).to_dict()
        return without_none(table, "delta") if self.kind == "mallows" else table

    @property
    def beside(self) -> dict[str, Any]:
        """The table ``[groups]``."""
        return {} if self.groups is None else {"groups": self.groups.to_dict()}

    @property
    def files(self) -> tuple[str, ...]:
        """Name of the file that groups are made from, in a tuple; empty without a file."""
        return () if self.groups is None or self.groups.file is None else (self.groups.file,)

    @property
    def made_from(self) -> MadeFrom:
        """Public columns that groups are made from: coordinates or labels."""
        if self.groups is None:
            return MadeFrom()
        labels = () if self.groups.column is None else (self.groups.column,)
        return MadeFrom(what="groups", numbers=self.groups.columns, labels=labels)

    def pinned(self, folder: Path) -> Self:
        """Section with the digest of its groups' file; unchanged without such a file."""
        return self if self.groups is None else replace(self, groups=self.groups.pinned(folder))

    def check(self, column: Column) -> None:
        """Refuse a task without groups, or with groups that do not fit its columns, order or ``missing``."""
        groups = self.groups
        if groups is None:
            raise InvalidParameterError(f"a task with shuffler kind {self.kind!r} must have a table [groups].")
        hidden = [name for name in groups.public_columns if name not in column.public]
        if hidden:
            raise invalid(
                "among the task's public columns, since groups are public and the columns are released beside the "
                "reports",
                groups=hidden,
            )
        if self.order == "coordinate" and not groups.columns:
            raise InvalidParameterError(
                f"[shuffler] must have another order than 'coordinate' where [groups] has {groups.way}, which "
                "gives no numbers to sort by; got order = 'coordinate'."
            )
        if groups.file is not None and column.missing is Missing.DROP:
            raise InvalidParameterError(
                f"missing must be 'refuse' or 'category' where [groups] has {groups.way}, whose numbers are those "
                "of the rows; got missing='drop'."
            )

    def fewest_together(self, public: Mapping[str, NDArray[Any]]) -> int | None:
        """Refuse latitudes and longitudes out of range; return None, as there are no regions."""
        if self.groups is None or self.groups.metric != "haversine":
            return None
        for name, most in zip(self.groups.columns, (90, 180), strict=True):
            if (np.abs(public[name]) > most).any():
                raise InvalidParameterError(
                    f"--by must name the columns of latitude and longitude, in degrees; column {name!r} has numbers "
                    f"beyond {most}."
                )
        return None

    def imagined(self, num_users: int, size: int) -> Grouping:
        """Imagined groups of people with consecutive numbers, few and of nearly equal size."""
        return groups_of_neighbors(num_users, size)

    def around(self, groups: "Groups", order: Integers) -> "SlotShuffler":
        """Shuffler for these groups around this reference order."""
        return cast("SlotShuffler", TASK_KINDS[self.kind].make(**{**self.keywords, "groups": groups, "order": order}))

    def shuffler(self, grouping: object = None) -> "SlotShuffler":
        """Shuffler for these groups; refused without groups."""
        if not isinstance(grouping, Grouping):
            raise InvalidParameterError(
                f"groups must be given for a {self.kind!r} shuffle, which is about them; got None. They are made from "
                "the input: `shuffledp plan TASK.toml --input FILE` says what to expect."
            )
        return self.around(grouping.groups, grouping.order(self.order))

    def family_plan(
        self, column: Column, around: Around | None, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> FamilyPlan | None:
        """Plan of the groups' mixing by the shuffle; None if the groups are unknown."""
        from shuffledp.protocols.d_sigma.survey.planned_groups import plan_of_groups

        del progress
        if not isinstance(around, Grouping) or self.groups is None:
            return None
        return plan_of_groups(self, self.groups, around, cast("SlotShuffler", shuffler), column)

    def detailed(self, statements: tuple[PrivacyStatement, ...], shuffler: Shuffler) -> tuple[PrivacyStatement, ...]:
        """Statements of a plan, with losses by group size in the statement on the order."""
        from shuffledp.protocols.d_sigma.planning.order_composition import laws_of, with_order_laws

        return with_order_laws(statements, laws_of(shuffler))

    def named_household(self, column: Column, pipeline: Any, num_users: int, **options: Any) -> Any:
        """Audit by naming the slots of the least hidden neighbors, whose number is the household's size.

        None where no number of people in a household is known.
        """
        from shuffledp.protocols.d_sigma.survey.household_audit import name_household

        people = column.people.household
        return name_household(pipeline, num_users, people, **options) if isinstance(people, int) else None

    def guessed_household(self, column: Column, pipeline: Any, num_users: int, **options: Any) -> Any:
        """Audit by guessing one common answer of the least hidden neighbors."""
        from shuffledp.protocols.d_sigma.survey.household_audit import guess_household

        people, delta = column.people.household, column.release.delta
        return guess_household(pipeline, num_users, people, delta=delta, **options) if isinstance(people, int) else None

    def could_have_made(self, view: View) -> bool:
        """Whether each slot of the view has one report.

        The groups of a view are compared where groups are made.
        """
        return view.labels is not None and len(view) == view.shuffle.num_users


@lru_cache(maxsize=4)
def groups_of_neighbors(num_users: int, size: int) -> Grouping:
    """Fewest nearly equal groups of at most ``size`` people with consecutive numbers."""
    from shuffledp.protocols.d_sigma.people.assignment import Groups

    num_groups = -(-num_users // size)
    return Grouping(Groups.from_labels(np.arange(num_users) * num_groups // num_users))


def groups_of(section: ShufflerSection) -> GroupsSection | None:
    """Table ``[groups]`` of a task with this section; None for shuffles without groups."""
    return section.groups if isinstance(section, GroupedSection) else None


def in_groups(section: ShufflerSection, groups: Any) -> ShufflerSection:
    """Section of a task with a table ``[groups]``; refused for shuffles without groups."""
    if not isinstance(section, GroupedSection):
        raise InvalidParameterError(f"a task with shuffler kind {section.kind!r} must be without a table [groups].")
    return replace(section, groups=decode(GroupsSection | None, groups, "groups"))
