"""Graphs that are drawn: everybody has equally many neighbors, and who they are is random."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError
from shuffledp.permutations import random_permutation
from shuffledp.randomness import resolve_source

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["random_regular_edges"]

Edges = NDArray[np.int64]

_PATIENCE = 20  # pairings of what is left without one more edge, before starting anew


def random_regular_edges(degree: int, num_users: int, *, source: "RandomSource | None" = None) -> Edges:
    """Edges of a random graph in which everybody has ``degree`` neighbors; see `shuffledp.Graph.random_regular`."""
    _validate.integer_at_least(0, degree=degree)
    _validate.integer_at_least(1, num_users=num_users)
    degree, num_users = int(degree), int(num_users)
    if degree >= num_users:
        raise _validate.invalid(f"below num_users={num_users}", degree=degree)
    if degree * num_users % 2:
        raise InvalidParameterError(f"degree * num_users must be even; got degree={degree} with num_users={num_users}.")
    source = resolve_source(source)
    if degree > (num_users - 1) / 2:  # pairing gets stuck where nearly all edges are taken
        absent = random_regular_edges(num_users - 1 - degree, num_users, source=source)
        keys = np.setdiff1d(_keys(_complete_edges(num_users), num_users), _keys(absent, num_users))
        return _pairs(keys, num_users)
    while True:
        found = _paired(degree, num_users, source)
        if found is not None:
            return _pairs(found, num_users)


def _paired(degree: int, num_users: int, source: "RandomSource") -> Edges | None:
    """Keys of edges that use up every stub; None where the last stubs found no partners."""
    stubs = np.repeat(np.arange(num_users), degree)
    edges, fruitless = np.empty(0, dtype=np.int64), 0
    while stubs.size:
        pairs = stubs[random_permutation(stubs.size, source=source)].reshape(-1, 2)
        keys, first = np.unique(_keys(pairs, num_users), return_index=True)
        fresh = (pairs[first, 0] != pairs[first, 1]) & ~np.isin(keys, edges)
        fruitless = 0 if fresh.any() else fruitless + 1
        if fruitless == _PATIENCE:
            return None
        edges = np.concatenate([edges, keys[fresh]])
        stubs = np.delete(pairs, first[fresh], axis=0).ravel()
    return edges


def _complete_edges(num_users: int) -> Edges:
    return np.column_stack(np.triu_indices(num_users, 1))


def _keys(pairs: Edges, num_users: int) -> Edges:
    """One number for each pair, whatever its direction."""
    keys: Edges = pairs.min(axis=1) * num_users + pairs.max(axis=1)
    return keys


def _pairs(keys: Edges, num_users: int) -> Edges:
    return np.column_stack(np.divmod(keys, num_users))
