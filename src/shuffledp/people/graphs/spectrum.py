"""Spectrum of the walk on a graph: second largest and smallest eigenvalue, spectral gap, mixing time.

Both are found by Lanczos' method, to 1e-9. On graphs of a million people, whose eigenvalues lie close together at the
ends, that takes too long; what is certain even so is the bound of docs/proofs.md, "Ends of a spectrum": with r the
largest Ritz value after k steps, b the largest eigenvalue, whose eigenvector makes up a share c^2 of the first vector,
all eigenvalues at least a, and T the Chebyshev polynomials, c^2 T_(k-1)(1 + 2 x)^2 x <= 1 for x = (b - r) / (r - a). Of
a vector in a uniform direction in n dimensions, c^2 is below pi p^2 / (4 n) with probability at most p + exp(-0.15 n).
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.people.graphs.adjacency import adjacency

if TYPE_CHECKING:
    from shuffledp.people.graphs.graph import Graph


_DENSE = 256  # people up to which all eigenvalues are computed
_TOLERANCE = 1e-9  # largest residual of a settled eigenvalue: it bounds the error, and is in practice far above it
_SETTLED = 1e-8  # error that is stated for a settled eigenvalue
_CHECK_EVERY = 32
_MOST_STEPS = 20_000
_MOST_PRODUCTS = 6 * 10**9  # most products with entries of the matrix: some twenty seconds
_UNLUCKY = 5e-13  # share of first vectors for which the bound of an unsettled end is wrong


class Spectrum(NamedTuple):
    """Second largest and smallest eigenvalue of a uniform walk.

    The eigenvalue 1 of the stationary law is left out. The true ends lie beyond these by at most ``error``, for all but
    a share of 1e-12 of the vectors that the method may begin with.
    """

    second: float
    smallest: float
    error: float


def spectrum(graph: "Graph", *, most_products: int = _MOST_PRODUCTS) -> Spectrum:
    """Second largest and smallest eigenvalue of the walk; see `shuffledp.Graph.spectrum`.

    Args:
        graph: any graph.
        most_products: steps * entries of the matrix after which to stop, settled or not.

    Guarantees:
        1. ``error`` is 1e-8 where both ends have settled, and else a bound that is proven in this module.
    """
    if graph.num_users < 2 or not graph.num_edges:
        return Spectrum(0.0, 0.0, 0.0) if graph.num_users == 1 else Spectrum(1.0, 1.0, 0.0)
    if graph.num_users <= _DENSE:
        values = np.linalg.eigvalsh(_normalized(graph).toarray())
        found = Spectrum(float(values[-2]), float(values[0]), _SETTLED)
    else:
        found = _ends(graph, most_products)
    second = found.second if graph.is_connected else 1.0
    return Spectrum(second, -1.0 if graph.is_bipartite else found.smallest, found.error)


def lazy_gap(graph: "Graph", laziness: float = 0.0) -> float:
    """Spectral gap of the lazy walk, which stays in place with chance ``laziness`` in each round.

    Raises:
        InvalidParameterError: if it is out of range.
    """
    validate.probability(laziness=laziness)
    return max(0.0, 1 - max(abs(laziness + (1 - laziness) * end) for end in graph.spectrum))


def certain_gap(graph: "Graph", laziness: float = 0.0) -> float:
    """Lower bound on the `lazy_gap`; guarantees are based on this bound."""
    return max(0.0, lazy_gap(graph, laziness) - (1 - laziness) * graph.spectrum_error)


def mixing_time(graph: "Graph", laziness: float = 0.0) -> float:
    """Mixing time log(n) / gap of the lazy walk, in rounds; infinite without a gap.

    As recommended by papers. It is no guarantee: `shuffledp.protocols.network.first_round_within` says when the law of
    positions is within a given distance.

    References:
        Liew et al. 2022, section 4.2.
    """
    gap = lazy_gap(graph, laziness)
    return math.log(max(graph.num_users, 1)) / gap if gap > 0 else math.inf


def _normalized(graph: "Graph") -> Any:
    """Symmetric matrix B^(-1/2) A B^(-1/2) with the eigenvalues of the walk; B holds the degrees."""
    roots = 1 / np.sqrt(np.maximum(graph.degrees, 1))
    return adjacency(graph.starts, graph.neighbors, np.repeat(roots, graph.degrees) * roots[graph.neighbors])


def _ends(graph: "Graph", most_products: int) -> Spectrum:
    """Second largest and smallest eigenvalue of the walk, by Lanczos' method.

    Vectors are not made orthogonal again: that brings further copies of eigenvalues that were found, and both ends are
    as they should be (Paige 1980). No step uses BLAS, whose threads wait for each other on a busy machine.
    """
    matrix, first = _normalized(graph), np.sqrt(graph.stationary)
    most_steps = min(_MOST_STEPS, max(_CHECK_EVERY, most_products // (graph.num_users + graph.neighbors.size)))
    vector = any_direction(graph.num_users)  # always the same one, so that digits can be repeated
    vector -= _dot(first, vector) * first
    vector /= math.sqrt(_dot(vector, vector))
    before, diagonal, beside = np.zeros_like(vector), [], [0.0]
    for step in range(1, most_steps + 1):
        product = matrix @ vector
        before *= beside[-1]
        product -= before
        diagonal.append(_dot(product, vector))
        np.multiply(vector, diagonal[-1], out=before)
        product -= before
        product -= _dot(first, product) * first
        beside.append(math.sqrt(_dot(product, product)))
        ended = beside[-1] < _TOLERANCE  # the vectors so far span an invariant space
        if ended or step % _CHECK_EVERY == 0 or step == most_steps:
            (smallest, second), residual = _ritz_ends(diagonal, beside)
            if ended or residual < _TOLERANCE:
                return Spectrum(second, smallest, _SETTLED)
        product /= beside[-1]
        before, vector = vector, product
    return Spectrum(second, smallest, _beyond(second, smallest, most_steps, graph.num_users))


def any_direction(size: int) -> Floats:
    """Pseudorandom direction: normal numbers, the same at every call.

    By Box and Muller from the words of SplitMix64 (Steele et al. 2014).
    """
    words = np.arange(1, 2 * size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    shares = ((words ^ (words >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    found: Floats = np.sqrt(-2 * np.log1p(-shares[:size])) * np.cos(2 * np.pi * shares[size:])
    return found


def _beyond(second: float, smallest: float, steps: int, people: int) -> float:
    """Error bound of the eigenvalues found after this number of steps.

    The "x" of the module's bound.
    """
    share = math.log(math.pi / (4 * people)) + 2 * math.log(_UNLUCKY)

    def contradicted(x: float) -> bool:
        grown = (steps - 1) * math.acosh(1 + 2 * x) - math.log(2)  # log T(1 + 2 x), from below
        return share + 2 * grown + math.log(x) > 0

    low, high = 0.0, 1.0
    while not contradicted(high):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if contradicted(middle) else (middle, high)
    least, largest = -1.0, 1.0
    for _ in range(8):  # each end is bounded by the bound of the other
        largest, least = (
            min(largest, second + high * (second - least)),
            max(least, smallest - high * (largest - smallest)),
        )
    return max(largest - second, smallest - least) + _SETTLED


def _ritz_ends(diagonal: list[float], beside: list[float]) -> tuple[tuple[float, float], float]:
    """Smallest and largest eigenvalue of the tridiagonal matrix, and the larger of their two residuals."""
    from scipy.linalg import eigh_tridiagonal

    if len(diagonal) == 1:
        return (diagonal[0], diagonal[0]), beside[-1]
    places = (0, len(diagonal) - 1)
    (least, first), (most, last) = (
        eigh_tridiagonal(diagonal, beside[1:-1], select="i", select_range=(place, place)) for place in places
    )
    residual = beside[-1] * max(abs(float(vector[-1, 0])) for vector in (first, last))
    return (float(least[0]), float(most[0])), residual


def _dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))
