"""What to expect of walks along a graph: the guarantee after so many rounds, what they cost, and each part alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shuffledp._described import Described
from shuffledp.accounting import account, account_all, delta_at, epsilon_of
from shuffledp.accounting.network_risks import average_exposure, first_hop_delta
from shuffledp.accounting.printed_network import printed_all, printed_single
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Randomizer
from shuffledp.graphs import Graph, lazy_gap, mixing_time
from shuffledp.laws import expected_messages, first_round_within, position_distribution
from shuffledp.models import LocalModel, ProtocolModel
from shuffledp.shufflers import RandomWalkShuffler, UniformShuffleModel
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks.network import AUTO, Graphs, NetworkSection, along

__all__ = [
    "AfterRounds",
    "NetworkPlan",
    "PartOfGraph",
    "PrintedFormula",
    "Risk",
    "Walked",
    "plan_network",
    "statements_of_parts",
    "walking",
]

Progress = Callable[[int, int | None], None]

NEAR_UNIFORM = 1.05  # times epsilon of the uniform shuffle: what "auto" asks for
TOLERANCE = 0.01  # total variation, of the second of the two mixing times
_MOST_ROUNDS = 1 << 14  # that are tried
_MOST_PARTS = 64  # of which each is accounted for by itself
_MOST_SEARCHED = 8  # for each of which the fewest rounds are found
_MOST_STEPS = 2 * 10**9  # people * rounds * entries up to which everybody's law is walked for the second mixing time
_DEAR = 10**9  # the same for one round: then exact laws are worked out for less than ten rounds, if at all
_GRID, _FEWER, _MANY = 10, 5, 5_000  # numbers of rounds; where accounting takes longer
_SHARES = (0.01, 0.1, 0.5)  # of neighbors, or of all people, who collude


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRounds(Described):
    """What so many rounds give, and what they cost.

    Args:
        rounds: how often every report is passed on.
        epsilon: what is guaranteed at the task's delta.
        theorem: by which theorem.
        messages: reports that a person is expected to pass on, on average over people.
        messages_most: the same of the person who passes on most.
        lacking: people expected to hold no report in the end; with "padded", reports expected to be lacking.
        exact: whether the law of everybody's position was worked out; else it is bounded by the spectral gap.
    """

    rounds: int
    epsilon: float
    theorem: str
    messages: float
    messages_most: float
    lacking: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfGraph(Described):
    """People who can reach each other, which reports of others never do.

    Args:
        people: how many.
        edges: between them.
        is_bipartite: whether they have two sides.
        gap: "alpha" in papers, the laziness of the task included.
        mixing_time: log(people) / gap, in rounds.
        epsilon: what is guaranteed to each of them after the task's rounds.
        uniform: epsilon of a uniform shuffle of as many.
        fewest_rounds: the fewest rounds found that come within 5 % of that; None if none do, that gains nothing, or
            there are too many parts to look.
    """

    people: int
    edges: int
    is_bipartite: bool
    gap: float
    mixing_time: float
    epsilon: float
    uniform: float
    fewest_rounds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk(Described):
    """What remains if people collude: no promise, but numbers to weigh.

    Args:
        share: of the people.
        exposure: the chance that a report is ever in the hands of one of them, at most, on average over who they are.
        delta_at_least: against this share of one's own neighbors, delta is at least that, whatever the theorem, at
            half of epsilon0; for the worst randomizer of that epsilon0.
    """

    share: float
    exposure: float
    delta_at_least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFormula(Described):
    """What the paper prints for the task's rounds: to compare with, never a guarantee.

    Args:
        theorem: its number in Liew et al. 2022.
        epsilon: what the formula gives.
        delta: the remainder that goes with it.
        flag: what is wrong with it.
    """

    theorem: str
    epsilon: float
    delta: float
    flag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan(Described):
    """What walks along a graph do for a task.

    Args:
        num_users: people.
        num_edges: of the first round's graph.
        num_graphs: graphs that follow each other.
        merged_edges: further mentions of edges, in either direction, that were merged.
        dropped_loops: edges from a person to the same that were left out.
        num_parts: parts that cannot reach each other.
        two_sides: whether the graph is bipartite and nobody is lazy, so that the number of rounds shows where a report
            may have begun.
        irregularity: "Gamma" in papers.
        protocol: what people hand in: "all", "single" or "padded".
        rounds: the task's.
        epsilon: what is guaranteed to everybody after them, by the weakest part.
        uniform: epsilon of a uniform shuffle of as many people.
        fewest_rounds: the fewest rounds found after which epsilon is at most 1.05 times that, or in each part at most
            1.05 times that of a uniform shuffle of its people; None if none are.
        mixing_time: log(people) / gap, in rounds, as papers recommend; None for several graphs.
        distance_rounds: the first round after which everybody's law is within a distance of 0.01 of the stationary one:
            at least and at most; None for several graphs, or if there is none.
        by_rounds: ascending; the task's rounds among them.
        parts: the largest first, at most 64 of them.
        risks: if people collude.
        printed: the paper's formulas; empty for several graphs or in parts.
    """

    num_users: int
    num_edges: int
    num_graphs: int
    merged_edges: int
    dropped_loops: int
    num_parts: int
    two_sides: bool
    irregularity: float
    protocol: str
    rounds: int
    epsilon: float
    uniform: float
    fewest_rounds: int | None
    mixing_time: float | None
    distance_rounds: tuple[int, ...] | None
    by_rounds: tuple[AfterRounds, ...]
    parts: tuple[PartOfGraph, ...]
    risks: tuple[Risk, ...]
    printed: tuple[PrintedFormula, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before anything is collected that way; empty if there is nothing."""
        found = []
        if self.rounds == 0:
            found.append("rounds = 0: every report is handed in by its sender, and only epsilon0 holds.")
        elif self.two_sides:
            found.append(
                "The graph is bipartite and nobody is lazy: the number of rounds shows on which side a report began. "
                "laziness = 0.1 mixes the sides."
            )
        if self.num_parts > 1:
            found.append(
                f"The graph is in {self.num_parts:,} parts that no report leaves: everybody hides among those of "
                "their own part, and the guarantee is that of the weakest."
            )
        return tuple(found)

    @property
    def own(self) -> AfterRounds:
        """What the task's rounds give and cost."""
        return next(each for each in self.by_rounds if each.rounds == self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of walks along a graph.

    Args:
        plan: what there was to expect.
        held: how many people handed in no report, one, two and so on; dummies count.
    """

    plan: NetworkPlan
    held: tuple[int, ...]


def walking(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, *, progress: Progress | None = None
) -> RandomWalkShuffler:
    """The shuffler of a section on a graph, with its rounds found if they are "auto".

    Raises:
        InvalidParameterError: as `along`; or if no number of rounds comes near the guarantee of a uniform shuffle.
    """
    if isinstance(section.rounds, int):
        return along(section, graphs, randomizer, section.rounds)
    people, epsilon0 = graphs[0].num_users, randomizer.model.epsilon0
    uniform = _uniform(randomizer.model, people, delta)
    if uniform >= epsilon0 and graphs[0].is_connected:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: even a uniform shuffle of {people} people gains nothing at "
            f"delta={delta:g}, so that 'auto' has nothing to come near; got rounds={AUTO!r}."
        )
    found = _fewest(section, graphs, randomizer, delta, progress)
    if found is None:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: no number of rounds up to {_MOST_ROUNDS} comes within 5 % of a "
            f"uniform shuffle{_because(section, graphs)}; got rounds={AUTO!r}."
        )
    return along(section, graphs, randomizer, found)


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
    uniform = _uniform(local, first.num_users, delta)
    several = len(graphs) > 1
    fewest = shuffler.num_rounds if section.rounds == AUTO else None
    if fewest is None and uniform < local.epsilon0 and not section.offline and not section.colluding:
        fewest = _fewest(section, graphs, randomizer, delta, progress)
    mixing = None if several else mixing_time(first, section.laziness)
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
        num_parts=_num_parts(first),
        two_sides=first.is_bipartite and not section.laziness,
        irregularity=first.irregularity,
        protocol=section.protocol,
        rounds=shuffler.num_rounds,
        epsilon=own.epsilon,
        uniform=uniform,
        fewest_rounds=fewest,
        mixing_time=mixing,
        distance_rounds=None if several else _distance_rounds(first, section.laziness),
        by_rounds=tuple(rows),
        parts=parts,
        risks=_risks(shuffler, local),
        printed=() if several or not first.is_connected else _printed(shuffler, local, delta),
    )


def statements_of_parts(
    shuffler: RandomWalkShuffler, local: LocalModel, delta: float, whole: tuple[PrivacyStatement, ...]
) -> tuple[PrivacyStatement, ...]:
    """What is stated about everybody where a graph is in parts: what holds of the weakest part, if that is more.

    Nothing leaves a part, so that each is a shuffle of its own people.

    Args:
        shuffler: of the whole graph.
        local: the randomizer.
        delta: of the guarantee.
        whole: what is stated of all parts as if they were one.
    """
    each = _shufflers_of_parts(shuffler)
    if len(each) < 2:
        return whole
    found = [account_all(_model(part, local), delta=delta) for part in each]
    weakest = max(range(len(each)), key=lambda place: epsilon_of(found[place][0].guarantee))
    stated = whole[0].claimed or whole[0].guarantee
    if epsilon_of(found[weakest][0].guarantee) >= epsilon_of(stated):
        return whole
    remark = (
        f"The graph is in {len(each)} parts that no report leaves, each a shuffle of its own people. This is about the "
        f"weakest part, of {_people(each[weakest])} people; nobody's guarantee is weaker."
    )
    *central, alone = found[weakest]
    return (*(statement.remarking(remark) for statement in central), alone)


def _epsilon(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> float:
    return epsilon_of(account(_model(shuffler, local), delta=delta).guarantee)


def _uniform(local: LocalModel, num_users: int, delta: float) -> float:
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=num_users))
    return epsilon_of(account(model, delta=delta).guarantee)


def _first(shuffler: RandomWalkShuffler) -> Graph:
    return shuffler.graph if isinstance(shuffler.graph, Graph) else shuffler.graph[0]


def _people(shuffler: RandomWalkShuffler) -> int:
    return _first(shuffler).num_users


def _model(shuffler: RandomWalkShuffler, local: LocalModel) -> ProtocolModel:
    return ProtocolModel(local=local, shuffle=shuffler.model(_people(shuffler)))


def _fewest(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, progress: Progress | None
) -> int | None:
    """By doubling and halving, as if more rounds were never worse; None if none are enough."""
    uniform = _uniform(randomizer.model, graphs[0].num_users, delta)
    tried = 0

    def enough(rounds: int) -> bool:
        nonlocal tried
        tried += 1
        model = _model(along(section, graphs, randomizer, rounds), randomizer.model)
        reached = delta_at(model, epsilon=uniform * NEAR_UNIFORM).guarantee
        if progress is not None:
            progress(tried, None)
        return getattr(reached, "delta", 1.0) <= delta

    if len(graphs) == 1 and graphs[0].is_bipartite and not section.laziness:
        return None
    if len(graphs) == 1 and not graphs[0].is_connected:
        return _fewest_of_parts(section, graphs[0], randomizer, delta, progress)
    if uniform >= randomizer.model.epsilon0:
        return None
    rounds = _start(graphs[0])
    while not enough(rounds):
        rounds *= 2
        if rounds > _MOST_ROUNDS:
            return None
    low = rounds // 2 if rounds > _start(graphs[0]) else 0  # not enough
    while rounds - low > 1:
        middle = (low + rounds) // 2
        low, rounds = (low, middle) if enough(middle) else (middle, rounds)
    return rounds


def _fewest_of_parts(
    section: NetworkSection, graph: Graph, randomizer: Randomizer, delta: float, progress: Progress | None
) -> int | None:
    """Enough for each part that gains anything; None if there are too many parts, or none are enough for one."""
    if _num_parts(graph) > _MOST_SEARCHED:
        return None
    gaining = [
        part for part in graph.parts() if _uniform(randomizer.model, part.num_users, delta) < randomizer.model.epsilon0
    ]
    found = [_fewest(section, (part,), randomizer, delta, progress) for part in gaining]
    return None if None in found else max((each for each in found if each is not None), default=None)


def _start(graph: Graph) -> int:
    """From how many rounds on to look: of many people the first few take long, and are never enough."""
    each = graph.num_users * (graph.num_users + graph.neighbors.size)
    return 1 if each < _DEAR else 10 * _DEAR // each + 1


def _because(section: NetworkSection, graphs: Graphs) -> str:
    """Why no number of rounds is enough, as far as that is known."""
    if graphs[0].is_bipartite and not section.laziness:
        return (
            ", since the graph is bipartite and nobody is lazy: the number of rounds shows on which side a report "
            "began. With laziness = 0.1 the sides mix"
        )
    if not graphs[0].is_connected:
        return ", since the graph is in parts that no report leaves"
    return ", since reports get lost on the way" if section.dropouts else ""


def _rounds_to_show(shuffler: RandomWalkShuffler, fewest: int | None, mixing: float | None) -> list[int]:
    """Some numbers of rounds, the task's own and the fewest among them."""
    own, slow = shuffler.num_rounds, shuffler.protocol != "all" or _people(shuffler) > _MANY
    customary = min(math.ceil(mixing), _MOST_ROUNDS) if mixing is not None and math.isfinite(mixing) else 0
    last = max(4, math.ceil(1.5 * max(own, fewest or 0)), customary if fewest is None else 0)
    grid = np.geomspace(min(_start(_first(shuffler)), last), last, _FEWER if slow else _GRID).round().astype(int)
    return sorted({own, *(number for number in grid.tolist()), *([fewest] if fewest else [])})


def _after(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> AfterRounds:
    stated = account(_model(shuffler, local), delta=delta)
    alone = [_epsilon(part, local, delta) for part in _shufflers_of_parts(shuffler)] if _in_parts(shuffler) else []
    messages = expected_messages(
        shuffler.graph,
        shuffler.num_rounds,
        laziness=shuffler.laziness,
        dropout=shuffler.dropout,
        offline=shuffler.offline,
    )
    return AfterRounds(
        rounds=shuffler.num_rounds,
        epsilon=min([epsilon_of(stated.guarantee), *([max(alone)] if alone else [])]),
        theorem=stated.basis.theorem,
        messages=float(messages.mean()),
        messages_most=float(messages.max()),
        lacking=shuffler.bounds.dummies,
        exact=shuffler.bounds.exact,
    )


def _num_parts(graph: Graph) -> int:
    return int(graph.components.max(initial=-1)) + 1


def _shufflers_of_parts(shuffler: RandomWalkShuffler) -> list[RandomWalkShuffler]:
    """A shuffler for each part, the largest first; none for several graphs, or for more parts than are looked at."""
    graph = shuffler.graph
    if not isinstance(graph, Graph) or _num_parts(graph) > _MOST_PARTS:
        return []
    parts = sorted(graph.parts(), key=lambda part: -part.num_users)
    return [replace(shuffler, graph=part, num_colluding=min(shuffler.num_colluding, part.num_users)) for part in parts]


def _in_parts(shuffler: RandomWalkShuffler) -> bool:
    return isinstance(shuffler.graph, Graph) and not shuffler.graph.is_connected


def _parts(
    section: NetworkSection, shuffler: RandomWalkShuffler, randomizer: Randomizer, delta: float, whole: AfterRounds
) -> tuple[PartOfGraph, ...]:
    """What there is to say of each part; of a single one all but its gap is known."""
    found, shufflers, local = [], _shufflers_of_parts(shuffler), randomizer.model
    searched = 1 < len(shufflers) <= _MOST_SEARCHED and not section.offline and not section.colluding
    for each in shufflers:
        part = _first(each)
        found.append(
            PartOfGraph(
                people=part.num_users,
                edges=part.num_edges,
                is_bipartite=part.is_bipartite,
                gap=lazy_gap(part, shuffler.laziness),
                mixing_time=mixing_time(part, shuffler.laziness),
                epsilon=whole.epsilon if len(shufflers) == 1 else _epsilon(each, local, delta),
                uniform=_uniform(local, part.num_users, delta),
                fewest_rounds=_fewest(section, (part,), randomizer, delta, None) if searched else None,
            )
        )
    return tuple(found)


def _distance_rounds(graph: Graph, laziness: float) -> tuple[int, ...] | None:
    """The first round within the tolerance: at least and at most. The gap gives sqrt((1 - pi) / pi) (1 - gap)^t / 2."""
    gap = lazy_gap(graph, laziness)
    if gap <= 0 or not graph.is_connected:
        return None
    rarest = float(graph.stationary.min())
    decay = math.log1p(-gap) if gap < 1 else -math.inf
    most = max(0, math.ceil(math.log(2 * TOLERANCE / math.sqrt((1 - rarest) / rarest)) / decay))
    entries = graph.num_users + graph.neighbors.size
    if most <= _MOST_ROUNDS and graph.num_users <= 4096 and graph.num_users * most * entries <= _MOST_STEPS:
        exact = first_round_within(graph, TOLERANCE, laziness=laziness)
        return exact, exact
    if most > _MOST_ROUNDS:
        return 0, most
    start = int(graph.degrees.argmin())
    return first_round_within(graph, TOLERANCE, laziness=laziness, starts=[start]), most


def _risks(shuffler: RandomWalkShuffler, local: LocalModel) -> tuple[Risk, ...]:
    people, epsilon0 = _people(shuffler), local.epsilon0
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
