"""Published numbers of messages for split and mix, to compare with the certified one; none is ever in a promise."""

import math


def security_target(*, epsilon: float, delta: float) -> float:
    """Security bits sigma that a protocol needs: (1 + e^epsilon) 2^-(sigma + 1) = delta.

    Args:
        epsilon: in nats.
        delta: the remainder, above 0.
    """
    return math.log2(1 + math.exp(-epsilon)) + epsilon / math.log(2) - 1 - math.log2(delta)


def printed_count(*, num_users: int, imperfection: float, modulus: int, security_bits: float) -> int | None:
    """Messages by Lemma 4.13 of Ghazi et al. 2023 as it is printed; None where it does not apply.

    It solves sigma = (m - 1) ((log2 n - log2 e) / (64 e^(4 gamma)) - 2 gamma log2 e) - 3 log2(3 q), for a bracket above
    0: an imperfection of at most 0.04 for a thousand people, and 0.10 for a billion.
    """
    gain = _gain(num_users, imperfection) - 2 * imperfection * math.log2(math.e)
    return _count(1, security_bits + 3 * math.log2(3 * modulus), gain)


def lemma_12_count(*, num_users: int, imperfection: float, modulus: int, security_bits: float) -> int | None:
    """Messages by Lemma 4.12 of Ghazi et al. 2023, with corrected algebra; None where it does not apply.

    It gives sigma = (m - 1) ((log2 n - log2 e) / (64 e^(4 gamma)) - gamma log2 e) - log2(3 q) / 2 for random inputs,
    and one more message makes that hold for all (Lemma 4.2).
    """
    gain = _gain(num_users, imperfection) - imperfection * math.log2(math.e)
    return _count(2, security_bits + math.log2(3 * modulus) / 2, gain)


def perfect_shuffle_count(*, num_users: int, modulus: int, security_bits: float) -> int | None:
    """Messages through uniform shuffles by Balle, Bell, Gascon, Nissim 2020; None where it does not apply.

    m = 2 + ceil((2 sigma + log2(3 q)) / (log2 n - log2 e)). Their example, 10,000 people, 32 bits and sigma = 40, has
    12 messages.
    """
    gain = math.log2(num_users) - math.log2(math.e)
    return _count(2, 2 * security_bits + math.log2(3 * modulus), gain)


def rule_of_thumb(*, num_users: int, imperfection: float, modulus: int, security_bits: float) -> int | None:
    """Messages by the chance of one user alone: m = 1 + ceil((2 sigma + log2(n q)) / log2(1 + (n - 1) e^-gamma)).

    Close to the certificate for a gamma of at most 2 or so, and not a bound. None where no count is large enough.
    """
    gain = math.log2(1 + (num_users - 1) * math.exp(-imperfection))
    return _count(1, 2 * security_bits + math.log2(num_users * modulus), gain)


def _gain(num_users: int, imperfection: float) -> float:
    return (math.log2(num_users) - math.log2(math.e)) / 64 * math.exp(-4 * imperfection)


def _count(first: int, needed: float, gain: float) -> int | None:
    """Number of messages: the first ones, and one for each gain that is needed."""
    return first + math.ceil(needed / gain) if gain > 0 and needed / gain < 1e18 else None
