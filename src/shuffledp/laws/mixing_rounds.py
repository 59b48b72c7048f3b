"""How many rounds walks take until it hardly matters where they began."""

import math
from typing import NamedTuple

import numpy as np

from shuffledp.graphs import Graph, certain_gap
from shuffledp.laws.walks import first_round_within, position_distributions

__all__ = ["TOLERANCE", "MixingRounds", "mixing_rounds"]

TOLERANCE = 0.01  # total variation
_MOST_ROUNDS = 1 << 14
_MOST_PEOPLE = 4096
_MOST_STEPS = 2 * 10**9  # people * rounds * entries up to which everybody's law is walked


class MixingRounds(NamedTuple):
    """After how many rounds all laws are within `TOLERANCE` of the stationary one.

    Args:
        least: at least.
        most: at most; the same where everybody's law was worked out.
        worst_start: whose law is the farthest one round before; None where not everybody's law was worked out.
    """

    least: int
    most: int
    worst_start: int | None


def mixing_rounds(graph: Graph, laziness: float = 0.0) -> MixingRounds | None:
    """From everybody's law, or for many people from the spectral gap and the law of whoever has the fewest neighbors.

    After t rounds the distance is at most sqrt((1 - pi) / pi) (1 - gap)^t / 2.

    Args:
        graph: any graph.
        laziness: from 0 to 1.

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
        return MixingRounds(exact, exact, _farthest(graph, max(exact - 1, 0), laziness))
    if most > _MOST_ROUNDS:
        return MixingRounds(0, most, None)
    start = int(graph.degrees.argmin())
    return MixingRounds(first_round_within(graph, TOLERANCE, laziness=laziness, starts=[start]), most, None)


def _farthest(graph: Graph, num_rounds: int, laziness: float) -> int:
    distances = np.empty(graph.num_users)
    for starts, laws in position_distributions(graph, num_rounds, laziness=laziness):
        distances[starts] = np.abs(laws - graph.stationary).sum(axis=1)
    return int(distances.argmax())
