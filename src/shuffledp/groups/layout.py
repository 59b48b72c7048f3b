"""Groups laid along an order: the intervals of ranks that each group occupies, from the first rank to the last.

People of one site who follow each other in the order form an *atom*. The atoms of a group are marked in a bitmap by their
place along the order and read back ascending, so that nothing is sorted; a run of sites that follow each other in the
order too counts as one atom, so that an interval of a line costs the same whether it has ten members or a thousand.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.groups.assignment import Groups
from shuffledp.permutations import invert

__all__ = ["Layout", "intervals", "lay", "ranks_by_group", "scratch"]

Integers = NDArray[np.int64]

_ONE, _SHIFT, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)
_DE_BRUIJN, _TOP = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_BIT = np.zeros(64, dtype=np.int64)  # number of the only bit in a word, by the top bits of a product (de Bruijn)
for _number in range(64):
    _BIT[((1 << _number) * int(_DE_BRUIJN) % 2**64) >> 58] = _number


class Layout(NamedTuple):
    """Atoms, numbered by site and then by rank, and the groups as runs of sites."""

    atoms: Integers  # the atoms of site s are atoms[s] to atoms[s + 1]
    place: Integers  # of an atom along the order
    chained: Integers  # the last atom that is reached from this one when numbers and ranks both go on by one
    stop: Integers  # the rank after an atom's last
    start: Integers  # the first rank of the atom at each place along the order
    set_starts: Integers
    runs: NDArray[np.int32]
    sizes: Integers


def lay(groups: Groups, order: Integers) -> Layout:
    """The groups along an order (a permutation of the people), which is given from rank 0 on."""
    by_rank = groups.sites[order]
    start = np.flatnonzero(np.append(True, by_rank[1:] != by_rank[:-1]))  # of the atom at each place
    stop = np.append(start[1:], order.size)
    site = by_rank[start]
    at = np.argsort(site, kind="stable")  # the place of each atom
    follows = np.append(at[1:] == at[:-1] + 1, False)
    ends = np.flatnonzero(~follows)
    return Layout(
        atoms=np.searchsorted(site[at], np.arange(groups.site_sizes.size + 1)).astype(np.int64),
        place=at.astype(np.int64),
        chained=ends[np.searchsorted(ends, np.arange(at.size))].astype(np.int64),
        stop=stop[at].astype(np.int64),
        start=start.astype(np.int64),
        set_starts=groups.sets.starts,
        runs=groups.sets.runs,
        sizes=groups.sizes,
    )


def scratch(layout: Layout) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Integers, Integers]:
    """Empty bitmaps on two levels, and room for the intervals of one group."""
    words = layout.place.size // 64 + 1
    room = layout.place.size
    return (
        np.zeros(words, dtype=np.uint64),
        np.zeros(words // 64 + 1, dtype=np.uint64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
    )


def intervals(
    layout: Layout,
    group: int,
    bits: NDArray[np.uint64],
    tops: NDArray[np.uint64],
    ends: Integers,
    places: Integers,
) -> int:
    """Write a group's intervals, ascending: interval i is the ranks ``start[places[i]]`` up to ``ends[places[i]]``.

    For the compiler; `ranks_by_group` is the same in plain words. The bitmaps are empty before and after.

    Returns:
        How many there are.
    """
    for run in range(layout.set_starts[group], layout.set_starts[group + 1]):
        atom, after = layout.atoms[layout.runs[run, 0]], layout.atoms[layout.runs[run, 1]]
        while atom < after:
            last = min(layout.chained[atom], after - 1)
            place = layout.place[atom]
            ends[place] = layout.stop[last]
            word = place >> 6
            bits[word] |= _ONE << np.uint64(place & 63)
            tops[word >> 6] |= _ONE << np.uint64(word & 63)
            atom = last + 1
    count = 0
    for top in range(tops.size):
        marked = tops[top]
        if marked == 0:
            continue
        tops[top] = 0
        while marked != 0:
            lowest = marked & (~marked + _ONE)
            marked ^= lowest
            word = (top << 6) + _BIT[(lowest * _DE_BRUIJN) >> _TOP]
            held = bits[word]
            bits[word] = 0
            while held != 0:
                lowest = held & (~held + _ONE)
                held ^= lowest
                places[count] = (word << 6) + _BIT[(lowest * _DE_BRUIJN) >> _TOP]
                count += 1
    return count


def ranks_by_group(groups: Groups, order: Integers) -> list[Integers]:
    """The ascending ranks of every group: what the compiled kernels walk along, without any of their devices."""
    rank = invert(order)
    return [np.sort(rank[group]) for group in groups]
