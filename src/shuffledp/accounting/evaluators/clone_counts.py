"""Pair of clones: what one answer more or less shows among the reports that look like it, at any size.

Of n - 1 other reports each is a clone with chance q; half of the C clones, at random, look like one answer and half
like the other. With E = exp(epsilon0), e = exp(epsilon), N = C + 1 and k = floor(N (E - e) / ((E - 1) (e + 1))), the
delta given C = c is

    D_c = (E - e) / (E + 1) b_c(k) - (e - 1) S_c(k),    b_c(k) = Pr[T = k],  S_c(k) = Pr[T < k],  T ~ Bin(c, 1/2),

and does not grow with c, because a further clone is post-processing. So with C in blocks, D at the low end of each is
an upper bound, and at the high end a lower bound.
"""

import math

import numpy as np

from shuffledp.accounting.evaluators.binomial import Blocks, binomial_blocks, log_probability, tail_ratio
from shuffledp.accounting.numerics import SMALLEST, binomial_error, gaussian_epsilon, largest_below, smallest_below
from shuffledp.core.table import Floats

_COARSE, _FINE, _CURVE = 64, 1024, 512
_LARGEST_EPSILON = 700.0
_MOST_USERS = 2**52  # counts above would not be whole numbers in floats; more people never hurt
_OUTSIDE = 1e-8  # of delta: what is left out of the window


def pair_epsilon(*, epsilon0: float, chance: float, users: int, delta: float) -> float:
    """The least epsilon at which the pair's delta is at most the one given, from above.

    Args:
        epsilon0: local loss in nats, 0 or more.
        chance: of another report to be a clone, from 0 to 1.
        users: number of people, 1 or more.
        delta: strictly between 0 and 1.
    """
    outside = max(_OUTSIDE * delta, SMALLEST)
    # Where it goes for many people: mu = 2 tanh(epsilon0 / 2) / sqrt(clones).
    guess = gaussian_epsilon(2 * math.tanh(epsilon0 / 2) / math.sqrt(max(users * chance, 1.0)), delta)
    for num_blocks, tolerance in ((_COARSE, 1e-4), (_FINE, 1e-7)):
        law = clone_blocks(users, chance, outside=outside, num_blocks=num_blocks)
        guess = smallest_below(
            lambda epsilon, law=law: _upper(epsilon0, epsilon, law),  # type: ignore[misc]
            level=delta,
            limit=epsilon0,
            guess=guess,
            tolerance=tolerance,
        )
    return guess


def pair_epsilon_below(*, epsilon0: float, chance: float, users: int, delta: float) -> float:
    """As `pair_epsilon`, from below."""
    outside = max(_OUTSIDE * delta, SMALLEST)
    law = clone_blocks(users, chance, outside=outside, num_blocks=_FINE)
    guess = pair_epsilon(epsilon0=epsilon0, chance=chance, users=users, delta=delta)
    return largest_below(lambda epsilon: _lower(epsilon0, epsilon, law), level=delta, limit=epsilon0, guess=guess)


def pair_delta(*, epsilon0: float, chance: float, users: int, epsilon: float) -> float:
    """The pair's delta at an epsilon of 0 or more, from above; 0 from epsilon0 on."""
    if epsilon >= epsilon0:
        return 0.0
    rough = _upper(epsilon0, epsilon, clone_blocks(users, chance, outside=SMALLEST, num_blocks=_COARSE))
    law = clone_blocks(users, chance, outside=max(_OUTSIDE * rough, SMALLEST), num_blocks=_FINE)
    return min(_upper(epsilon0, epsilon, law), rough)


def pair_delta_below(*, epsilon0: float, chance: float, users: int, epsilon: float) -> float:
    """As `pair_delta`, from below."""
    if epsilon >= epsilon0:
        return 0.0
    rough = pair_delta(epsilon0=epsilon0, chance=chance, users=users, epsilon=epsilon)
    law = clone_blocks(users, chance, outside=max(_OUTSIDE * rough, SMALLEST), num_blocks=_FINE)
    return _lower(epsilon0, epsilon, law)


def pair_curve(*, epsilon0: float, chance: float, users: int, epsilons: Floats) -> Floats:
    """The pair's delta at each of many epsilons, from above and as small as 1e-300; less tight than `pair_delta`."""
    law = clone_blocks(users, chance, outside=1e-305, num_blocks=_CURVE)
    return np.array([_upper(epsilon0, float(epsilon), law) for epsilon in epsilons])


def clone_blocks(users: int, chance: float, *, outside: float, num_blocks: int) -> Blocks:
    """The number of clones among the other people, in blocks."""
    if chance < SMALLEST:  # nobody is a clone, as good as surely
        return binomial_blocks(0, 1.0, outside=outside, num_blocks=num_blocks)
    others = min(users - 1, _MOST_USERS)
    return binomial_blocks(others, chance, outside=outside, num_blocks=num_blocks)


def _upper(epsilon0: float, epsilon: float, law: Blocks) -> float:
    if epsilon >= epsilon0:
        return 0.0
    probability, gain, loss = _given(law.lows, epsilon0, epsilon)
    error = binomial_error(int(law.highs[-1]))
    deltas = probability * np.maximum(gain * (1 + error) - loss * (1 - error), 0.0)
    return min(float(law.most @ deltas) * (1 + error) + law.outside + SMALLEST, 1.0)


def _lower(epsilon0: float, epsilon: float, law: Blocks) -> float:
    if epsilon >= min(epsilon0, _LARGEST_EPSILON):
        return 0.0
    probability, gain, loss = _given(law.highs, epsilon0, epsilon)
    error = binomial_error(int(law.highs[-1]))
    deltas = probability * np.maximum(gain * (1 - error) - loss * (1 + error), 0.0)
    delta = float(law.least @ deltas) * (1 - error)
    return delta if delta > 1e3 * SMALLEST else 0.0


def _given(clones: Floats, epsilon0: float, epsilon: float) -> tuple[Floats, float, Floats]:
    """For each number of clones: b_c(k), and what it is multiplied with, as gain less loss."""
    short = math.expm1(epsilon - epsilon0)
    gain = -short / (1 + math.exp(-epsilon0))
    share = short / math.expm1(-epsilon0) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    counts = np.minimum(np.floor((clones + 1) * share), clones)
    probability = np.exp(log_probability(counts, clones, 0.5))
    growth = math.expm1(min(epsilon, _LARGEST_EPSILON))  # less than it is errs upward
    loss = growth * tail_ratio(clones - counts, clones, 1.0) if epsilon > 0 else np.zeros_like(clones)
    return probability, gain, loss
