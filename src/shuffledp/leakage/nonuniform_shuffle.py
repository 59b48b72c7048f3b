"""Leakage of nonuniform shuffles, by the law of the place of the target's report.

Values being independent, only the law w of the place matters (`shuffledp.leakage.uniform_shuffle`), and

    V(w) = E[max over guesses of the sum over places j of w_j c[guess, z_j]]

is convex and symmetric in w, so that more concentrated laws tell more (it is Schur-convex). Where only the cost of
exchanging two people is known, no two places differ by more than a factor exp(cost), and V is at most the largest over
laws in which some places are exp(cost) times as likely as all others: those are the corners of what is possible.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.shuffle_models import PositionLaw
from shuffledp.core.statement_terms import Kind
from shuffledp.leakage.expected_maximum import by_convolution, normal_excess
from shuffledp.leakage.guess_scores import Scores, Slots, numbers_of
from shuffledp.leakage.maximum_bounds import Interval, by_heaviest
from shuffledp.leakage.uniform_shuffle import BestExcess, best_guess
from shuffledp.randomness.sources import RandomSource

_MOST_EXACT = 300  # most people for whom all corners are tried
_MOST_SEARCHED = 10_000_000  # most people for whom corners are searched
_MOST_POINTS = 48
_GRID = 2**13  # points, which take milliseconds
_CLOSE = 0.01
_CLOSER = 0.001
_HARDLY = 1e-13  # of what one report tells: no closer bound is looked for
_SUM_TOLERANCE = 1e-9
_MOST_WEIGHTS = 64
_TINY = 1e-300
_LEAST_COST = 1e-9  # below it floats hardly distinguish heavy and light places


def slots_of(positions: "ArrayLike | PositionLaw") -> Slots:
    """Slots: the weights of places, and the number of places with each weight.

    They are made from probabilities or from a model's law.
    """
    if isinstance(positions, PositionLaw):
        weights, counts = np.array(positions.weights, dtype=np.float64), np.array(positions.counts)
    else:
        given = numbers_of(positions, "positions").astype(np.float64)
        if given.ndim != 1 or not given.size or not (given >= 0).all():
            raise InvalidParameterError("positions must be probabilities of places, 0 or more, in one dimension.")
        weights, counts = np.unique(given, return_counts=True)
    total = float(weights @ counts)
    if not abs(total - 1) <= _SUM_TOLERANCE:
        raise InvalidParameterError("positions must sum to 1; got another sum.")
    pairs = zip((weights / total).tolist(), counts.tolist(), strict=True)
    return tuple((weight, int(count)) for weight, count in pairs if weight > 0)


def best_at(found: Scores, slots: Slots, *, method: str = "auto", source: RandomSource | None = None) -> BestExcess:
    """Best guess, or a bound on it, if the place of the target's report has this law.

    It is a bound if the law has many different weights. Many different weights are grouped: in a group, all but one
    become the largest or the smallest one, with the sum kept, which makes the law more concentrated and the result an
    upper bound. The lower bound gives a group one weight.
    """
    if len(slots) <= _MOST_WEIGHTS or method in ("monte-carlo", "gaussian"):
        return best_guess(found, slots, method=method, source=source)
    above, below = _grouped(slots)
    upper = best_guess(found, above, method=method, source=source)
    lower = best_guess(found, below, method=method, source=source)
    note = upper.note or "The likeliest places are taken one by one and all others in groups, so this is a bound."
    known = [Interval(lower.lower, upper.upper, upper.method)]
    heaviest = by_heaviest(found.reduced(), slots)
    if heaviest is not None:
        known.append(heaviest)
    least = min(known, key=lambda each: each.upper)
    sure = min(least.upper, max(each.lower for each in known))
    return BestExcess(
        excess=least.upper, lower=sure, upper=least.upper, kind=Kind.UPPER_BOUND, method=least.method, note=note
    )


def _grouped(slots: Slots) -> tuple[Slots, Slots]:
    """Two simpler laws of places: one more concentrated and one less concentrated than the given law.

    They have a few dozen weights each.
    """
    ordered = sorted(slots, reverse=True)
    kept, rest = ordered[: _MOST_WEIGHTS // 4], ordered[_MOST_WEIGHTS // 4 :]
    above, below = list(kept), list(kept)
    for group in np.array_split(np.array(rest, dtype=np.float64), _MOST_WEIGHTS // 4):
        if not len(group):
            continue
        count, mass = int(group[:, 1].sum()), float(group[:, 0] @ group[:, 1])
        high, low = float(group[0, 0]), float(group[-1, 0])
        below.append((mass / count, count))
        many = min(count - 1, int((mass - low * count) / (high - low))) if high > low else count - 1
        middle = max(mass - high * many - low * (count - 1 - many), 0.0)
        above += [(high, many), (middle, 1), (low, count - 1 - many)]
    return tuple(slot for slot in above if slot[1] and slot[0] > 0), tuple(slot for slot in below if slot[0] > 0)


def worst_within(found: Scores, size: int, cost: float) -> float:
    """Largest excess over all laws on ``size`` places with probability ratios of at most exp(cost).

    The maximum for at most a few hundred places and two kinds of reports; else an upper bound, in all cases compared at
    most a hundredth above it for two guesses, and a sixth for more, up to 10 million places and two kinds of reports.
    It is the least of these: the report's own (place known), laws that are more concentrated than all corners of a
    range, a mixture of uniform laws on fewer places, and, for two guesses, the normal law with Goldstein's bound.
    """
    small = found.reduced()
    if len(small.values) == 1:
        return 0.0
    local = best_guess(small, ((1.0, 1),)).upper
    if size == 1 or cost == math.inf:
        return local
    if cost == 0:
        return min(local, _uniform(small)(size))
    cost = max(cost, _LEAST_COST)  # a larger cost allows more laws: errs upward
    if len(small.chances) == 2 and size <= _MOST_EXACT:
        return max(best_guess(small, _corner(size, heavy, cost)).upper for heavy in range(size))
    if len(small.chances) == 2 and size <= _MOST_SEARCHED and _is_moderate(size, cost):
        return min(local, _searched(small, size, cost))
    bounds = [local, _mixture_bound(_uniform(small), size, cost)]
    if len(small.values) == 2:
        bounds.append(_normal_bound(small, size, cost))
    return min(bounds)


def _corner(size: int, heavy: int, cost: float) -> Slots:
    """Corner law: ``heavy`` places are exp(cost) times as likely as each other place."""
    light = 1 / (heavy * math.exp(min(cost, 700.0)) + size - heavy)
    slots = ((math.exp(min(cost, 700.0)) * light, heavy), (light, size - heavy))
    return tuple(slot for slot in slots if slot[1])


def _is_moderate(size: int, cost: float) -> bool:
    """Whether the law that leaks most has several heavy places.

    They are about size / (1 + exp(cost / 2)) places.
    """
    return cost < 2 * math.log(size)


def _searched(small: Scores, size: int, cost: float) -> float:
    """Largest excess over all corners, or slightly more, by halving ranges of corners.

    The range with the largest bound is halved first.
    """

    def excess(slots: Slots) -> float:
        if len(small.values) > 2:
            return best_guess(small, slots, method="quick").upper
        return by_convolution(small.chances, small.values, slots, _GRID)[1]

    hardly = _HARDLY * float(np.ptp(small.values[1] - small.values[0]))
    attained = excess(_corner(size, max(1, round(size / (1 + math.exp(cost / 2)))), cost))
    ranges = [(math.inf, 1, size - 1)]
    for _ in range(_MOST_POINTS):
        worst, low, high = ranges.pop(ranges.index(max(ranges)))
        if worst <= (1 + _CLOSER) * attained + hardly or low == high:
            return worst
        middle = max(low, min(high - 1, int(math.sqrt(low * high))))
        for start, end in ((low, middle), (middle + 1, high)):
            ranges.append((excess(_above_corners(size, start, end, cost)), start, end))
        attained = max(attained, excess(_corner(size, middle, cost)))
    return max(ranges)[0]


def _above_corners(size: int, low: int, high: int, cost: float) -> Slots:
    """Law more concentrated than every corner with ``low`` to ``high`` heavy places.

    With h heavy places a heavy one has exp(cost) b(h), and a light one b(h) = 1 / (h exp(cost) + size - h), which falls
    with h. So j places have at most j exp(cost) b(low) together, and all others at least b(high) each.
    """
    heavy = math.exp(cost) / (low * math.exp(cost) + size - low)
    light = 1 / (high * math.exp(cost) + size - high)
    many = min(size - 1, int((1 - size * light) / (heavy - light)))
    middle = 1 - many * heavy - (size - many - 1) * light
    slots = ((heavy, many), (max(light, middle), 1), (light, size - many - 1))
    return tuple(slot for slot in slots if slot[1])


def _uniform(small: Scores) -> Callable[[int], float]:
    """Function from a number of people to the excess of their uniform shuffle, or to an upper bound."""
    kept: dict[int, float] = {}
    method = "quick" if len(small.values) > 2 else "auto"  # for a few dozen sizes

    def excess(size: int) -> float:
        if size not in kept:
            kept[size] = best_guess(small, ((1 / size, size),), method=method).upper
        return kept[size]

    return excess


def _mixture_bound(uniform: Callable[[int], float], size: int, cost: float) -> float:
    """Upper bound on the excess over all corners, since the excess is convex in the law of places.

    A corner with h heavy places mixes the uniform laws on all places and on h places.

    The share of the first is n / (n + h (e^cost - 1)). It falls with h, and so does the excess of h people, so that
    between two values of h the bound of both ends holds: intervals are halved where it is largest.
    """
    every = uniform(size)

    def bound(low: int, high: int) -> float:
        share = 1 / (1 + high / size * math.expm1(min(cost, 700.0)))
        return share * every + (1 - share) * uniform(low)

    intervals = [(bound(1, size), 1, size)]
    for _ in range(_MOST_POINTS):
        worst, low, high = intervals.pop(intervals.index(max(intervals)))
        if high == low or worst <= (1 + _CLOSE) * bound(low, low):
            return worst
        middle = max(low, min(high - 1, int(math.sqrt(low * high))))
        intervals += [(bound(low, middle), low, middle), (bound(middle + 1, high), middle + 1, high)]
    return max(intervals)[0]


def _normal_bound(small: Scores, size: int, cost: float) -> float:
    """Upper bound on the excess by the normal law of a sum, plus an error term of third moments.

    The terms of the sum are independent. The error term is the sum of third moments over the variance.

    Goldstein 2010: the Wasserstein distance of a standardized sum from the normal law is at most the sum of the third
    absolute moments. Of weights in the ratio exp(cost) the squares add up to cosh(cost / 2)^2 / n at most.
    """
    difference = small.values[1] - small.values[0]
    mean = float(difference @ small.chances)
    centered = difference - mean
    variance = float(centered**2 @ small.chances)
    third = float(np.abs(centered) ** 3 @ small.chances)
    if variance <= _TINY or cost > 2 * math.log(size):
        return math.inf
    squares = min(1.0, math.cosh(cost / 2) ** 2 / size)
    largest = 1 / (1 + (size - 1) * math.exp(-cost))
    return normal_excess(mean, math.sqrt(variance * squares)) + largest * third / variance
