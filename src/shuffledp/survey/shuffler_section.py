"""The table ``[shuffler]``, generated from the registry of shufflers.

Its keys are the keyword arguments of the shuffler that ``kind`` names. A family (about nothing else, about groups of
people, about a graph of them) adds what only a task knows: what becomes of public columns, and which rows take part.
"""

import inspect
import math
import re
from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import planning
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Randomizer, Shuffler, View
from shuffledp.core.table import Integers
from shuffledp.core.validate import invalid
from shuffledp.people.graphs.connected_parts import Graphs
from shuffledp.people.groups import Groups
from shuffledp.people.groups.orders import METHODS
from shuffledp.planning.mechanism_choice import check_choice, least_displaced
from shuffledp.shufflers import (
    ImperfectShuffler,
    ParallelShuffler,
    RandomWalkShuffleModel,
    RandomWalkShuffler,
    SlotShuffler,
    UniformShuffler,
)
from shuffledp.shufflers.shuffler_kinds import KINDS, ShufflerKind
from shuffledp.shufflers.walk_model import PROTOCOLS, checked_chances, checked_submissions
from shuffledp.survey.groups import Grouping
from shuffledp.survey.section import Section, digest_of_files, require_sha256, some_text

ROW = "row"  # the column beside each report that says which row of the input it comes from

AUTO = "auto"
_GENERATOR = re.compile(r"random-regular:([0-9]{1,9})")
_MOST_ROUNDS = 100_000

# The registry, and the choice among its kinds that is made for the groups at hand.
TASK_KINDS: dict[str, ShufflerKind] = KINDS | {"auto": ShufflerKind(least_displaced, "groups", True, check_choice)}


class ShufflerSection(Section):
    """Choice of the shuffler; ``kind`` names it in the registry, which generates a subclass for each."""

    __slots__ = ()
    tag_key: ClassVar[str] = "kind"
    title: ClassVar[str] = "[shuffler]"
    kind: ClassVar[str]
    is_uniform: ClassVar[bool] = False  # whether it is the uniform shuffle, which need not hold all reports in memory
    needs_groups: ClassVar[bool] = False  # whether it hides the order inside groups, which the task must then have
    needs_graph: ClassVar[bool] = False  # whether reports walk along a graph, which is read where they do

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """The sections of all kinds, sorted by kind, as far as they are of this family."""
        made = ((kind, section_of(kind)) for kind in sorted(TASK_KINDS))
        return {kind: member for kind, member in made if issubclass(member, cls)}

    def pinned(self, folder: Path) -> "ShufflerSection":
        """The section with the digest of the files that it is about, if there are any, in the task's folder."""
        del folder
        return self

    @property
    def gamma(self) -> float | None:
        """Imperfection that the shuffle promises, 0 for a uniform one; None where nothing is said."""
        return None

    def in_rounds(self, shuffler: Shuffler, num_messages: int) -> Shuffler:
        """The section's shuffler for people who send several messages each.

        Where one buffer for all of them is an open problem, each message gets a shuffle of its own.
        """
        if num_messages == 1 or not isinstance(shuffler, ImperfectShuffler):
            return shuffler
        return ParallelShuffler(shuffler, num_messages)

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
    def keeps_public(self) -> bool:
        """True if public columns stay attached to slots; else they are detached, and never even read."""
        return TASK_KINDS[self.kind].keeps_public

    @abstractmethod
    def could_have_made(self, view: View) -> bool:
        """Whether the shuffler makes such views."""

    @property
    def keywords(self) -> dict[str, Any]:
        """The keys as keyword arguments."""
        return {each.name: getattr(self, each.name) for each in fields(cast(Any, self))}


class PlainSection(ShufflerSection):
    """Family of the shufflers that are about nothing but the reports."""

    __slots__ = ()
    of_rows: ClassVar[tuple[str, ...]] = ()  # keys with a number for each row of the input

    def __post_init__(self) -> None:
        self.shuffler()

    def shuffler(self, grouping: Grouping | None = None) -> Shuffler:
        """The shuffler of the keys."""
        del grouping
        return TASK_KINDS[self.kind].make(**self.keywords)

    @property
    def gamma(self) -> float | None:
        """That of the shuffler's model, which is the same for all numbers of people."""
        return self.shuffler().model(2).imperfection

    @property
    def num_rows(self) -> int | None:
        """As many as a key has numbers for."""
        return next((len(self.keywords[key]) for key in self.of_rows if self.keywords[key] is not None), None)

    def shuffler_of(self, rows: NDArray[np.int64]) -> Shuffler:
        """The shuffler for the people of these rows, with their own numbers."""
        given = {key: self.keywords[key] for key in self.of_rows if self.keywords[key] is not None}
        theirs = {key: np.asarray(values)[rows] for key, values in given.items()}
        return TASK_KINDS[self.kind].make(**{**self.keywords, **theirs})

    def could_have_made(self, view: View) -> bool:
        """Whether the view has the shuffler's model, and where labels are people, each one's messages."""
        messages = view.reports.model.num_messages
        if self.keeps_public:
            each = np.repeat(np.arange(view.reports.num_users), messages)
            if view.labels is None or not np.array_equal(view.labels, each):
                return False
        return view.shuffle == self.in_rounds(self.shuffler(), messages).model(view.reports.num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSection(ShufflerSection):
    """Family of the shufflers that hide the order inside groups, and leave every report near its sender."""

    needs_groups: ClassVar[bool] = True
    order: str = "auto"

    def __post_init__(self) -> None:
        validate.one_of(METHODS, order=self.order)
        check = TASK_KINDS[self.kind].check
        if check is not None:
            check(**{key: value for key, value in self.keywords.items() if key != "order"})

    def around(self, groups: Groups, order: Integers) -> SlotShuffler:
        """The shuffler of these groups around this reference order."""
        return cast(SlotShuffler, TASK_KINDS[self.kind].make(**{**self.keywords, "groups": groups, "order": order}))

    def shuffler(self, grouping: Grouping | None = None) -> SlotShuffler:
        """The shuffler of these groups; refused without any."""
        if grouping is None:
            raise InvalidParameterError(
                f"groups must be given for a {self.kind!r} shuffle, which is about them; got None. They are made from "
                "the input: `shuffledp plan TASK.toml --input FILE` says what to expect."
            )
        return self.around(grouping.groups, grouping.order(self.order))

    def could_have_made(self, view: View) -> bool:
        """Whether each slot has one report; that the description fits the groups is seen where these are made."""
        return view.labels is not None and len(view) == view.shuffle.num_users


# ---- reports that walk along a graph ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSection(ShufflerSection):
    """Random walks along a graph of people; the keys are those of `shuffledp.RandomWalkShuffler`."""

    kind: ClassVar[str] = "network"
    needs_graph: ClassVar[bool] = True
    graph: str | tuple[str, ...]
    rounds: int | float | str = AUTO
    protocol: str = "all"
    submissions: int | None = None
    laziness: float = 0.0
    dropouts: float = 0.0
    offline: float = 0.0
    colluding: float = 0.0
    graph_seed: int | None = None
    sha256: str | None = None
    fakes: int = field(default=0, init=False, repr=False)  # of [people]: set by the task

    def __post_init__(self) -> None:
        for name in self._names:
            some_text(graph=name)
        if not self._names:
            raise invalid("one file or more", graph=[])
        rounds = self.rounds
        whole = isinstance(rounds, int) and not isinstance(rounds, bool) and 0 <= rounds <= _MOST_ROUNDS
        if rounds != AUTO and not whole:
            raise invalid(f"an integer from 0 to {_MOST_ROUNDS}, or 'auto'", rounds=rounds)
        validate.one_of(PROTOCOLS, protocol=self.protocol)
        checked_chances(laziness=self.laziness, dropouts=self.dropouts, offline=self.offline)
        checked_submissions(self.protocol, self.submissions)
        validate.probability(colluding=self.colluding)
        if self.colluding == 1:
            raise invalid("below 1: nobody would be left to protect", colluding=self.colluding)
        if self.offline and self.protocol != "all":
            raise invalid(f"0 for protocol={self.protocol!r}: dummies could not be told", offline=self.offline)
        self._check_auto()
        self._check_source()

    def _check_auto(self) -> None:
        for name in ("offline", "colluding", "fakes"):
            if self.rounds == AUTO and getattr(self, name):
                raise InvalidParameterError(
                    f"{self.title} rounds must be a number where {name} is above 0: no number of rounds comes near the "
                    f"guarantee of a uniform shuffle then; got rounds='auto' with {name}={getattr(self, name)}."
                )

    def _check_source(self) -> None:
        if self.degree is None:
            for name in self._names:
                if name.startswith("random-"):
                    raise invalid("the name of a file, or random-regular:DEGREE", graph=name)
            if self.graph_seed is not None:
                raise invalid("left out where the graph is in a file", graph_seed=self.graph_seed)
        elif self.degree == 0:
            raise invalid(
                "random-regular:DEGREE with a degree of 1 or more: else nobody has a neighbor", graph=self.graph
            )
        elif self.sha256 is not None:
            raise invalid("left out for a random graph, which is in no file", sha256=self.sha256)
        if self.graph_seed is not None:
            validate.integer_at_least(0, graph_seed=self.graph_seed)
        require_sha256(sha256=self.sha256)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.graph,) if isinstance(self.graph, str) else self.graph

    @property
    def degree(self) -> int | None:
        """Everybody's number of neighbors in a random graph; None for one that is in a file."""
        found = _GENERATOR.fullmatch(self.graph) if isinstance(self.graph, str) else None
        return int(found[1]) if found else None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the graphs of the rounds are in; none for a random graph."""
        return self._names if self.degree is None else ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of the table."""
        return {key: value for key, value in super(NetworkSection, self).to_dict().items() if key != "fakes"}

    def within(self, fakes: int) -> Self:
        """The section as part of a task with so many fake senders, who pass reports on as everybody does."""
        object.__setattr__(placed := replace(self), "fakes", fakes)
        placed._check_auto()
        return placed

    def pinned(self, folder: Path) -> "NetworkSection":
        """The section with the digest of its files, if it has any; as `digest_of_files`."""
        if not self.files:
            return self
        key, other = f"{self.title} graph", ", or random-regular:DEGREE"
        return replace(self, sha256=digest_of_files(folder, self.files, self.sha256, key=key, other=other))

    def shuffler(self, grouping: Grouping | None = None) -> RandomWalkShuffler:
        """Refused: the shuffler is one of a graph; see `walking`."""
        del grouping
        raise InvalidParameterError(
            "graphs must be given for a 'network' shuffle, which is about them; got none. The commands `shuffledp "
            "plan`, `shuffledp leakage`, `shuffledp run` and its stages read them."
        )

    def along(self, graphs: Graphs, randomizer: Randomizer) -> "planning.NetworkShuffle":
        """The shuffle along the graphs of the first round, the second and so on, for any number of rounds.

        Raises:
            InvalidParameterError: if the randomizer takes no whole number that dummies could be made of.
        """
        try:
            return planning.NetworkShuffle(
                graph=graphs,
                randomizer=randomizer,
                protocol=self.protocol,
                submissions=self.submissions,
                laziness=self.laziness,
                dropout=self.dropouts,
                offline=self.offline,
                colluding=self.colluding,
                fakes=self.fakes,
            )
        except InvalidParameterError as error:
            reason = str(error)
        raise InvalidParameterError(f"{self.title} {reason}")

    def walking(
        self, graphs: Graphs, randomizer: Randomizer, delta: float, *, progress: Progress | None = None
    ) -> RandomWalkShuffler:
        """The shuffler on given graphs, with its rounds found if they are "auto".

        Raises:
            InvalidParameterError: if somebody has no neighbor; or if no number of rounds comes near a uniform shuffle.
        """
        walk = self.along(graphs, randomizer)
        if isinstance(self.rounds, int):
            return walk.shuffler(self.rounds)
        found = planning.fewest_rounds(walk, delta=delta, progress=progress)
        if found is not None:
            return walk.shuffler(found)
        reason = planning.why_no_rounds(walk, delta=delta)
        raise InvalidParameterError(f"{self.title} rounds must be a number here: {reason}; got rounds={AUTO!r}.")

    def plan(
        self,
        graphs: Graphs,
        randomizer: Randomizer,
        delta: float,
        *,
        shuffler: RandomWalkShuffler,
        progress: Progress | None = None,
    ) -> "planning.NetworkPlan":
        """The plan of a shuffler that `walking` made, as `shuffledp.planning.plan_walk` has it."""
        walk, known = self.along(graphs, randomizer), self.rounds == AUTO
        return planning.plan_walk(walk, shuffler, delta=delta, fewest_known=known, progress=progress)

    def could_have_made(self, view: View) -> bool:
        """Whether everybody hands in as many reports as the protocol says; the graph is checked where it is read."""
        shuffle = view.shuffle
        if view.labels is None or not isinstance(shuffle, RandomWalkShuffleModel) or not self.describes(shuffle):
            return False
        held = np.bincount(view.labels, minlength=shuffle.num_users)
        if self.protocol == "all":
            return held.sum() <= shuffle.num_users and (self.dropouts > 0 or held.sum() == shuffle.num_users)
        return bool((held == (self.submissions or 1)).all())

    def describes(self, shuffle: RandomWalkShuffleModel) -> bool:
        """Whether a shuffle is of this section, on whatever graph."""
        return (
            self.rounds in (AUTO, shuffle.num_rounds)
            and self.protocol == shuffle.protocol
            and (self.submissions or 0) == shuffle.submissions
            and (self.laziness, self.dropouts, self.offline) == (shuffle.laziness, shuffle.dropout, shuffle.offline)
            and self.num_colluding(shuffle.num_users) == shuffle.num_colluding
        )

    def num_colluding(self, num_users: int) -> int:
        """People who may collude, rounded up, and fake ones."""
        return min(math.ceil(self.colluding * num_users) + self.fakes, num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of walks along a graph, and what there was to expect."""

    plan: "planning.NetworkPlan"
    held: tuple[int, ...]  # how many people handed in no report, one, two and so on; dummies count


# ---- one section for each kind of the registry ----------------------------------------------------------------------

_NUMBERS, _LISTS = ArrayLike | None, tuple[float, ...] | None  # numbers of any kind are a list of them in a file


@cache
def section_of(kind: str) -> type[ShufflerSection]:
    """The section of one kind: the keys of its family, and what else its shuffler takes, with the same defaults."""
    row = TASK_KINDS[kind]
    if row.about == "graph":
        return NetworkSection
    family: type[ShufflerSection] = GroupedSection if row.about == "groups" else PlainSection
    known = {"groups", *row.without, *(getattr(family, "__dataclass_fields__", ()))}
    further = [each for name, each in inspect.signature(row.make).parameters.items() if name not in known]
    of_rows = tuple(each.name for each in further if each.annotation == _NUMBERS)
    keys = [each.replace(annotation=_LISTS) if each.name in of_rows else each for each in further]
    return family.for_kind(kind, keys, is_uniform=row.make is UniformShuffler, of_rows=of_rows)


def uniform_section() -> ShufflerSection:
    """The section of a task that says nothing of its shuffler."""
    return section_of("uniform")()
