"""What the paper's theorems print for a task's rounds: to stand beside what is guaranteed, and never in its place."""

import math
from collections.abc import Callable

from shuffledp.accounting.printed_network import PrintedBound, largest_local_delta, printed_all, printed_single
from shuffledp.graphs import Graph
from shuffledp.laws import position_distribution
from shuffledp.models import LocalModel
from shuffledp.shufflers import RandomWalkShuffler
from shuffledp.tasks.network_plan import PrintedFormula

__all__ = ["printed_formulas"]

_LARGEST = 20.0  # epsilon0 beyond which the formulas leave the range of floats
_LOCAL_FACTOR = 8  # of epsilon0, in the versions with a local delta
_LARGEST_EXPONENT = 700.0


def printed_formulas(shuffler: RandomWalkShuffler, local: LocalModel, delta: float) -> tuple[PrintedFormula, ...]:
    """Theorems 5.3 and 5.4, or 5.5, of the start whose law is least spread; each with and without a local delta.

    Theorem 5.6 prints the same formula as 5.5.

    Args:
        shuffler: along one graph.
        local: the randomizer.
        delta: in all; its parts are equal.
    """
    graph, epsilon0 = shuffler.graph, local.epsilon0
    if not isinstance(graph, Graph) or epsilon0 > _LARGEST or shuffler.dropout or shuffler.offline:
        return ()
    worst = shuffler.bounds.worst_start
    start = int(graph.degrees.argmin()) if worst is None else worst
    law = position_distribution(graph, start, shuffler.num_rounds, laziness=shuffler.laziness)
    squares, people = float(law @ law), graph.num_users

    def all_of(spread: float | None) -> Callable[[float, float], PrintedBound]:
        return lambda loss, share: printed_all(
            epsilon0=loss, num_users=people, squares=squares, delta=share, delta2=share, spread=spread
        )

    def single(loss: float, share: float) -> PrintedBound:
        return printed_single(epsilon0=loss, num_users=people, squares=squares, delta=share)

    if shuffler.protocol == "all":
        formulas = [(all_of(None), 2), (all_of(float(law.max() / law[law > 0].min())), 2)]
    else:
        formulas = [(single, 1)]
    return tuple(
        found for formula, shares in formulas for found in _both_versions(formula, epsilon0, people, delta, shares)
    )


def _both_versions(
    formula: Callable[[float, float], PrintedBound], epsilon0: float, people: int, delta: float, shares: int
) -> list[PrintedFormula]:
    """Without a local delta, and with one, where what the local delta adds has an equal share of delta."""
    plain = formula(epsilon0, delta / shares)
    found = [
        PrintedFormula(theorem=plain.theorem, epsilon=plain.epsilon, delta=delta, local_delta=0.0, flag=plain.flag)
    ]
    if _LOCAL_FACTOR * epsilon0 <= _LARGEST:
        share = delta / (shares + 1)
        local = formula(_LOCAL_FACTOR * epsilon0, share)
        if local.epsilon < _LARGEST_EXPONENT:
            each = share / (people * (math.exp(local.epsilon) + 1))
            most = largest_local_delta(epsilon0=epsilon0, delta1=each)
            found.append(
                PrintedFormula(
                    theorem=local.theorem, epsilon=local.epsilon, delta=delta, local_delta=most, flag=local.flag
                )
            )
    return found
