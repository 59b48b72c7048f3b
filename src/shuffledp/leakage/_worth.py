"""Gains under which somebody would rather not look: refused, as an expectation over what is seen would hide them."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidParameterError
from shuffledp.leakage.enumerating import Slots
from shuffledp.leakage.scores import Scores

__all__ = ["check_mixtures", "check_views"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-9  # of the largest score: less is no negative value
_MOST_NODES = 1_000
_MOST_VARIABLES = 100


def check_views(worth: Floats) -> None:
    """Refuse a gain if the best guess is worth less than 0 after something that can be seen.

    Args:
        worth: what each guess (row) is worth for each view (column), up to a factor above 0.

    Raises:
        InvalidParameterError: if it is.
    """
    if worth.size and (worth.max(axis=0) < -_ROUNDING * float(np.abs(worth).max())).any():
        _refuse()


def check_mixtures(found: Scores, slots: Slots | None = None) -> None:
    """The same for reports in slots of these weights; without ``slots``, of any weights.

    By a linear program over mixtures of reports and, if one of them is worth less than 0, over whole numbers of reports
    unless weights are so many that they come close to any mixture.

    Args:
        found: the scores.
        slots: (weight, number of slots that have it); the weights of all slots add up to 1.

    Raises:
        InvalidParameterError: if the best guess is worth less than 0 for some reports.
    """
    values = found.values.astype(np.float64)
    if (values >= 0).all(axis=1).any():
        return
    least = -_ROUNDING * float(np.abs(values).max())
    if _least(values, ((1.0, 1),), whole=False) >= least:
        return
    if slots is None or len(slots) * values.shape[1] > _MOST_VARIABLES or _least(values, slots, whole=True) < least:
        _refuse()


def _refuse() -> None:
    raise InvalidParameterError(
        "gain must have, whatever is seen, a guess worth 0 or more; there is something to see after which, or before "
        "which, the best one is worth less. Add a constant, or a guess that is worth 0."
    )


def _least(values: Floats, slots: Slots, *, whole: bool) -> float:
    """What the best guess is worth for the reports for which it is worth least; -infinity if the search is too long."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, kinds = values.shape[1], len(slots)
    heights = np.hstack([*(weight * values for weight, _ in slots), -np.ones((len(values), 1))])
    filled = np.hstack([np.kron(np.eye(kinds), np.ones(size)), np.zeros((kinds, 1))])
    counts = [count for _, count in slots]
    solved = milp(
        np.append(np.zeros(size * kinds), 1.0),
        constraints=[LinearConstraint(heights, ub=0.0), LinearConstraint(filled, counts, counts)],
        integrality=np.append(np.full(size * kinds, int(whole)), 0),
        bounds=Bounds(np.append(np.zeros(size * kinds), -np.inf), np.inf),
        options={"node_limit": _MOST_NODES, "mip_rel_gap": 0.0},
    )
    return float(solved.fun) if solved.status == 0 else -np.inf
