"""Rounds in given groups: check that passing reports inside them shuffles exactly uniformly.

In each round everybody is in one group, and passes each report on to a uniform member of it, oneself included. Where
everybody's report is uniform on some part A of the people, those of the next round's group G get |A and G| / |A| of it;
so it becomes uniform on all people J whom parts and groups join to A, if and only if |A and G| |J| = |A| |G| for all A
and G in J that have people in common. That is compared in integers, and no matrix is made.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Integers

_Parts = NDArray[np.intp]


def uniform_parts(rounds: Sequence[ArrayLike]) -> Integers | None:
    """Parts inside which these rounds shuffle reports exactly uniformly; None if not found.

    Time grows with n log n in each round. An `shuffledp.Overlay` with all addresses taken once has such rounds.

    Args:
        rounds: for each round everybody's group, any labels of shape (people,).

    Returns:
        For each person the number of the part, from 0 on: all 0 if the rounds shuffle everybody uniformly. None if
        positions are not found to be uniform, whether they are or not: not by all rounds from the first, nor by the
        last ones alone.

    Raises:
        InvalidParameterError: if there is no round, or not one group for everybody in each.

    Example:
        >>> square = np.arange(900)
        >>> set(uniform_parts([square % 30, square // 30]).tolist())
        {0}
        >>> uniform_parts([square % 30, square // 45]) is None
        True
    """
    if not rounds:
        raise InvalidParameterError("rounds must be one or more; got none.")
    groups = [np.unique(np.asarray(labels), return_inverse=True)[1].ravel() for labels in rounds]
    people = groups[0].size
    for place, each in enumerate(groups):
        if each.size != people or np.ndim(rounds[place]) != 1 or not people:
            raise InvalidParameterError(
                f"rounds must each have one group for each of the same people; round {place + 1} has shape "
                f"{np.shape(rounds[place])}, the first one {np.shape(rounds[0])}."
            )
    for first in range(len(groups)):
        parts = _after(groups[first:])
        # What comes before the last rounds may not take a report from one of their parts to another.
        if parts is not None and all(_refines(before, parts) for before in groups[:first]):
            return parts.astype(np.int64)
    return None


def _after(rounds: Sequence[_Parts]) -> _Parts | None:
    """Parts on which reports are uniform after these rounds, from single senders; None if unknown."""
    parts: _Parts | None = np.arange(rounds[0].size)
    for groups in rounds:
        parts = None if parts is None else _joined(parts, groups)
    return parts


def _joined(parts: _Parts, groups: _Parts) -> _Parts | None:
    """Parts after one more round; None if reports would not be uniform on them."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    number = int(parts.max()) + 1
    pairs, common = np.unique(parts * (int(groups.max()) + 1) + groups, return_counts=True)
    part, group = np.divmod(pairs, int(groups.max()) + 1)
    size = number + int(groups.max()) + 1
    edges = sp.coo_array((np.ones(pairs.size, dtype=np.int8), (part, number + group)), shape=(size, size))
    joined = connected_components(edges, directed=False)[1][:number]
    of_part, of_group, of_joined = np.bincount(parts), np.bincount(groups), np.bincount(joined[parts])
    exact = common * of_joined[joined[part]] == of_part[part] * of_group[group]
    found: _Parts = joined[parts].astype(np.intp)
    return found if exact.all() else None


def _refines(groups: _Parts, parts: _Parts) -> bool:
    """Whether each group is inside one part."""
    first = np.zeros(int(groups.max()) + 1, dtype=np.intp)
    first[groups] = parts
    return bool((first[groups] == parts).all())
