"""Table ``[shuffler]`` for walks along a graph or on an overlay, and the result of walks."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Randomizer, Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.validate import invalid
from shuffledp.people.graphs import Graph
from shuffledp.protocols import network
from shuffledp.protocols.network.laws.walk import HandIn, check_churn, checked_chances
from shuffledp.protocols.network.laws.walk_distributions import MOST_ROUNDS, people_of
from shuffledp.protocols.network.people.overlays import Contacts, Overlay
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.survey.walk_keys import AUTO, LINKS, GraphKeys, LinkKeys, OverlaySection
from shuffledp.protocols.network.theorems.network_gate import walk_gate
from shuffledp.randomness.replayable import SeededSource
from shuffledp.survey.section import digest_of_files
from shuffledp.survey.shuffle_result import ShuffleResult
from shuffledp.survey.shuffler_section import ShufflerSection

if TYPE_CHECKING:
    from shuffledp.survey.columns import Column
    from shuffledp.survey.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSection(LinkKeys, HandIn, GraphKeys, ShufflerSection):
    """Table ``[shuffler]`` of random walks; its keys are those of `shuffledp.RandomWalkShuffler`."""

    kind: ClassVar[str] = "network"
    needs_graph: ClassVar[bool] = True
    of_each_column: ClassVar[bool] = True  # dummies come from its randomizer
    no_service: ClassVar[str] = "walks need the directory of those who pass reports on"
    in_words: ClassVar[str] = "random walks"
    rounds: int | float | str = AUTO
    laziness: float = 0.0
    dropouts: float = 0.0
    offline: float = 0.0
    colluding: float = 0.0
    onion: bool = False
    gate: float | None = None
    fakes: int = field(default=0, init=False, repr=False)  # set by the task, from [people]

    def __post_init__(self) -> None:
        self.check_graph()
        rounds = self.rounds
        whole = isinstance(rounds, int) and not isinstance(rounds, bool) and 0 <= rounds <= MOST_ROUNDS
        if rounds != AUTO and not whole:
            raise invalid(f"an integer from 0 to {MOST_ROUNDS}, or 'auto'", rounds=rounds)
        self.check_hand_in()
        checked_chances(laziness=self.laziness, dropouts=self.dropouts, offline=self.offline)
        validate.probability(colluding=self.colluding)
        if self.colluding == 1:
            raise invalid("below 1: nobody would be left to protect", colluding=self.colluding)
        check_churn(self.protocol, offline=self.offline, gate=self.gate)
        self._check_gate()
        if self.onion and self.overlay is None:
            raise invalid("left out on a graph: layers hide on overlays, where each round mixes groups", onion=True)
        self._check_auto()
        if self.overlay is not None:
            self._check_overlay(self.overlay)
        self.check_links(self.dropouts)

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
                f"{self.title} rounds must be a number where a gate is given: the most that reports may walk; got "
                f"rounds={self.rounds!r}."
            )
        for name in ("colluding", "fakes"):
            if getattr(self, name):
                raise InvalidParameterError(
                    f"{self.title} gate must be left out where {name} is above 0: against colluders no gate promises "
                    f"anything below epsilon0; got gate={self.gate:g} with {name}={getattr(self, name)}."
                )

    def _check_overlay(self, overlay: OverlaySection) -> None:
        """Refuse laziness on an overlay, and rounds after which positions are not exactly uniform."""
        if self.laziness:
            raise invalid("0 with an overlay, whose groups fix how often reports stay", laziness=self.laziness)
        cycle = len(overlay.groups or (1,))
        cycle = 1 if self.offline or self.gate is not None else cycle
        if self.rounds != AUTO and (not self.rounds or int(self.rounds) % cycle):
            raise invalid(f"'auto' or {cycle}, one for each of groups, or a multiple of it", rounds=self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """The keys of the table."""
        given = {"onion": self.onion, "gate": self.gate}
        absent = {"fakes", "graph" if self.graph is None else "overlay", *(name for name in given if not given[name])}
        if self.links == LINKS[0]:
            absent |= {"links", "slots", "surplus"}
        return {key: value for key, value in super(NetworkSection, self).to_dict().items() if key not in absent}

    def within(self, fakes: int) -> Self:
        """Section as part of a task with this number of fake senders, who pass reports on too."""
        object.__setattr__(placed := replace(self), "fakes", fakes)
        placed._check_auto()
        placed._check_gate()
        if placed.onion and not (placed.colluding or fakes):
            raise invalid(
                "left out where neither colluding nor fakes is above 0: layers hide from nobody else", onion=True
            )
        return placed

    def pinned(self, folder: Path) -> "NetworkSection":
        """Section with the digest of its files, see `digest_of_files`; unchanged without files."""
        if not self.files:
            return self
        key, other = f"{self.title} graph", ", or random-regular:DEGREE"
        return replace(self, sha256=digest_of_files(folder, self.files, self.sha256, key=key, other=other))

    def shuffler(self, grouping: object = None) -> RandomWalkShuffler:
        """Refuse to make a shuffler, as there is no graph; `walking` makes one."""
        del grouping
        accounted = "an overlay, for which `shuffledp plan TASK.toml --users N` accounts"
        given = "none" if self.overlay is None else accounted
        raise InvalidParameterError(
            f"graphs must be given for a 'network' shuffle, which is about them; got {given}. The commands `shuffledp "
            "plan`, `shuffledp leakage`, `shuffledp run` and its stages read them."
        )

    def of_people(self, num_users: int) -> Contacts | None:
        """Overlay or drawn graph of this number of people; None for graphs in files."""
        if self.overlay is not None:
            return self.overlay.of(num_users)
        if self.degree is None:
            return None
        return (Graph.random_regular(self.degree, num_users, source=SeededSource(self.graph_seed or 0)),)

    def check_members(self, task: "Task") -> None:
        """Refuse walks with lost or added reports, or with rounds or graphs that members cannot agree on.

        A task of several columns is refused too, and a graph in a file.
        """
        reasons = {
            "several private columns": "everybody passes on one report of each" if len(task.columns) > 1 else None,
            "a graph in a file": "places follow from members' keys, so that friends in it would be other people here"
            if self.files
            else None,
            f"protocol {self.protocol!r}": "a relay has 'all'" if self.protocol != "all" else None,
            "dropouts or offline": "what happened is recorded" if self.dropouts or self.offline else None,
            "links = 'naive'": "envelopes go along all links, as with 'constant'" if self.links == LINKS[0] else None,
            "surplus = 'aborts'": "what finds no slot waits" if self.surplus == "aborts" and not self.onion else None,
            "surplus = 'waits' where onion = true": "the way of a report is fixed by its layers; give 'aborts'"
            if self.surplus == "waits" and self.onion
            else None,
            "rounds = 'auto' where onion = true": "they must be a number"
            if self.rounds == AUTO and self.onion
            else None,
        }
        if self.is_drawn:
            reasons |= {
                "rounds = 'auto' on a graph": "they must be a number" if self.rounds == AUTO else None,
                "a random graph without graph_seed": "all draw the same" if self.graph_seed is None else None,
            }
        for part, why in reasons.items():
            if why:
                raise InvalidParameterError(f"a task whose reports members pass on must be without {part}: {why}.")

    def messages_of(self, shuffler: Shuffler, num_messages: int) -> float:
        """Expected number of reports that a person passes on, averaged over people."""
        del num_messages
        walks = cast(RandomWalkShuffler, shuffler)
        return float(network.expected_messages(walks.graph, walks.num_rounds, **walks.chances).mean())

    def shuffler_for(
        self, column: "Column", around: Any = None, *, num_users: int | None = None, progress: Progress | None = None
    ) -> RandomWalkShuffler:
        """Shuffler along graphs or on an overlay.

        The number of rounds is computed if the task leaves it open.
        """
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
        """Plan of the walks by a shuffler from `shuffler_for`."""
        walks, delta = cast(RandomWalkShuffler, shuffler), column.release.delta
        walk = self.along(around, column.randomizer.randomizer(), delta)
        if isinstance(around, Overlay):
            return network.plan_overlay(walk, walks, delta=delta)
        return network.plan_walk(walk, walks, delta=delta, fewest_known=self.rounds == AUTO, progress=progress)

    def along(self, graphs: Contacts, randomizer: Randomizer, delta: float) -> "network.NetworkShuffle":
        """Network shuffle for any number of rounds, along these graphs or on this overlay.

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

    def walking(
        self, graphs: Contacts, randomizer: Randomizer, delta: float, *, progress: Progress | None = None
    ) -> RandomWalkShuffler:
        """Shuffler on these graphs; for rounds "auto", with the fewest rounds that suffice.

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

    def check(self, column: "Column") -> None:
        """Refuse missing = "drop" with a graph in a file, whose nodes are the rows of the input."""
        if self.files and column.missing == "drop":
            raise InvalidParameterError(
                "missing must be 'refuse' or 'category' where [shuffler] has a graph in a file, whose nodes are the "
                "rows of the input: whoever is left out passes nothing on; got missing='drop'."
            )

    def could_have_made(self, view: View) -> bool:
        """Whether each person hands in the number of reports that the protocol requires.

        Graphs are not checked here.
        """
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
        """Number of people who may collude, rounded up, plus the fake senders; at most ``num_users``."""
        return min(math.ceil(self.colluding * num_users) + self.fakes, num_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkResult(ShuffleResult):
    """Result of walks along a graph: numbers of reports handed in, and the plan."""

    plan: "network.WalksPlan"
    held: tuple[int, ...]  # numbers of people who handed in no report, one, two, ...; dummies count

    def warnings(self, model: ProtocolModel) -> tuple[str, ...]:
        """Warnings of the plan."""
        del model
        return self.plan.warnings

    def written(self, *, seeded: bool) -> dict[str, Any]:
        """Dictionary of the numbers of reports handed in, and the plan."""
        del seeded
        return {"network": {"held": list(self.held), **self.plan.to_dict()}}
