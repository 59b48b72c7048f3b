"""Walks on a typical random regular graph: estimated likeness of positions, without a bound.

Around nearly everybody such a graph is a tree for as far as walks spread that have not mixed. So what a law has more
than the uniform one is about the chance p_t to be back at the root of the infinite tree after t rounds,

    n P_v(v) - 1 = about n p_t as a rule, and half as much again for whoever has short cycles nearby;
    1 - n P_j(i) = about twice the root of the mean square, n p_2t, at the place i that is least likely.

The factors are those of graphs of 300 to 10,000 people with 3 to 16 neighbors each. After more rounds than
`walk_likeness` sweeps it is what would be known of such a graph from its mean squares and its gap.
"""

import math
from functools import lru_cache

import numpy as np

from shuffledp.core.table import Floats
from shuffledp.protocols.network.laws.walk_likeness import FEWEST_SWEPT, MOST_STEPS, Likeness, nothing_alike

_WORST = (1.45, 1.8)  # factors of the worst person's excess over the usual one, after even and odd numbers of rounds
_SPREAD = 2.0  # standard deviations of a law that its least value is below its mean


def usual_likeness(num_users: int, degree: int, num_rounds: int) -> Likeness:
    """Estimate of `shuffledp.protocols.network.laws.walk_likeness.likeness` on a random regular graph without laziness.

    Args:
        num_users: people, many more than ``degree``.
        degree: neighbors of everybody, 3 or more.
        num_rounds: 0 or more.
    """
    feasible = MOST_STEPS // (num_users * num_users * (degree + 1))
    walked = num_rounds if num_rounds <= feasible else feasible if feasible >= FEWEST_SWEPT else 0
    most, least = _extremes(num_users, degree, walked) if walked else (math.inf, 0.0)
    for halves in {0, walked} if walked < num_rounds else ():
        here, there = _from_squares(num_users, degree, num_rounds, halves)
        most, least = min(most, 1 + here), max(least, 1 - there)
    if least <= 0:
        return nothing_alike(num_users)
    return Likeness(
        mean_overlap=least / most,
        near_uniformity=2 * math.log(most / least),
        separation=1 - least,
        largest=most,
        deviations=np.full(1, most - 1),
        worst_start=None,
        exact=False,
    )


def decay(degree: int) -> float:
    """Typical factor per round by which position laws approach uniform: the second eigenvalue (Friedman 2008)."""
    return 2 * math.sqrt(degree - 1) / degree


def _extremes(people: int, degree: int, num_rounds: int) -> tuple[float, float]:
    """Largest ratio of the worst position law to the uniform law, and smallest ratio of a typical law.

    After an odd number of rounds the neighbors are likeliest, as likely as to be back a round later.
    """
    back = _returns(degree, 2 * num_rounds + 2)
    odd = num_rounds % 2
    return 1 + _WORST[odd] * people * back[num_rounds + odd], 1 - _SPREAD * math.sqrt(people * back[2 * num_rounds])


def _from_squares(people: int, degree: int, num_rounds: int, swept: int) -> tuple[float, float]:
    """Estimates of the worst law's excess over uniform, and of a typical law's deficit below uniform.

    From mean squares of each half of a walk.
    """
    first = min(num_rounds // 2, swept)
    second = min(num_rounds - first, swept)
    back = _returns(degree, 2 * second + 2)
    usual = people * math.sqrt(back[2 * first] * back[2 * second]) * decay(degree) ** (num_rounds - first - second)
    return (_WORST[0] * usual, math.sqrt(_WORST[0]) * usual) if swept else (usual, usual)


@lru_cache(maxsize=8)
def _returns(degree: int, num_rounds: int) -> Floats:
    """Chance of return to the root of the infinite regular tree, by number of rounds."""
    depths = np.zeros(num_rounds + 2)
    depths[0] = 1.0
    back = [1.0]
    for _ in range(num_rounds):
        nearer, farther = depths[1:] / degree, depths[1:-1] * (degree - 1) / degree
        root, depths = depths[0], np.zeros(num_rounds + 2)
        depths[:-1] += nearer
        depths[2:] += farther
        depths[1] += root
        back.append(float(depths[0]))
    return np.array(back)
