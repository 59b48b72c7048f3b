"""Swap bound at many epsilons at once: a privacy profile, for the composition of releases.

Each point is certified with choices of its own, near those of its neighbor. With points of the strong pair, and with
the mirror images of all of them, their convex envelope is a profile (`shuffledp.accounting.swapping.envelopes`). Of
many releases the strong pair may still lose less: whoever composes works out both totals.
"""

import math

import numpy as np

from shuffledp.accounting.evaluators.clone_counts import ClonePair
from shuffledp.accounting.swapping.certified_losses import private_bound
from shuffledp.accounting.swapping.envelopes import Envelope, envelope
from shuffledp.accounting.swapping.private_bounds import information, start_choices
from shuffledp.accounting.swapping.searches import Choices, improved, usable
from shuffledp.accounting.theorems.swap_bounds import SwapBound
from shuffledp.core.caching import remembered
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats

_ANY_DELTA = 0.5
_POINTS, _FARTHEST = 24, 7.2  # of the swap bound, and the last one in units of mu of the limit
_EFFORT = 18  # evaluations at each
_PAIR_POINTS, _PAIR_FARTHEST = 160, 14.0
_LEAST = 1e-13  # of delta: the search finds nothing of use below
_MOST_REMEMBERED = 16


class SwapProfile(SwapBound):
    """Swap bound as a curve of delta, joined with the curve of the strong pair.

    Where the swap bound says nothing, the strong pair does.
    """

    is_vectorized = True
    is_costly = False

    def evaluator(self, model: ProtocolModel) -> Envelope:
        """Convex envelope of points of the swap bound and of the strong pair."""
        return _envelope(model.local.epsilon0, model.num_users)


def swap_profile(model: ProtocolModel) -> SwapProfile | None:
    """Swap-bound curve for a protocol that the swap bound applies to; None for other protocols."""
    profile = SwapProfile()
    return profile if profile.applies(model, delta=_ANY_DELTA) else None


@remembered(_MOST_REMEMBERED)
def _envelope(epsilon0: float, users: int) -> Envelope:
    others = users - 1
    mu = math.sqrt(information(epsilon0) / others)
    points = _points(epsilon0, others, np.linspace(0, min(_FARTHEST * mu, 0.95 * epsilon0), _POINTS))
    last = min(_PAIR_FARTHEST * mu, epsilon0)
    of_pair = np.append(np.linspace(0, last, _PAIR_POINTS), np.geomspace(last, epsilon0, _PAIR_POINTS // 4)[1:-1])
    of_pair = np.unique(of_pair[of_pair < epsilon0])
    deltas = ClonePair(epsilon0=epsilon0, chance=2 / (math.exp(epsilon0) + 1), users=users).curve(of_pair)
    return envelope(epsilon0, np.append(points[0], of_pair), np.append(points[1], deltas))


def _points(epsilon0: float, others: int, epsilons: Floats) -> tuple[Floats, Floats]:
    """Epsilons and certified deltas of the swap bound, up to where deltas are too small to use."""
    bound = private_bound(epsilon0, others)
    found: list[tuple[float, float]] = []
    last: tuple[Choices, Choices] | None = None
    for epsilon in epsilons.tolist():
        first = start_choices(epsilon0=epsilon0, others=others, epsilon=epsilon)
        choices = usable(bound, epsilon, first if last is None else _moved(*last, first))
        if choices is None:
            continue
        choices, _ = improved(bound, epsilon, choices, others, _EFFORT)
        last = choices, first
        delta = bound(epsilon, choices)
        if delta is not None:
            found.append((epsilon, delta))
            if delta < _LEAST:
                break
    return np.array([epsilon for epsilon, _ in found]), np.array([delta for _, delta in found])


def _moved(choices: Choices, before: Choices, first: Choices) -> Choices:
    """Choices with rate and smoothing scaled by the ratio of the rates of ``first`` and ``before``."""
    factor = first.rate / before.rate
    return Choices(rate=choices.rate * factor, donors=choices.donors, smoothing=choices.smoothing * factor)
