"""The table ``[shuffler]`` for walks along a graph of people or on an overlay, and the result of walks."""

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Randomizer, Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.validate import invalid
from shuffledp.protocols import network
from shuffledp.protocols.network.laws.walk_distributions import MOST_ROUNDS, people_of
from shuffledp.protocols.network.people.overlays import Contacts, Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import (
    PROTOCOLS,
    SURPLUS,
    RandomWalkShuffleModel,
    checked_chances,
    checked_submissions,
)
from shuffledp.protocols.network.shufflers.walk_ways import check_churn
from shuffledp.protocols.network.theorems.network_gate import walk_gate
from shuffledp.survey.section import Section, digest_of_files, require_sha256, some_text
from shuffledp.survey.shuffle_result import ShuffleResult
from shuffledp.survey.shuffler_section import ShufflerSection

if TYPE_CHECKING:
    from shuffledp.survey.columns import Column

AUTO = "auto"
LINKS = ("naive", "constant")
_GENERATOR = re.compile(r"random-regular:([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySection(Section):
    """An overlay for any number of people, by the sizes of its groups or by its largest number of contacts."""

    title: ClassVar[str] = "[shuffler] overlay"
    groups: tuple[int, ...] | None = None
    contacts: int | None = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.contacts is None):
            given = "neither" if self.groups is None else "both"
            raise InvalidParameterError(
                f"{self.title} must have groups, as in {{groups = [100, 100]}}, or a largest number of contacts, as in "
                f"{{contacts = 40}}; got {given}."
            )
        if self.contacts is not None:
            validate.integer_at_least(1, contacts=self.contacts)
        for size in self.groups if self.groups is not None else (2,):
            validate.integer_at_least(2, **{"each of groups": size})
        if self.groups == ():
            raise invalid("one size or more", groups=[])

    def to_dict(self) -> dict[str, Any]:
        """The one key that is given."""
        return {key: value for key, value in super(OverlaySection, self).to_dict().items() if value is not None}

    def of(self, num_users: int) -> Overlay:
        """The overlay for this number of people; refused if there is none."""
        if self.groups is not None:
            return Overlay(num_users, self.groups)
        return Overlay.within(num_users, contacts=self.contacts or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSection(ShufflerSection):
    """Random walks along a graph or an overlay of people; its keys are those of `shuffledp.RandomWalkShuffler`."""

    kind: ClassVar[str] = "network"
    needs_graph: ClassVar[bool] = True
    of_each_column: ClassVar[bool] = True  # dummies come from its randomizer
    graph: str | tuple[str, ...] | None = None
    overlay: OverlaySection | None = None
    rounds: int | float | str = AUTO
    protocol: str = "all"
    submissions: int | None = None
    laziness: float = 0.0
    dropouts: float = 0.0
    offline: float = 0.0
    colluding: float = 0.0
    onion: bool = False
    graph_seed: int | None = None
    sha256: str | None = None
    gate: float | None = None
    links: str = LINKS[0]
    slots: str | tuple[int, ...] = AUTO
    surplus: str = SURPLUS[0]
    fakes: int = field(default=0, init=False, repr=False)  # set by the task, from [people]

    def __post_init__(self) -> None:
        if (self.graph is None) == (self.overlay is None):
            given = "neither" if self.graph is None else "both"
            raise InvalidParameterError(
                f"{self.title} must have a graph that reports walk along, or an overlay, as in {{contacts = 40}}; got "
                f"{given}."
            )
        for name in self._names:
            some_text(graph=name)
        if self.graph == ():
            raise invalid("one file or more", graph=[])
        rounds = self.rounds
        whole = isinstance(rounds, int) and not isinstance(rounds, bool) and 0 <= rounds <= MOST_ROUNDS
        if rounds != AUTO and not whole:
            raise invalid(f"an integer from 0 to {MOST_ROUNDS}, or 'auto'", rounds=rounds)
        validate.one_of(PROTOCOLS, protocol=self.protocol)
        checked_chances(laziness=self.laziness, dropouts=self.dropouts, offline=self.offline)
        checked_submissions(self.protocol, self.submissions)
        validate.probability(colluding=self.colluding)
        if self.colluding == 1:
            raise invalid("below 1: nobody would be left to protect", colluding=self.colluding)
        check_churn(self.protocol, offline=self.offline, gate=self.gate, schedule=None)
        self._check_gate()
        if self.onion and self.overlay is None:
            raise invalid("left out on a graph: layers hide on overlays, where each round mixes groups", onion=True)
        self._check_auto()
        self._check_source()
        self._check_links()

    def _check_links(self) -> None:
        """Refuse slots without constant links, and dropouts with constant links, where missing messages are seen."""
        validate.one_of(LINKS, links=self.links)
        validate.one_of(SURPLUS, surplus=self.surplus)
        if self.links == LINKS[0]:
            for name, default in (("slots", AUTO), ("surplus", SURPLUS[0])):
                if getattr(self, name) != default:
                    raise invalid('left out without links = "constant"', **{name: getattr(self, name)})
            return
        if self.dropouts:
            raise invalid("0 where links have slots: missing messages would be seen", dropouts=self.dropouts)
        if not isinstance(self.slots, str):
            network.check_first_slots(self.slots)
        elif self.slots != AUTO:
            raise invalid("'auto', or one number for each of the first rounds, as in [1, 8]", slots=self.slots)

    def _check_auto(self) -> None:
        for name in ("offline", "colluding", "fakes"):
            if self.rounds == AUTO and self.overlay is None and getattr(self, name):
                raise InvalidParameterError(
                    f"{self.title} rounds must be a number where {name} is above 0: no number of rounds comes near the "
                    f"guarantee of a uniform shuffle then; got rounds='auto' with {name}={getattr(self, name)}."
                )

    def _check_gate(self) -> None:
        if self.gate is None:
            return
        validate.positive(gate=self.gate)
        if not isinstance(self.rounds, int):
            raise InvalidParameterError(
                f"{self.title} rounds must be a number beside a gate, the most that reports may walk; got rounds="
                f"{self.rounds!r}."
            )
        for name in ("colluding", "fakes"):
            if getattr(self, name):
                raise InvalidParameterError(
                    f"{self.title} gate must be left out where {name} is above 0: against colluders no gate promises "
                    f"anything below epsilon0; got gate={self.gate:g} with {name}={getattr(self, name)}."
                )

    def _check_source(self) -> None:
        if self.overlay is not None:
            self._check_overlay(self.overlay)
        elif self.degree is None:
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

    def _check_overlay(self, overlay: OverlaySection) -> None:
        """Refuse keys about graphs, and numbers of rounds after which positions are not exactly uniform."""
        for name in ("graph_seed", "sha256"):
            if getattr(self, name) is not None:
                raise invalid("left out with an overlay", **{name: getattr(self, name)})
        if self.laziness:
            raise invalid("0 with an overlay, whose groups fix how often reports stay", laziness=self.laziness)
        cycle = len(overlay.groups or (1,))
        cycle = 1 if self.offline or self.gate is not None else cycle
        if self.rounds != AUTO and (not self.rounds or int(self.rounds) % cycle):
            raise invalid(f"'auto' or {cycle}, one for each of groups, or a multiple of it", rounds=self.rounds)

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.graph,) if isinstance(self.graph, str) else self.graph or ()

    @property
    def degree(self) -> int | None:
        """Number of neighbors of each person in a random graph; None for an overlay, or a graph in a file."""
        found = _GENERATOR.fullmatch(self.graph) if isinstance(self.graph, str) else None
        return int(found[1]) if found else None

    @property
    def is_drawn(self) -> bool:
        """Whether the graph is a random one."""
        return self.degree is not None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the rounds' graphs; none for a random graph or an overlay."""
        return self._names if self.degree is None else ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of the table."""
        given = {"onion": self.onion, "gate": self.gate}
        absent = {"fakes", "graph" if self.graph is None else "overlay", *(name for name in given if not given[name])}
        if self.links == LINKS[0]:
            absent |= {"links", "slots", "surplus"}
        return {key: value for key, value in super(NetworkSection, self).to_dict().items() if key not in absent}

    def within(self, fakes: int) -> Self:
        """The section as part of a task with this number of fake senders, who pass reports on as all others do."""
        object.__setattr__(placed := replace(self), "fakes", fakes)
        placed._check_auto()
        placed._check_gate()
        if placed.onion and not (placed.colluding or fakes):
            raise invalid(
                "left out where neither colluding nor fakes is above 0: layers hide from nobody else", onion=True
            )
        return placed

    def pinned(self, folder: Path) -> "NetworkSection":
        """The section with the digest of its files, if it has any; see `digest_of_files`."""
        if not self.files:
            return self
        key, other = f"{self.title} graph", ", or random-regular:DEGREE"
        return replace(self, sha256=digest_of_files(folder, self.files, self.sha256, key=key, other=other))

    def shuffler(self, grouping: object = None) -> RandomWalkShuffler:
        """Refuse to make a shuffler without a graph; `walking` makes one."""
        del grouping
        accounted = "an overlay, for which `shuffledp plan TASK.toml --users N` accounts"
        given = "none" if self.overlay is None else accounted
        raise InvalidParameterError(
            f"graphs must be given for a 'network' shuffle, which is about them; got {given}. The commands `shuffledp "
            "plan`, `shuffledp leakage`, `shuffledp run` and its stages read them."
        )

    def shuffler_for(
        self, column: "Column", around: Any = None, *, num_users: int | None = None, progress: Progress | None = None
    ) -> RandomWalkShuffler:
        """The shuffler along graphs or on an overlay; rounds left open are worked out."""
        del num_users
        if around is None:
            return self.shuffler()
        return self.walking(around, column.randomizer.randomizer(), column.release.delta, progress=progress)

    def with_dummies_of(self, column: "Column", shuffler: Shuffler) -> Shuffler:
        """The shuffler with dummies from a column's randomizer."""
        walks = cast(RandomWalkShuffler, shuffler)
        ways = walks.graph if isinstance(walks.graph, Overlay) else walks.graphs
        return self.along(ways, column.randomizer.randomizer(), column.release.delta).shuffler(walks.num_rounds)

    def family_plan(
        self, column: "Column", around: Any, shuffler: Shuffler, *, progress: Progress | None = None
    ) -> "network.WalksPlan":
        """The plan of walks by a shuffler made by `shuffler_for`, along these graphs or on this overlay."""
        walks, delta = cast(RandomWalkShuffler, shuffler), column.release.delta
        walk = self.along(around, column.randomizer.randomizer(), delta)
        if isinstance(around, Overlay):
            return network.plan_overlay(walk, walks, delta=delta)
        return network.plan_walk(walk, walks, delta=delta, fewest_known=self.rounds == AUTO, progress=progress)

    def along(self, graphs: Contacts, randomizer: Randomizer, delta: float) -> "network.NetworkShuffle":
        """The shuffle for any number of rounds, along one graph for each round or on an overlay.

        ``delta`` is the release's, at which a gate promises what it says, and beside which a surplus is rare where
        slots are "auto".

        Raises:
            InvalidParameterError: if the randomizer takes no whole number that dummies could be made of, or no walks,
                or all, keep what the gate is to promise.
        """
        try:
            gate = None
            if self.gate is not None:
                overflow = 0.0 if self.links == LINKS[0] else network.MOST_SURPLUS * delta
                people = people_of(graphs)
                gate = walk_gate(randomizer, num_users=people, epsilon=self.gate, delta=delta, overflow=overflow)
            return network.NetworkShuffle(
                graph=graphs,
                randomizer=randomizer,
                protocol=self.protocol,
                submissions=self.submissions,
                laziness=self.laziness,
                dropout=self.dropouts,
                offline=self.offline,
                colluding=self.colluding,
                fakes=self.fakes,
                onion=self.onion,
                gate=gate,
                links=self.constant_links(delta),
            )
        except InvalidParameterError as error:
            reason = str(error)
        raise InvalidParameterError(f"{self.title} {reason}")

    def constant_links(self, delta: float) -> "network.ConstantLinks | None":
        """Constant links for any number of rounds; "auto" makes a surplus rare beside delta; None without slots."""
        if self.links == LINKS[0]:
            return None
        slots = None if isinstance(self.slots, str) else self.slots
        return network.ConstantLinks(slots=slots, overflow=network.SURPLUS_SHARE * delta, surplus=self.surplus)

    def walking(
        self, graphs: Contacts, randomizer: Randomizer, delta: float, *, progress: Progress | None = None
    ) -> RandomWalkShuffler:
        """The shuffler on these graphs; if rounds are "auto", the fewest that suffice are found.

        Raises:
            InvalidParameterError: if somebody has no neighbor; no number of rounds comes near a uniform shuffle; or an
                overlay needs others.
        """
        walk = self.along(graphs, randomizer, delta)
        if isinstance(self.rounds, int):
            return walk.shuffler(self.rounds)
        found = network.fewest_rounds(walk, delta=delta, progress=progress)
        if found is not None:
            return walk.shuffler(found)
        reason = network.why_no_rounds(walk, delta=delta)
        raise InvalidParameterError(f"{self.title} rounds must be a number here: {reason}; got rounds={AUTO!r}.")

    def could_have_made(self, view: View) -> bool:
        """Whether each person hands in the number of reports that the protocol says; graphs are not checked here."""
        shuffle = view.shuffle
        if view.labels is None or not isinstance(shuffle, RandomWalkShuffleModel) or not self.describes(shuffle):
            return False
        held = np.bincount(view.labels, minlength=shuffle.num_users)
        if self.protocol == "all":
            return held.sum() <= shuffle.num_users and (self.dropouts > 0 or held.sum() == shuffle.num_users)
        return bool((held == (self.submissions or 1)).all())

    def describes(self, shuffle: RandomWalkShuffleModel) -> bool:
        """Whether a shuffle has the parameters of this section, on any graph."""
        asked = None if shuffle.gate is None else shuffle.gate.epsilon
        recorded = bool(self.offline) or self.gate is not None
        walked = isinstance(self.rounds, int) and shuffle.num_rounds <= self.rounds if self.gate is not None else None
        return (
            (self.rounds in (AUTO, shuffle.num_rounds) if walked is None else walked)
            and asked == self.gate
            and (shuffle.schedule is not None) == recorded
            and self.protocol == shuffle.protocol
            and (self.submissions or 0) == shuffle.submissions
            and (self.laziness, self.dropouts, self.offline) == (shuffle.laziness, shuffle.dropout, shuffle.offline)
            and self.num_colluding(shuffle.num_users) == shuffle.num_colluding
            and self.onion == shuffle.onion
            and self._has_slots(shuffle)
        )

    def _has_slots(self, shuffle: RandomWalkShuffleModel) -> bool:
        if self.links == LINKS[0] or not shuffle.num_rounds:
            return not shuffle.slots
        given = shuffle.slots if isinstance(self.slots, str) else network.of_rounds(self.slots, shuffle.num_rounds)
        return bool(shuffle.slots) and (shuffle.slots, shuffle.surplus) == (given, self.surplus)

    def num_colluding(self, num_users: int) -> int:
        """Number of people who may collude, rounded up, plus fake senders; at most ``num_users``."""
        return min(math.ceil(self.colluding * num_users) + self.fakes, num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked(ShuffleResult):
    """The result of walks along a graph: reports handed in, and the plan."""

    plan: "network.WalksPlan"
    held: tuple[int, ...]  # numbers of people who handed in no report, one, two, ...; dummies count

    def warnings(self, model: ProtocolModel) -> tuple[str, ...]:
        """Warnings of the plan."""
        del model
        return self.plan.warnings

    def written(self, *, seeded: bool) -> dict[str, Any]:
        """Numbers of reports handed in, and the plan."""
        del seeded
        return {"network": {"held": list(self.held), **self.plan.to_dict()}}
