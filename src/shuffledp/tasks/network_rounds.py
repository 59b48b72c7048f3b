"""Walks of a task file on a graph: how many rounds are enough, and what holds where the graph is in parts."""

from collections.abc import Callable
from dataclasses import replace

from shuffledp.accounting import account, account_all, delta_at, epsilon_of
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import Randomizer
from shuffledp.graphs import Graph, union
from shuffledp.graphs.structure import part_of
from shuffledp.models import LocalModel, ProtocolModel
from shuffledp.shufflers import RandomWalkShuffler, UniformShuffleModel
from shuffledp.statements import PrivacyStatement
from shuffledp.tasks.network import AUTO, Graphs, NetworkSection, along

__all__ = [
    "MOST_ROUNDS",
    "MOST_SEARCHED",
    "Progress",
    "all_edges",
    "epsilon_of_uniform",
    "fewest_rounds",
    "first_graph",
    "first_tried",
    "model_of",
    "num_parts",
    "people_of",
    "shufflers_of_parts",
    "stated_about_walks",
    "statements_of_parts",
    "stays_on_sides",
    "walking",
]

Progress = Callable[[int, int | None], None]

_NEAR_UNIFORM = 1.05  # times epsilon of the uniform shuffle: what "auto" asks for
MOST_ROUNDS = 1 << 14  # that are tried
MOST_SEARCHED = 8  # parts for each of which the fewest rounds are found
_MOST_PARTS = 64  # of which each is accounted for by itself
_ALL_LOST = 1e-3  # of the reports: with so few left, nobody hides as in a uniform shuffle of all
_DEAR = 10**9  # people * entries: from here on exact laws are worked out for less than ten rounds, if at all


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
    uniform = epsilon_of_uniform(randomizer.model, people, delta)
    if not _gains(uniform, epsilon0) and union(graphs).is_connected:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: even a uniform shuffle of {people} people gains next to nothing "
            f"at delta={delta:g}, so that 'auto' has nothing to come near; got rounds={AUTO!r}."
        )
    found = fewest_rounds(section, graphs, randomizer, delta, progress)
    if found is None:
        raise InvalidParameterError(
            f"[shuffler] rounds must be a number here: no number of rounds up to {MOST_ROUNDS} comes within 5 % of a "
            f"uniform shuffle{_because(section, graphs)}; got rounds={AUTO!r}."
        )
    return along(section, graphs, randomizer, found)


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
    weakest = _weakest_part(shuffler, local, delta, whole[0])
    if weakest is None:
        return whole
    part, _ = weakest
    remark = (
        f"The graph is in {num_parts(all_edges(shuffler))} parts that no report leaves, each a shuffle of its own "
        f"people. This is about the weakest part, of {people_of(part)} people; nobody's guarantee is weaker."
    )
    *central, alone = account_all(model_of(part, local), delta=delta)
    return (*(statement.remarking(remark) for statement in central), alone)


def stated_about_walks(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> PrivacyStatement:
    """What is guaranteed to everybody, also where the graph is in parts; the arguments are as above."""
    whole = account(model_of(shuffler, local), delta=delta)
    weakest = _weakest_part(shuffler, local, delta, whole)
    return whole if weakest is None else weakest[1]


def _weakest_part(
    shuffler: RandomWalkShuffler, local: LocalModel, delta: float, whole: PrivacyStatement
) -> tuple[RandomWalkShuffler, PrivacyStatement] | None:
    """The part to which least is guaranteed, and what; None if that is no more than for the whole."""
    parts = shufflers_of_parts(shuffler)
    if len(parts) < 2:
        return None
    found = [(part, account(model_of(part, local), delta=delta)) for part in parts]
    weakest = max(found, key=lambda each: epsilon_of(each[1].guarantee))
    return weakest if epsilon_of(weakest[1].guarantee) < epsilon_of(whole.claimed or whole.guarantee) else None


def epsilon_of_uniform(local: LocalModel, num_users: int, delta: float) -> float:
    """What a uniform shuffle of so many people guarantees."""
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=num_users))
    return epsilon_of(account(model, delta=delta).guarantee)


def first_graph(shuffler: RandomWalkShuffler) -> Graph:
    """The graph of the first round."""
    return shuffler.graph if isinstance(shuffler.graph, Graph) else shuffler.graph[0]


def all_edges(shuffler: RandomWalkShuffler) -> Graph:
    """Every edge that a report may take in some round."""
    return union(tuple({id(each): each for each in _graphs_of(shuffler)}.values()))


def stays_on_sides(everything: Graph, resting: float) -> bool:
    """Whether the number of rounds shows on which side of all edges a report began, as none ever rests."""
    return everything.is_bipartite and not resting


def people_of(shuffler: RandomWalkShuffler) -> int:
    """How many people walk along the graph."""
    return first_graph(shuffler).num_users


def model_of(shuffler: RandomWalkShuffler, local: LocalModel) -> ProtocolModel:
    """The public description of the whole protocol."""
    return ProtocolModel(local=local, shuffle=shuffler.model(people_of(shuffler)))


def fewest_rounds(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, progress: Progress | None
) -> int | None:
    """By doubling and halving, as if more rounds were never worse; None if none are enough."""
    uniform = epsilon_of_uniform(randomizer.model, graphs[0].num_users, delta)
    tried = 0

    def enough(rounds: int) -> bool:
        nonlocal tried
        tried += 1
        model = model_of(along(section, graphs, randomizer, rounds), randomizer.model)
        if progress is not None:
            progress(tried, None)
        if section.protocol != "all":  # whose epsilon takes longer than delta at one epsilon
            reached = delta_at(model, epsilon=uniform * _NEAR_UNIFORM).guarantee
            if getattr(reached, "delta", 1.0) > delta:
                return False
        return epsilon_of(account(model, delta=delta).guarantee) <= uniform * _NEAR_UNIFORM

    everything = union(graphs)
    if stays_on_sides(everything, section.laziness):
        return None
    if not everything.is_connected:
        return _enough_for_parts(section, graphs, randomizer, delta, progress)
    if not _gains(uniform, randomizer.model.epsilon0):
        return None
    rounds = first_tried(graphs[0])
    while not enough(rounds):
        rounds *= 2
        if rounds > MOST_ROUNDS or (1 - section.dropouts) ** rounds < _ALL_LOST:
            return None
    low = rounds // 2 if rounds > first_tried(graphs[0]) else 0  # not enough
    while rounds - low > 1:
        middle = (low + rounds) // 2
        low, rounds = (low, middle) if enough(middle) else (middle, rounds)
    return rounds


def _enough_for_parts(
    section: NetworkSection, graphs: Graphs, randomizer: Randomizer, delta: float, progress: Progress | None
) -> int | None:
    """Enough for each part that gains anything; None if there are too many parts, or none are enough for one."""
    if num_parts(union(graphs)) > MOST_SEARCHED:
        return None
    local = randomizer.model
    gaining = [
        part
        for part in _parts_of(graphs)
        if _gains(epsilon_of_uniform(local, part[0].num_users, delta), local.epsilon0)
    ]
    found = [fewest_rounds(section, part, randomizer, delta, progress) for part in gaining]
    return None if None in found else max((each for each in found if each is not None), default=None)


def _gains(uniform: float, epsilon0: float) -> bool:
    """Whether a uniform shuffle leaves so much less that no shuffling is not near it."""
    return uniform * _NEAR_UNIFORM < epsilon0


def first_tried(graph: Graph) -> int:
    """From how many rounds on to look: of many people the first few take long, and are never enough."""
    each = graph.num_users * (graph.num_users + graph.neighbors.size)
    return 1 if each < _DEAR else 10 * _DEAR // each + 1


def _because(section: NetworkSection, graphs: Graphs) -> str:
    """Why no number of rounds is enough, as far as that is known."""
    everything = union(graphs)
    if stays_on_sides(everything, section.laziness):
        return (
            ", since the graph is bipartite and nobody is lazy: the number of rounds shows on which side a report "
            "began. With laziness = 0.1 the sides mix"
        )
    if not everything.is_connected:
        return ", since the graph is in parts that no report leaves"
    return ", since reports get lost on the way" if section.dropouts else ""


def num_parts(graph: Graph) -> int:
    """Parts that cannot reach each other."""
    return int(graph.components.max(initial=-1)) + 1


def shufflers_of_parts(shuffler: RandomWalkShuffler) -> list[RandomWalkShuffler]:
    """A shuffler for each part, the largest first; none for more parts than are looked at."""
    if num_parts(all_edges(shuffler)) > _MOST_PARTS:
        return []
    graphs = _parts_of(_graphs_of(shuffler))
    if len(graphs) == 1:
        return [shuffler]
    return [
        replace(
            shuffler,
            graph=part[0] if isinstance(shuffler.graph, Graph) else part,
            num_colluding=min(shuffler.num_colluding, part[0].num_users),
        )
        for part in sorted(graphs, key=lambda part: -part[0].num_users)
    ]


def _graphs_of(shuffler: RandomWalkShuffler) -> Graphs:
    return (shuffler.graph,) if isinstance(shuffler.graph, Graph) else tuple(shuffler.graph)


def _parts_of(graphs: Graphs) -> list[Graphs]:
    """The same graphs, each cut down to people who reach each other in some of them."""
    each = {id(graph): graph for graph in graphs}
    everything = union(tuple(each.values()))
    if everything.is_connected:
        return [graphs]
    found = []
    for number in range(num_parts(everything)):
        inside = everything.components == number
        cut = {key: Graph(*part_of(graph, inside)) for key, graph in each.items()}
        found.append(tuple(cut[id(graph)] for graph in graphs))
    return found
