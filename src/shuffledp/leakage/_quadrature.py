"""Sums over integers of functions that are smooth over blocks of them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["integer_quadrature"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NODES = 16


def integer_quadrature(count: int, smoothness: float) -> tuple[Integers, Floats]:
    """Places and weights that sum a function over 0, ..., count - 1, if it is smooth over blocks of that length.

    Blocks have 16 rounded Chebyshev nodes, with weights that are exact for polynomials of degree 15 summed over the
    integers of the block. Blocks that are hardly longer are summed in full.
    """
    length = int(min(smoothness, count))
    if length < 2 * _NODES:
        return np.arange(count), np.ones(count)
    whole = count // length
    nodes, weights = _block_rule(length)
    starts = length * np.arange(whole)
    places = [(starts[:, None] + nodes).ravel(), np.arange(whole * length, count)]
    left = places[1].size
    if left >= 2 * _NODES:
        last_nodes, last_weights = _block_rule(left)
        places[1] = whole * length + last_nodes
    else:
        last_weights = np.ones(left)
    return np.concatenate(places), np.concatenate([np.tile(weights, whole), last_weights])


def _block_rule(length: int) -> tuple[Integers, Floats]:
    angles = (np.arange(_NODES) + 0.5) * np.pi / _NODES
    nodes = np.round((1 - np.cos(angles)) * (length - 1) / 2).astype(np.int64)
    polynomials = np.polynomial.chebyshev.chebvander(2 * np.arange(length) / (length - 1) - 1, _NODES - 1)
    weights: Floats = np.linalg.solve(polynomials[nodes].T, polynomials.sum(axis=0))
    return nodes, weights
