"""File work of protocol families: read the people's groups, strata or graph, and check views.

A family is found by its section of the task.

A family whose shuffles are about groups, strata or a graph of people has a subclass in its folder, behind the door
``files`` of its `Family`: it reads what a shuffle is about, and checks views on their way to the analyst.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InputDataError
from shuffledp.core.flow import Progress, Reports, Shuffler, View
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Integers, Table
from shuffledp.planning.family_plan import Around
from shuffledp.protocols.family import family_of
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import Column, ShuffleResult, ShufflerSection


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledParts:
    """View in parts with its model and its shuffler; the parts can be taken once."""

    shuffle: ShuffleModel
    num_reports: int
    views: Iterator[View]
    shuffler: Shuffler


def _nothing_added(progress: Progress | None) -> ShuffleResult | None:
    del progress
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedParts:
    """Parts of a view on their way to the analyst, checked by the family of protocols.

    Args:
        views: the parts, each taken once.
        shuffle: description of the shuffle that the family made anew; None where the file's stands.
        whole: the only part, if what the shuffle adds follows from it.
        added: makes the family's result, after all parts are taken.
    """

    views: Iterator[View]
    shuffle: ShuffleModel | None = None
    whole: View | None = None
    added: Callable[[Progress | None], ShuffleResult | None] = _nothing_added


class FamilyFiles:
    """File work of a protocol family; by default the family needs no files and adds no checks."""

    def around(self, section: Any, public: Table | None, num_users: int | None, folder: Path) -> Around | None:
        """Groups, strata or graphs for the shuffler, from public columns and files; None if there are none.

        Args:
            section: the section of the task.
            public: public columns, one row per person; None where nothing is known of people.
            num_users: number of people; None if unknown.
            folder: folder of the task file.
        """
        del section, public, num_users, folder
        return None

    def with_households(self, around: Around | None, households: tuple[Integers, ...]) -> Around | None:
        """Groups, strata or graphs with the input rows of each household; unchanged if households do not matter."""
        del households
        return around

    def shuffler(self, column: Column, public: Table | None, num_users: int, folder: Path) -> Shuffler:
        """Shuffler of a private column for these people."""
        return column.shuffler.shuffler_for(column, self.around(column.shuffler, public, num_users, folder))

    def shuffled(
        self, column: Column, shuffler: Shuffler, reports: Reports, public: Table | None, source: RandomSource
    ) -> ShuffledParts:
        """The shuffled view of all reports; refused if it is empty."""
        shuffler = column.shuffler.in_rounds(shuffler, reports.model)
        view = shuffler.shuffle(reports, public=public, source=source)
        if not len(view):
            raise InputDataError(
                f"none of the {len(reports)} reports of column {column.value!r} was handed in: all were lost on their "
                "way, with the task's dropouts and rounds. Nothing was released."
            )
        return ShuffledParts(shuffle=view.shuffle, num_reports=len(view), views=iter([view]), shuffler=shuffler)

    def checked(self, column: Column, views: Iterator[View], shuffler: Shuffler | None, folder: Path) -> CheckedParts:
        """Parts of a view as the analyst takes them; refused if they do not belong to the task.

        Args:
            column: the private column.
            views: parts of the view.
            shuffler: shuffler that made it; None if unknown.
            folder: folder of the task file.
        """
        del column, shuffler, folder
        return CheckedParts(views=views)


def files_of(section: ShufflerSection) -> FamilyFiles:
    """File work of the family of protocols to which a shuffler's section belongs; the default for core shufflers."""
    family = family_of(section.kind, section)
    found: FamilyFiles = FamilyFiles() if family is None or family.files is None else family.files()()
    return found
