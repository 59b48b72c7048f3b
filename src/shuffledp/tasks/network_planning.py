"""What to expect of walks along a graph: the guarantee after so many rounds, what they cost, and each part alone."""

import math
from dataclasses import replace

import numpy as np

from shuffledp.accounting import account, epsilon_of
from shuffledp.accounting.network_risks import average_exposure, first_hop_delta
from shuffledp.flow import Randomizer
from shuffledp.graphs import Graph, lazy_gap, mixing_time
from shuffledp.graphs.parts import num_parts
from shuffledp.laws import expected_messages
from shuffledp.laws.mixing_rounds import mixing_rounds
from shuffledp.models import LocalModel
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.tasks.network import AUTO, Graphs, NetworkSection, along
from shuffledp.tasks.network_parts import (
    all_edges,
    first_graph,
    people_of,
    section_of_part,
    shufflers_of_parts,
    stays_on_sides,
)
from shuffledp.tasks.network_plan import AfterRounds, NetworkPlan, PartOfGraph, Risk
from shuffledp.tasks.network_printed import printed_formulas
from shuffledp.tasks.network_rounds import (
    MOST_ROUNDS,
    MOST_SEARCHED,
    Progress,
    epsilon_of_uniform,
    fewest_rounds,
    first_tried,
    model_of,
)

__all__ = ["plan_network"]

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
    first, local, everything = graphs[0], randomizer.model, all_edges(shuffler)
    uniform = epsilon_of_uniform(local, first.num_users, delta)
    fewest = shuffler.num_rounds if section.rounds == AUTO else None
    if fewest is None and not section.offline and not section.colluding:
        fewest = fewest_rounds(section, graphs, randomizer, delta, progress)
    mixing, distance = _mixing(shuffler)
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
        num_parts=num_parts(everything),
        two_sides=stays_on_sides(everything, _resting(shuffler)),
        irregularity=first.irregularity,
        protocol=section.protocol,
        rounds=shuffler.num_rounds,
        epsilon=own.epsilon,
        uniform=uniform,
        epsilon_of_all=_epsilon_of_all(section, graphs, randomizer, delta, shuffler.num_rounds),
        surviving=first.num_users * (1 - shuffler.dropout) ** shuffler.num_rounds,
        fewest_rounds=fewest,
        mixing_time=mixing,
        distance_rounds=distance,
        by_rounds=tuple(rows),
        parts=parts,
        risks=_risks(shuffler, local, section.colluding),
        printed=printed_formulas(shuffler, local, delta) if everything.is_connected else (),
    )


def _epsilon_of_all(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, num_rounds: int
) -> float | None:
    """What would be guaranteed if people handed in all that they hold; None where they do."""
    if section.protocol == "all":
        return None
    walk = along(replace(section, protocol="all", submissions=None), graphs, randomizer, num_rounds)
    return epsilon_of(account(model_of(walk, randomizer.model), delta=delta).guarantee)


def _mixing(shuffler: RandomWalkShuffler) -> tuple[float | None, tuple[int, ...] | None]:
    """Both mixing times, of the slowest part; None for several graphs, or too many parts."""
    graph, resting = shuffler.graph, _resting(shuffler)
    parts = [first_graph(each) for each in shufflers_of_parts(shuffler)]
    if not isinstance(graph, Graph) or not parts:
        return None, None
    distances = [found for part in parts if (found := mixing_rounds(part, resting)) is not None]
    customary = max(mixing_time(part, resting) for part in parts)
    if len(distances) < len(parts):
        return customary, None
    return customary, (max(found.least for found in distances), max(found.most for found in distances))


def _resting(shuffler: RandomWalkShuffler) -> float:
    """The chance that a report stays where it is for a round, whichever way: the law of one report by itself."""
    return 1 - (1 - shuffler.laziness) * (1 - shuffler.offline)


def _rounds_to_show(shuffler: RandomWalkShuffler, fewest: int | None, mixing: float | None) -> list[int]:
    """Some numbers of rounds, the task's own and the fewest among them."""
    own, slow = shuffler.num_rounds, shuffler.protocol != "all" or people_of(shuffler) > _MANY
    customary = min(math.ceil(mixing), MOST_ROUNDS) if mixing is not None and math.isfinite(mixing) else 0
    last = max(4, math.ceil(1.5 * max(own, fewest or 0)), customary if fewest is None else 0)
    parts = shufflers_of_parts(shuffler) or (shuffler,)  # each is accounted for by itself
    start = min(max(first_tried(first_graph(each)) for each in parts), last)
    grid = np.geomspace(start, last, _FEWER if slow else _GRID).round().astype(int)
    return sorted({own, *(number for number in grid.tolist()), *([fewest] if fewest else [])})


def _after(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> AfterRounds:
    stated = account(model_of(shuffler, local), delta=delta)
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
        part, stated, fewest = first_graph(each), whole.epsilon, None
        alone = isinstance(each.graph, Graph)
        if len(shufflers) > 1:
            stated = epsilon_of(account(model_of(each, local), delta=delta).guarantee)
        if searched and alone:
            fewest = fewest_rounds(section_of_part(section, part), (part,), randomizer, delta, None)
        found.append(
            PartOfGraph(
                people=part.num_users,
                edges=part.num_edges,
                is_bipartite=all_edges(each).is_bipartite,
                gap=lazy_gap(part, _resting(shuffler)) if alone else None,
                mixing_time=mixing_time(part, _resting(shuffler)) if alone else None,
                epsilon=stated,
                uniform=epsilon_of_uniform(local, part.num_users, delta),
                fewest_rounds=fewest,
            )
        )
    return tuple(found)


def _risks(shuffler: RandomWalkShuffler, local: LocalModel, own: float) -> tuple[Risk, ...]:
    """The task's own share of colluders first, and some others."""
    people, epsilon0 = people_of(shuffler), local.epsilon0
    return tuple(
        Risk(
            share=share,
            exposure=average_exposure(
                num_users=people, num_rounds=shuffler.num_rounds, num_colluding=math.ceil(share * people)
            )
            + 0.0,  # never -0
            delta_at_least=first_hop_delta(share=share, epsilon0=epsilon0, epsilon=epsilon0 / 2),
        )
        for share in dict.fromkeys((own, *_SHARES))
        if 0 < math.ceil(share * people) < people
    )
