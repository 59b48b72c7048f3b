"""How fast walks on a graph forget where they began: both ends of the spectrum, and rounds that follow from them."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp.errors import UnsupportedModelError
from shuffledp.graphs.structure import adjacency

if TYPE_CHECKING:
    from shuffledp.graphs.graph import Graph

__all__ = ["lazy_gap", "mixing_time", "spectrum"]

_DENSE = 256  # people up to which all eigenvalues are computed
_TOLERANCE = 1e-9  # of residuals: an eigenvalue lies at most so far away, and in practice much nearer
_CHECK_EVERY = 32
_MOST_STEPS = 20_000


def spectrum(graph: "Graph") -> tuple[float, float]:
    """The second largest and the smallest eigenvalue of a uniform walk; see `shuffledp.Graph.spectrum`."""
    if graph.num_users < 2 or not graph.num_edges:
        return (0.0, 0.0) if graph.num_users < 2 else (1.0, 1.0)
    if graph.num_users <= _DENSE:
        values = np.linalg.eigvalsh(_normalized(graph).toarray())
        second, smallest = float(values[-2]), float(values[0])
    else:
        second, smallest = _ends(graph)
    return second if graph.is_connected else 1.0, -1.0 if graph.is_bipartite else smallest


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


def _ends(graph: "Graph") -> tuple[float, float]:
    """The largest and the smallest eigenvalue, the eigenvector of 1 left out, by Lanczos' method.

    Vectors are not made orthogonal again: that brings further copies of eigenvalues that were found, and both ends are
    as they should be (Paige 1980). No step uses BLAS, whose threads wait for each other on a busy machine.
    """
    matrix, first = _normalized(graph), np.sqrt(graph.stationary)
    # Any vector will do to begin with; the same one gives the same digits.
    vector = np.cos(np.arange(1.0, graph.num_users + 1) ** 2)
    vector -= _dot(first, vector) * first
    vector /= math.sqrt(_dot(vector, vector))
    before, diagonal, beside = np.zeros_like(vector), [], [0.0]
    for step in range(1, _MOST_STEPS + 1):
        product = matrix @ vector - beside[-1] * before
        diagonal.append(_dot(product, vector))
        product -= diagonal[-1] * vector
        product -= _dot(first, product) * first
        beside.append(math.sqrt(_dot(product, product)))
        ended = beside[-1] < _TOLERANCE  # the vectors so far span all that there is
        if ended or step % _CHECK_EVERY == 0 or step == _MOST_STEPS:
            (smallest, second), residual = _ritz_ends(diagonal, beside)
            if ended or residual < _TOLERANCE:
                return second, smallest
        before, vector = vector, product / beside[-1]
    raise UnsupportedModelError(
        f"the spectrum did not settle in {_MOST_STEPS} steps: eigenvalues are known to {residual:.1g} only."
    )


def _ritz_ends(diagonal: list[float], beside: list[float]) -> tuple[tuple[float, float], float]:
    """The ends of the spectrum of the tridiagonal matrix, and the larger of their residuals."""
    from scipy.linalg import eigh_tridiagonal

    if len(diagonal) == 1:
        return (diagonal[0], diagonal[0]), beside[-1]
    values, vectors = zip(
        *(
            eigh_tridiagonal(diagonal, beside[1:-1], select="i", select_range=(place, place))
            for place in (0, len(diagonal) - 1)
        ),
        strict=True,
    )
    residual = beside[-1] * max(abs(float(vector[-1, 0])) for vector in vectors)
    return (float(values[0][0]), float(values[1][0])), residual


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.einsum("i,i->", a, b))
