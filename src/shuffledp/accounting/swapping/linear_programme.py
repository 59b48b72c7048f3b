"""Linear program for nonnegative weights of least cost, by the dual simplex method in numpy.

No bound rests on the answer: the caller checks the rows, and scales the weights up where they fall short.
"""

import numpy as np

from shuffledp.core.table import Floats

_MOST_PIVOTS = 400
_CLOSE, _SMALLEST = 1e-9, 1e-11
_NOTHING = 1e-9  # least cost of a weight, as a share of the dearest row's cost, to keep numbers of one size


def least_cost(rows: Floats, costs: Floats) -> Floats | None:
    """Nonnegative weights of nearly the least cost with ``rows @ weights >= 1``; None if not found.

    The inequalities hold nearly, not exactly.

    Args:
        rows: coefficients, shape (rows, weights).
        costs: cost of each weight, above 0, shape (weights,).
    """
    scales = np.abs(rows).max(axis=0)
    scaled, costs = rows / scales, costs / scales
    with np.errstate(divide="ignore"):
        dearest = float(np.where(scaled > 0, costs / np.where(scaled > 0, scaled, 1.0), np.inf).min(axis=1).max())
    if not 0 < dearest < np.inf:
        return None
    size, count = scaled.shape[1], len(scaled)
    table = np.hstack([scaled.T, np.eye(size), np.maximum(costs / dearest, _NOTHING)[:, np.newaxis]])
    gains = np.concatenate([np.full(count, -1.0), np.zeros(size + 1)])
    for _ in range(_MOST_PIVOTS):
        entering = int(gains[:-1].argmin())
        if gains[entering] >= -_CLOSE:
            break
        column = table[:, entering]
        limiting = column > _SMALLEST
        if not limiting.any():
            return None
        leaving = int(np.where(limiting, table[:, -1] / np.where(limiting, column, 1.0), np.inf).argmin())
        table[leaving] /= table[leaving, entering]
        others = column.copy()
        others[leaving] = 0.0
        table -= np.outer(others, table[leaving])
        table[:, -1] = np.maximum(table[:, -1], 0.0)
        gains -= gains[entering] * table[leaving]
    return np.asarray(np.maximum(gains[count:-1], 0.0) / scales)
