"""Calibration of vector sums: the finest grid for the noise, and the fewest certified messages."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.planning.certified_messages import (
    LEAST_SHARES,
    MOST_SHARES,
    fewest_shares,
    people_present,
    through_rounds,
)
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.randomizers.vector_rounding import scale_of
from shuffledp.protocols.shares.randomizers.vector_sum import VectorSum, VectorSumModel, check_norm, least_modulus
from shuffledp.protocols.shares.theorems.gaussian_shares import VectorSums, gaussian_parameter, not_gaussian

_VARIANCE = 16.0  # of everybody's noise: rounding adds 1 part in 64 to the variance of the sum
_OF_NOISE = 0.9  # share of delta that is the noise's; the rest is for the rounds
_VARIANCE_PLACES = 2**20  # the parameter of a person's noise is a multiple of 2^-20, which floats hold exactly

_THEOREM = VectorSums()


def vector_sum(
    *,
    num_users: int,
    epsilon: float,
    delta: float,
    largest_norm: float,
    dimension: int,
    imperfection: float = 0.0,
    dropout_fraction: float = 0.0,
    block: int = 1,
    releases: int = 1,
    share_variance: float | None = None,
    hosts: Hosts | None = None,
    clip: bool = False,
) -> VectorSum:
    """Vector-sum randomizer with the finest grid and the fewest messages that are certified to make sums private.

    Guarantees:
        1. What it sends through independent rounds whose shuffles are as promised (but for one of each block, or
           ``hosts.colluding`` of the hosts) is (epsilon, delta)-private by the theorem "vector-sum", over all
           ``releases`` together: for everybody, and for those who are left if the share ``dropout_fraction`` of the
           people stay away or collude.
        2. With one message less for each block and host that is not certified, unless the answer is 2, or one for each
           host.

    Args:
        num_users: people planned for, 2 or more, at most a billion.
        epsilon: central privacy loss in nats, of all releases together, above 0.
        delta: the remainder, strictly between 0 and 1; nine tenths of it are for the noise.
        largest_norm: bound on the Euclidean length of a vector; public; from 1e-100 to 1e100.
        dimension: coordinates, 2 or more.
        imperfection: gamma of each round's shuffle, 0 or more: a promise that nothing here measures.
        dropout_fraction: share of the people, below 1, who may stay away or collude with the analyst.
        block: coordinates that are moved together, at most ``dimension``: fewer and longer messages.
        releases: sums about the same people, each of which may be chosen after the last ones were seen.
        share_variance: parameter of a person's noise in squared grid steps if everybody comes; more makes the grid
            finer and messages longer, and rounding adds 1 / (4 share_variance) to the variance of the sum. None is 16,
            or 64, 256, 1024 or 4096: the first for which vectors are as long as the root of the dimension.
        hosts: of the shuffles (`shuffledp.Hosts`), each of which gets as many messages of each block;
            None is one trusted host with a shuffle for each message.
        clip: shorten vectors that are too long, instead of refusing them.

    Raises:
        InvalidParameterError: if a parameter is out of range, the noise needed is so large that rounding would hide the
            vectors, or no number of messages up to 1024 is certified.

    References:
        docs/proofs.md, "Sums of vectors".

    Example:
        >>> settings = {"epsilon": 1.0, "delta": 1e-6, "largest_norm": 1.0, "dimension": 1000}
        >>> model = vector_sum(num_users=100_000, **settings).model
        >>> model.num_shares, model.modulus == 2**25, round(model.sum_variance(100_000) ** 0.5, 2)
        (8, True, 8.67)
    """
    validate.integer_at_least(2, num_users=num_users, dimension=dimension)
    validate.integer_at_least(1, block=block, releases=releases)
    validate.positive(epsilon=epsilon)
    check_norm(largest_norm)
    validate.open_probability(delta=delta)
    validate.nonnegative(imperfection=imperfection)
    if imperfection == math.inf:
        raise invalid("finite: an infinite one promises nothing", imperfection=imperfection)
    if block > dimension:
        raise invalid(f"at most dimension={dimension}", block=block)
    hosts = Hosts() if hosts is None else hosts
    validate.instance_of(Hosts, hosts=hosts)
    present = people_present(num_users, dropout_fraction)
    target = _Target(present, dimension, releases, float(epsilon), delta)
    tried = (_VARIANCE * 4**power for power in range(5)) if share_variance is None else (share_variance,)
    for variance in tried:
        validate.positive(share_variance=variance)
        each = math.ceil(Fraction(variance) * num_users / present * _VARIANCE_PLACES) / _VARIANCE_PLACES
        square = target.largest_square(each)
        if square >= dimension:
            break
    target.check(square)
    scale = scale_of(square, dimension)
    model = VectorSumModel(
        num_users=num_users,
        largest_norm=largest_norm,
        dimension=dimension,
        largest_square=square,
        share_variance=each,
        noise_users=present,
        num_shares=hosts.number * -(-LEAST_SHARES // hosts.number),
        modulus=1 << (least_modulus(num_users, scale, each) - 1).bit_length(),
        block=block,
        releases=releases,
        hosts=hosts,
    )
    num_shares = _fewest(model, float(epsilon), delta, float(imperfection))
    return VectorSum(replace(model, num_shares=num_shares), clip=clip)


@dataclass(frozen=True, slots=True)
class _Target:
    """Vectors to hide by noise: dimension, number of releases, and people whose noise counts."""

    people: int
    dimension: int
    releases: int
    epsilon: float
    delta: float

    def largest_square(self, each: float) -> int:
        """Largest squared length, in squared grid steps, that noise of parameter ``each`` per person hides."""
        ratio, total = self.releases * not_gaussian(self.people, each, self.dimension), self.people * each
        if self.epsilon <= 2 * ratio or total < 4:
            return 0
        mu = gaussian_parameter(self.epsilon - 2 * ratio, _OF_NOISE * self.delta * math.exp(-ratio))
        return math.floor(min((total - 1 / 12) * mu**2 / (4 * self.releases) * (1 - 1e-14), total / 4))

    def check(self, square: int) -> None:
        """Refuse vectors so short that rounding hides them."""
        if square < self.dimension / 4 + 4:
            raise InvalidParameterError(
                "num_users must be larger, since the noise needed would leave no room for rounding; got num_users with "
                f"{self.people} counted, dimension={self.dimension}, epsilon={self.epsilon:g}, delta={self.delta:g}, "
                f"releases={self.releases}. Use more people, fewer coordinates, a larger epsilon or share_variance."
            )


@lru_cache(maxsize=64)
def _fewest(model: VectorSumModel, epsilon: float, delta: float, imperfection: float) -> int:
    """Fewest certified messages of each block, in equal parts for the hosts."""

    def certified(num_shares: int) -> bool:
        local = replace(model, num_shares=num_shares)
        protocols = (through_rounds(local, honest, imperfection) for honest in {model.num_users, model.noise_users})
        return all(_THEOREM.delta(protocol, epsilon=epsilon) <= delta for protocol in protocols)

    found = fewest_shares(model.hosts, certified)
    if found is None:
        raise InvalidParameterError(
            f"imperfection must be smaller, or delta larger, since no number of messages up to {MOST_SHARES} is "
            f"certified; got imperfection={imperfection!r} with num_users={model.num_users}, of whom "
            f"{model.noise_users} are counted, block={model.block}, epsilon={epsilon:g}, delta={delta:g}. Use a "
            "better shuffle, more people, smaller blocks or a larger delta."
        )
    return found
