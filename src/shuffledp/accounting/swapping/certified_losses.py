"""Evaluators of the swap bound: epsilon for a delta, and delta for an epsilon, by cached searches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon
from shuffledp.accounting.swapping.channel_bounds import SwapChannel
from shuffledp.accounting.swapping.private_bounds import information, private_delta, start_choices
from shuffledp.accounting.swapping.searches import Choices, DeltaBound, least_delta, least_epsilon
from shuffledp.core.caching import remembered
from shuffledp.core.channels import Channel

_MOST_REMEMBERED = 256
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedLosses:
    """Evaluator of a swap bound by searches for the least epsilon or delta.

    Delta is 0 from epsilon0 (``limit``) on.
    """

    searched_epsilon: Callable[[float], float | None]
    searched_delta: Callable[[float], float]
    limit: float

    def epsilon(self, delta: float) -> float:
        """Least epsilon that the search finds; ``limit`` if the search fails."""
        found = self.searched_epsilon(delta)
        return self.limit if found is None else found

    def delta(self, epsilon: float) -> float:
        """Least delta that the search finds."""
        return 0.0 if epsilon >= self.limit else min(self.searched_delta(epsilon) + SMALLEST, 1.0)


@remembered(_MOST_REMEMBERED)
def channel_epsilon(rows: Rows, users: int, delta: float) -> float | None:
    """Largest epsilon over all ordered pairs of inputs of a channel; None if the search fails for one pair."""
    limit = Channel(np.array(rows)).epsilon()
    return SwapChannel(matrix=np.array(rows), others=users - 1).epsilon(delta, limit=limit)


@remembered(_MOST_REMEMBERED)
def channel_delta(rows: Rows, users: int, epsilon: float) -> float:
    """Largest delta over all ordered pairs of inputs of a channel, at an epsilon."""
    return SwapChannel(matrix=np.array(rows), others=users - 1).delta(epsilon)


@remembered(_MOST_REMEMBERED)
def private_epsilon(epsilon0: float, users: int, delta: float) -> float | None:
    """Central epsilon proved for every randomizer of loss ``epsilon0``; None if the search fails.

    It is proved at this delta, among this number of ``users``.
    """
    others = users - 1
    guess = 1.02 * gaussian_epsilon(math.sqrt(information(epsilon0) / others), delta)
    found = least_epsilon(
        private_bound(epsilon0, others),
        partial(_start, epsilon0, others),
        others=others,
        delta=delta,
        guess=guess,
        limit=epsilon0,
    )
    return None if found is None else found.epsilon


@remembered(_MOST_REMEMBERED)
def private_delta_at(epsilon0: float, users: int, epsilon: float) -> float:
    """Central delta proved for every randomizer of loss ``epsilon0``; 1 if the search fails.

    It is proved at this epsilon, among this number of ``users``.
    """
    others = users - 1
    found = least_delta(private_bound(epsilon0, others), epsilon, _start(epsilon0, others, epsilon), others=others)
    return 1.0 if found is None else found.delta


def private_bound(epsilon0: float, others: int) -> DeltaBound:
    """Swap bound for every randomizer of loss ``epsilon0``, with this number of other people."""

    def bound(epsilon: float, choices: Choices, *, roughly: bool = False) -> float | None:
        return private_delta(epsilon0=epsilon0, others=others, epsilon=epsilon, choices=choices, roughly=roughly)

    return bound


def _start(epsilon0: float, others: int, epsilon: float) -> Choices:
    return start_choices(epsilon0=epsilon0, others=others, epsilon=epsilon)
