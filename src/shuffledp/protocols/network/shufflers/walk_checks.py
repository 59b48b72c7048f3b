"""Checks of a walk's inputs: graphs, colluders, links, and drawn attendance."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays, rule_for
from shuffledp.protocols.network.laws.walk_collusion import honest_people
from shuffledp.protocols.network.laws.walk_distributions import people_of
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.laws.walk_sampling import Walks
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.randomness.sources import RandomSource


def check_graph(graph: Graph) -> None:
    """Refuse edges of unequal weights, and people without neighbors."""
    if graph.weights is not None and graph.weights.size and graph.weights.min() < graph.weights.max():
        raise InvalidParameterError(
            "graph must have no weights, or equal ones: neighbors are chosen uniformly, and not by weight. Use "
            "graph.without_weights(), or leave the third column, or the array of weights, out of its file; "
            f"got weights from {graph.weights.min():g} to {graph.weights.max():g}."
        )
    alone = np.flatnonzero(graph.degrees == 0)
    if alone.size:
        raise InvalidParameterError(
            f"graph must have a neighbor for everybody, or their reports are not shuffled; person {alone[0]} has none, "
            f"{alone.size} in all. Use graph.largest_component(), or leave them out."
        )


def checked_colluders(
    colluders: Sequence[int], num_colluding: int, graph: Graph | Overlay | Sequence[Graph], *, onion: bool
) -> dict[str, Any]:
    """Checked colluders in ascending order, with their number.

    Contradicting numbers are refused, and layers without an overlay.
    """
    if onion and not isinstance(graph, Overlay):
        raise validate.invalid("False on a graph: layers hide on overlays, where each round mixes", onion=True)
    people, named = people_of(graph), _whole_numbers(colluders)
    validate.integer_at_least(0, num_colluding=num_colluding)
    if num_colluding > people:
        raise validate.invalid(f"at most num_users={people}", num_colluding=num_colluding)
    if named:
        honest_people(named, people)
    if named and num_colluding not in (0, len(named)):
        raise validate.invalid(f"left out beside {len(named)} colluders", num_colluding=num_colluding)
    return {"colluders": named, "num_colluding": len(named) or num_colluding}


def _whole_numbers(colluders: Sequence[int]) -> tuple[int, ...]:
    """Distinct numbers in ascending order."""
    validate.instance_of((Sequence, np.ndarray), colluders=colluders)
    for each in colluders:
        if isinstance(each, bool) or not isinstance(each, Integral):
            raise validate.invalid("an integer", **{"each of colluders": each})
    return tuple(sorted({int(each) for each in colluders}))


def check_schedule(graph: Graph | Overlay | Sequence[Graph], schedule: Schedule, num_rounds: int) -> None:
    """Refuse a schedule of other people or rounds, or with an unfit rule.

    The rule must fit the graph and constant links.
    """
    ChurnedWays(graph, schedule)
    if schedule.num_rounds != num_rounds:
        raise InvalidParameterError(
            f"schedule must be of num_rounds={num_rounds} rounds; got one of {schedule.num_rounds}."
        )


def drawn_schedule(
    graph: Graph | Overlay | Sequence[Graph],
    num_rounds: int,
    *,
    offline: float,
    gate: WalkGate | None,
    laziness: float,
    dropout: float,
    slots: Sequence[int] = (),
    source: RandomSource | None,
) -> Schedule:
    """Random schedule of attendance, for all rounds or until the gate opens.

    Raises:
        LocalProtocolError: if the gate stays shut.
    """
    people = people_of(graph)
    rule = rule_for(graph, constant=bool(slots))
    drawn = Schedule.drawn(people, num_rounds, offline=offline, rule=rule, source=source)
    if gate is None:
        return drawn
    found = gate.first_open_round(ChurnedWays(graph, drawn), laziness=laziness, dropout=dropout, slots=slots)
    if found is None:
        raise LocalProtocolError(
            f"the gate stayed shut: after num_rounds={num_rounds} rounds the attendance has not mixed the walks "
            "enough, so nothing is handed in. More rounds, or a gate with a larger epsilon, let more schedules through."
        )
    return drawn.first(found)


def check_surplus(walks: Walks, surplus: str, overflow: float) -> None:
    """Abort walks with a report that had to wait, if ``surplus`` demands it.

    Raises:
        LocalProtocolError: if so.
    """
    if walks.waited and surplus == "aborts":
        raise LocalProtocolError(
            "walks are aborted, and nothing is handed in: some link had more reports to carry than slots, with a "
            f"chance of at most {overflow:.3g}."
        )


def graph_digest(graph: Graph | Overlay | Sequence[Graph]) -> str:
    """Digest of a graph or an overlay; for several graphs, their digests joined by commas."""
    return graph.digest if isinstance(graph, Graph | Overlay) else ",".join(each.digest for each in graph)
