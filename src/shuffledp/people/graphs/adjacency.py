"""Adjacency of graphs: edges as arrays, neighbor lists, connected parts, and random regular edges.

Edges may come from other libraries.
"""

from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.caching import compiled, plain_until_worth_compiling
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, resolve_source

Edges = Integers
Starts = Integers
Neighbors = NDArray[np.int32]

_LARGEST_EXACT = 2**53  # whole numbers up to here are exact as floats
_PATIENCE = 20  # pairings in a row without a new edge, after which all edges are drawn anew


def as_pairs(edges: ArrayLike) -> Edges:
    """Checked edges as an array of shape (edges, 2)."""
    array = np.asarray(list(edges) if isinstance(edges, Set | Iterator) else edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if np.issubdtype(array.dtype, np.floating):  # tables with a missing cell hold whole numbers as floats
        exact = (array == np.floor(array)) & (np.abs(array) <= _LARGEST_EXACT)
        if not exact.all():
            raise invalid("whole numbers", edges=float(array[~exact][0]))
        array = array.astype(np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidParameterError(
            f"edges must be integers of shape (edges, 2); got shape {array.shape} of dtype {array.dtype}."
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise invalid("nodes below 2^63", edges=int(array.max()))
    return array.astype(np.int64)


def as_weights(weights: ArrayLike, count: int) -> Floats:
    """Checked weights, one per edge."""
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("weights must be numbers.") from None
    if array.shape != (count,):
        raise InvalidParameterError(f"weights must be one number per edge, {count} in all; got shape {array.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        raise InvalidParameterError(
            f"weights must be finite numbers of 0 or more; got weights[{wrong[0]}]={float(array[wrong[0]])}."
        )
    return array


def sorted_neighbors(
    pairs: Edges, weights: Floats | None, num_users: int
) -> tuple[Starts, Neighbors, Floats | None, int, int]:
    """Sorted neighbor lists without duplicates, and the numbers of dropped loops and merged duplicates."""
    proper = pairs[:, 0] != pairs[:, 1]
    u, v = pairs[proper].T
    keys = np.concatenate([u * num_users + v, v * num_users + u])
    named = keys.size
    kept = None
    if weights is None:
        keys.sort()  # numpy's unique hashes first, which takes longer
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
    else:
        both = np.tile(weights[proper], 2)
        order = np.lexsort((-both, keys))
        keys, first = np.unique(keys[order], return_index=True)
        kept = both[order][first]
    nodes, neighbors = np.divmod(keys, max(num_users, 1))
    starts = np.searchsorted(nodes, np.arange(num_users + 1)).astype(np.int64)
    return starts, neighbors.astype(np.int32), kept, int(np.count_nonzero(~proper)), (named - keys.size) // 2


# ---- what other libraries call a graph: edges, weights or None, number of nodes --------------------------------------

_NamedEdges = tuple[Any, Any, int]


def _edges_of_networkx(graph: Any) -> _NamedEdges:
    whole = all(isinstance(node, int) and not isinstance(node, bool) for node in graph.nodes)
    already = whole and set(graph.nodes) == set(range(len(graph.nodes)))
    numbers = {node: node if already else number for number, node in enumerate(graph.nodes)}
    edges = [(numbers[u], numbers[v]) for u, v in graph.edges()]
    weights = [data.get("weight") for _, _, data in graph.edges(data=True)]
    return edges, _if_complete(weights), len(numbers)


def _edges_of_igraph(graph: Any) -> _NamedEdges:
    weights = graph.es["weight"] if "weight" in graph.es.attributes() else []
    return graph.get_edgelist(), _if_complete(weights), graph.vcount()


def _edges_of_matrix(matrix: Any) -> _NamedEdges:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameterError(f"graph must be a square matrix; got shape {matrix.shape}.")
    entries = matrix.tocoo()
    present = entries.data != 0
    weights = entries.data[present]
    equal = weights.size == 0 or bool((weights == weights[0]).all())
    return np.column_stack([entries.row, entries.col])[present], None if equal else weights, matrix.shape[0]


def _if_complete(weights: list[Any]) -> list[Any] | None:
    return None if not weights or None in weights else weights


READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], _NamedEdges]], ...] = (
    (lambda graph: hasattr(graph, "tocoo"), _edges_of_matrix),
    (lambda graph: hasattr(graph, "get_edgelist"), _edges_of_igraph),
    (lambda graph: hasattr(graph, "nodes") and hasattr(graph, "edges"), _edges_of_networkx),
)


# ---- connected parts, and whether there are two sides ----------------------------------------------------------------


def adjacency(starts: Starts, neighbors: Neighbors, values: NDArray[Any] | None = None) -> Any:
    """Sparse adjacency matrix of scipy, with entries of 1 or the given values.

    One given value per entry of ``neighbors``.
    """
    import scipy.sparse as sp

    values = np.ones(neighbors.size) if values is None else values
    narrow = neighbors.size <= np.iinfo(np.int32).max  # else scipy would widen the neighbors
    rows = starts.astype(np.int32) if narrow else starts
    return sp.csr_array((values, neighbors, rows), shape=(starts.size - 1, starts.size - 1))


def parts_and_sides(starts: Starts, neighbors: Neighbors) -> tuple[Neighbors, bool]:
    """Number of each person's connected part, and whether every part is bipartite.

    Parts are numbered from 0, in the order of each part's first person. Where there are two sides, walks of even and of
    odd length never meet.
    """
    labels, two_sides = _search_for(neighbors.size)(starts, neighbors)
    labels.setflags(write=False)
    return labels, bool(two_sides)


def _search_plainly(starts: Starts, neighbors: Neighbors) -> tuple[Neighbors, bool]:
    """Connected parts by scipy, on the graph of pairs (person, parity).

    There a bipartite part becomes two parts.
    """
    from scipy.sparse.csgraph import connected_components

    people = starts.size - 1
    if people == 0:
        return np.empty(0, dtype=np.int32), True
    # Each edge is there in both directions, so that "strong" is no other than "weak", and takes less time.
    count, labels = connected_components(adjacency(starts, neighbors), connection="strong")
    doubled = np.concatenate([starts, neighbors.size + starts[1:]])
    others = np.concatenate([neighbors.astype(np.int64) + people, neighbors])
    return labels, bool(connected_components(adjacency(doubled, others), connection="strong")[0] == 2 * count)


def _search(starts: Starts, neighbors: Neighbors) -> tuple[Neighbors, bool]:
    """Connected parts by breadth-first search, in the form that numba compiles."""
    people = starts.size - 1
    labels = np.full(people, -1, dtype=np.int32)
    side = np.zeros(people, dtype=np.bool_)
    queue = np.empty(people, dtype=np.int32)
    parts, two_sides = 0, True
    for first in range(people):
        if labels[first] >= 0:
            continue
        labels[first], queue[0], done, known = parts, first, 0, 1
        while done < known:
            here = queue[done]
            done += 1
            for place in range(starts[here], starts[here + 1]):
                other = neighbors[place]
                if labels[other] < 0:
                    labels[other], side[other], queue[known] = parts, not side[here], other
                    known += 1
                elif side[other] == side[here]:
                    two_sides = False
        parts += 1
    return labels, two_sides


_search_compiled = compiled(_search)
_Search = Callable[[Starts, Neighbors], tuple[Neighbors, bool]]
_search_for: Callable[[int], _Search] = plain_until_worth_compiling(_search_plainly, _search_compiled, items=5_000_000)


# ---- random edges ----------------------------------------------------------------------------------------------------


def random_regular_edges(degree: int, num_users: int, *, source: RandomSource | None = None) -> Edges:
    """Edges of a random regular graph of this degree.

    See `shuffledp.Graph.random_regular`.
    """
    validate.integer_at_least(0, degree=degree)
    validate.integer_at_least(1, num_users=num_users)
    degree, num_users = int(degree), int(num_users)
    if degree >= num_users:
        raise validate.invalid(f"below num_users={num_users}", degree=degree)
    if degree * num_users % 2:
        raise InvalidParameterError(f"degree * num_users must be even; got degree={degree} with num_users={num_users}.")
    source = resolve_source(source)
    if degree > (num_users - 1) / 2:  # pairing gets stuck where nearly all edges are taken
        absent = random_regular_edges(num_users - 1 - degree, num_users, source=source)
        keys = np.setdiff1d(_keys(np.column_stack(np.triu_indices(num_users, 1)), num_users), _keys(absent, num_users))
        return _pairs(keys, num_users)
    while True:
        found = _paired(degree, num_users, source)
        if found is not None:
            return _pairs(found, num_users)


def _paired(degree: int, num_users: int, source: RandomSource) -> Edges | None:
    """Edge keys that pair up all edge ends (stubs); None if the last stubs found no partners."""
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


def _keys(pairs: Edges, num_users: int) -> Edges:
    """One number as the key of each undirected pair."""
    keys: Edges = pairs.min(axis=1) * num_users + pairs.max(axis=1)
    return keys


def _pairs(keys: Edges, num_users: int) -> Edges:
    return np.column_stack(np.divmod(keys, num_users))
