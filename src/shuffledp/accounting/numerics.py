"""Numerics: epsilon solved on a curve of delta, and exponentials that overflow to infinity.

Epsilon is rounded to the safe side.
"""

import math
import sys
from collections.abc import Callable

SMALLEST = sys.float_info.min  # below it floats lose digits: an upper bound on delta is never stated as less

_LARGEST_POWER = 709.0
ROUND_UP = 1 + 1e-11  # the closed forms lose less than 1e-12 to rounding, at any delta that a float can hold
_STEPS = 200
_LOOKS_AROUND = 5  # most evaluations near a guess


def exp(power: float) -> float:
    """Exponential e^power; infinity where it overflows."""
    return math.exp(power) if power < _LARGEST_POWER else math.inf


def expm1(power: float) -> float:
    """Exponential minus one, e^power - 1; infinity where it overflows."""
    return math.expm1(power) if power < _LARGEST_POWER else math.inf


def rounded_up(bound: float) -> float:
    """Bound raised by more than its possible rounding error.

    For upper bounds from closed forms.
    """
    return bound * ROUND_UP


def smallest_below(
    curve: Callable[[float], float], *, level: float, limit: float, guess: float | None = None, tolerance: float = 1e-9
) -> float:
    """Smallest epsilon in [0, limit] at which a non-increasing curve is at most ``level``.

    Within the tolerance. The answer errs upward, by at most the tolerance: it is the end of the bracket where the curve
    was evaluated and found low enough, or ``limit``, which is taken to be so without a look. For upper bounds.
    """
    return _crossing(curve, level, limit, guess, tolerance)[1]


def largest_below(
    curve: Callable[[float], float], *, level: float, limit: float, guess: float | None = None, tolerance: float = 1e-9
) -> float:
    """Largest epsilon in [0, limit] at which a non-increasing curve was found above ``level``; else 0.

    As `smallest_below`, for lower bounds.
    """
    return _crossing(curve, level, limit, guess, tolerance)[0]


def _crossing(
    curve: Callable[[float], float], level: float, limit: float, guess: float | None, tolerance: float
) -> tuple[float, float]:
    """Two epsilons around a crossing: the curve is above the level at the first, not at the second.

    By the Illinois secant method and bisection.
    """

    def height(epsilon: float) -> float:
        value = curve(epsilon)
        return math.log(max(value, SMALLEST) / level) if value > 0 else -math.inf

    low, high, at_low, at_high = 0.0, limit, math.inf, -math.inf
    epsilon = guess if guess is not None and 0 < guess < limit else 0.0
    for _ in range(_LOOKS_AROUND):
        found = height(epsilon)
        if found > 0:
            low, at_low = epsilon, found
        else:
            high, at_high = epsilon, found
        if (low > 0 and high < limit) or epsilon == 0:
            break
        epsilon = min(epsilon * _beyond(found, level, tolerance), (epsilon + limit) / 2)
    if low == 0 < high and at_low == math.inf:
        found = height(0.0)
        low, high, at_low = (0.0, high, found) if found > 0 else (0.0, 0.0, at_low)
    side = 0
    for step in range(_STEPS):
        if high - low <= tolerance * high:
            break
        epsilon = _between(low, high, at_low, at_high, 0.4 * tolerance * high if step % 4 < 3 else math.inf)
        found = height(epsilon)
        if found > 0:
            low, at_low, at_high, side = epsilon, found, at_high / 2 if side > 0 else at_high, 1
        else:
            high, at_high, at_low, side = epsilon, found, at_low / 2 if side < 0 else at_low, -1
    return low, high


def _beyond(height: float, level: float, tolerance: float) -> float:
    """Factor on epsilon for the next step toward the level.

    Beyond the crossing if the curve falls about as a normal tail does.
    """
    move = 0.75 * height / max(-math.log(level), 1.0)
    return 1 + (max(min(move, 0.5), 2 * tolerance) if height > 0 else min(max(move, -0.3), -2 * tolerance))


def _between(low: float, high: float, at_low: float, at_high: float, margin: float) -> float:
    """Point where the chord between two points crosses 0, kept off the ends by a margin.

    The middle where an end or the margin is infinite.
    """
    if not (math.isfinite(at_low) and math.isfinite(at_high) and math.isfinite(margin)):
        return (low + high) / 2
    crossing = low + (high - low) * at_low / (at_low - at_high)
    return min(max(crossing, low + margin), high - margin)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of the Gaussian limit at this delta.

    It solves delta = mu (f(t) - t F(-t)) for t = epsilon / mu. f and F are the standard normal density and distribution
    function. An approximation, not a bound.
    """
    if not 0 < mu < math.inf:
        return mu
    low, high = 0.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        tail = math.erfc(middle / math.sqrt(2)) / 2
        value = mu * (math.exp(-(middle**2) / 2) / math.sqrt(2 * math.pi) - middle * tail)
        low, high = (middle, high) if value > delta else (low, middle)
    return max(mu * low, 1e-12)
