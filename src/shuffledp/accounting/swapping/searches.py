"""Search for the free choices of a swap bound, and for the least epsilon at a delta.

Any choices are valid, and no monotonicity is assumed: an epsilon is returned only if the whole bound was evaluated
there and is at most delta.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shuffledp.accounting.numerics import SMALLEST
from shuffledp.core.table import Floats

_ROUNDS = (60, 40, 25)  # evaluations at the first epsilon and at the next ones
_STEPS = np.array([0.12, 0.4, 0.4])  # of ln lam, logit of the share of donors, ln smoothing
_LEAST_DONORS, _MOST_DONORS = 2.5, 0.3
_LEAST_SMOOTHING, _MOST_SMOOTHING = 0.005, 1.5
_CLOSE = 1e-3  # tolerance of ln delta
_MOST_WHOLE = 10
_SPREAD = (1.0, 0.6, 1.6)  # factors of the first choices, tried where these give no bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Free choices of a swap bound: the tilt lam, the share of donors, and the smoothing.

    All choices are valid.
    """

    rate: float
    donors: float
    smoothing: float


class DeltaBound(Protocol):
    """Function from an epsilon and free choices to a bound on delta; None if no bound results."""

    def __call__(self, epsilon: float, choices: Choices, *, roughly: bool = False) -> float | None:
        """Bound on delta; with ``roughly``, a number that serves only to compare choices."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Result of a search: an epsilon, the bound on delta evaluated there, and the choices used."""

    epsilon: float
    delta: float
    choices: Choices


def tilt_at(growth: float, mu: float) -> float:
    """Best tilt in the limit of many people, for t = growth / mu."""
    ratio = growth / mu
    return (ratio / 2 + math.sqrt(ratio**2 / 4 + 2)) / mu


def least_epsilon(
    bound: DeltaBound, first: Callable[[float], Choices], *, others: int, delta: float, guess: float, limit: float
) -> SearchResult | None:
    """Smallest epsilon found with an evaluated bound of at most delta; None if the search fails.

    Args:
        bound: bound to search.
        first: first choices at an epsilon.
        others: people beside the victim.
        delta: largest delta allowed.
        guess: epsilon to begin with.
        limit: epsilon from which on a result is of no use.
    """
    none_at_all = _lowest(bound, 0.0, first(0.0), others, delta)
    if none_at_all is not None:
        return none_at_all
    epsilon, choices, low = guess, usable(bound, guess, first(guess)), -math.inf
    for effort in _ROUNDS:
        if choices is None or not 0 < epsilon < limit:
            return None
        choices, low = improved(bound, epsilon, choices, others, effort)
        epsilon = max(epsilon + (low - math.log(delta)) / (choices.rate * math.exp(epsilon)), 0.02 * epsilon)
    return _settled(bound, epsilon, choices, delta, limit) if choices is not None else None


def least_delta(bound: DeltaBound, epsilon: float, start: Choices, *, others: int) -> SearchResult | None:
    """Least bound on delta found at an epsilon; None if none is found."""
    choices = usable(bound, epsilon, start)
    if choices is None:
        return None
    choices, _ = improved(bound, epsilon, choices, others, _ROUNDS[0])
    found = bound(epsilon, choices)
    return None if found is None else SearchResult(epsilon=epsilon, delta=found, choices=choices)


def _lowest(bound: DeltaBound, epsilon: float, start: Choices, others: int, delta: float) -> SearchResult | None:
    """Search result at this epsilon, if the bound found on delta is at most ``delta``; None otherwise.

    None also where a rough value is far above ``delta``.
    """
    rough = bound(epsilon, start, roughly=True)
    if rough is None or rough > 2 * delta:
        return None
    found = least_delta(bound, epsilon, start, others=others)
    return found if found is not None and found.delta <= delta else None


def _settled(bound: DeltaBound, epsilon: float, choices: Choices, delta: float, limit: float) -> SearchResult | None:
    """Result at the least epsilon tried at which the fully evaluated bound is at most delta; else None."""
    best: SearchResult | None = None
    before: tuple[float, float] | None = None
    slope = choices.rate * math.exp(epsilon)  # approximate slope of ln delta
    for _ in range(_MOST_WHOLE):
        if not 0 <= epsilon < limit:
            break
        found = bound(epsilon, choices)
        if found is None:
            break
        above = math.log(max(found, SMALLEST)) - math.log(delta)
        if found <= delta and (best is None or epsilon < best.epsilon):
            best = SearchResult(epsilon=epsilon, delta=found, choices=choices)
        if -_CLOSE <= above <= 0:
            break
        if before is not None and epsilon != before[0]:
            slope = min(max((before[1] - above) / (epsilon - before[0]), slope / 4), 4 * slope)
        before = epsilon, above
        epsilon += (above + 0.3 * _CLOSE) / slope
    return best


def usable(bound: DeltaBound, epsilon: float, start: Choices) -> Choices | None:
    """First of the choices tried near ``start`` for which the bound exists; None if none is usable."""
    for donors in _SPREAD:
        for rate in (1.0, 0.75):
            tried = Choices(rate=start.rate * rate, donors=min(start.donors * donors, 0.3), smoothing=start.smoothing)
            if bound(epsilon, tried, roughly=True) is not None:
                return tried
    return None


def improved(bound: DeltaBound, epsilon: float, start: Choices, others: int, effort: int) -> tuple[Choices, float]:
    """Better choices by Nelder and Mead's method, and the logarithm of the choices' rough bound."""

    def choices_at(point: Floats) -> Choices:
        rate, logit, smoothing = (float(each) for each in point)
        donors = 1 / (1 + math.exp(-logit))
        return Choices(
            rate=math.exp(rate),
            donors=min(max(donors, _LEAST_DONORS / others), _MOST_DONORS),
            smoothing=min(max(math.exp(smoothing), _LEAST_SMOOTHING), _MOST_SMOOTHING),
        )

    def height(point: Floats) -> float:
        found = bound(epsilon, choices_at(point), roughly=True)
        return math.inf if found is None else math.log(max(found, SMALLEST))

    share = min(max(start.donors, _LEAST_DONORS / others), _MOST_DONORS)
    first = np.array([math.log(start.rate), math.log(share / (1 - share)), math.log(start.smoothing)])
    best, low = nelder_mead(height, first, _STEPS, effort)
    return choices_at(best), low


def nelder_mead(height: Callable[[Floats], float], start: Floats, steps: Floats, effort: int) -> tuple[Floats, float]:
    """Lowest point found by a simplex in about ``effort`` evaluations, and its height."""
    known = [(height(point), point) for point in (start, *(start + step for step in np.diag(steps)))]
    used = len(known)
    while used < effort:
        known.sort(key=lambda each: each[0])
        top, worst = known[-1]
        center = np.mean([point for _, point in known[:-1]], axis=0)
        tried, used = center + (center - worst), used + 1
        found = height(tried)
        if found < known[0][0]:
            farther, used = center + 2 * (center - worst), used + 1
            known[-1] = min((found, tried), (height(farther), farther), key=lambda each: each[0])
        elif found < known[-2][0]:
            known[-1] = found, tried
        else:
            inner, used = center + 0.5 * ((tried if found < top else worst) - center), used + 1
            inside = height(inner)
            if inside < min(found, top):
                known[-1] = inside, inner
            else:
                closer = [(known[0][1] + point) / 2 for _, point in known[1:]]
                known[1:] = [(height(point), point) for point in closer]
                used += len(closer)
    low, best = min(known, key=lambda each: each[0])
    return best, low
