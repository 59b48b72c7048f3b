"""Section of a task whose reports are shuffled twice: its keys name the operators, and its files tell who they were."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shuffledp.protocols.toy.shuffled_twice import TwiceShuffler

from shuffledp.core.flow import Progress, Shuffler, View
from shuffledp.core.validate import invalid
from shuffledp.files.family_files import CheckedParts, FamilyFiles
from shuffledp.survey import Column, ShuffleResult, ShufflerSection


@dataclass(frozen=True, slots=True, kw_only=True)
class TwiceSection(ShufflerSection):
    """Two uniform shuffles by two operators with names."""

    kind: ClassVar[str] = "twice"
    operators: tuple[str, ...] = ("first", "second")

    def __post_init__(self) -> None:
        if len(set(self.operators)) != 2:
            raise invalid("two different names", operators=list(self.operators))

    def shuffler(self, grouping: object = None) -> Shuffler:
        del grouping
        return TwiceShuffler()

    def could_have_made(self, view: View) -> bool:
        return view.labels is None and view.shuffle == TwiceShuffler().model(view.reports.num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators(ShuffleResult):
    """Names of those who shuffled, in a release."""

    names: tuple[str, ...]

    def written(self, *, seeded: bool) -> dict[str, Any]:
        del seeded
        return {"operators": list(self.names)}


class TwiceFiles(FamilyFiles):
    """Releases of reports that were shuffled twice."""

    def checked(self, column: Column, views: Iterator[View], shuffler: Shuffler | None, folder: Path) -> CheckedParts:
        del shuffler, folder

        def added(progress: Progress | None) -> Operators:
            del progress
            return Operators(names=column.shuffler.keywords["operators"])

        return CheckedParts(views=views, added=added)
