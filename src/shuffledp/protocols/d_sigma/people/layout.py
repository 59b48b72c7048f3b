"""Groups along an order: the pieces of ranks of each group, its median, and a local search.

People of one site who follow each other in the order form an *atom*. Sites whose atoms follow each other, upwards or
downwards, make one *piece* of a group, so that an interval of a line costs the same whether it has ten members or a
thousand. No group is sorted: halves are told apart by selecting the middle member.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.caching import compiled
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.public_points import members
from shuffledp.randomness.permutations import invert

Ranks = NDArray[np.int32]  # half the memory, and that much more of it close at hand

_BUCKETS = 256
_AT_A_TIME = 1 << 20  # ranks

# Of the local search.
_STEPS = 600
_SITE_MEMBERSHIPS = 3e8  # looked at in all, at most
_FIRST_STEP, _SHRINK, _LAST_STEP = 0.05, 0.7, 0.5  # of the number of sites; after a stall; in ranks
_MOMENTUM = 0.9
_PATIENCE = 40
_HOT, _COLD = 0.1, 0.005  # how far below the largest sensitivity a group still counts, relative to it
_FAINT = 1e-6


class Layout(NamedTuple):
    """Atoms (people of one site at successive ranks), numbered by site and then by rank; groups as runs of sites."""

    atoms: Integers  # the atoms of site s are atoms[s] to atoms[s + 1]
    start: Ranks  # the first rank of an atom
    stop: Ranks  # the rank after its last
    chained: Ranks  # the last atom that is reached from this one by steps to the next rank, all in one direction
    set_starts: Integers
    runs: NDArray[np.int32]
    sizes: Integers


class Scratch(NamedTuple):
    """Working memory for the pieces of one group, with buckets that are empty between uses."""

    lows: Integers
    highs: Integers
    inside: Integers
    counts: Integers
    sums: Integers


def lay(groups: Groups, order: Integers) -> Layout:
    """Layout of the groups along an order, which is a permutation of the people.

    ``order[k]`` is the person of rank k.
    """
    start = _starts_of_atoms(groups, order)
    stop = np.append(start[1:], order.size)
    site = groups.sites[order[start]]
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


def _starts_of_atoms(groups: Groups, order: Integers) -> Integers:
    """Ranks at which a new atom (people of one site at successive ranks) begins."""
    found, last = [], -1
    for first in range(0, order.size, _AT_A_TIME):
        sites = groups.sites[order[first : first + _AT_A_TIME]]
        found.append(first + np.flatnonzero(np.diff(sites, prepend=last)))
        last = int(sites[-1])
    return np.concatenate(found)


def scratch(layout: Layout) -> Scratch:
    """Working memory for the largest group."""
    room = min(layout.start.size, int(layout.sizes.max()))
    return Scratch(
        *(np.empty(room, dtype=np.int64) for _ in range(3)), *(np.zeros(_BUCKETS, dtype=np.int64) for _ in range(2))
    )


def pieces(layout: Layout, group: int, lows: Integers, highs: Integers) -> int:
    """Write a group's pieces of ranks (``lows[i]`` up to ``highs[i]``), and return their number.

    Pieces come in any order.

    For the compiler; `ranks_by_group` is its plain form.
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
    """Lowest, highest and middle rank of a group of ``size`` in ``count`` pieces, and its footrule value.

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


def ranks_of(layout: Layout, group: int) -> Integers:
    """Ascending ranks of one group."""
    runs = layout.runs[layout.set_starts[group] : layout.set_starts[group + 1]]
    atoms = members(layout.atoms[runs])
    return np.sort(members(np.column_stack([layout.start[atoms], layout.stop[atoms]])))


def ranks_by_group(groups: Groups, order: Integers) -> list[Integers]:
    """Ascending ranks of every group, by plain code instead of the compiled kernels."""
    rank = invert(order)
    return [np.sort(rank[group]) for group in groups]


# ---- local search for an order of sites, by subgradient steps on the exact sensitivity -------------------------------


def improved(groups: Groups, order: Integers) -> Integers:
    """Best order of sites in a local search from ``order``, by exact Kendall sensitivity.

    The sites have scores, at first their places. A step moves them with momentum against the derivative of the groups'
    footrule values, averaged with weights that fall with the distance from the largest; the new order is that of the
    scores. Stalled, it goes back to the best order, with smaller steps. Nothing is drawn at random. It ends early at
    g (g - 1) / 2 for the largest group, which no order can go below.
    """
    size = order.size
    layout = _site_layout(groups, order)
    room = scratch(layout)
    memberships = int(np.diff(groups.sets.runs, axis=1).sum())
    steps = int(min(_STEPS, _SITE_MEMBERSHIPS / memberships))
    largest = int(groups.sizes.max())
    least, best, best_order = largest * (largest - 1) // 2, None, order
    velocity, step, stalled = np.zeros(size), _FIRST_STEP * size, 0
    for number in range(steps):
        _, _, kendall, centre = measured(layout, room)
        value = int(kendall.max())
        if best is None or value < best:
            best, best_order, stalled = value, order, 0
        else:
            stalled += 1
        if best == least or step < _LAST_STEP:
            break
        if stalled > _PATIENCE:
            order, velocity, step, stalled = best_order, np.zeros(size), _SHRINK * step, 0
        else:
            heat = _HOT * (_COLD / _HOT) ** (number / steps)
            velocity = _MOMENTUM * velocity - (1 - _MOMENTUM) * _slope(layout, kendall, centre, heat)
            scores = np.empty(size)
            scores[order] = np.arange(size)
            order = np.argsort(scores + step * velocity, kind="stable")
        layout = _site_layout(groups, order)
    return best_order


def _slope(layout: Layout, kendall: Integers, centre: Integers, heat: float) -> Floats:
    """Gradient of a smoothed largest sensitivity, scaled to a largest entry of size 1."""
    weights = np.exp((kendall / max(int(kendall.max()), 1) - 1.0) / heat)
    weights[weights < _FAINT] = 0.0
    pull = np.zeros(layout.atoms.size - 1)
    _pull_kernel(layout, centre, weights, pull)
    return pull / max(float(np.abs(pull).max()), 1e-300)


def _site_layout(groups: Groups, order: Integers) -> Layout:
    """Layout of an order of the sites, in which each site is a single atom; see `lay`."""
    sizes = groups.site_sizes[order]
    ends = np.cumsum(sizes)
    start, stop = (np.empty(order.size, dtype=np.int32) for _ in range(2))
    start[order], stop[order] = ends - sizes, ends
    numbers = np.arange(order.size + 1)
    alone = numbers[:-1].astype(np.int32)
    return Layout(numbers, start, stop, alone, groups.sets.starts, groups.sets.runs, groups.sizes)


def measured(layout: Layout, room: Scratch) -> Integers:
    """First rank, last rank, Kendall sensitivity and rank between the halves of each group; shape (4, groups)."""
    found = np.empty((4, layout.sizes.size), dtype=np.int64)
    _measure_kernel(layout, room, found)
    return found


def _measure(layout: Layout, room: Scratch, found: Integers) -> None:
    for group in range(layout.sizes.size):
        g = layout.sizes[group]
        count = pieces(layout, group, room.lows, room.highs)
        found[0, group], found[1, group], found[3, group], footrule = middle(room, count, g)
        found[2, group] = footrule - g // 2


def _pull(layout: Layout, centre: Integers, weights: Floats, pull: Floats) -> None:
    """Add to ``pull`` the scaled slope of the groups' weighted footrule with respect to each site's place.

    A site with m members of a group of g, with b others before it, changes the value by
    2 (min(b, g - b) - min(b + m, g - b - m)) per rank: by -2 m in the lower half and by 2 m in the upper one. Here it
    is divided by 2 m, since all its people move together.
    """
    for group in range(weights.size):
        weight, g = weights[group], layout.sizes[group]
        if weight == 0.0:
            continue
        for run in range(layout.set_starts[group], layout.set_starts[group + 1]):
            for site in range(layout.runs[run, 0], layout.runs[run, 1]):
                start, stop = layout.start[site], layout.stop[site]
                if stop <= centre[group]:
                    pull[site] -= weight
                elif start > centre[group]:
                    pull[site] += weight
                else:
                    before = g // 2 - (centre[group] - start)
                    through = before + stop - start
                    change = min(before, g - before) - min(through, g - through)
                    pull[site] += weight * change / (stop - start)


_measure_kernel = compiled(_measure, calls=(pieces, middle))
_pull_kernel = compiled(_pull)
