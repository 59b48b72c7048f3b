"""Calibration of split and mix: fewest certified messages, and the certificate."""

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from shuffledp.accounting import THEOREMS, Theorem
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.randomizers.hosts import HostedShareModel, Hosts
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.shares.theorems.share_mixing import MOST_USERS, mixing_distance
from shuffledp.shufflers import UniformShuffleModel

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
    hosts: Hosts | None = None,
    clip: bool = False,
) -> SplitAndMix:
    """Split-and-mix randomizer with the fewest messages that are certified to make sums private.

    Guarantees:
        1. What it sends, through shuffles as promised (but for one round of each coordinate, or ``hosts.colluding`` of
           the hosts), is (epsilon, delta)-private by the theorem "split-and-mix": for everybody, and for those who are
           left if the share ``dropout_fraction`` of the people stay away or collude.
        2. With one message less for each coordinate and host that is not certified, unless the answer is 2, or one for
           each host.

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
        hosts: of the shuffles (`shuffledp.Hosts`), each of which gets as many messages; None is one
            trusted host with a shuffle for each message.
        clip: move values outside the range to its nearer end, instead of refusing them.

    Raises:
        InvalidParameterError: if a parameter is out of range, if no number of messages up to 1024 is certified, or if
            epsilon * num_users is so small that sums would wrap around the modulus.

    Warns:
        UserWarning: if sums wrap around the modulus with a probability that matters (`SplitAndMixModel.warnings`).

    References:
        Ghazi et al. 2023, with a sharper lemma (`shuffledp.protocols.shares.theorems.share_mixing`).

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
    present = people_present(num_users, dropout_fraction)
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
    hosts = Hosts() if hosts is None else hosts
    validate.instance_of(Hosts, hosts=hosts)
    num_shares = _fewest(randomizer.model, hosts, delta, float(imperfection))
    return SplitAndMix.from_model(replace(randomizer.model, num_shares=num_shares, hosts=hosts), clip=clip)


def split_and_mix_certificate(model: SplitAndMixModel, shuffle: ShuffleModel) -> SplitAndMixCertificate:
    """Certificate by the theorem "split-and-mix" about a randomizer and its shuffles.

    Args:
        model: the randomizer's.
        shuffle: independent rounds, or one uniform shuffle of all messages.

    Raises:
        HypothesisError: if the theorem says nothing about them; the message names the hypothesis.
        InvalidParameterError: if an argument is not the model of a split-and-mix randomizer or of a shuffle.
    """
    validate.instance_of(SplitAndMixModel, model=model)
    validate.instance_of(ShuffleModel, shuffle=shuffle)
    protocol = ProtocolModel(local=model, shuffle=shuffle)
    _THEOREM.require(protocol, delta=0.5)
    imperfection, certified = cast(float, shuffle.imperfection), _THEOREM.delta(protocol, epsilon=model.epsilon)
    distance = model.dimension * mixing_distance(
        shuffle.num_honest,
        model.num_shares,
        imperfection,
        model.modulus,
        shares_per_buffer=model.messages_per_round,
        told_buffers=model.told_rounds,
    )
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
    )


def people_present(num_users: int, dropout_fraction: float) -> int:
    """Least number of people who take part and do not collude."""
    validate.nonnegative(dropout_fraction=dropout_fraction)
    if dropout_fraction >= 1:
        raise invalid("below 1", dropout_fraction=dropout_fraction)
    present = math.floor(num_users * (1 - Fraction(repr(float(dropout_fraction)))))  # exact decimals: 0.1 is 1/10
    if present < 2:
        raise invalid(f"so small that 2 of {num_users} people are left", dropout_fraction=dropout_fraction)
    return present


def _fewest(model: SplitAndMixModel, hosts: Hosts, delta: float, imperfection: float) -> int:
    """Fewest certified messages of each value, in equal parts for the hosts."""

    def certified(num_shares: int) -> bool:
        local = replace(model, num_shares=num_shares, hosts=hosts)
        protocols = (through_rounds(local, honest, imperfection) for honest in {model.num_users, model.noise_users})
        return all(_THEOREM.delta(protocol, epsilon=model.epsilon) <= delta for protocol in protocols)

    found = fewest_shares(hosts, certified)
    if found is None:
        raise _nothing_certified(model, delta, imperfection)
    return found


def fewest_shares(hosts: Hosts, certified: Callable[[int], bool]) -> int | None:
    """Fewest certified shares of a value, in equal parts for the hosts.

    None if none are found up to 1024.

    By bisection below the first power of two that is enough for a host, as more messages never mix worse.
    """

    def of_each(number: int) -> bool:
        return certified(number * hosts.number)

    least = enough = -(-LEAST_SHARES // hosts.number)
    while not of_each(enough):
        enough *= 2
        if enough * hosts.number > MOST_SHARES:
            return None
    return hosts.number * bisect_left(range(enough), True, lo=max(enough // 2 + 1, least), hi=enough, key=of_each)


def _nothing_certified(model: SplitAndMixModel, delta: float, imperfection: float) -> InvalidParameterError:
    return InvalidParameterError(
        f"imperfection must be smaller, since no number of messages up to {MOST_SHARES} is certified; got imperfection="
        f"{imperfection!r} with num_users={model.num_users}, of whom {model.noise_users} are counted, epsilon="
        f"{model.epsilon:g}, delta={delta:g}. Use a better shuffle, more people or a larger delta."
    )


def through_rounds(local: HostedShareModel, honest: int, imperfection: float) -> ProtocolModel:
    """Protocol of ``honest`` people with independent shuffle rounds of this imperfection."""
    shuffle: ShuffleModel = UniformShuffleModel(num_users=honest)
    if imperfection > 0:
        shuffle = ImperfectShuffleModel(
            num_users=honest,
            imperfection=imperfection,
            construction="assumed",
            messages_per_round=local.messages_per_round,
        )
    return ProtocolModel(local=local, shuffle=ParallelShuffleModel(round=shuffle, num_rounds=local.num_rounds))
