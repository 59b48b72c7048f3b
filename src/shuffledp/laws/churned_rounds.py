"""Rounds of a walk of which it is known who is online: where each report goes then, as matrices.

Given the schedule, walks are independent of each other; the law of one is the product of the rounds' matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats
from shuffledp.laws.churn_schedules import ONLINE, STAY, Schedule
from shuffledp.people.graphs import Graph, Overlay
from shuffledp.people.graphs.overlays import OverlayRound, rounds_of


@dataclass(frozen=True, eq=False)
class ChurnedWays:
    """A graph, or one for each round, or an overlay, with a schedule of who is online.

    Args:
        graph: as for `shuffledp.RandomWalkShuffler`; of several graphs, and of an overlay, the first comes again after
            the last.
        schedule: of as many people. "online" needs an overlay.

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
        """People."""
        return self.schedule.num_users

    @cached_property
    def rounds(self) -> "tuple[ChurnedRound, ...]":
        """Each round of the schedule."""
        graph, number = self.graph, self.schedule.num_rounds
        if isinstance(graph, Overlay):
            walked: Sequence[Graph | OverlayRound] = rounds_of(graph, number)
        else:
            cycle = (graph,) if isinstance(graph, Graph) else tuple(graph)
            walked = [cycle[place % len(cycle)] for place in range(number)]
        return tuple(ChurnedRound(each, self.schedule[place], self.schedule.rule) for place, each in enumerate(walked))

    def first(self, num_rounds: int) -> "ChurnedWays":
        """The same of the first rounds alone."""
        return replace(self, schedule=self.schedule.first(num_rounds))


def rule_for(graph: Graph | Overlay | Sequence[Graph]) -> str:
    """What holders do unless it is said otherwise: on an overlay they draw among those who are online."""
    return ONLINE if isinstance(graph, Overlay) else STAY


def check_rule(graph: Graph | Overlay | Sequence[Graph], rule: str) -> None:
    """Refuse to draw among those online on a graph, where there may be nobody."""
    if rule == ONLINE and not isinstance(graph, Overlay):
        raise InvalidParameterError(f"schedule must have the rule {STAY!r} on a graph; got rule={rule!r}.")


@dataclass(frozen=True, eq=False)
class ChurnedRound:
    """One round, on a graph or an overlay, of which it is known who is online, shape (people,)."""

    walked: Graph | OverlayRound
    online: NDArray[np.bool_]
    rule: str

    @property
    def num_users(self) -> int:
        """People."""
        return self.walked.num_users

    @property
    def most_terms(self) -> int:
        """Numbers that are added up for one chance, at most."""
        walked = self.walked
        return 2 * walked.size if isinstance(walked, OverlayRound) else int(walked.degrees.max(initial=1))

    @property
    def num_entries(self) -> int:
        """Products that one law takes."""
        return 3 * self.num_users + (int(self.walked.neighbors.size) if isinstance(self.walked, Graph) else 0)

    def transposed_transition(self) -> Any:
        """A matrix whose column j is the law of where j passes a report on to; who is offline keeps it."""
        if isinstance(self.walked, Graph):
            return _along_edges(self.walked, self.online)
        return _within_groups(self.walked, self.online, self.rule)


def _along_edges(graph: Graph, online: NDArray[np.bool_]) -> Any:
    """Edges between people who are online, and for each the share of the others, whose draw leaves a report there."""
    import scipy.sparse as sp

    people = graph.num_users
    here = np.repeat(np.arange(people), graph.degrees)
    open_edges = online[here] & online[graph.neighbors]
    met = np.bincount(here[open_edges], minlength=people)
    degrees = np.maximum(graph.degrees, 1)
    rows, columns = graph.neighbors[open_edges], here[open_edges]
    moves = sp.coo_array((1 / degrees[columns], (rows, columns)), shape=(people, people))
    return sp.csr_array(moves + sp.diags_array((degrees - met) / degrees))


class _Mixing:
    """A matrix that keeps a share of everybody's, and spreads the rest: ``keep`` on the diagonal, and out @ into."""

    def __init__(self, keep: Floats, out: Any, into: Any) -> None:
        self._keep, self._out, self._into = keep, out, into

    def __matmul__(self, laws: Floats) -> Floats:
        keep = self._keep if laws.ndim == 1 else self._keep[:, None]
        return np.asarray(keep * laws + self._out @ (self._into @ laws))

    @property
    def T(self) -> "_Mixing":  # noqa: N802
        """Transposed."""
        return _Mixing(self._keep, self._into.T.tocsr(), self._out.T.tocsr())

    def diagonal(self) -> Floats:
        """The chance that each report stays."""
        return np.asarray(self._keep + (self._out * self._into.T).sum(axis=1))


def _within_groups(walked: OverlayRound, online: NDArray[np.bool_], rule: str) -> _Mixing:
    """A holder's law is that of the group: it has one column for each group, and who is online takes part."""
    import scipy.sparse as sp

    overlay, people = walked.overlay, walked.num_users
    cells = overlay.cells.astype(np.int64)
    groups = cells // (walked.below * walked.size) * walked.below + cells % walked.below
    prefixes = walked.grid.sum(axis=2)
    digits = cells // walked.below % walked.size
    block = cells // (walked.below * walked.size)
    shares = prefixes[block, digits] / prefixes.sum(axis=1)[block] / overlay.occupants[cells]
    number = overlay.num_cells // walked.size
    there = np.bincount(groups, weights=shares * online, minlength=number)
    scale = np.ones(number) if rule == STAY else np.divide(1, there, out=np.zeros(number), where=there > 0)
    everybody = np.arange(people)
    out = sp.csr_array((shares * online * scale[groups], (everybody, groups)), shape=(people, number))
    into = sp.csr_array((online.astype(np.float64), (groups, everybody)), shape=(number, people))
    away = np.bincount(groups, weights=shares * ~online, minlength=number)[groups] if rule == STAY else 0.0
    return _Mixing(np.where(online, away, 1.0), out, into)
