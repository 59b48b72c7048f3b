"""A report that hides among reports of another law than its own: what the best guess about its sender gains.

Reports that the others never send can only be the target's, and are counted by themselves. So are those that they
hardly ever send, whose scores would overflow. That errs on the safe side: if one of the others sends such a report,
say whose it is; what is left hides the target among fewer, and no view tells more than the target's report by itself.
The error is at most the chance of that event, of what one report tells.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.leakage._worth import check_views
from shuffledp.leakage.iid import Best
from shuffledp.leakage.scores import Scores

__all__ = ["best_among", "excess_of_views"]

Floats = NDArray[np.float64]

_HARDLY = 1e-140  # beside how much a report is worth; the square of a score is still a float


def best_among(matrix: Floats, prior: Floats, gain: Floats, law: Floats, choose: Callable[[Scores], Best]) -> Best:
    """The best guess where the others' reports have this law; never more than one report by itself tells.

    Args:
        matrix: the target's channel, shape (values, reports).
        prior: of the target's value, shape (values,).
        gain: shape (guesses, values).
        law: of the others' reports, shape (reports,); sums to 1.
        choose: the best guess for reports that the others send too, from their scores.

    Raises:
        InvalidParameterError: if the best guess is worth less than 0 after a report that only the target sends.
    """
    weighted = (gain * prior) @ matrix
    first = int(np.argmax(gain @ prior))
    rare = _hardly_sent(weighted, law)
    found = Scores(law[~rare], weighted[:, ~rare] / law[~rare])
    best = choose(found)
    check_views(weighted[:, rare])
    shift = excess_of_views(weighted[:, rare], first)  # differences are summed, since sums may be far larger
    shift += float((found.values[found.best] - found.values[first]) @ found.chances)
    alone = excess_of_views(weighted, first)
    lower, excess, upper = (min(max(each + shift, 0.0), alone) for each in (best.lower, best.excess, best.upper))
    return replace(best, excess=excess, lower=lower, upper=upper)


def excess_of_views(weighted: Floats, first: int) -> float:
    """What the best guess after each view (column) adds to a guess made beforehand."""
    return float((weighted - weighted[first]).max(axis=0).sum())


def _hardly_sent(weighted: Floats, law: Floats) -> NDArray[np.bool_]:
    """Which reports the others send never, or less than once in 10^140 times for what they are worth at most."""
    sizes = np.abs(weighted).max(axis=0)
    most = sizes.max()
    rare: NDArray[np.bool_] = law <= _HARDLY * (sizes / most if most > 0 else sizes)
    return rare
