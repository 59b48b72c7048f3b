"""Number of messages of split and mix: the fewest that are certified, the certificate, and published counts.

Published counts are numbers to compare with: none of them decides anything, and none can be in a statement.
"""

import math
import warnings
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from shuffledp.accounting import THEOREMS, Theorem
from shuffledp.accounting.evaluators.share_mixing import MOST_USERS, mixing_distance
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.validate import invalid
from shuffledp.randomizers import SplitAndMix, SplitAndMixModel
from shuffledp.shufflers import ImperfectShuffleModel, ParallelShuffleModel, UniformShuffleModel

LEAST_SHARES, MOST_SHARES = 2, 1024  # of one number

_THEOREM: Theorem = next(theorem for theorem in THEOREMS if theorem.id == "split-and-mix")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAndMixCertificate(Described):
    """Certificate of split and mix through given shuffles, beside published message counts.

    Args:
        num_users: people planned for.
        num_honest: how many of them are counted: they come, and tell nothing.
        imperfection: gamma, as the shuffles promise it.
        dimension: coordinates.
        num_shares: messages for each coordinate.
        num_messages: messages of each person.
        modulus: what residues are added by.
        precision: steps of the grid.
        bits_per_user: what one person sends, in bits.
        security_bits: the rounds are within 2^-security_bits of telling nothing but the noisy sums; rounded down.
        epsilon: the loss of the noise, in nats.
        delta: the remainder at that epsilon; rounded up.
        rule_of_thumb: messages for each coordinate by the chance of one isolated user; not a bound.
        printed_lemma_13: by Lemma 4.13 of Ghazi et al. as printed; None where that says nothing.
        lemma_12: by their Lemma 4.12 with its algebra done again; None where that says nothing.
        perfect_shuffle: through uniform shuffles, by Balle et al. 2020; None where that says nothing.
    """

    num_users: int
    num_honest: int
    imperfection: float
    dimension: int
    num_shares: int
    num_messages: int
    modulus: int
    precision: int
    bits_per_user: int
    security_bits: float
    epsilon: float
    delta: float
    rule_of_thumb: int | None
    printed_lemma_13: int | None
    lemma_12: int | None
    perfect_shuffle: int | None


def split_and_mix(
    *,
    num_users: int,
    epsilon: float,
    delta: float,
    imperfection: float = 0.0,
    lower: float,
    upper: float,
    dropout_fraction: float = 0.0,
    dimension: int = 1,
    l1_bounded: bool = False,
    integer: bool = False,
    precision: int | None = None,
    clip: bool = False,
) -> SplitAndMix:
    """Split-and-mix randomizer with the fewest messages that are certified to make sums private.

    Guarantees:
        1. What it sends, through independent rounds whose shuffles are as promised (all but one of each coordinate), is
           (epsilon, delta)-private by the theorem "split-and-mix": for everybody, and for those who are left if the
           share ``dropout_fraction`` of the people stay away or collude.
        2. With one message less for each coordinate that is not certified, unless the answer is 2.

    Args:
        num_users: people planned for, 2 or more, at most a billion.
        epsilon: central privacy loss in nats, over all coordinates together.
        delta: the remainder, strictly between 0 and 1; at 0 nothing is certified.
        imperfection: gamma of each round's shuffle, 0 or more: a promise that nothing here measures.
        lower: least value; public.
        upper: largest value; public.
        dropout_fraction: share of the people, below 1, who may stay away or collude with the analyst.
        dimension: coordinates of a vector; 1 for numbers.
        l1_bounded: vectors have coordinates of 0 or more, which add up to ``upper`` at most.
        integer: values are integers; then nothing is rounded.
        precision: steps of the grid, as for `shuffledp.SplitAndMix`. Rounding adds up to num_users / (4 precision^2) to
            the variance of the sum, in units of the squared range; twice the precision costs one bit a message.
        clip: move values outside the range to its nearer end, instead of refusing them.

    Raises:
        InvalidParameterError: if a parameter is out of range, if no number of messages up to 1024 is certified, or if
            epsilon * num_users is so small that sums would wrap around the modulus.

    Warns:
        UserWarning: if sums wrap around the modulus with a probability that matters (`SplitAndMixModel.warnings`).

    References:
        Ghazi et al. 2023, with a sharper lemma (`shuffledp.accounting.evaluators.share_mixing`).

    Example:
        >>> randomizer = split_and_mix(num_users=10_000, epsilon=1.0, delta=1e-6, imperfection=0.5, lower=0, upper=100)
        >>> randomizer.num_messages, randomizer.precision, randomizer.modulus
        (8, 100, 2000000)
    """
    validate.integer_at_least(2, num_users=num_users)
    if num_users > MOST_USERS:
        raise invalid(f"at most {MOST_USERS}", num_users=num_users)
    validate.open_probability(delta=delta)
    validate.nonnegative(imperfection=imperfection)
    if imperfection == math.inf:
        raise invalid("finite: an infinite one promises nothing", imperfection=imperfection)
    present = _present(num_users, dropout_fraction)
    randomizer = SplitAndMix(
        num_users=num_users,
        epsilon=epsilon,
        lower=lower,
        upper=upper,
        num_shares=2,
        dimension=dimension,
        l1_bounded=l1_bounded,
        integer=integer,
        precision=precision,
        noise_users=present,
        clip=clip,
    )
    for warning in randomizer.model.warnings:
        warnings.warn(warning, stacklevel=2)
    num_shares = _fewest(randomizer.model, delta, float(imperfection))
    return SplitAndMix.from_model(replace(randomizer.model, num_shares=num_shares), clip=clip)


def split_and_mix_certificate(
    model: SplitAndMixModel, shuffle: ShuffleModel, *, delta: float | None = None
) -> SplitAndMixCertificate:
    """Certificate by the theorem "split-and-mix" about a randomizer and its shuffles.

    Args:
        model: the randomizer's.
        shuffle: independent rounds, or one uniform shuffle of all messages.
        delta: the remainder that others' numbers of messages are for; None is the one that is certified.

    Raises:
        HypothesisError: if the theorem says nothing about them; the message names the hypothesis.
        InvalidParameterError: if an argument is not the model of a split-and-mix randomizer or of a shuffle.
    """
    validate.instance_of(SplitAndMixModel, model=model)
    validate.instance_of(ShuffleModel, shuffle=shuffle)
    if delta is not None:
        validate.open_probability(delta=delta)
    protocol = ProtocolModel(local=model, shuffle=shuffle)
    _THEOREM.require(protocol, delta=0.5)
    imperfection, certified = cast(float, shuffle.imperfection), _THEOREM.delta(protocol, epsilon=model.epsilon)
    distance = model.dimension * mixing_distance(shuffle.num_honest, model.num_shares, imperfection, model.modulus)
    sought = certified if delta is None else delta
    bits = security_target(epsilon=model.epsilon, delta=sought / model.dimension)
    counts = (rule_of_thumb, printed_count, lemma_12_count)
    rule, printed, redone = (
        count(num_users=shuffle.num_honest, imperfection=imperfection, modulus=model.modulus, security_bits=bits)
        for count in counts
    )
    perfect = perfect_shuffle_count(num_users=shuffle.num_honest, modulus=model.modulus, security_bits=bits)
    return SplitAndMixCertificate(
        num_users=shuffle.num_users,
        num_honest=shuffle.num_honest,
        imperfection=imperfection,
        dimension=model.dimension,
        num_shares=model.num_shares,
        num_messages=model.num_messages,
        modulus=model.modulus,
        precision=model.precision,
        bits_per_user=model.num_messages * model.report_bits,
        security_bits=-math.log2(distance) * (1 - 1e-12) if distance > 0 else math.inf,
        epsilon=model.epsilon,
        delta=certified,
        rule_of_thumb=rule,
        printed_lemma_13=printed,
        lemma_12=redone,
        perfect_shuffle=perfect,
    )


def _present(num_users: int, dropout_fraction: float) -> int:
    """Least number of people who take part and do not collude."""
    validate.nonnegative(dropout_fraction=dropout_fraction)
    if dropout_fraction >= 1:
        raise invalid("below 1", dropout_fraction=dropout_fraction)
    present = math.floor(num_users * (1 - Fraction(repr(float(dropout_fraction)))))  # exact decimals: 0.1 is 1/10
    if present < 2:
        raise invalid(f"so small that 2 of {num_users} people are left", dropout_fraction=dropout_fraction)
    return present


def _fewest(model: SplitAndMixModel, delta: float, imperfection: float) -> int:
    """Fewest messages, by bisection below the first power of two that is enough, as more messages never mix worse."""

    def certified(num_shares: int) -> bool:
        local = replace(model, num_shares=num_shares)
        protocols = (_protocol(local, honest, imperfection) for honest in {model.num_users, model.noise_users})
        return all(_THEOREM.delta(protocol, epsilon=model.epsilon) <= delta for protocol in protocols)

    enough = LEAST_SHARES
    while not certified(enough):
        enough *= 2
        if enough > MOST_SHARES:
            raise _nothing_certified(model, delta, imperfection)
    return bisect_left(range(enough), True, lo=max(enough // 2 + 1, LEAST_SHARES), hi=enough, key=certified)


def _nothing_certified(model: SplitAndMixModel, delta: float, imperfection: float) -> InvalidParameterError:
    return InvalidParameterError(
        f"imperfection must be smaller, since no number of messages up to {MOST_SHARES} is certified; got imperfection="
        f"{imperfection!r} with num_users={model.num_users}, of whom {model.noise_users} are counted, epsilon="
        f"{model.epsilon:g}, delta={delta:g}. Use a better shuffle, more people or a larger delta."
    )


def _protocol(local: SplitAndMixModel, honest: int, imperfection: float) -> ProtocolModel:
    shuffle: ShuffleModel = UniformShuffleModel(num_users=honest)
    if imperfection > 0:
        shuffle = ImperfectShuffleModel(num_users=honest, imperfection=imperfection, construction="assumed")
    return ProtocolModel(local=local, shuffle=ParallelShuffleModel(round=shuffle, num_rounds=local.num_messages))


# ---- published counts -----------------------------------------------------------------------------------------------


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
