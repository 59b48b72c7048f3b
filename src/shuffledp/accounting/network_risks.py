"""What remains where a hypothesis about random walks fails: numbers for a person to weigh, never in a statement.

A colluding neighbor knows whose report it receives in the first round, so that no epsilon below epsilon0 holds with a
small delta. What can be told is how likely it is that a report passes through a colluder's hands at all.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._validate import invalid
from shuffledp.accounting.theorems.local import LocalOnly
from shuffledp.accounting.theorems.network import NetworkSingle
from shuffledp.errors import InvalidParameterError
from shuffledp.models import ProtocolModel

__all__ = ["average_exposure", "first_hop_delta", "unseen_chances", "visible_empties_delta"]

_ROUND_UP = 1 + 1e-12


def first_hop_delta(*, share: float, epsilon0: float, epsilon: float) -> float:
    """The delta that a person has at least of whose neighbors this share colludes: share (E - e)_+ / (1 + E).

    For binary randomized response with loss epsilon0, and the worst of all randomizers with it.

    Args:
        share: of the neighbors, from 0 to 1.
        epsilon0: local loss in nats, 0 or more.
        epsilon: in nats, 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    _validate.probability(share=share)
    _validate.nonnegative(epsilon0=epsilon0, epsilon=epsilon)
    return share * max(-math.expm1(epsilon - epsilon0), 0.0) / (1 + math.exp(-epsilon0))


def average_exposure(*, num_users: int, num_rounds: int, num_colluding: int) -> float:
    """The chance that a report is ever held by a colluder, at most, on average over who colludes.

    If any m of the other n - 1 people are equally likely to be the colluders, a walk of t rounds, which meets t other
    people at most, avoids them with a probability of at least the product of 1 - m / (n - 1 - i) over i < t. It is an
    average: for a person with a colluding neighbor it is far larger.

    Args:
        num_users: people in the graph, 2 or more.
        num_rounds: 0 or more.
        num_colluding: below ``num_users``.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    _validate.integer_at_least(2, num_users=num_users)
    _validate.integer_at_least(0, num_rounds=num_rounds, num_colluding=num_colluding)
    if num_colluding >= num_users:
        raise invalid(f"below num_users={num_users}", num_colluding=num_colluding)
    met = min(num_rounds, num_users - 1 - num_colluding)
    if num_colluding and met < num_rounds:
        return 1.0
    others = num_users - 1 - np.arange(met, dtype=np.float64)
    return min(-math.expm1(float(np.log1p(-num_colluding / others).sum())) * _ROUND_UP, 1.0)


def unseen_chances(transition: Any, colluders: ArrayLike, *, num_rounds: int) -> NDArray[np.float64]:
    """For each person the chance that the report, after so many rounds, has never been with a colluder.

    Args:
        transition: a matrix of rows that sum to 1, dense or sparse; shape (people, people).
        colluders: who they are; their own chance is 0.
        num_rounds: 0 or more.

    Returns:
        Shape (people,).

    Raises:
        InvalidParameterError: if a colluder is nobody, or ``num_rounds`` is negative.
    """
    _validate.integer_at_least(0, num_rounds=num_rounds)
    people = np.asarray(colluders, dtype=np.int64)
    size = transition.shape[0]
    if people.size and not 0 <= people.min() <= people.max() < size:
        raise InvalidParameterError(
            f"colluders must be from 0 to {size - 1}; got colluders from {people.min()} to {people.max()}."
        )
    unseen = np.ones(size)
    unseen[people] = 0.0
    for _ in range(num_rounds):
        unseen = np.asarray(transition @ unseen)
        unseen[people] = 0.0
    return unseen


def visible_empties_delta(model: ProtocolModel, *, epsilon: float, empty: float) -> float:
    """Delta of one report each, from above, if it is seen who holds nothing, because they hand in nothing.

    With nu the chance that the victim's report ends where nobody else's is, and f the bound with fresh dummies
    (`shuffledp.accounting.theorems.network`), delta <= nu (delta_local + e - 1) + f: the victim is alone, or takes the
    place of a report of one of those who hold some. Leaving the others' places, whose G have a mean of at least
    -(e - 1) each, out of the sum adds at most (e - 1) nu. As nu is some 1/e on a regular graph, this promises nothing
    with a small delta: dummies are needed.

    Args:
        model: reports through random walks of protocol "single".
        epsilon: in nats, 0 or more.
        empty: nu, from above: the sum of P_i times the product of 1 - P_k(i) over all others k.

    Raises:
        InvalidParameterError: if an argument is out of range.
        HypothesisError: if another hypothesis of ``network-single`` fails.
    """
    _validate.nonnegative(epsilon=epsilon)
    _validate.probability(empty=empty)
    NetworkSingle().require(model, delta=0.5)
    local = LocalOnly().delta(model, epsilon=epsilon)
    alone = empty * (local + math.expm1(min(epsilon, 700.0)))
    return min(local, (alone + NetworkSingle().delta(model, epsilon=epsilon)) * _ROUND_UP)
