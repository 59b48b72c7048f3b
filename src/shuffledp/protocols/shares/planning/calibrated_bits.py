"""Calibration of counted bits: the fewest bits for a private sum with at most the given error."""

import math
from bisect import bisect_left
from functools import lru_cache

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.planning.certified_messages import people_present
from shuffledp.protocols.shares.randomizers.counted_bits import MOST_MESSAGES, CountedBits
from shuffledp.protocols.shares.theorems.binomial_noise import shifted_binomial_delta
from shuffledp.randomizers.inputs import check_range

_FIRST_SHARE = 1 / 8  # of the error by sampling; if it cannot be reached, twice as much, and so on


def counted_bits(
    *,
    num_users: int,
    epsilon: float,
    delta: float,
    lower: float,
    upper: float,
    error: float | None = None,
    liars: int = 0,
    imperfection: float = 0.0,
    dropout_fraction: float = 0.0,
    clip: bool = False,
) -> CountedBits:
    """Counted-bits randomizer with the fewest bits per person for private sums with an error of at most ``error``.

    Guarantees:
        1. What it sends through one buffer is (epsilon, delta)-private by the theorem "counted-bits" (of a uniform
           shuffle) or "counted-bits-buffer", for everybody who comes if the share ``dropout_fraction`` stays away and
           ``liars`` of the others toss no coins.
        2. The standard error of the mean is at most ``error``, whatever the answers are, if all planned people come.
        3. No pair with fewer bits has both; of pairs with equally many it is the one that liars move least.

    Args:
        num_users: people planned for, 2 or more, at most a billion.
        epsilon: central privacy loss in nats, above 0.
        delta: the remainder, strictly between 0 and 1.
        lower: least value; public.
        upper: largest value; public.
        error: largest standard error of the mean, in units of the values; for a sum, that of the sum over num_users.
            None is an eighth of the error by sampling people whose answers lie at the two ends, half the range over
            the root of num_users; or a quarter, and so on, the first that can be reached.
        liars: people among those who come who may send anything, and toss no coins; 0 or more.
        imperfection: gamma of the one buffer, 0 or more. It takes value_bits * gamma from epsilon.
        dropout_fraction: share of the people, below 1, who may stay away or collude with the analyst.
        clip: move values outside the range to its nearer end, instead of refusing them.

    Raises:
        InvalidParameterError: if a parameter is out of range, or no number of bits up to 4,096 errs so little and is
            private.

    References:
        docs/theorems.md, "Counted bits".

    Example:
        >>> randomizer = counted_bits(num_users=10_000, epsilon=1.0, delta=1e-6, lower=0, upper=100, error=0.055)
        >>> randomizer.model.value_bits, randomizer.model.coins
        (16, 2)
    """
    validate.integer_at_least(2, num_users=num_users)
    validate.positive(epsilon=epsilon)
    validate.open_probability(delta=delta)
    validate.nonnegative(imperfection=imperfection)
    validate.integer_at_least(0, liars=liars)
    check_range(lower, upper)
    if imperfection == math.inf:
        raise invalid("finite: an infinite one promises nothing", imperfection=imperfection)
    honest = people_present(num_users, dropout_fraction) - liars
    if honest < 1:
        raise invalid("so small that somebody honest is left", liars=liars)
    sampling = (upper - lower) / 2 / math.sqrt(num_users)
    if error is None:
        share = _first_share(honest, epsilon, delta, float(imperfection))
    else:
        validate.positive(error=error)
        share = error / sampling
    found = _fewest(honest, epsilon, delta, float(imperfection), share)
    if found is None:
        raise InvalidParameterError(
            f"error must be larger, since no number of bits up to {MOST_MESSAGES} is private and errs so little; got "
            f"error={error!r} with num_users={num_users}, of whom the coins of {honest} are counted, epsilon="
            f"{epsilon:g}, delta={delta:g}, imperfection={imperfection:g}."
        )
    return CountedBits(
        num_users=num_users,
        lower=lower,
        upper=upper,
        value_bits=found[0],
        coins=found[1],
        noise_users=honest,
        clip=clip,
    )


def _first_share(honest: int, epsilon: float, delta: float, gamma: float) -> float:
    """First reachable share of the sampling error among 1/8, 1/4, 1/2, ...; a huge share if none is."""
    share = _FIRST_SHARE
    while _fewest(honest, epsilon, delta, gamma, share) is None and share < MOST_MESSAGES:
        share *= 2
    return share


@lru_cache(maxsize=256)
def _fewest(honest: int, epsilon: float, delta: float, gamma: float, share: float) -> tuple[int, int] | None:
    """Fewest bits (value_bits, coins) with sqrt(1 + coins) / value_bits at most ``share``; None without any.

    With so many coins, the fewest value bits that err little enough are also the most private ones.
    """

    def value_bits(coins: int) -> int:
        return max(1, math.ceil(math.sqrt(1 + coins) / share * (1 - 1e-12)))

    def is_private(coins: int) -> bool:
        left = epsilon - value_bits(coins) * gamma * (1 + 1e-15)
        return left >= 0 and shifted_binomial_delta(coins * honest, value_bits(coins), left) <= delta

    fit = range(1, bisect_left(range(MOST_MESSAGES), True, lo=1, key=lambda s: value_bits(s) + s > MOST_MESSAGES))
    if gamma:
        fit = range(1, bisect_left(fit, True, key=lambda s: epsilon < value_bits(s) * gamma) + 1)
    elif not fit or not is_private(fit[-1]):  # more coins, with as many more value bits, are never less private
        return None
    coins = next(filter(is_private, fit), None)
    return None if coins is None else (value_bits(coins), coins)
