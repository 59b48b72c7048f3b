"""Exposure: the chance that a walk meets colluders, on average over who colludes; a risk, and no promise."""

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.core import validate

_ROUND_UP = 1 + 1e-12


def average_exposure(
    *, num_users: int, num_rounds: int, num_colluding: int, leaving: Sequence[float] | None = None
) -> float:
    """Upper bound on the chance that a colluder ever holds a report, on average over who colludes.

    If any m of the other n - 1 people are equally likely to be the colluders, a walk of t rounds, which meets t other
    people at most, avoids them with a probability of at least the product of 1 - m / (n - 1 - i) over i < t. With
    independent chances of leaving its holder it meets as many as rounds in which it leaves. It is an average: for a
    person with a colluding neighbor it is far larger.

    Args:
        num_users: people in the graph, 2 or more.
        num_rounds: 0 or more.
        num_colluding: below ``num_users``.
        leaving: for each round the chance that a report leaves its holder, at most, whatever came before; None is 1.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.integer_at_least(2, num_users=num_users)
    validate.integer_at_least(0, num_rounds=num_rounds, num_colluding=num_colluding)
    if num_colluding >= num_users:
        raise validate.invalid(f"below num_users={num_users}", num_colluding=num_colluding)
    met = min(num_rounds, num_users - 1 - num_colluding)
    if not num_colluding or met < num_rounds:
        return 1.0 if num_colluding else 0.0
    others = num_users - 1 - np.arange(met, dtype=np.float64)
    avoided = np.cumsum(np.log1p(-num_colluding / others))
    if leaving is None:
        return min(-math.expm1(float(avoided[-1]) if met else 0.0) * _ROUND_UP, 1.0)
    times = np.ones(1)  # the chances that it leaves so often
    for chance in leaving:
        times = np.convolve(times, [1 - chance, chance])
    seen = -np.expm1(np.concatenate([[0.0], avoided]))
    return min(float(times @ seen) * _ROUND_UP, 1.0)
