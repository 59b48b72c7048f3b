"""How fast walks on a graph forget where they began: both ends of the spectrum, and rounds that follow from them."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp.graphs.structure import adjacency

if TYPE_CHECKING:
    from shuffledp.graphs.graph import Graph

__all__ = ["lazy_gap", "mixing_time", "spectrum"]

_DENSE = 256  # people up to which all eigenvalues are computed
_TOLERANCE = 1e-11  # of the residuals, relative; eigenvalues err by their squares, over distances to the others
_BASIS = 48


def spectrum(graph: "Graph") -> tuple[float, float]:
    """The second largest and the smallest eigenvalue of a uniform walk; see `shuffledp.Graph.spectrum`."""
    if graph.num_users < 2:
        return 0.0, 0.0
    if not graph.is_connected:
        second = 1.0
        smallest = -1.0 if graph.is_bipartite and graph.num_edges else _extreme(graph, "SA")
        return second, smallest
    if graph.num_users <= _DENSE:
        values = np.linalg.eigvalsh(_normalized(graph).toarray())
        return float(values[-2]), float(values[0])
    smallest = -1.0 if graph.is_bipartite else _extreme(graph, "SA")
    return _extreme(graph, "LA"), smallest


def lazy_gap(graph: "Graph", laziness: float = 0.0) -> float:
    """The spectral gap of the walk that stays where it is with chance ``laziness`` in each round.

    Args:
        graph: any graph.
        laziness: from 0 to 1.

    Raises:
        InvalidParameterError: if it is out of range.
    """
    _validate.probability(laziness=laziness)
    return max(0.0, 1 - max(abs(laziness + (1 - laziness) * end) for end in graph.spectrum))


def mixing_time(graph: "Graph", laziness: float = 0.0) -> float:
    """log(n) / gap, in rounds: what papers recommend; infinite for a graph that never mixes.

    It is no guarantee: `shuffledp.laws.first_round_within` says when the law of positions is within a given distance.

    Args:
        graph: any graph.
        laziness: the chance that a report stays where it is, from 0 to 1.

    References:
        Liew et al. 2022, section 4.2.
    """
    gap = lazy_gap(graph, laziness)
    return math.log(max(graph.num_users, 1)) / gap if gap > 0 else math.inf


def _normalized(graph: "Graph") -> Any:
    """B^(-1/2) A B^(-1/2), which has the eigenvalues of the walk and is symmetric; B holds the degrees."""
    roots = 1 / np.sqrt(np.maximum(graph.degrees, 1))
    return adjacency(graph, np.repeat(roots, graph.degrees) * roots[graph.neighbors])


def _extreme(graph: "Graph", which: str) -> float:
    """The largest ("LA") or smallest ("SA") eigenvalue, the eigenvector of 1 left out."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    matrix = _normalized(graph)
    if graph.num_users <= _DENSE:
        return float(np.linalg.eigvalsh(matrix.toarray())[0 if which == "SA" else -2])
    first = np.sqrt(graph.stationary)

    def without_first(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        vector = vector.ravel()
        product: NDArray[np.float64] = matrix @ vector - first * (first @ vector)
        return product

    operator = LinearOperator(matrix.shape, matvec=without_first, dtype=np.float64)
    start = np.cos(np.arange(1.0, graph.num_users + 1) ** 2)  # any vector will do; the same one gives the same digits
    return float(eigsh(operator, k=1, which=which, tol=_TOLERANCE, ncv=_BASIS, v0=start, return_eigenvectors=False)[0])
