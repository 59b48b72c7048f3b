"""Exact sensitivity of a reference order, which sets the noise that hides the order inside groups.

Two inputs are neighbors if they differ by a permutation of one group's answers. For a mechanism whose probabilities
fall as exp(-concentration * distance from the reference order), the loss is concentration times the sensitivity: the
largest change of that distance over all groups and permutations.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import instance_of, integer_at_least, one_of
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import Layout, Scratch, lay, measured, pieces, ranks_by_group, scratch
from shuffledp.randomness.permutations import is_permutation

DISTANCES = ("kendall", "hamming", "cayley", "footrule", "kendall-width")
_PLAIN_MEMBERSHIPS = 50_000
_DENSE = 64  # ranks between the first and the last member for each member, up to which they are looked at one by one


@dataclass(frozen=True, eq=False)
class Windows:
    """Window of ranks of each group along an order, in the order of the groups' iteration.

    Args:
        first: the lowest rank of a member, int64 array of shape (groups,).
        last: the highest rank.
        sizes: number of members.
        kendall: the exact Kendall sensitivity of each group alone.
    """

    first: Integers
    last: Integers
    sizes: Integers
    kendall: Integers

    def sensitivities(self, distance: str = "kendall", alphabet: int | None = None) -> Integers:
        """Sensitivity of each group alone, see `order_sensitivity`."""
        one_of(DISTANCES, distance=distance)
        if alphabet is not None:
            integer_at_least(2, alphabet=alphabet)
        g = self.sizes
        if distance == "hamming":
            return np.where(g > 1, g, 0)
        if distance == "cayley":
            return g - 1
        if distance == "footrule":
            return self.kendall + g // 2
        if distance == "kendall-width":
            width = self.last - self.first
            return width * (width + 1) // 2
        return self.kendall if alphabet is None else _of_letters(self.kendall, g, int(alphabet))


@dataclass(frozen=True, eq=False)
class MeasuredOrder:
    """Groups along an order of their people, measured once for all losses that are tried.

    Args:
        groups: the groups.
        order: who stands at rank 0, 1, ...
    """

    groups: Groups
    order: Integers

    @cached_property
    def windows(self) -> Windows:
        """Window of each group, and its Kendall sensitivity."""
        return windows(self.groups, self.order)

    def unit_spreads(self, power: int) -> Floats:
        """Spread of each group at unit gaps: for power 2, the root of the sum of squares."""
        return self.windows.sensitivities("footrule").astype(np.float64) if power == 1 else self._roots

    @cached_property
    def _roots(self) -> Floats:
        return np.sqrt(position_spreads(self.groups, self.order, np.arange(self.order.size), power=2))


class Blocks(NamedTuple):
    """Blocks of an order that no group crosses: block b is the ranks ``starts[b]`` up to ``starts[b + 1]``.

    ``sensitivities[b]`` is the sensitivity of the groups within block b, 0 for a person who is alone.
    """

    starts: Integers
    sensitivities: Integers

    @property
    def sizes(self) -> Integers:
        """Number of people in each block."""
        return np.diff(self.starts)


def order_sensitivity(
    groups: Groups, order: ArrayLike, *, distance: str = "kendall", alphabet: int | None = None
) -> int:
    """Exact sensitivity of a reference order, over all groups and all permutations within a group.

    With r_1 < ... < r_g the ranks of a group of g people, it is the largest over the groups of

    * Kendall: g (g - 1) / 2 + sum over b < g of 2 (r_{b+1} - r_b - 1) min(b, g - b);
    * footrule (sum of absolute displacements): 2 sum over i <= g/2 of (r_{g+1-i} - r_i): Kendall's + floor(g/2);
    * Hamming: g, and 0 for a group of one; Cayley: g - 1.
    * "kendall-width": w (w + 1) / 2 for the width w = max (r_g - r_1): the bound of [MRCJ22, Section 4.4], attained if
      members follow each other, and thousands of times too large where they do not.

    One pass over the memberships, in memory for one group; time does not depend on the groups' widths.

    Guarantees:
        1. The value is attained: some data, with distinct answers, lose exactly concentration times it.
        2. With ``alphabet`` k it is never below the loss of data of k values, and exact for k = 2.

    Args:
        groups: the groups.
        order: a permutation of the people: who stands at rank 0, 1, ...
        distance: "kendall", "footrule", "hamming", "cayley" or "kendall-width".
        alphabet: for Kendall, the number of values of a report, 2 or more. Equal reports cannot be told apart: the
            loss is half of the footrule's for k = 2, and at most Kendall's less the fewest equal pairs for k >= 3. Only
            for reports that carry nothing else (no time stamp), and not for re-identification.

    Raises:
        InvalidParameterError: if ``order`` is no permutation of the people, or ``distance`` is another word.

    References:
        [MRCJ22] Meehan, Roy Chowdhury, Chaudhuri and Jha, "Privacy Implications of Shuffling", ICLR 2022,
        Definition 4.3. The formulas are our own; errata.md says where they differ from the paper.

    Example:
        >>> groups = Groups.from_lists([[0, 2], [1], [2, 3]])
        >>> order_sensitivity(groups, [0, 1, 2, 3]), order_sensitivity(groups, [1, 0, 2, 3])
        (3, 1)
    """
    return int(windows(groups, order).sensitivities(distance, alphabet).max())


def order_width(groups: Groups, order: ArrayLike) -> int:
    """Largest difference between the highest and the lowest rank of a group.

    Raises:
        InvalidParameterError: if ``order`` is no permutation of the people.

    References:
        [MRCJ22], Definition 4.4.

    Example:
        >>> order_width(Groups.from_lists([[0, 2], [1], [2, 3]]), [0, 1, 2, 3])
        2
    """
    found = windows(groups, order)
    return int((found.last - found.first).max())


def windows(groups: Groups, order: ArrayLike) -> Windows:
    """Window of each group along an order, and its Kendall sensitivity.

    Raises:
        InvalidParameterError: if ``order`` is no permutation of the people.
    """
    checked = checked_order(groups, order)
    return _measure_for(groups.num_memberships)(groups, checked)


def blocks(groups: Groups, order: ArrayLike, *, distance: str = "kendall", alphabet: int | None = None) -> Blocks:
    """Smallest blocks of an order that no group crosses, with the sensitivity within each block.

    Blocks can be shuffled independently, each at its own concentration: a permutation within a group touches one block.

    The arguments are those of `order_sensitivity`, and so are the errors.

    Example:
        >>> blocks(Groups.from_labels(["a", "b", "b", "a", "c"]), [0, 3, 1, 2, 4])
        Blocks(starts=array([0, 2, 4, 5]), sensitivities=array([1, 1, 0]))
    """
    return blocks_between(windows(groups, order), groups.num_users, distance, alphabet)


def blocks_between(found: Windows, num_users: int, distance: str = "kendall", alphabet: int | None = None) -> Blocks:
    """Blocks of an order, as `blocks` returns them, computed from the groups' windows."""
    by_first = np.argsort(found.first)
    reached = np.maximum.accumulate(found.last[by_first])
    cuts = found.first[by_first[1:]][found.first[by_first[1:]] > reached[:-1]]  # everybody is in a group
    starts = np.concatenate([[0], cuts, [num_users]])
    within = np.zeros(starts.size - 1, dtype=np.int64)
    np.maximum.at(within, np.searchsorted(cuts, found.first, side="right"), found.sensitivities(distance, alphabet))
    return Blocks(starts, within)


def position_spreads(groups: Groups, order: ArrayLike, positions: ArrayLike, *, power: int = 1) -> Floats:
    """Spread of each group: sum over i of ``abs(t_(g+1-i) - t_(i)) ** power``, with t its members' positions.

    Here i runs from 1 to the number g of members, and t_(i) is the i-th smallest of their positions.

    It is the largest sum of ``abs(move) ** power`` by which a permutation of the group can move its members, and what a
    noisy sort with keys at these positions loses (power 1: Laplace; power 2, its root: Gaussian), rounded up by a
    relative 1e-12 or more where it is not 0.

    Positions are a number per rank, finite and not decreasing, and the power is 1 or 2; the rest, errors too, is as for
    `order_sensitivity`.

    Example:
        >>> position_spreads(Groups.from_lists([[0, 2], [1]]), [0, 1, 2], [0.0, 0.5, 2.0]).round(6).tolist()
        [4.0, 0.0]
    """
    one_of((1, 2), power=power)
    checked = checked_order(groups, order)
    at = np.asarray(positions, dtype=np.float64)
    if at.shape != checked.shape or not np.isfinite(at).all() or (np.diff(at) < 0).any():
        raise InvalidParameterError(
            f"positions must be {checked.size} finite numbers that do not decrease; got an array of shape {at.shape}."
        )
    return _spread_for(groups.num_memberships)(groups, checked, at, power) * (1 + 1e-12 + 2e-16 * groups.sizes)


def checked_order(groups: Groups, order: ArrayLike) -> Integers:
    """Checked order, a permutation of the groups' people, as an int64 array."""
    instance_of(Groups, groups=groups)
    array = np.asarray(order)
    if not is_permutation(array) or array.size != groups.num_users:
        raise InvalidParameterError(
            f"order must hold each of 0, ..., {groups.num_users - 1} once; got an array of shape {array.shape}."
        )
    return array.astype(np.int64, copy=False)


def _of_letters(kendall: Integers, g: Integers, letters: int) -> Integers:
    if letters == 2:
        return (kendall + g // 2) // 2
    often, rare = g // letters + 1, g // letters
    many = g % letters
    equal_pairs = many * often * (often - 1) // 2 + (letters - many) * rare * (rare - 1) // 2
    return kendall - equal_pairs


# ---- the pass, in plain words and for the compiler -------------------------------------------------------------------


def _measure_plainly(groups: Groups, order: Integers) -> Windows:
    first, last, kendall = (np.empty(len(groups), dtype=np.int64) for _ in range(3))
    for number, ranks in enumerate(ranks_by_group(groups, order)):
        g, b = ranks.size, np.arange(1, ranks.size)
        first[number], last[number] = ranks[0], ranks[-1]
        kendall[number] = g * (g - 1) // 2 + (2 * (np.diff(ranks) - 1) * np.minimum(b, g - b)).sum()
    return Windows(first, last, groups.sizes, kendall)


def _measure_compiled(groups: Groups, order: Integers) -> Windows:
    layout = lay(groups, order)
    first, last, kendall, _ = measured(layout, scratch(layout))
    return Windows(first, last, groups.sizes, kendall)


_measure_for = plain_until_worth_compiling(_measure_plainly, _measure_compiled, items=_PLAIN_MEMBERSHIPS)


def _spread_plainly(groups: Groups, order: Integers, at: Floats, power: int) -> Floats:
    moves = (at[ranks[::-1]] - at[ranks] for ranks in ranks_by_group(groups, order))
    return np.array([(np.abs(each) ** power).sum() for each in moves])


def _spread_compiled(groups: Groups, order: Integers, at: Floats, power: int) -> Floats:
    layout = lay(groups, order)
    return _spread_kernel(layout, scratch(layout), at, power)


def _spread(layout: Layout, room: Scratch, at: Floats, power: int) -> Floats:
    spreads = np.zeros(layout.sizes.size)
    keys, held = np.empty(layout.sizes.max()), np.zeros(at.size, dtype=np.bool_)
    for group in range(layout.sizes.size):
        g, count = 0, pieces(layout, group, room.lows, room.highs)
        lowest, highest = room.lows[:count].min(), room.highs[:count].max()
        dense = highest - lowest <= _DENSE * layout.sizes[group]
        for i in range(count):
            for rank in range(room.lows[i], room.highs[i]):
                keys[g] = at[rank]
                held[rank] = dense
                g += 1
        if dense:  # positions ascend with ranks, so that looking at all ranks between takes the place of sorting
            g = 0
            for rank in range(lowest, highest):
                if held[rank]:
                    keys[g] = at[rank]
                    held[rank] = False
                    g += 1
        else:
            keys[:g].sort()
        total = 0.0
        for i in range(g // 2):
            move = keys[g - 1 - i] - keys[i]
            total += 2.0 * (move if power == 1 else move * move)
        spreads[group] = total
    return spreads


_spread_kernel = compiled(_spread, calls=(pieces,))
_spread_for = plain_until_worth_compiling(_spread_plainly, _spread_compiled, items=_PLAIN_MEMBERSHIPS)
