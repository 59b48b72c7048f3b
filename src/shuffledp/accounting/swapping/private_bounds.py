"""Swap bound for any epsilon0-private randomizer, from epsilon0, the number of people and epsilon alone.

The common part of all reports is unknown, except that its size W is from 1/E to 1, and densities against it from
W to E W. In a cell from w1 to w2 of W, draws are at least Bin(donors, w1), and densities at most as spread as
those on w1 and E w2: the bound is the largest over cells that cover [1/E, 1].
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from shuffledp.accounting.swapping.majorants import Majorant, majorant
from shuffledp.accounting.swapping.report_classes import any_private
from shuffledp.accounting.swapping.reservoirs import Reservoir
from shuffledp.accounting.swapping.searches import Choices, tilt_at
from shuffledp.accounting.swapping.tilted_integrals import Tilt, cell_bounds
from shuffledp.core.table import Floats

_MANY = 100_000  # people, from whom on laws of a small variance are bounded apart
_COARSE, _FEWEST, _FINE = 0.1, 10, 0.006  # cells in ln W: width in nats, least number; finest width in epsilon0
_PARTS, _NEARLY = 4, 1.004
_OTHERS = (0.02, 0.15, 0.3, 0.7, 0.85)  # values of ln W / epsilon0 at which the majorant must not explode either
_SHARE = 0.02
_ROUND_UP = 1 + 1e-6


def private_delta(
    *, epsilon0: float, others: int, epsilon: float, choices: Choices, roughly: bool = False
) -> float | None:
    """Upper bound on delta at an epsilon from 0 to below epsilon0; None if these choices give no bound.

    Args:
        epsilon0: local privacy loss in nats.
        others: honest people beside the victim.
        epsilon: central privacy loss in nats, below epsilon0.
        choices: free choices; any are valid, some give less.
        roughly: whether to use the likely W alone, which gives no bound but compares choices.
    """
    donors = round(choices.donors * others)
    greens = others - donors
    if donors < 1 or greens < 2:
        return None
    reports = any_private(epsilon0, epsilon)
    tilt = Tilt(rate=choices.rate, smoothing=choices.smoothing, people=greens)
    root = math.exp(epsilon0 / 2)
    deviation = math.expm1(epsilon0 / 2) / math.sqrt(donors + root)
    steepness = tilt.rate**2 * reports.variance / greens
    truncation = min(reports.highest, 1 + max(4 * deviation, math.sqrt(24 / steepness)))
    with np.errstate(over="ignore", under="ignore"):
        cells = cell_bounds(reports, tilt, deviation=deviation, truncation=truncation, cut=others >= _MANY - 1)
        if cells is None:
            return None
        found = majorant(reports, tilt.rate, cells, _costs(epsilon0, donors))
        if found is None:
            return None
        if roughly:
            worst = _at(_reservoir(epsilon0, donors, -0.5 * epsilon0, -0.5 * epsilon0), found)
        else:
            worst = _over_cells(lambda start, end: _at(_reservoir(epsilon0, donors, start, end), found), epsilon0)
    return min(worst * _ROUND_UP, 1.0) if math.isfinite(worst) else None


def _at(reservoir: Reservoir, found: Majorant) -> float:
    """Smallest total Pr[K < k_0] + E[m; K >= k_0] of the reservoir over k_0, for one majorant m.

    The majorant is used from k_0 draws on. The best k_0 may depend on W.
    """
    return float(reservoir.totals([(found, reservoir)]).min())


def _reservoir(epsilon0: float, donors: int, start: float, end: float) -> Reservoir:
    """Reservoir that is the worst for the victim, over all W from exp(start) to exp(end)."""
    least, most = math.exp(start), math.exp(min(end, 0.0) + epsilon0)
    share = min(max(-math.expm1(start) / (most - least), 0.0), 1.0)
    return Reservoir(
        donors=donors, chance=min(least, 1.0), densities=np.array([least, most]), masses=np.array([1 - share, share])
    )


def _over_cells(bound: Callable[[float, float], float], epsilon0: float) -> float:
    """Largest bound over all cells of ln W in [-epsilon0, 0].

    Cells far above the likely one are cut again.
    """
    enough = _NEARLY * bound(-epsilon0 / 2, -epsilon0 / 2)
    edges = np.linspace(-epsilon0, 0.0, max(math.ceil(epsilon0 / _COARSE), _FEWEST) + 1)
    left, found = list(pairwise(edges.tolist())), [enough / _NEARLY]
    while left:
        start, end = left.pop()
        here = bound(start, end)
        if here > enough and end - start > _FINE * epsilon0 and here < 1:
            left += pairwise(np.linspace(start, end, _PARTS + 1).tolist())
        else:
            found.append(here)
    return float(np.max(found))  # not a number if one of them is not


def _costs(epsilon0: float, donors: int) -> Callable[[Floats], Floats]:
    """Function from a majorant's exponents to the logarithm of each exponential's cost.

    The cost is its mean at the likely W, plus a small share at other W.
    """

    def costs(exponents: Floats) -> Floats:
        logs = []
        for part, share in ((0.5, 1.0), *((other, _SHARE) for other in _OTHERS)):
            reservoir = _reservoir(epsilon0, donors, -part * epsilon0, -part * epsilon0)
            logs.append(reservoir.log_moments(exponents, np.array([reservoir.likely]))[0] + math.log(share))
        return np.asarray(np.logaddexp.reduce(logs))

    return costs


def start_choices(*, epsilon0: float, others: int, epsilon: float) -> Choices:
    """Starting choices of a search, taken from the limit of many people."""
    rate = tilt_at(math.expm1(epsilon), math.sqrt(information(epsilon0) / others))
    smoothing = 0.65 * rate / others * math.expm1(epsilon0) * (1 + math.exp(epsilon))
    return Choices(rate=rate, donors=math.expm1(epsilon0 / 2) / math.sqrt(others), smoothing=smoothing)


def information(epsilon0: float) -> float:
    """Largest chi-squared information of randomized response among people who all hold one value.

    With two or three values.
    """
    ratio, growth = math.exp(epsilon0), math.expm1(epsilon0)
    return max(growth**2 / ratio, 2 * growth**2 / (ratio + 2))
