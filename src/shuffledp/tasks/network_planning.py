"""What to expect of walks along a graph: the guarantee after so many rounds, what they cost, and each part alone."""

import math

import numpy as np

from shuffledp.accounting import epsilon_of
from shuffledp.accounting.network_risks import average_exposure, first_hop_delta
from shuffledp.accounting.printed_network import printed_all, printed_single
from shuffledp.flow import Randomizer
from shuffledp.graphs import Graph, certain_gap, lazy_gap, mixing_time
from shuffledp.laws import expected_messages, first_round_within, position_distribution
from shuffledp.models import LocalModel
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.tasks.network import AUTO, Graphs, NetworkSection, along
from shuffledp.tasks.network_plan import AfterRounds, NetworkPlan, PartOfGraph, PrintedFormula, Risk
from shuffledp.tasks.network_rounds import (
    MOST_ROUNDS,
    MOST_SEARCHED,
    Progress,
    epsilon_of_uniform,
    fewest_rounds,
    first_graph,
    first_tried,
    num_parts,
    people_of,
    shufflers_of_parts,
    stated_about_walks,
)

__all__ = ["plan_network"]

_TOLERANCE = 0.01  # total variation, of the second of the two mixing times
_MOST_STEPS = 2 * 10**9  # people * rounds * entries up to which everybody's law is walked for the second mixing time
_GRID, _FEWER, _MANY = 10, 5, 5_000  # numbers of rounds; where accounting takes longer
_SHARES = (0.01, 0.1, 0.5)  # of neighbors, or of all people, who collude


def plan_network(
    section: NetworkSection,
    graphs: Graphs,
    randomizer: Randomizer,
    delta: float,
    *,
    shuffler: RandomWalkShuffler,
    progress: Progress | None = None,
) -> NetworkPlan:
    """What to expect.

    Args:
        section: of the shuffler.
        graphs: as in `shuffledp.tasks.network`.
        randomizer: of the reports.
        delta: of the guarantee.
        shuffler: what `walking` made of them.
        progress: told how many numbers of rounds have been accounted for.
    """
    first, local = graphs[0], randomizer.model
    uniform = epsilon_of_uniform(local, first.num_users, delta)
    several = len(graphs) > 1
    fewest = shuffler.num_rounds if section.rounds == AUTO else None
    if fewest is None and not section.offline and not section.colluding:
        fewest = fewest_rounds(section, graphs, randomizer, delta, progress)
    resting = _resting(shuffler)
    mixing = None if several else mixing_time(first, resting)
    rounds = _rounds_to_show(shuffler, fewest, mixing)
    rows = []
    for done, number in enumerate(rounds):
        walk = shuffler if number == shuffler.num_rounds else along(section, graphs, randomizer, number)
        rows.append(_after(walk, local, delta))
        if progress is not None:
            progress(done + 1, len(rounds))
    own = next(row for row in rows if row.rounds == shuffler.num_rounds)
    parts = _parts(section, shuffler, randomizer, delta, own)
    return NetworkPlan(
        num_users=first.num_users,
        num_edges=first.num_edges,
        num_graphs=len(graphs),
        merged_edges=first.merged_edges,
        dropped_loops=first.dropped_loops,
        num_parts=num_parts(first),
        two_sides=first.is_bipartite and not resting,
        irregularity=first.irregularity,
        protocol=section.protocol,
        rounds=shuffler.num_rounds,
        epsilon=own.epsilon,
        uniform=uniform,
        fewest_rounds=fewest,
        mixing_time=mixing,
        distance_rounds=None if several else _distance_rounds(first, resting),
        by_rounds=tuple(rows),
        parts=parts,
        risks=_risks(shuffler, local),
        printed=() if several or not first.is_connected else _printed(shuffler, local, delta),
    )


def _resting(shuffler: RandomWalkShuffler) -> float:
    """The chance that a report stays where it is for a round, whichever way: the law of one report by itself."""
    return 1 - (1 - shuffler.laziness) * (1 - shuffler.offline)


def _rounds_to_show(shuffler: RandomWalkShuffler, fewest: int | None, mixing: float | None) -> list[int]:
    """Some numbers of rounds, the task's own and the fewest among them."""
    own, slow = shuffler.num_rounds, shuffler.protocol != "all" or people_of(shuffler) > _MANY
    customary = min(math.ceil(mixing), MOST_ROUNDS) if mixing is not None and math.isfinite(mixing) else 0
    last = max(4, math.ceil(1.5 * max(own, fewest or 0)), customary if fewest is None else 0)
    start = min(first_tried(first_graph(shuffler)), last)
    grid = np.geomspace(start, last, _FEWER if slow else _GRID).round().astype(int)
    return sorted({own, *(number for number in grid.tolist()), *([fewest] if fewest else [])})


def _after(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> AfterRounds:
    stated = stated_about_walks(shuffler, local, delta)
    messages = expected_messages(
        shuffler.graph,
        shuffler.num_rounds,
        laziness=shuffler.laziness,
        dropout=shuffler.dropout,
        offline=shuffler.offline,
    )
    return AfterRounds(
        rounds=shuffler.num_rounds,
        epsilon=epsilon_of(stated.guarantee),
        theorem=stated.basis.theorem,
        messages=float(messages.mean()),
        messages_most=float(messages.max()),
        lacking=shuffler.bounds.dummies,
        exact=shuffler.bounds.exact,
    )


def _parts(
    section: NetworkSection, shuffler: RandomWalkShuffler, randomizer: Randomizer, delta: float, whole: AfterRounds
) -> tuple[PartOfGraph, ...]:
    """What there is to say of each part; of a single one all but its gap is known."""
    found, shufflers, local = [], shufflers_of_parts(shuffler), randomizer.model
    searched = 1 < len(shufflers) <= MOST_SEARCHED and not section.offline and not section.colluding
    for each in shufflers:
        part, stated = first_graph(each), whole.epsilon
        if len(shufflers) > 1:
            stated = epsilon_of(stated_about_walks(each, local, delta).guarantee)
        found.append(
            PartOfGraph(
                people=part.num_users,
                edges=part.num_edges,
                is_bipartite=part.is_bipartite,
                gap=lazy_gap(part, _resting(shuffler)),
                mixing_time=mixing_time(part, _resting(shuffler)),
                epsilon=stated,
                uniform=epsilon_of_uniform(local, part.num_users, delta),
                fewest_rounds=fewest_rounds(section, (part,), randomizer, delta, None) if searched else None,
            )
        )
    return tuple(found)


def _distance_rounds(graph: Graph, laziness: float) -> tuple[int, ...] | None:
    """The first round within the tolerance: at least and at most. The gap gives sqrt((1 - pi) / pi) (1 - gap)^t / 2."""
    gap = certain_gap(graph, laziness)
    if gap <= 0 or not graph.is_connected:
        return None
    rarest = float(graph.stationary.min())
    decay = math.log1p(-gap) if gap < 1 else -math.inf
    most = max(0, math.ceil(math.log(2 * _TOLERANCE / math.sqrt((1 - rarest) / rarest)) / decay))
    entries = graph.num_users + graph.neighbors.size
    if most <= MOST_ROUNDS and graph.num_users <= 4096 and graph.num_users * most * entries <= _MOST_STEPS:
        exact = first_round_within(graph, _TOLERANCE, laziness=laziness)
        return exact, exact
    if most > MOST_ROUNDS:
        return 0, most
    start = int(graph.degrees.argmin())
    return first_round_within(graph, _TOLERANCE, laziness=laziness, starts=[start]), most


def _risks(shuffler: RandomWalkShuffler, local: LocalModel) -> tuple[Risk, ...]:
    people, epsilon0 = people_of(shuffler), local.epsilon0
    own = shuffler.num_colluding / people
    return tuple(
        Risk(
            share=share,
            exposure=average_exposure(
                num_users=people, num_rounds=shuffler.num_rounds, num_colluding=math.ceil(share * people)
            ),
            delta_at_least=first_hop_delta(share=share, epsilon0=epsilon0, epsilon=epsilon0 / 2),
        )
        for share in sorted({*_SHARES, *([own] if own else [])})
        if 0 < math.ceil(share * people) < people
    )


def _printed(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> tuple[PrintedFormula, ...]:
    """Theorem 5.3 or 5.5 from the law of the start that is least spread, half of delta for each remainder."""
    graph = shuffler.graph
    if not isinstance(graph, Graph) or local.epsilon0 > 20 or shuffler.dropout or shuffler.offline:
        return ()
    worst = shuffler.bounds.worst_start
    start = int(graph.degrees.argmin()) if worst is None else worst
    law = position_distribution(graph, start, shuffler.num_rounds, laziness=shuffler.laziness)
    squares, people, epsilon0 = float(law @ law), graph.num_users, local.epsilon0
    if shuffler.protocol == "all":
        found = printed_all(epsilon0=epsilon0, num_users=people, squares=squares, delta=delta / 2, delta2=delta / 2)
    else:
        found = printed_single(epsilon0=epsilon0, num_users=people, squares=squares, delta=delta)
    return (PrintedFormula(theorem=found.theorem, epsilon=found.epsilon, delta=found.delta, flag=found.flag),)
