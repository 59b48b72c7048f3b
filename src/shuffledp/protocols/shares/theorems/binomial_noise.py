"""Privacy of counted bits: exact curve of a shifted binomial number, and the loss by an imperfect buffer.

**Theorem.** Let each of N honest people send u ones, r - u zeros and s fair coins through one uniform shuffle of all
messages, where u is a rounding, without bias or with, of the person's answer to 0 .. r. With M = s N coins and
F(t) = Pr[Bin(M, 1/2) >= t], what the analyst sees is (e, delta)-private in the central model exactly for

    delta(e) = max over t of F(t - r) - exp(e) F(t).

If exchanging any two messages in the buffer changes the probability of each order by a factor of at most exp(gamma), it
is (e + r gamma, delta(e))-private (docs/theorems.md, "Counted bits").
"""

import math
from functools import lru_cache
from typing import cast

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_error, log_probability, tail_ratio
from shuffledp.accounting.numerics import smallest_below
from shuffledp.accounting.theorem import Theorem, oblivious, uniform_shuffle
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Kind, Status
from shuffledp.core.sum_models import BitSumModel
from shuffledp.protocols.shares.theorems.share_sums import known_imperfection

_GUARD = 4  # times the error of one probability: of two tails, and of the place where their difference is largest


def shifted_binomial_delta(coins: int, shift: int, epsilon: float) -> float:
    """Delta of a binomial number of fair coins, against the number shifted up by ``shift``; rounded up.

    Args:
        coins: M, all fair coins together, 0 or more.
        shift: r, 1 or more.
        epsilon: 0 or more, in nats.

    Example:
        >>> round(shifted_binomial_delta(4, 1, 0.0), 9)  # Bin(4, 1/2) is 2
        0.375
    """
    if coins == 0:
        return 1.0
    place = _largest_difference(coins, shift, epsilon)
    error = _GUARD * binomial_error(coins)
    above, below = _tail(coins, place - shift) * (1 + error), _tail(coins, place) * (1 - error)
    if below == 0:  # also where exp(epsilon) leaves the floats
        return min(1.0, above + math.ulp(0.0))
    return min(1.0, max(above - math.exp(epsilon + math.log(below)), 0.0) + math.ulp(0.0))


def _largest_difference(coins: int, shift: int, epsilon: float) -> int:
    """Smallest count that the shift makes more than exp(epsilon) times as likely.

    It is found by bisection.

    The ratio of the two rises with the count.
    """
    low, high = shift - 1, coins + 1  # below the shift the first is 0, and above all coins the second
    if high <= low:
        return high
    steps = np.arange(shift, dtype=np.float64)
    while high - low > 1:
        middle = (low + high) // 2
        # C(M, c - r) / C(M, c) is the product of (c - i) / (M - c + 1 + i) for i below r.
        ratio = float(np.log((middle - steps) / (coins - middle + 1 + steps)).sum())
        low, high = (low, middle) if ratio > epsilon else (middle, high)
    return high


def _tail(coins: int, count: int) -> float:
    """Probability Pr[Bin(coins, 1/2) >= count]."""
    if count <= 0:
        return 1.0
    if count > coins:
        return 0.0
    if 2 * count < coins:
        return 1 - _tail(coins, coins - count + 1)
    at = np.array([float(count)])
    mass = np.exp(log_probability(at, float(coins), 0.5))
    return float((mass * (1 + tail_ratio(at, float(coins), 1.0)))[0]) if count < coins else float(mass[0])


@lru_cache(maxsize=256)
def _least_epsilon(coins: int, shift: int, delta: float) -> float:
    """Least epsilon whose delta is at most the given delta; infinity if there is no such epsilon."""
    if coins == 0 or shifted_binomial_delta(coins, shift, math.inf) > delta:
        return math.inf
    # Up to all coins, the largest loss is that of the count of all coins: log C(coins, shift).
    largest = -float(np.diff(log_probability(np.array([coins - shift, coins], dtype=np.float64), float(coins), 0.5))[0])
    return smallest_below(
        lambda epsilon: shifted_binomial_delta(coins, shift, epsilon), level=delta, limit=largest * (1 + 1e-12)
    )


class _CountedBits(Theorem):
    """Base of the theorems on counted bits: privacy by the honest people's coins."""

    citation = "the binomial law of the coins"
    status = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports are bits to be counted."""
        return isinstance(model.local, BitSumModel)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon whose delta is at most the given delta; infinity if there is no such epsilon."""
        if not self.applies(model, delta=delta):
            return math.inf
        return _least_epsilon(*_coins_and_shift(model), delta) + self.added(model)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of the coins, at epsilon minus the loss by the buffer."""
        left = epsilon - self.added(model) if self.applies(model, delta=0.5) else -1.0
        return shifted_binomial_delta(*_coins_and_shift(model), left) if left >= 0 else 1.0

    def added(self, model: ProtocolModel) -> float:
        """Loss that the buffer adds to the loss of the coins."""
        gamma = cast(float, model.shuffle.imperfection)
        return cast(BitSumModel, model.local).value_bits * gamma * (1 + 1e-15) if gamma else 0.0


class CountedBitsUniform(_CountedBits):
    """Exact privacy of counted bits through one uniform shuffle.

    It is exact for the worst data set, which all others equal.
    """

    id = "counted-bits"
    kind = Kind.EXACT

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: counted bits, one uniform shuffle of all messages, and that all people's coins count."""
        del delta
        counted = _counted(model)
        if not counted.holds:
            return (counted,)
        alone = model.shuffle.num_honest == model.num_senders
        value = f"{model.shuffle.num_honest} of {model.num_senders}"
        everybody = Hypothesis("everybody-counted", "coins of everybody who takes part", value, alone)
        return (counted, _one_buffer(model), uniform_shuffle(model), everybody)


class CountedBitsBuffer(_CountedBits):
    """Privacy of counted bits through one imperfect buffer, or with colluding people."""

    id = "counted-bits-buffer"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: counted bits, one buffer of all messages, whose imperfection is known."""
        del delta
        counted = _counted(model)
        if not counted.holds:
            return (counted,)
        known = known_imperfection(model.shuffle, "a buffer whose imperfection is promised")
        return (counted, _one_buffer(model), known, oblivious(model))


def _coins_and_shift(model: ProtocolModel) -> tuple[int, int]:
    local = cast(BitSumModel, model.local)
    return local.coins * model.shuffle.num_honest, local.value_bits


def _counted(model: ProtocolModel) -> Hypothesis:
    local = model.local
    holds = isinstance(local, BitSumModel)
    return Hypothesis("counted-bits", "bits of which only the number of ones counts", f"{local.kind!r} reports", holds)


def _one_buffer(model: ProtocolModel) -> Hypothesis:
    shuffle, each = model.shuffle, model.local.num_messages
    value, holds = f"num_rounds={shuffle.num_rounds} of kind {shuffle.kind!r}", shuffle.num_rounds == 1
    if not shuffle.is_uniform:  # a uniform one takes whatever it is given
        value += f", messages_per_round={shuffle.messages_per_round} of {each}"
        holds = holds and shuffle.messages_per_round == each
    return Hypothesis("one-buffer", "one shuffle of all messages of all people", value, holds)
