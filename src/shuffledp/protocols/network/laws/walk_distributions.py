"""Walk distributions: exact position laws of reports, and the rounds until walks have mixed."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.table import Floats, Integers
from shuffledp.people.graphs import Graph, certain_gap
from shuffledp.people.graphs.spectrum import any_direction
from shuffledp.protocols.network.laws.churned_rounds import ChurnedRound, ChurnedWays
from shuffledp.protocols.network.people.overlays import Overlay, OverlayRound, rounds_of

Graphs = Graph | Sequence[Graph]
Round = Graph | OverlayRound
AnyRound = Round | ChurnedRound
_Usual = Graphs | Overlay | OverlayRound
Ways = _Usual | ChurnedRound | ChurnedWays  # that reports walk along

_LARGEST_MATRIX = 4096  # most people whose laws from all starts are returned at once
_BLOCK = 64  # starts whose laws are given at once
MOST_ROUNDS = 100_000
_MOST_MATRICES = 8  # that are kept at a time, where graphs take turns
MIXING_TOLERANCE = 0.01  # total variation
_MOST_MIXING_ROUNDS = 1 << 14
_MOST_STEPS = 2 * 10**9  # people * rounds * entries up to which everybody's law is walked
_FAR_STARTS = 3  # that are tried besides the person with the fewest neighbors
_PROBES, _MOST_PROBED = 8, 3 * 10**8  # vectors that find far starts, and their products with entries in all


def position_distribution(
    graph: Ways, start: int | None, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0
) -> Floats:
    """Distribution of the position of a report after ``num_rounds`` rounds; "P(t)" in papers.

    In each round the report is lost with chance ``dropout``, else stays with chance ``laziness``, else goes to a
    neighbor chosen uniformly. Who has no neighbor keeps it. The shape is (people,), or (people, people) with a row for
    each start; the sum is the chance that it is not lost.

    Guarantees:
        1. Exact up to the rounding of floats, of about 1e-16 of each probability a round.

    Args:
        graph: one graph, or one for each round; or an overlay, in each round of which one digit is drawn; or any of
            them with a schedule of who is online.
        start: whose report it is; None for everybody's, on a graph of at most 4096 people.
        num_rounds: 0 or more.
        laziness: from 0 to 1.
        dropout: from 0 to 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if the laws of all starts are too many to return.

    References:
        Liew et al. 2022, section 4.1: P(t) = P(0) M^t.

    Example:
        >>> ring = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
        >>> position_distribution(ring, 0, 1, laziness=0.5).tolist()
        [0.5, 0.25, 0.0, 0.25]
    """
    graphs = graphs_of_rounds(graph, num_rounds)
    people = people_of(graph)
    if start is None:
        if people > _LARGEST_MATRIX:
            raise UnsupportedModelError(
                f"the laws of all starts fill a matrix for at most {_LARGEST_MATRIX} people; got {people}. "
                "Use position_distributions, which gives them in blocks."
            )
        parts = [laws for _, laws in position_distributions(graph, num_rounds, laziness=laziness, dropout=dropout)]
        return np.concatenate(parts) if parts else np.empty((0, 0))
    validate.integer_at_least(0, start=start)
    if start >= people:
        raise validate.invalid(f"below the number of people, {people}", start=start)
    law = np.zeros(people)
    law[start] = 1.0
    return _walked(law, graphs, laziness, dropout)


def position_distributions(
    graph: Ways, num_rounds: int, *, laziness: float = 0.0, dropout: float = 0.0, starts: ArrayLike | None = None
) -> Iterator[tuple[Integers, Floats]]:
    """Position laws of `position_distribution` for many starts, some hundred at a time.

    Time grows with starts * rounds * edges. Yields some starts and their laws, shape (starts, people).

    The arguments are those of `position_distribution`; ``starts`` are whose reports, None being everybody's.
    """
    graphs, people = graphs_of_rounds(graph, num_rounds), people_of(graph)
    chosen = np.arange(people) if starts is None else np.asarray(starts, dtype=np.int64)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < people):
        raise InvalidParameterError(f"starts must be in range({people}).")
    for first in range(0, chosen.size, _BLOCK):
        some = chosen[first : first + _BLOCK]
        laws = _walked(from_starts(people, some), graphs, laziness, dropout)
        yield some, np.ascontiguousarray(laws.T)


def distance_from_stationarity(graph: Graph, law: ArrayLike) -> float:
    """Total variation distance between a law of positions and the stationary law.

    Args:
        graph: the graph whose stationary law it is.
        law: shape (people,).
    """
    return float(np.abs(np.asarray(law) - graph.stationary).sum() / 2)


def first_round_within(
    graph: Graph, tolerance: float, *, laziness: float = 0.0, starts: ArrayLike | None = None
) -> int:
    """First round after which all position laws are within ``tolerance`` of the stationary law.

    Args:
        graph: a connected graph; without laziness not a bipartite one.
        tolerance: total variation, strictly between 0 and 1.
        laziness: from 0 to 1.
        starts: which starts are asked for; None is everybody, on a graph of at most 4096 people.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if walks on this graph never get within the tolerance, or not in 100,000 rounds.
    """
    validate.open_probability(tolerance=tolerance)
    if graph.num_users > _LARGEST_MATRIX and starts is None:
        raise UnsupportedModelError(f"laws from all starts are for at most {_LARGEST_MATRIX} people; give starts.")
    if not graph.is_connected or (graph.is_bipartite and laziness == 0):
        raise UnsupportedModelError(
            "walks on a graph in several parts, or on a bipartite one without laziness, never get near one law."
        )
    chosen = np.arange(graph.num_users) if starts is None else np.asarray(starts, dtype=np.int64)
    laws = from_starts(graph.num_users, chosen)
    validate.probability(laziness=laziness)
    matrix = transposed_transition(graph)
    for done in range(MOST_ROUNDS):
        if np.abs(laws - graph.stationary[:, None]).sum(axis=0).max() / 2 <= tolerance:
            return done
        laws = one_round(matrix, laws, laziness)
    raise UnsupportedModelError(f"walks on this graph are not within the tolerance after {MOST_ROUNDS} rounds.")


def unseen_probability(graph: Ways, colluding: ArrayLike, num_rounds: int, *, laziness: float = 0.0) -> Floats:
    """Chance that no colluder held each person's report, start and end included.

    An average-case number about risk, and no guarantee: what colluders see of other reports tells them more. Against a
    share c of colluding neighbors, no (epsilon, delta) below the local loss has delta much below c. It is 0 for who
    colludes.

    The arguments are those of `position_distribution`, and the people who are ``colluding``; so are the errors. Longer
    walks mix better, and expose more.
    """
    validate.probability(laziness=laziness)
    people, named = people_of(graph), np.asarray(colluding, dtype=np.int64)
    if named.size and not (named.min() >= 0 and named.max() < people):
        raise InvalidParameterError(f"colluding must be in range({people}).")
    honest = np.ones(people)
    honest[named] = 0.0
    found = honest
    for matrix in transitions(graphs_of_rounds(graph, num_rounds)[::-1]):
        found = honest * one_round(matrix.T, found, laziness)
    return found


@overload
def graphs_of_rounds(graph: Graphs, num_rounds: int) -> tuple[Graph, ...]: ...
@overload
def graphs_of_rounds(graph: _Usual, num_rounds: int) -> tuple[Round, ...]: ...
@overload
def graphs_of_rounds(graph: Ways, num_rounds: int) -> tuple[AnyRound, ...]: ...
def graphs_of_rounds(graph: Ways, num_rounds: int) -> tuple[AnyRound, ...]:
    """Graph of each round, for one graph or several graphs in turn.

    Of an overlay they are its rounds; with a schedule of who is online they are the first of its rounds.

    Refused without a graph, or if their numbers of people differ, a schedule has fewer rounds, or there are more than
    100,000.
    """
    validate.integer_at_least(0, num_rounds=num_rounds)
    if num_rounds > MOST_ROUNDS:
        raise validate.invalid(f"at most {MOST_ROUNDS}", num_rounds=num_rounds)
    if isinstance(graph, ChurnedWays):
        if num_rounds > graph.schedule.num_rounds:
            raise validate.invalid(f"at most those of the schedule, {graph.schedule.num_rounds}", num_rounds=num_rounds)
        return graph.rounds[: int(num_rounds)]
    if isinstance(graph, AnyRound):
        return (graph,) * int(num_rounds)
    if isinstance(graph, Overlay):
        return rounds_of(graph, int(num_rounds))
    validate.instance_of(Sequence, graph=graph)
    for each in graph:
        validate.instance_of(Graph, graph=each)
    if not graph:
        raise InvalidParameterError("graph must be one graph, or a list of one or more; got an empty one.")
    people = {each.num_users for each in graph}
    if len(people) > 1:
        raise InvalidParameterError(
            "graph must be graphs of the same people, one for each round; "
            f"got graphs of {min(people)} to {max(people)} people."
        )
    return tuple(graph[place % len(graph)] for place in range(int(num_rounds)))


def people_of(graph: Ways) -> int:
    """Number of people of the graph, or of each of several graphs."""
    return graph[0].num_users if isinstance(graph, Sequence) else graph.num_users


def _walked(laws: Floats, graphs: Sequence[AnyRound], laziness: float, dropout: float) -> Floats:
    """Position law after these rounds; for several laws, one in each column."""
    validate.probability(laziness=laziness, dropout=dropout)
    for matrix in transitions(graphs):
        laws = one_round(matrix, laws, laziness)
        if dropout:
            laws = laws * (1 - dropout)
    return laws


def one_round(matrix: Any, laws: Floats, laziness: float) -> Floats:
    """Position law after one round without losses; for several laws, one per column.

    The matrix is a `transposed_transition`; or transposed again, to look back from what comes after.
    """
    moved: Floats = matrix @ laws
    return laziness * laws + (1 - laziness) * moved if laziness else moved


def transitions(graphs: Sequence[AnyRound]) -> Iterator[Any]:
    """Transition matrix of each round; matrices of a few repeated graphs are reused."""
    made: dict[int, Any] = {}
    for each in graphs:
        if id(each) not in made:
            if len(made) == _MOST_MATRICES:
                made.pop(next(iter(made)))
            made[id(each)] = transposed_transition(each)
        yield made[id(each)]


def from_starts(people: int, starts: Integers, dtype: Any = np.float64) -> Any:
    """Position laws before any round, one per column: each report is at its start."""
    laws = np.zeros((people, starts.size), dtype=dtype)
    laws[starts, np.arange(starts.size)] = 1.0
    return laws


def transposed_transition(graph: AnyRound) -> Any:
    """Sparse transition matrix: column j is the law of the next holder of a report that person j holds.

    A person without neighbors keeps it.
    """
    if not isinstance(graph, Graph):
        return graph.transposed_transition()
    import scipy.sparse as sp

    people = graph.num_users
    shares = 1 / np.maximum(graph.degrees, 1)
    moves = sp.csr_array((shares[graph.neighbors], graph.neighbors, graph.starts), shape=(people, people))
    alone = graph.degrees == 0
    return sp.csr_array(moves + sp.diags_array(alone.astype(np.float64))) if alone.any() else moves


class MixingRounds(NamedTuple):
    """Bounds on the mixing rounds: the first round with all laws within `MIXING_TOLERANCE` of the stationary law.

    Args:
        least: at least.
        most: at most; equal to ``least`` where everybody's law was computed.
        worst_start: the start whose law is the farthest one round before; None where not all laws were computed.
        late_start: a start whose law is not within the tolerance before ``least``; None where no law was computed.
    """

    least: int
    most: int
    worst_start: int | None
    late_start: int | None = None


def mixing_rounds(graph: Graph, laziness: float = 0.0) -> MixingRounds | None:
    """Mixing rounds by all people's laws; for many people by the spectral gap and a few slow starts.

    After t rounds the distance is at most sqrt((1 - pi) / pi) (1 - gap)^t / 2. None if walks never mix.

    Args:
        graph: any graph.
        laziness: from 0 to 1.
    """
    gap = certain_gap(graph, laziness)
    if gap <= 0 or not graph.is_connected:
        return None
    rarest = float(graph.stationary.min())
    decay = math.log1p(-gap) if gap < 1 else -math.inf
    most = max(0, math.ceil(math.log(2 * MIXING_TOLERANCE / math.sqrt((1 - rarest) / rarest)) / decay))
    entries = graph.num_users + graph.neighbors.size
    if (
        most <= _MOST_MIXING_ROUNDS
        and graph.num_users <= _LARGEST_MATRIX
        and graph.num_users * most * entries <= _MOST_STEPS
    ):
        exact = first_round_within(graph, MIXING_TOLERANCE, laziness=laziness)
        distances = np.empty(graph.num_users)
        for starts, laws in position_distributions(graph, max(exact - 1, 0), laziness=laziness):
            distances[starts] = np.abs(laws - graph.stationary).sum(axis=1)
        return MixingRounds(exact, exact, int(distances.argmax()), int(distances.argmax()))
    if most > _MOST_MIXING_ROUNDS:
        return MixingRounds(0, most, None)
    start = int(graph.degrees.argmin())
    least = first_round_within(graph, MIXING_TOLERANCE, laziness=laziness, starts=[start])
    for other in _far_starts(graph, least, laziness):
        after = first_round_within(graph, MIXING_TOLERANCE, laziness=laziness, starts=[other])
        if after > least:
            least, start = after, int(other)
    return MixingRounds(least, most, None, start)


def _far_starts(graph: Graph, num_rounds: int, laziness: float) -> Integers:
    """Starts with laws that are probably far from the stationary law (chi-squared distance).

    With x = z / sqrt(pi) for numbers z of mean 0 and variance 1, less the mean under pi, the square of what is expected
    of x at the end of j's walk has that distance as its mean: so a few vectors z tell of all starts at once.
    """
    people, pi = graph.num_users, graph.stationary[:, None]
    seen = any_direction(people * _PROBES).reshape(people, _PROBES) / np.sqrt(pi)
    seen -= (pi * seen).sum(axis=0)
    matrix = transposed_transition(graph).T.tocsr()
    rounds = min(num_rounds, max(1, _MOST_PROBED // ((people + graph.neighbors.size) * _PROBES)))
    for _ in range(rounds):
        seen = one_round(matrix, seen, laziness)
    return np.argsort(-(seen**2).sum(axis=1), kind="stable")[:_FAR_STARTS]
