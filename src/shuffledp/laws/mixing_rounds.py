"""How many rounds walks take until it hardly matters where they began."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.graphs import Graph, certain_gap
from shuffledp.graphs.spectrum import any_direction
from shuffledp.laws.walks import first_round_within, one_round, position_distributions, transposed_transition

__all__ = ["TOLERANCE", "MixingRounds", "mixing_rounds"]

TOLERANCE = 0.01  # total variation
_MOST_ROUNDS = 1 << 14
_MOST_PEOPLE = 4096
_MOST_STEPS = 2 * 10**9  # people * rounds * entries up to which everybody's law is walked
_PROBES, _MOST_PROBED = 8, 3 * 10**8  # vectors that find far starts, and their products with entries in all


class MixingRounds(NamedTuple):
    """After how many rounds all laws are within `TOLERANCE` of the stationary one.

    Args:
        least: at least.
        most: at most; the same where everybody's law was worked out.
        worst_start: whose law is the farthest one round before; None where not everybody's law was worked out.
        late_start: somebody whose law is not so near before ``least``, and perhaps nobody's is later; None where
            nobody's law was worked out.
    """

    least: int
    most: int
    worst_start: int | None
    late_start: int | None = None


def mixing_rounds(graph: Graph, laziness: float = 0.0, *, candidates: int = 0) -> MixingRounds | None:
    """From everybody's law, or for many people from the spectral gap and the laws of a few who may be the last.

    After t rounds the distance is at most sqrt((1 - pi) / pi) (1 - gap)^t / 2.

    Args:
        graph: any graph.
        laziness: from 0 to 1.
        candidates: of many people, for how many the law is worked out besides that of whoever has the fewest neighbors.

    Returns:
        None if walks never get so near.
    """
    gap = certain_gap(graph, laziness)
    if gap <= 0 or not graph.is_connected:
        return None
    rarest = float(graph.stationary.min())
    decay = math.log1p(-gap) if gap < 1 else -math.inf
    most = max(0, math.ceil(math.log(2 * TOLERANCE / math.sqrt((1 - rarest) / rarest)) / decay))
    entries = graph.num_users + graph.neighbors.size
    if most <= _MOST_ROUNDS and graph.num_users <= _MOST_PEOPLE and graph.num_users * most * entries <= _MOST_STEPS:
        exact = first_round_within(graph, TOLERANCE, laziness=laziness)
        worst = _farthest(graph, max(exact - 1, 0), laziness)
        return MixingRounds(exact, exact, worst, worst)
    if most > _MOST_ROUNDS:
        return MixingRounds(0, most, None)
    start = int(graph.degrees.argmin())
    least = first_round_within(graph, TOLERANCE, laziness=laziness, starts=[start])
    for other in _far_starts(graph, least, laziness, candidates) if candidates else ():
        after = first_round_within(graph, TOLERANCE, laziness=laziness, starts=[other])
        if after > least:
            least, start = after, int(other)
    return MixingRounds(least, most, None, start)


def _far_starts(graph: Graph, num_rounds: int, laziness: float, count: int) -> NDArray[np.int64]:
    """Some whose laws are probably far from the stationary one, in its chi-squared distance.

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
    return np.argsort(-(seen**2).sum(axis=1), kind="stable")[:count]


def _farthest(graph: Graph, num_rounds: int, laziness: float) -> int:
    distances = np.empty(graph.num_users)
    for starts, laws in position_distributions(graph, num_rounds, laziness=laziness):
        distances[starts] = np.abs(laws - graph.stationary).sum(axis=1)
    return int(distances.argmax())
