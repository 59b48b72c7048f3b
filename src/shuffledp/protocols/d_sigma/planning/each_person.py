"""Guarantees of each person under a shuffle near an order: central epsilon, and the chance that a report is found.

Groups and places differ along an order, and so do the people: the one who is hidden least says little of the others.
Read off the costs of exchanging two people (docs/theorems.md): nothing here looks at answers.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import gaussian_delta
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler, window_sizes
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import named_with_at_most

_MOST_APART = 12.0  # in units of Gaussian noise: people further apart hide nobody
_STEPS_APART = 240
_STEPS_OF_LOSS = 96
_MOST_LOSS = 24.0
_LEAST_CHANCE, _STEPS_OF_CHANCE = 1e-7, 1600  # steps of one percent
_MOST_ASKED = 512  # people, spread evenly along the order, with Gaussian noise


def named_each(shuffler: SlotShuffler, epsilon0: float) -> Floats:
    """Largest chance with which somebody who knows all answers names the slot of a report, along the order.

    Every other person of the block hides somebody, at the cost of exchanging just the two (Theorem 4.2, refined). For
    Gaussian noise the chance is on average over releases, and that of some hundred people spread along the order.

    Args:
        shuffler: what shuffles.
        epsilon0: local loss of the one pure randomizer of everybody.

    Raises:
        UnsupportedModelError: for Mallows laws of other distances than Kendall's.
    """
    if isinstance(shuffler, NoisySortShuffler) and shuffler.noise == "gaussian":
        return _named_each_gaussian(shuffler, epsilon0)
    return named_with_at_most(shuffler.swap_geometry().crowds(), epsilon0)


def central_each(shuffler: SlotShuffler, uniform: Callable[[int], float], epsilon0: float) -> Floats:
    """Central epsilon of the person at each rank: that of a uniform shuffle of the best window, plus its swap cost.

    Args:
        shuffler: what shuffles.
        uniform: central epsilon of a uniform shuffle of so many people, at one delta.
        epsilon0: local loss, which central loss never exceeds.

    Returns:
        Shape (people,), along the reference order; epsilon0 for everybody where exchanges have no finite cost.
    """
    prepared = shuffler.prepare()
    found = np.full(prepared.order.size, float(epsilon0))
    try:
        geometry = shuffler.swap_geometry()
    except UnsupportedModelError:
        return found
    for size in window_sizes(int(np.diff(prepared.starts).max())):
        if size > 1 and (own := uniform(size)) < epsilon0:
            np.minimum(found, (own + geometry.window_costs(size)) * (1 + 1e-15), out=found)
    return found


def _named_each_gaussian(shuffler: NoisySortShuffler, epsilon0: float) -> Floats:
    """Chances for Gaussian noise: the p at which 1 - p = sum of exp(-2 epsilon0 - a) (p - delta(a)) over the others.

    Exchanging two people at a distance of d is a Gaussian shift of sqrt(2) d, and each a is free; distances are rounded
    up to a grid, and so are chances.
    """
    prepared = shuffler.prepare()
    people = prepared.order.size
    asked = np.unique(np.linspace(0, people - 1, min(people, _MOST_ASKED)).astype(np.int64))
    edges, chances, kept = _gaussian_grid()
    counts = _within(prepared.parameters, prepared.starts, asked, edges)
    hidden = counts @ kept.T * math.exp(-2 * epsilon0)
    impossible = hidden > 1 - chances
    found: Floats = np.where(impossible.any(axis=1), chances[impossible.argmax(axis=1)], 1.0)
    return found


@cache
def _gaussian_grid() -> tuple[Floats, Floats, Floats]:
    """Distances; chances p; and the largest exp(-a) (p - delta(a)) over losses a, shape (chances, distances)."""
    edges = np.linspace(0, _MOST_APART, _STEPS_APART + 1)[1:]
    losses = np.linspace(0, _MOST_LOSS, _STEPS_OF_LOSS)
    remainders = np.array([[gaussian_delta(math.sqrt(2) * edge, loss) for loss in losses] for edge in edges])
    chances = np.append(np.geomspace(_LEAST_CHANCE, 1, _STEPS_OF_CHANCE), 1.0)
    kept = np.array([(np.maximum(chance - remainders, 0.0) * np.exp(-losses)).max(axis=1) for chance in chances])
    return edges, chances, kept


def _within(at: Floats, starts: Integers, asked: Integers, edges: Floats) -> Floats:
    """Number of others of the block in each interval of distances, for the people asked about."""
    found = np.zeros((asked.size, edges.size))
    blocks = np.searchsorted(starts, asked, side="right") - 1
    for row, (rank, block) in enumerate(zip(asked.tolist(), blocks.tolist(), strict=True)):
        here = at[starts[block] : starts[block + 1]]
        up = np.searchsorted(here, at[rank] + edges, side="right")
        down = np.searchsorted(here, at[rank] - edges, side="left")
        inside = up - down - 1
        found[row] = np.diff(inside, prepend=0)
    return found
