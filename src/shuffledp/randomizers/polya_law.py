"""The law of sums of Polya shares: variance, how likely a sum is large, and intervals that hold it."""

import functools
import math

import numpy as np

__all__ = ["central_interval", "noise_variance", "tail_bound"]

_GUARD = 1 + 1e-9  # above the error of evaluating a bound in floats
_FINEST = 2e-3  # of the scale of the noise: a finer grid would change no interval by more
_REACH = 70.0  # nats: what lies further out is less than what floats round off


def noise_variance(rate: float, shape: float) -> float:
    """Variance of the difference of two negative binomial numbers: shape / (2 sinh(rate/2)^2); 0 for a huge rate.

    Args:
        rate: minus the log of their ratio, above 0.
        shape: number of discrete Laplace variables that they add up to, 0 or more.
    """
    return shape / (2 * math.sinh(rate / 2) ** 2) if rate < 700 else 0.0


def tail_bound(rate: float, shape: float, limit: int) -> float:
    """At least the probability that such a difference is beyond +-limit; exact for shape 1.

    With a = exp(-rate) that is 2 a^(limit + 1) / (1 + a). Up to shape 1 the difference is unimodal and symmetric, and
    symmetric noise that is added to it (what shape 1 has more) puts no less outside. Above shape 1 it is Chernoff's
    bound, exp(-s (limit + 1)) times the moment generating function at s, for each side.

    Args:
        rate: above 0.
        shape: above 0.
        limit: 0 or more.
    """
    if shape <= 1:
        return min(1.0, _GUARD * 2 * math.exp(-rate * (limit + 1)) / (1 + math.exp(-rate)))
    reach = rate * (limit + 1)
    tilt = rate * reach / (shape + math.hypot(shape, reach))  # best in the limit of a small rate, and below the rate
    # (1 - a)^2 / ((1 - a e^s)(1 - a e^-s)) = sinh(rate/2)^2 / (sinh((rate - s)/2) sinh((rate + s)/2))
    sides = math.expm1(-(rate - tilt)), math.expm1(-(rate + tilt))
    log_moment = shape * (2 * math.log(-math.expm1(-rate)) - math.log(sides[0] * sides[1]))
    exponent = math.log(2 * _GUARD) + log_moment - tilt * (limit + 1)
    return math.exp(min(exponent, 0.0))


@functools.lru_cache(maxsize=256)
def central_interval(rate: float, shape: float, spread: float, level: float) -> float:
    """The least m so that the noise, and a normal number of this variance, lie together within +-m at this level.

    The law is found from its characteristic function on a grid of integers, or of multiples of some integer if they are
    fine enough for the scale of the noise. Without the normal number, and at a coarse scale, the probability of the
    interval may exceed the level.

    Args:
        rate: above 0.
        shape: above 0.
        spread: variance of the normal number, 0 or more.
        level: strictly between 0 and 1.
    """
    coarse = min(max(rate, _FINEST * math.sqrt(max(shape, 1.0))), max(rate, 1 / 30))
    unit = coarse / rate
    spread = spread / unit**2
    furthest = (_REACH + 12 * math.sqrt(2 * shape)) / coarse + 12 * math.sqrt(spread)
    size = 1 << max(4, math.ceil(math.log2(2 * furthest)))
    angles = 2 * math.pi * np.arange(size // 2 + 1) / size
    # |1 - a e^(i t)|^2 = (1 - a)^2 + 4 a sin(t/2)^2
    ratio, rest = math.exp(-coarse), -math.expm1(-coarse)
    log_law = -shape * np.log1p(4 * ratio * np.sin(angles / 2) ** 2 / rest**2) - spread * angles**2 / 2
    chances = np.fft.irfft(np.exp(log_law), size)[: size // 2]
    chances[1:] *= 2
    within = int(np.searchsorted(np.maximum.accumulate(np.cumsum(chances)), level - 1e-12))
    return unit * within
