"""Sums of vectors from additive shares with discrete Gaussian noise: Gaussian curve, and corrections to it.

**Theorem.** Let N honest people have vectors of whole numbers of a squared length of at most B^2, add discrete Gaussian
noise of parameter s2 to each of d coordinates, and send m shares modulo q of each block of b coordinates through
buffers of its own, of which hosts may tell who sent what as `share_mixing` says. With v = N s2, 2 B <= sqrt(v), s2 >= 1
and v >= 4, what is seen of R such sums, each chosen after the last ones, is (e, delta)-private with

    delta(e) = exp(R w) delta_G(e - 2 R w; mu) + 4 d R exp(-40) + (1 + exp(e)) R (ceil(d / b) T + d N t),
    mu = sqrt(R) 2 B / sqrt(v - 1/12),  w = d (tau + 3.3 / v^2),  tau = 5 sum over k < N of exp(-2 pi^2 s2 k / (k + 1)),

delta_G the exact curve of the Gaussian mechanism, T the distance of one block's buffers to perfect ones (of shares
modulo q^b), and t the sampler's for one share of noise (docs/proofs.md, "Sums of vectors").
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import cast

from shuffledp.accounting.numerics import rounded_up
from shuffledp.accounting.theorem import oblivious
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Hypothesis, Trust, trust_in_hosts
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.sum_models import GaussianShareModel, ShareModel
from shuffledp.protocols.shares.theorems.additive_shares import takes_all
from shuffledp.protocols.shares.theorems.share_mixing import MOST_USERS, mixing_distance
from shuffledp.protocols.shares.theorems.share_sums import ShareBound, ShareSums, enough_noise, known_imperfection

_GUARD = 1e-12  # more than a tail of the normal law loses to rounding, relatively
_SHARE = 5.0
_WINDOW_DELTA = 4 * math.exp(-40)  # of one coordinate
_TERMS = 40  # beyond, the terms of tau are replaced by the largest
_LARGEST_EPSILON = 600.0


def gaussian_curve(mu: float, epsilon: float) -> float:
    """Delta of the Gaussian mechanism with parameter mu, rounded up, at any epsilon, also below 0.

    Example:
        >>> 0.99 < gaussian_curve(1 / 4.24625828770849, 1.0) / 9e-7 < 1.01
        True
    """
    above, below = _tail(epsilon / mu - mu / 2), _tail(epsilon / mu + mu / 2)
    less = math.exp(epsilon + math.log(below)) * (1 - _GUARD * (1 + abs(epsilon))) if below > 0 else 0.0
    return min(1.0, max(above * (1 + _GUARD) - less, 0.0) + math.ulp(0.0))


def not_gaussian(honest: int, share_variance: float, dimension: int) -> float:
    """Bound on the log-ratio of the noise's density to a rounded Gaussian's density, over all coordinates.

    It is w in the text above.
    """
    terms = min(honest - 1, _TERMS)
    tau = sum(math.exp(-2 * math.pi**2 * share_variance * k / (k + 1)) for k in range(1, terms + 1))
    if honest - 1 > terms:
        tau += (honest - 1 - terms) * math.exp(-2 * math.pi**2 * share_variance * (terms + 1) / (terms + 2))
    return dimension * (_SHARE * tau + 3.3 / (honest * share_variance) ** 2) * (1 + 1e-12)


class VectorSums(ShareSums):
    """Privacy of sums of vectors of bounded length: noise, rounds and samplers together."""

    id = "vector-sum"
    citation = "the Gaussian curve, with own bounds on what is not Gaussian"
    reports = GaussianShareModel

    def shape(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Hypotheses: shares of noisy vectors, a shuffle for each block and share, and enough noise."""
        local, shuffle = model.local, model.shuffle
        holds = isinstance(local, GaussianShareModel)
        shares = Hypothesis("vector-shares", "additive shares of noisy vectors", f"{local.kind!r} reports", holds)
        if not isinstance(local, GaussianShareModel):
            return (shares,)
        honest = shuffle.num_honest
        requirement = f"independent rounds whose imperfection is promised, {_but_for(local)}"
        known, enough = known_imperfection(shuffle, requirement), enough_noise(local, honest, f"{honest} honest people")
        total = honest * local.share_variance
        wide = Hypothesis(
            "wide-noise",
            "noise of at least twice the largest length, and of a variance of 4 or more",
            f"variance {total:.6g}, squared length {local.largest_square}",
            total >= 4 and 4 * local.largest_square <= total,
        )
        size = Hypothesis(
            "supported-size", f"at most {MOST_USERS:.0e} people", f"num_users={shuffle.num_users}", honest <= MOST_USERS
        )
        return (shares, _rounds(local, shuffle), known, oblivious(model), enough, wide, size)

    def bound(self, model: ProtocolModel) -> "_Bound":
        """Privacy bound for a model that meets the hypotheses of `shape`."""
        local = cast(GaussianShareModel, model.local)
        return _bound(local, model.shuffle.num_honest, cast(float, model.shuffle.imperfection))

    def reached(self, least: float) -> str:
        """Words for what the certificate requires: a delta of ``least`` or more."""
        return f"a delta of at least {least:.4g}, which these rounds are certified to reach"

    def stating(self, model: ProtocolModel, guarantee: Guarantee, *, delta: float) -> PrivacyStatement:
        """Statement with a remark on packets that move together, on hosts, and on lies."""
        statement, may_fail = super().stating(model, guarantee, delta=delta), cast(ShareModel, model.local).may_fail
        spread = "" if may_fail == ShareModel.may_fail else f" {may_fail}"  # where there are hosts
        return statement.remarking(
            "Every coordinate (or block) is shuffled by itself: whole packets of residues that are moved together tell "
            f"who sent what.{spread} A single false message moves the sum by anything."
        )

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust assumptions: the shuffler, or the hosts not counted as colluding."""
        return trust_in_hosts(super().trust(model))


@dataclass(frozen=True, slots=True)
class _Bound(ShareBound):
    """Privacy bound from the Gaussian parameter, its corrections, tails, and the distance of rounds and samplers."""

    mu: float
    ratio: float
    tails: float
    distance: float

    @property
    def turning(self) -> float:
        """Epsilon near which the bound on delta is smallest.

        Above it exp(epsilon) times the distance grows faster.
        """
        return _turning(self)

    def delta(self, epsilon: float) -> float:
        """Delta at an epsilon, non-increasing up to `turning`."""
        noise = math.exp(self.ratio) * gaussian_curve(self.mu, epsilon - 2 * self.ratio)
        return min(1.0, rounded_up(noise + self.tails + (1 + math.exp(epsilon)) * self.distance))


@lru_cache(maxsize=128)
def _bound(local: GaussianShareModel, honest: int, imperfection: float) -> _Bound:
    total, releases = honest * local.share_variance, local.releases
    mixing = mixing_distance(
        honest,
        local.num_shares,
        imperfection,
        local.modulus**local.block,
        shares_per_buffer=local.messages_per_round,
        told_buffers=local.told_rounds,
    )
    distance = local.num_blocks * mixing + local.dimension * honest * local.sampler_error
    return _Bound(
        mu=math.sqrt(releases * 4 * local.largest_square / (total - 1 / 12)) * (1 + 1e-15),
        ratio=releases * not_gaussian(honest, local.share_variance, local.dimension),
        tails=local.dimension * releases * _WINDOW_DELTA,
        distance=min(1.0, releases * distance * (1 + 1e-14)),
    )


@lru_cache(maxsize=128)
def _turning(bound: _Bound) -> float:
    """Epsilon at which the falling Gaussian curve and the growing distance have opposite slopes, by bisection.

    Up to it the bound falls: exp(ratio) exp(e - 2 ratio) Phi(-(e - 2 ratio)/mu - mu/2) >= exp(e) distance.
    """

    def falls(epsilon: float) -> bool:
        left = epsilon - 2 * bound.ratio
        return left >= 0 and math.exp(-bound.ratio) * _tail(left / bound.mu + bound.mu / 2) > bound.distance

    low, high = 2 * bound.ratio, _LARGEST_EPSILON
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low


def _tail(place: float) -> float:
    """Probability Pr[Z > place] of a normal number."""
    return math.erfc(place / math.sqrt(2)) / 2


def gaussian_parameter(epsilon: float, delta: float) -> float:
    """Largest mu with a Gaussian delta of at most ``delta`` at this epsilon, rounded down."""
    low, high = 0.0, 2 * (math.sqrt(epsilon) - NormalDist().inv_cdf(delta / 2) + 1)
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if gaussian_curve(middle, epsilon) <= delta else (low, middle)
    return low


def _rounds(local: GaussianShareModel, shuffle: ShuffleModel) -> Hypothesis:
    """Hypothesis: each share of each block goes through its own round, or into its intended buffer."""
    each, requirement = local.messages_per_round, "a round for each share of each block of coordinates"
    value = f"num_rounds={shuffle.num_rounds} of kind {shuffle.kind!r}, num_messages={local.num_messages}"
    if each > 1 or shuffle.messages_per_round > 1:
        requirement = f"a buffer for each {each} shares of each block of coordinates"
        value += f", messages_per_round={shuffle.messages_per_round}"
    return Hypothesis("parallel-rounds", requirement, value, takes_all(local, shuffle))


def _but_for(local: GaussianShareModel) -> str:
    """Words for the rounds whose imperfection must be promised."""
    if local.told_rounds:
        return "in those that are not told"
    return "in every buffer" if local.messages_per_round > 1 else "for all but one of each block"
