"""Guarantees of each person under a shuffle near an order: central epsilon, and the chance that a report is found.

Groups and places differ along an order, and so do the people: the one who is hidden least says little of the others.
Read off the costs of exchanging two people (docs/theorems.md): nothing here looks at answers.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import gaussian_delta
from shuffledp.protocols.d_sigma.laws.common_answers import common_answer_epsilon
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler, window_sizes
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import SwapGeometry, named_with_at_most

_MOST_APART = 12.0  # in units of Gaussian noise: people further apart hide nobody
_STEPS_APART = 240
_STEPS_OF_LOSS = 96
_MOST_LOSS = 24.0
_LEAST_CHANCE, _STEPS_OF_CHANCE = 1e-7, 1600  # steps of one percent
_MANY, _COARSER = 20_000, 8  # with more people the grid of distances of Gaussian noise is so much coarser
_AT_ONCE = 20_000  # people
_MOST_COMMON = 1024  # people of a window in which a common answer hides
_WHOLE_BLOCKS = 8  # sizes of blocks, the smallest ones, that are such a window as a whole
_STEP_OF_COST, _MOST_COST = 0.05, 30.0  # of a household's windows


def naming_chances_by_rank(shuffler: SlotShuffler, epsilon0: float) -> Floats:
    """Largest chance of naming the slot of each person's report, for an attacker who knows all answers.

    Shape (people,), along the reference order.

    Every other person of the block hides somebody, at the cost of exchanging just the two (Theorem 4.2, refined). For
    Gaussian noise the chance is on average over releases.

    Args:
        shuffler: what shuffles.
        epsilon0: local loss of the one pure randomizer of everybody.

    Raises:
        UnsupportedModelError: for Mallows laws of other distances than Kendall's.
    """
    if isinstance(shuffler, NoisySortShuffler) and shuffler.noise == "gaussian":
        return _named_each_gaussian(shuffler, epsilon0)
    return named_with_at_most(shuffler.swap_geometry().crowds(), epsilon0)


def central_epsilons_by_rank(shuffler: SlotShuffler, uniform: Callable[[int], float], epsilon0: float) -> Floats:
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
    geometry = _finite_geometry(shuffler)
    if geometry is None:
        return found
    for size in window_sizes(int(np.diff(prepared.starts).max())):
        if size > 1 and (own := uniform(size)) < epsilon0:
            np.minimum(found, (own + geometry.window_costs(size)) * (1 + 1e-15), out=found)
    sizes = np.diff(prepared.starts)  # a whole block is a window too, whose size is seldom among those above
    alike = np.array([uniform(size) if size > 1 else math.inf for size in sizes.tolist()])
    whole = (alike + geometry.block_costs()) * (1 + 1e-15)
    np.minimum(found, np.repeat(whole, sizes), out=found)
    return found


def _named_each_gaussian(shuffler: NoisySortShuffler, epsilon0: float) -> Floats:
    """Largest chance of naming each person's slot under Gaussian noise, rounded up, along the order.

    It is the p at which 1 - p = sum of exp(-2 epsilon0 - a) (p - delta(a)) over the other people.

    Exchanging two people at a distance of d is a Gaussian shift of sqrt(2) d, and each a is free; distances are rounded
    up to a grid, and so are chances. The right side rises with p, so that the first p at which it is too much is found
    by halving.
    """
    prepared = shuffler.prepare()
    edges, chances, kept = _gaussian_grid()
    if prepared.order.size > _MANY:
        edges, kept = edges[_COARSER - 1 :: _COARSER], kept[:, _COARSER - 1 :: _COARSER]
    counts = _within(_apart(prepared.parameters, prepared.starts), edges)
    low = np.zeros(prepared.order.size, dtype=np.int64)
    high = np.full(low.size, chances.size)
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        hidden = _summed(counts, kept, open_, middle) * math.exp(-2 * epsilon0)
        impossible = hidden > 1 - chances[middle]
        high[open_[impossible]] = middle[impossible]
        low[open_[~impossible]] = middle[~impossible] + 1
    return np.asarray(np.append(chances, 1.0)[high])


def _summed(counts: NDArray[np.int32], kept: Floats, people: Integers, chance: Integers) -> Floats:
    """Sum over distances, by person: others at the distance, times ``kept`` there at the person's chance."""
    parts = np.array_split(np.arange(people.size), max(1, people.size // _AT_ONCE))
    return np.concatenate([np.einsum("ij,ij->i", counts[people[part]], kept[chance[part]]) for part in parts])


@cache
def _gaussian_grid() -> tuple[Floats, Floats, Floats]:
    """Grid of distances, grid of chances p, and the largest exp(-a) (p - delta(a)) over losses a for each pair.

    The last has shape (chances, distances).
    """
    edges = np.linspace(0, _MOST_APART, _STEPS_APART + 1)[1:]
    losses = np.linspace(0, _MOST_LOSS, _STEPS_OF_LOSS)
    remainders = np.array([[gaussian_delta(math.sqrt(2) * edge, loss) for loss in losses] for edge in edges])
    chances = np.append(np.geomspace(_LEAST_CHANCE, 1, _STEPS_OF_CHANCE), 1.0)
    kept = np.array([(np.maximum(chance - remainders, 0.0) * np.exp(-losses)).max(axis=1) for chance in chances])
    return edges, chances, kept


def _apart(at: Floats, starts: Integers) -> Floats:
    """Positions of all blocks on one line, so far apart that nobody is within reach of another block."""
    first, last = at[starts[:-1]], at[starts[1:] - 1]
    ends = np.cumsum(last - first + 3 * _MOST_APART)
    return np.asarray(at + np.repeat(np.append(0.0, ends[:-1]) - first, np.diff(starts)))


def _within(at: Floats, edges: Floats) -> NDArray[np.int32]:
    """Number of other people in each interval of distances, shape (people, intervals); rounding adds nobody."""
    slack = 8 * np.finfo(float).eps * max(float(at[-1]), 1.0)
    found = np.empty((at.size, edges.size), dtype=np.int32)
    before = np.ones(at.size, dtype=np.int64)  # everybody is near herself
    for column, edge in enumerate(edges.tolist()):
        up, down = np.searchsorted(at, at + (edge - slack), "right"), np.searchsorted(at, at - (edge - slack), "left")
        found[:, column] = np.maximum(up - down - before, 0)
        before = np.maximum(up - down, before)
    return found


def _finite_geometry(shuffler: SlotShuffler) -> SwapGeometry | None:
    """Swap costs of a shuffler near an order; None if they are not finite, as with Gaussian noise."""
    try:
        return shuffler.swap_geometry()
    except UnsupportedModelError:
        return None


def household_chances_by_rank(shuffler: SlotShuffler, targets: int, epsilon0: float) -> Floats | None:
    """Largest chance of finding over half the slots of k neighbors, for each rank; None if no swap cost is finite.

    It is the bound of `household_chances` for neighbors, quick enough for a search over many shuffles: costs are
    rounded up, and no group's own loss is looked at, so it may be larger.

    The k people stand together in the order, and hide among the people of the best window around them: exchanging two
    people of a window costs 2 epsilon0 and the window's swap cost, and so the number of slots found is at most
    hypergeometric with that tilt (docs/theorems.md). Costs are rounded up to a grid.

    Args:
        shuffler: what shuffles.
        targets: k, 1 or more; the attacker names k slots.
        epsilon0: local loss of the one pure randomizer of everybody.

    Returns:
        Shape (people,), along the reference order; None where exchanges have no finite cost, as with Gaussian noise.
    """
    prepared = shuffler.prepare()
    geometry = _finite_geometry(shuffler)
    if geometry is None:
        return None
    wanted = targets // 2 + 1
    found = np.ones(prepared.order.size)  # of the k people from each rank on
    for size in window_sizes(int(np.diff(prepared.starts).max())):
        if size < max(2, targets):
            continue
        steps = np.ceil(geometry.window_costs(size, targets) / _STEP_OF_COST)
        for step in np.unique(steps[steps <= _MOST_COST / _STEP_OF_COST]).tolist():
            tail = naming_tail(size, targets, wanted, 2 * epsilon0 + step * _STEP_OF_COST)
            here = steps == step
            found[here] = np.minimum(found[here], tail)
    sizes, blocks = np.diff(prepared.starts), np.ceil(geometry.block_costs() / _STEP_OF_COST)
    usable = (sizes >= max(2, targets)) & (blocks <= _MOST_COST / _STEP_OF_COST)
    whole = np.ones(sizes.size)
    pairs, place = np.unique(np.stack([sizes, blocks])[:, usable], axis=1, return_inverse=True)
    tails = [naming_tail(int(size), targets, wanted, 2 * epsilon0 + step * _STEP_OF_COST) for size, step in pairs.T]
    whole[usable] = np.array(tails)[place.ravel()] if tails else 1.0
    return _from_rank_on(np.minimum(found, np.repeat(whole, sizes)), prepared.starts, targets)


def common_epsilons_by_rank(shuffler: SlotShuffler, targets: int, epsilon0: float, delta: float) -> Floats | None:
    """Central epsilon of one yes or no that k people at one place have in common, for each rank.

    At most k epsilon0.

    All k change their answer together, and hide among the people of the best window that holds them: a uniform shuffle
    of the window, for k people at once, and k exchanges (docs/theorems.md). Windows double in size up to a thousand,
    and the smallest blocks are windows as a whole.

    Args:
        shuffler: what shuffles.
        targets: k, 1 or more.
        epsilon0: local loss of randomized response to two answers.
        delta: the remainder.

    Returns:
        Shape (people,), along the reference order; None where exchanges have no finite cost, as with Gaussian noise.
    """
    prepared = shuffler.prepare()
    geometry = _finite_geometry(shuffler)
    if geometry is None:
        return None
    found = np.full(prepared.order.size, targets * float(epsilon0))
    blocks = np.unique(np.diff(prepared.starts))
    size, sizes = 2 * targets, set(blocks[blocks >= targets][:_WHOLE_BLOCKS].tolist())
    while size <= blocks[-1]:
        sizes.add(size)
        size *= 2
    for size in sorted(size for size in sizes if size <= _MOST_COMMON):
        own = common_answer_epsilon(size, targets, epsilon0, delta)
        np.minimum(found, own + targets * geometry.window_costs(size, targets), out=found)
    return _from_rank_on(found, prepared.starts, targets)


def _from_rank_on(found: Floats, starts: Integers, targets: int) -> Floats:
    """Values of ``found`` for the k people from each rank on.

    Near a block's end, for the block's last k people.
    """
    last = np.repeat(starts[1:], np.diff(starts)) - targets
    first = np.repeat(starts[:-1], np.diff(starts))
    return np.asarray(found[np.maximum(np.minimum(np.arange(found.size), last), first)])
