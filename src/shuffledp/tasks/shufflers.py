"""The ``[shuffler]`` section: one class per kind, whose fields are the keys of the section."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.flow import Shuffler, View
from shuffledp.shufflers import (
    IdentityShuffler,
    ImperfectShuffler,
    ParallelShuffler,
    UniformShuffler,
    imperfect_shuffler,
)
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.section import Section

__all__ = ["ROW", "IdentitySection", "ImperfectSection", "ShufflerSection", "UniformSection"]

ROW = "row"  # the column beside each report that says which row of the input it comes from


class ShufflerSection(Section):
    """Who takes away whose report is whose, and how; ``kind`` chooses the subclass."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[shuffler]"
    kind: ClassVar[str]
    is_uniform: ClassVar[bool] = False  # whether it is the uniform shuffle, which need not hold all reports in memory
    needs_groups: ClassVar[bool] = False  # whether it hides the order inside groups, which the task must then have
    needs_graph: ClassVar[bool] = False  # whether reports walk along a graph, which is read where they do

    def pinned(self, folder: Path) -> "ShufflerSection":
        """The same with the digest of the files that it is about, if there are any.

        Args:
            folder: that of the task file.
        """
        del folder
        return self

    @property
    def gamma(self) -> float | None:
        """How imperfect the shuffle promises to be, 0 for a uniform one; None where nothing is said."""
        return 0.0 if self.is_uniform else None

    def in_rounds(self, shuffler: Shuffler, num_messages: int) -> Shuffler:
        """The section's shuffler for people who send so many messages each."""
        del num_messages
        return shuffler

    @property
    def num_rows(self) -> int | None:
        """Rows that the input must have, where the section says something of each of them; None where it does not."""
        return None

    def shuffler_of(self, rows: NDArray[np.int64]) -> Shuffler:
        """The shuffler for the people of these rows of the input, counted from 0; see `num_rows`."""
        del rows
        return self.shuffler()

    @abstractmethod
    def shuffler(self, grouping: Grouping | None = None) -> Shuffler:
        """The shuffler; those that hide the order inside groups are for the people of these groups alone."""

    @property
    @abstractmethod
    def keeps_public(self) -> bool:
        """True if public columns stay attached to slots; else they are detached, and never even read."""

    def could_have_made(self, view: View) -> bool:
        """Whether the shuffler makes such views; for shufflers that neither add nor lose reports."""
        shuffler = self.in_rounds(self.shuffler(), view.reports.model.num_messages)
        return view.shuffle == shuffler.model(view.reports.num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformSection(ShufflerSection):
    """Every order is equally likely."""

    kind: ClassVar[str] = "uniform"
    is_uniform: ClassVar[bool] = True

    def shuffler(self, grouping: Grouping | None = None) -> UniformShuffler:  # noqa: ARG002
        """The uniform shuffler."""
        return UniformShuffler()

    @property
    def keeps_public(self) -> bool:
        """Detached: beside a report they would tell whose it is."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySection(ShufflerSection):
    """No shuffling at all."""

    kind: ClassVar[str] = "none"

    def shuffler(self, grouping: Grouping | None = None) -> IdentityShuffler:  # noqa: ARG002
        """The baseline that shuffles nothing."""
        return IdentityShuffler()

    @property
    def keeps_public(self) -> bool:
        """Attached: every report is its sender's anyway."""
        return True

    def could_have_made(self, view: View) -> bool:
        """Whether each sender has as many reports as the randomizer makes of an answer."""
        each = np.repeat(np.arange(view.reports.num_users), view.reports.model.num_messages)
        labelled = view.labels is not None and np.array_equal(view.labels, each)
        return labelled and super(IdentitySection, self).could_have_made(view)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImperfectSection(ShufflerSection):
    """An order that is nearly uniform; the keys are those of `shuffledp.imperfect_shuffler`.

    Args:
        imperfection: gamma, 0 or more and finite; 0 is a uniform shuffle.
        construction: "cayley", or "delay" by noise.
        offsets: for "delay", when the report of each row of the input comes in, from 0 to 1, rows without an answer
            included; None for any times.

    Raises:
        InvalidParameterError: as the shuffler does.
    """

    kind: ClassVar[str] = "imperfect"
    imperfection: float
    construction: str = "cayley"
    offsets: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        self.shuffler()

    def shuffler(self, grouping: Grouping | None = None) -> ImperfectShuffler:  # noqa: ARG002
        """The imperfect shuffler."""
        return imperfect_shuffler(imperfection=self.imperfection, construction=self.construction, offsets=self.offsets)

    @property
    def num_rows(self) -> int | None:
        """As many as there are offsets."""
        return None if self.offsets is None else len(self.offsets)

    def shuffler_of(self, rows: NDArray[np.int64]) -> ImperfectShuffler:
        """The shuffler for the people of these rows, with their own offsets."""
        offsets = None if self.offsets is None else np.asarray(self.offsets)[rows]
        return imperfect_shuffler(imperfection=self.imperfection, construction=self.construction, offsets=offsets)

    @property
    def gamma(self) -> float:
        """The imperfection."""
        return self.imperfection

    def in_rounds(self, shuffler: Shuffler, num_messages: int) -> Shuffler:
        """A shuffle of its own for each message: what one for all of them hides is an open problem."""
        if num_messages == 1 or not isinstance(shuffler, ImperfectShuffler):
            return shuffler
        return ParallelShuffler(shuffler, num_messages)

    @property
    def keeps_public(self) -> bool:
        """Detached: the place of a report tells something about whose it is."""
        return False
