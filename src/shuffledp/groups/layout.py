"""Groups laid along an order: the pieces of it that each group occupies, and which member is the middle one.

People of one site who follow each other in the order form an *atom*. Sites whose atoms follow each other, upwards or
downwards, make one *piece* of a group, so that an interval of a line costs the same whether it has ten members or a
thousand. No group is sorted: halves are told apart by selecting the middle member.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.groups.assignment import Groups
from shuffledp.permutations import invert

__all__ = ["Layout", "Scratch", "lay", "middle", "pieces", "ranks_by_group", "scratch"]

Integers = NDArray[np.int64]
Ranks = NDArray[np.int32]  # half the memory, and that much more of it close at hand

_BUCKETS = 256


class Layout(NamedTuple):
    """Atoms, numbered by site and then by rank, and the groups as runs of sites."""

    atoms: Integers  # the atoms of site s are atoms[s] to atoms[s + 1]
    start: Ranks  # the first rank of an atom
    stop: Ranks  # the rank after its last
    chained: Ranks  # the last atom that is reached from this one by steps to the next rank, all in one direction
    set_starts: Integers
    runs: NDArray[np.int32]
    sizes: Integers


class Scratch(NamedTuple):
    """Room for the pieces of one group, and buckets that are empty whenever nobody works with them."""

    lows: Integers
    highs: Integers
    inside: Integers
    counts: Integers
    sums: Integers


def lay(groups: Groups, order: Integers) -> Layout:
    """The groups along an order (a permutation of the people), which is given from rank 0 on."""
    by_rank = groups.sites[order]
    start = np.flatnonzero(np.append(True, by_rank[1:] != by_rank[:-1]))
    stop = np.append(start[1:], order.size)
    site = by_rank[start]
    at = np.argsort(site, kind="stable")
    steps = np.append(np.diff(at), 0)
    steps[np.abs(steps) != 1] = 0
    turns = np.append(np.flatnonzero(np.diff(steps)) + 1, at.size)
    numbers = np.arange(at.size)
    return Layout(
        atoms=np.searchsorted(site[at], np.arange(groups.site_sizes.size + 1)).astype(np.int64),
        start=start[at].astype(np.int32),
        stop=stop[at].astype(np.int32),
        chained=np.where(steps == 0, numbers, turns[np.searchsorted(turns, numbers, side="right")]).astype(np.int32),
        set_starts=groups.sets.starts,
        runs=groups.sets.runs,
        sizes=groups.sizes,
    )


def scratch(layout: Layout) -> Scratch:
    """Room for the largest group."""
    room = min(layout.start.size, int(layout.sizes.max()))
    return Scratch(
        *(np.empty(room, dtype=np.int64) for _ in range(3)), *(np.zeros(_BUCKETS, dtype=np.int64) for _ in range(2))
    )


def pieces(layout: Layout, group: int, lows: Integers, highs: Integers) -> int:
    """Write a group's pieces in no special order: piece i is the ranks ``lows[i]`` up to ``highs[i]``.

    For the compiler; `ranks_by_group` is the same in plain words.

    Returns:
        How many there are.
    """
    count = 0
    for run in range(layout.set_starts[group], layout.set_starts[group + 1]):
        atom, after = layout.atoms[layout.runs[run, 0]], layout.atoms[layout.runs[run, 1]]
        while atom < after:
            low, high = layout.start[atom], layout.stop[atom]
            if layout.chained[atom] > atom:  # rare along most orders: the next atom is not waited for
                atom = min(layout.chained[atom], after - 1)
                low, high = min(low, layout.start[atom]), max(high, layout.stop[atom])
            lows[count], highs[count] = low, high
            count += 1
            atom += 1
    return count


def middle(room: Scratch, count: int, size: int) -> tuple[int, int, int, int]:
    """Of ``size`` members in ``count`` pieces: the lowest rank, the highest, the middle one and the footrule's value.

    The middle one is the rank r_{h+1} of the ascending ranks, with h = floor(size / 2): the h members below it are the
    lower half. The value is 2 sum over i <= h of (r_{size+1-i} - r_i). Pieces are counted and summed in buckets of
    equal width; only the bucket that holds the middle is sorted. For the compiler.
    """
    lows, highs, inside, counts, sums = room
    lowest, highest = lows[0], highs[0]
    for i in range(1, count):
        lowest, highest = min(lowest, lows[i]), max(highest, highs[i])
    shift, buckets = 0, min(counts.size, 2 * count)
    while (highest - lowest) >> shift >= buckets:
        shift += 1
    for i in range(count):
        low, high = lows[i] - lowest, highs[i] - lowest
        counts[low >> shift] += high - low
        sums[low >> shift] += ((high - low) * (low + high - 1)) >> 1
    half, below, lower, total, bucket = size // 2, 0, 0, 0, -1
    passed = 0
    for place in range(((highest - lowest) >> shift) + 1):
        if bucket < 0 and passed + counts[place] > half:
            bucket, below, lower = place, passed, total
        passed += counts[place]
        total += sums[place]
        counts[place] = sums[place] = 0
    held = 0
    for i in range(count):
        if (lows[i] - lowest) >> shift == bucket:
            inside[held] = ((lows[i] - lowest) << 31) + (highs[i] - lows[i])
            held += 1
    inside[:held].sort()
    place = 0
    while below + (inside[place] & 0x7FFFFFFF) <= half:
        low, length = inside[place] >> 31, inside[place] & 0x7FFFFFFF
        lower += length * (2 * low + length - 1) // 2
        below += length
        place += 1
    low, length = inside[place] >> 31, half - below
    lower += length * (2 * low + length - 1) // 2
    centre = low + length
    value = 2 * (total - 2 * lower - (centre if size % 2 else 0))
    return lowest, highest - 1, lowest + centre, value


def ranks_by_group(groups: Groups, order: Integers) -> list[Integers]:
    """The ascending ranks of every group: what the compiled kernels work on, without any of their devices."""
    rank = invert(order)
    return [np.sort(rank[group]) for group in groups]
