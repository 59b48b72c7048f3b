"""Sets of small integers as runs: a ball over neighboring numbers takes a few numbers, however large it is."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Runs", "as_runs", "joined", "members"]


class Runs(NamedTuple):
    """Several sets of integers.

    Set h is the union of the runs ``starts[h]`` to ``starts[h + 1]``, ascending and apart; run r is the integers from
    ``runs[r, 0]`` up to and without ``runs[r, 1]``.
    """

    starts: NDArray[np.int64]
    runs: NDArray[np.int32]


def as_runs(starts: NDArray[np.int64], members: NDArray[np.int64]) -> Runs:
    """The sets whose members, ascending, are ``members[starts[h] : starts[h + 1]]``; none may be empty."""
    new = np.ones(members.size, dtype=np.bool_)
    new[1:] = members[1:] != members[:-1] + 1
    new[starts[:-1]] = True
    first = np.flatnonzero(new)
    last = np.append(first[1:], members.size) - 1
    runs = np.column_stack([members[first], members[last] + 1]).astype(np.int32)
    return Runs(np.searchsorted(first, starts).astype(np.int64), runs)


def joined(parts: Iterable[Runs]) -> Runs:
    """All sets of several parts, one part after the other."""
    starts, runs = zip(*parts, strict=True)
    offsets = np.cumsum([0, *(len(each) for each in runs)])
    shifted = [each[:-1] + offset for each, offset in zip(starts, offsets[:-1], strict=True)]
    return Runs(np.append(np.concatenate(shifted), offsets[-1]).astype(np.int64), np.concatenate(runs))


def members(runs: NDArray[np.integer]) -> NDArray[np.int64]:
    """The integers of one set after the other, as many as the runs hold."""
    lengths = (runs[:, 1] - runs[:, 0]).astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.repeat(runs[:, 0] - before, lengths) + np.arange(lengths.sum())
