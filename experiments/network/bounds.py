"""Three answers to one question: as printed, with what is wrong put right, and what the accountant says."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

import shuffledp as sdp
from experiments.network.graphs import PRINTED, graph_of
from experiments.network.printed_formulas import FLAGS, PrintedFormula, printed_all, printed_single
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel

_COEFFICIENT_AT = 1 / 8  # the largest epsilon0 at which "800 epsilon0^2 S + 40 epsilon0 sqrt(..)" follows
_MOST_HELD = 12  # reports of others
_RATIO = 1.01  # chances of places that close count as the larger one

Row = dict[str, Any]


def printed(epsilon0: float, people: int, squares: float, delta: float) -> Row:
    """Theorems 5.3 (half of delta for the sizes of bags) and 5.5 for a sum of squared chances S."""
    both: Row = {"epsilon0": epsilon0, "num_users": people, "squares": squares}
    return {
        "5.3 printed": printed_all(**both, delta=delta / 2, delta2=delta / 2).epsilon,
        "5.5 printed": printed_single(**both, delta=delta).epsilon,
    }


def on_graph(name: str, epsilon0: float, delta: float) -> tuple[Graph | None, Row]:
    """A graph of the print, if its file is here, and all three answers for handing in all after many rounds."""
    known = PRINTED[name]
    graph = graph_of(name) if known.folder else None
    true = known.irregularity if graph is None else graph.irregularity
    return graph, {
        "graph": name,
        "epsilon0": epsilon0,
        **printed(epsilon0, known.people, known.irregularity / known.people, delta),
        **corrected(epsilon0, known.people, true / known.people, delta),
        "all, ours": uniform(epsilon0, known.people, delta),
    }


def corrected(epsilon0: float, people: int, squares: float, delta: float) -> Row:
    """Theorems 5.3 and 5.5 with the 1/n that Lemma 5.1 drops, for the true S."""
    both: Row = {"epsilon0": epsilon0, "num_users": people, "squares": squares}
    return {
        "5.3 corrected": printed_all(**both, delta=delta / 2, delta2=delta / 2, corrected=True).epsilon,
        "5.5 corrected": printed_single(**both, delta=delta).epsilon,
    }


def printed_simplified(*, epsilon0: float, squares: float, delta: float) -> PrintedFormula:
    """Of Theorem 5.5, "particularly, when epsilon0 <= 1": 800 epsilon0^2 S + 40 epsilon0 sqrt(2 S log(1/delta)).

    It follows from the formula at 8 epsilon0 where that is at most 1; at epsilon0 = 1 the formula has e^8 (e^8 - 1),
    some nine million, in place of 40.
    """
    epsilon = 800 * epsilon0**2 * squares + 40 * epsilon0 * math.sqrt(2 * squares * math.log(1 / delta))
    flag = FLAGS["5.5"] if epsilon0 <= _COEFFICIENT_AT else "false: it needs epsilon0 <= 1/8, and says epsilon0 <= 1"
    return PrintedFormula(theorem="5.5", epsilon=epsilon, delta=delta, flag=flag)


def printed_squares(*, num_users: int, irregularity: float, gap: float, num_rounds: int) -> float:
    """S by eq. (7): Gamma / n + (1 - alpha)^(2t). False on irregular graphs: see ``FLAGS``."""
    return irregularity / num_users + (1 - gap) ** (2 * num_rounds)


def squares_bound(*, largest: float, start: float, gap: float, num_rounds: int) -> float:
    """S from above, correctly: pi_max (1 + (1 - alpha)^(2t) (1 / pi_start - 1)).

    Args:
        largest: the largest stationary probability.
        start: that of the node where the walk begins.
        gap: alpha, from below.
        num_rounds: t.
    """
    return largest * (1 + (1 - gap) ** (2 * num_rounds) * (1 / start - 1))


@lru_cache(maxsize=1024)
def uniform(epsilon0: float, people: int, delta: float) -> float:
    """Epsilon of any randomizer through a uniform shuffle: what "all" reaches after many rounds, on any graph."""
    return _epsilon(
        ProtocolModel(local=LdpModel(epsilon0=epsilon0), shuffle=UniformShuffleModel(num_users=people)), delta
    )


def everybody(graph: Graph, rounds: int, epsilon0: float, delta: float) -> Row:
    """What the accountant promises to everybody, for any randomizer, for both protocols."""
    local = LdpModel(epsilon0=epsilon0)
    shuffles = {
        each: sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol=each).model(graph.num_users)
        for each in ("all", "single")
    }
    return {
        f"{each}, ours": _epsilon(ProtocolModel(local=local, shuffle=shuffle), delta)
        for each, shuffle in shuffles.items()
    }


def mixed_single(law: ArrayLike, epsilon0: float, delta: float) -> float:
    """Epsilon of everybody in "single", all places having this law: how many reports are held is counted on."""
    chances = np.asarray(law, dtype=np.float64)
    held = [float(binom.cdf(count, len(chances) - 1, chances).mean()) for count in range(_MOST_HELD)]
    return single(chances, epsilon0, delta, few_held=tuple(min(each * (1 + 1e-9), 1.0) for each in held))


def single(law: ArrayLike, epsilon0: float, delta: float, *, few_held: tuple[float, ...] = ()) -> float:
    """Epsilon, in "single", of a person whose report takes the place of each of the others with these chances.

    With the law of the place as it is, it is a bound for this person. Where chances are divided by the number of
    reports that are held there, it is that of one allocation: typical, and no bound.
    """
    chances = np.asarray(law, dtype=np.float64)
    probabilities, counts = _classes(chances[chances > 0])
    shuffle = RandomWalkShuffleModel(
        num_users=len(chances),
        num_rounds=1,
        protocol="single",
        graph_digest="",
        irregularity=1.0,
        near_uniformity=math.inf,
        separation=1.0,
        position_probabilities=tuple(probabilities.tolist()),
        position_counts=tuple(counts.tolist()),
        few_held=few_held,
        dummy_model=LdpModel(epsilon0=epsilon0),
    )
    return NetworkSingle().epsilon(ProtocolModel(local=LdpModel(epsilon0=epsilon0), shuffle=shuffle), delta=delta)


def _classes(chances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Chances rounded up to a few different ones, and how many there are of each; the least ones are one class."""
    largest = chances.max()
    ranks = np.floor(np.log(largest / np.maximum(chances, 1e-4 * chances.mean())) / math.log(_RATIO))
    return largest * _RATIO ** -np.unique(ranks), np.unique(ranks, return_counts=True)[1]


def _epsilon(model: ProtocolModel, delta: float) -> float:
    guarantee = sdp.account(model, delta=delta).guarantee
    return float(getattr(guarantee, "epsilon", math.inf))
