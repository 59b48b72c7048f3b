"""Rounds of a walk with known attendance, as transition matrices.

Given the schedule, walks are independent of each other; the law of one is the product of the rounds' matrices.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.churn_schedules import ONLINE, STAY, Schedule
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound, rounds_of

_MOST_SLOTS = 60  # of which the chances of more are looked at: 1 / 61! is below 1e-83
_SLACK = 1e-12  # relative: more than rounding takes off


@dataclass(frozen=True, eq=False)
class ChurnedWays:
    """Graph, graphs or overlay of a walk, with a schedule of attendance.

    Args:
        graph: as for `shuffledp.RandomWalkShuffler`; of several graphs, and of an overlay, the first comes again after
            the last.
        schedule: a schedule of the same number of people; its rule "online" needs an overlay.

    Raises:
        InvalidParameterError: if the two do not go together.
    """

    graph: Graph | Overlay | Sequence[Graph]
    schedule: Schedule

    def __post_init__(self) -> None:
        validate.instance_of(Schedule, schedule=self.schedule)
        graph = self.graph
        people = graph.num_users if isinstance(graph, Graph | Overlay) else graph[0].num_users
        if people != self.schedule.num_users:
            raise InvalidParameterError(
                f"schedule must be of the people in the graph, {people}; got one of {self.schedule.num_users}."
            )
        check_rule(graph, self.schedule.rule)

    @property
    def num_users(self) -> int:
        """Number of people."""
        return self.schedule.num_users

    @cached_property
    def rounds(self) -> "tuple[ChurnedRound, ...]":
        """Rounds of the schedule, one after the other."""
        graph, number = self.graph, self.schedule.num_rounds
        if isinstance(graph, Overlay):
            walked: Sequence[Graph | OverlayRound] = rounds_of(graph, number)
        else:
            cycle = (graph,) if isinstance(graph, Graph) else tuple(graph)
            walked = [cycle[place % len(cycle)] for place in range(number)]
        return tuple(ChurnedRound(each, self.schedule[place], self.schedule.rule) for place, each in enumerate(walked))

    def first(self, num_rounds: int) -> "ChurnedWays":
        """Walk cut after the first ``num_rounds`` rounds."""
        return replace(self, schedule=self.schedule.first(num_rounds))


def rule_for(graph: Graph | Overlay | Sequence[Graph], *, constant: bool = False) -> str:
    """Default rule for a holder who draws an absent person.

    On an overlay the rule is to draw among the people online.

    With ``constant`` links they cannot: an envelope is sealed to everybody before it is known who is there.
    """
    return ONLINE if isinstance(graph, Overlay) and not constant else STAY


def check_rule(graph: Graph | Overlay | Sequence[Graph], rule: str) -> None:
    """Refuse the rule to draw among people online on a graph, where all neighbors may be offline."""
    if rule == ONLINE and not isinstance(graph, Overlay):
        raise InvalidParameterError(f"schedule must have the rule {STAY!r} on a graph; got rule={rule!r}.")


@dataclass(frozen=True, eq=False)
class ChurnedRound:
    """Round on a graph or an overlay, with the mask ``online`` of the people present, shape (people,)."""

    walked: Graph | OverlayRound
    online: NDArray[np.bool_]
    rule: str

    @property
    def num_users(self) -> int:
        """Number of people."""
        return self.walked.num_users

    @property
    def most_terms(self) -> int:
        """Largest number of terms in the sum for one transition."""
        walked = self.walked
        return 2 * walked.size if isinstance(walked, OverlayRound) else int(walked.degrees.max(initial=1))

    @property
    def num_entries(self) -> int:
        """Number of multiplications that move one law by a round."""
        return 3 * self.num_users + (int(self.walked.neighbors.size) if isinstance(self.walked, Graph) else 0)

    def transposed_transition(self) -> Any:
        """Transition matrix: column j is the law of the next holder of a report that person j holds.

        A person offline keeps it.
        """
        if isinstance(self.walked, Graph):
            return _along_edges(self.walked, self.online)
        return _within_groups(self.walked, self.online, self.rule)

    def open_links(self, graph: Graph) -> Integers:
        """Number of each person's neighbors online, 0 for a person offline; shape (people,)."""
        return _open_edges(graph, self.online)[1]

    def surplus_of_groups(self, walked: OverlayRound, walking: Floats, slots: int) -> float:
        """Upper bound on the chance that a link is overfull in this round.

        It is the sum over links of mu^b / b! with b = slots + 1.

        It is mu that is expected to go along a link, between people of one group who are online: what walks from one,
        times the chance of the other. Above 60 slots the bound for 60 is used.

        Args:
            walked: the round on an overlay.
            walking: expected number of reports that walk from each person, if online; shape (people,).
            slots: of an envelope, 1 or more.
        """
        more = min(slots, _MOST_SLOTS) + 1
        groups, shares, _ = _in_groups(walked, self.online, self.rule)
        there, number = np.where(self.online, walking, 0.0), int(groups.max()) + 1
        sent, drawn = (np.bincount(groups, weights=each**more, minlength=number) for each in (there, shares))
        everything, to_oneself = float(sent @ drawn), float(((there * shares) ** more).sum())
        return (max(0.0, everything - to_oneself) + _SLACK * everything) / math.factorial(more)


def _open_edges(graph: Graph, online: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Integers]:
    """Mask of the edges between people online, and the number of such edges for each person."""
    here = np.repeat(np.arange(graph.num_users), graph.degrees)
    found = online[here] & online[graph.neighbors]
    return found, np.bincount(here[found], minlength=graph.num_users)


def _along_edges(graph: Graph, online: NDArray[np.bool_]) -> Any:
    """Transition matrix on the edges between people online.

    A draw of another edge leaves the report in place.
    """
    import scipy.sparse as sp

    people = graph.num_users
    here = np.repeat(np.arange(people), graph.degrees)
    open_edges, met = _open_edges(graph, online)
    degrees = np.maximum(graph.degrees, 1)
    rows, columns = graph.neighbors[open_edges], here[open_edges]
    moves = sp.coo_array((1 / degrees[columns], (rows, columns)), shape=(people, people))
    return sp.csr_array(moves + sp.diags_array((degrees - met) / degrees))


class _Mixing:
    """Transition matrix as a diagonal ``keep`` plus the low-rank product out @ into."""

    def __init__(self, keep: Floats, out: Any, into: Any) -> None:
        self._keep, self._out, self._into = keep, out, into

    def __matmul__(self, laws: Floats) -> Floats:
        keep = self._keep if laws.ndim == 1 else self._keep[:, None]
        return np.asarray(keep * laws + self._out @ (self._into @ laws))

    @property
    def T(self) -> "_Mixing":  # noqa: N802
        """Transposed matrix, of the same kind."""
        return _Mixing(self._keep, self._into.T.tocsr(), self._out.T.tocsr())

    def diagonal(self) -> Floats:
        """Chance that each report stays."""
        return np.asarray(self._keep + (self._out * self._into.T).sum(axis=1))


def _in_groups(walked: OverlayRound, online: NDArray[np.bool_], rule: str) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Group of each person, chance to receive a group's report, and chance that the own report stays.

    A person offline receives with chance 0.
    """
    overlay = walked.overlay
    cells = overlay.cells.astype(np.int64)
    groups = cells // (walked.below * walked.size) * walked.below + cells % walked.below
    prefixes = walked.grid.sum(axis=2)
    digits = cells // walked.below % walked.size
    block = cells // (walked.below * walked.size)
    shares = prefixes[block, digits] / prefixes.sum(axis=1)[block] / overlay.occupants[cells]
    number = overlay.num_cells // walked.size
    there, away = (np.bincount(groups, weights=shares * each, minlength=number) for each in (online, ~online))
    if rule == STAY:
        return groups, shares * online, away[groups]
    scale = np.divide(1, there, out=np.zeros(number), where=there > 0)
    return groups, shares * online * scale[groups], np.zeros(walked.num_users)


def _within_groups(walked: OverlayRound, online: NDArray[np.bool_], rule: str) -> _Mixing:
    """Transition matrix of a round in groups, with one column of ``out`` for each group."""
    import scipy.sparse as sp

    groups, shares, staying = _in_groups(walked, online, rule)
    people, number = walked.num_users, walked.overlay.num_cells // walked.size
    everybody = np.arange(people)
    out = sp.csr_array((shares, (everybody, groups)), shape=(people, number))
    into = sp.csr_array((online.astype(np.float64), (groups, everybody)), shape=(number, people))
    return _Mixing(np.where(online, staying, 1.0), out, into)
