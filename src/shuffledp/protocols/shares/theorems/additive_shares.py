"""Sums from additive shares in shuffled rounds: noise of the sum, and leaks of imperfect rounds.

**Theorem.** Let honest people add Polya noise to grid points, split the results into m shares modulo q, and send them
through buffers that are gamma-imperfect as `share_mixing` says, those of different coordinates independent of each
other. What the analyst sees of all buffers is (e, delta)-private in the central model with

    delta = delta_noise(e) + (1 + exp(e)) (d T + n d t),

for d coordinates, T the total variation of `share_mixing.mixing_distance`, t the sampler's for one share of noise, and
delta_noise the privacy of the sum with its discrete Laplace noise. It falls up to a known e, and what it is there holds
beyond (docs/proofs.md, "The noise and the rounds of split and mix").
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from shuffledp.accounting.numerics import exp, rounded_up
from shuffledp.accounting.theorem import oblivious
from shuffledp.core.guarantees import Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.core.statement_terms import Hypothesis, Trust, trust_in_hosts
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.sum_models import LaplaceShareModel, ShareModel
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.protocols.shares.theorems.buffer_weights import log_binomial
from shuffledp.protocols.shares.theorems.share_mixing import MOST_USERS, mixing_distance
from shuffledp.protocols.shares.theorems.share_sums import ShareBound, ShareSums, enough_noise, known_imperfection

_SLACK = 1e-14  # bound on what rounding takes from the profile of one coordinate
_INFLATED = 1 + 1e-9  # bound on what rounding takes from the profile of up to a million coordinates
_LARGEST_REMAINDER = 0.49  # largest remainder of the rounds, at the loss of the noise, that is certified


class SplitAndMixRounds(ShareSums):
    """Central privacy of the noisy sums, with the delta that imperfect rounds add."""

    id = "split-and-mix"
    citation = "Ghazi et al. 2023, with the certificate of this project for its Lemmas 4.2 to 4.13"
    reports = LaplaceShareModel

    def shape(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Hypotheses: shares of noisy numbers, a shuffle for each, a known imperfection, and enough noise."""
        local, shuffle = model.local, model.shuffle
        shares = Hypothesis(
            "additive-shares",
            "additive shares of noisy numbers",
            f"{local.kind!r} reports",
            isinstance(local, LaplaceShareModel),
        )
        if not isinstance(local, LaplaceShareModel):
            return (shares,)
        rounds = _rounds(local, shuffle)
        but_for = "in those that are not told" if local.told_rounds else "for all but one of each value"
        but_for = "in every buffer" if local.messages_per_round > 1 and not local.told_rounds else but_for
        requirement = f"independent rounds whose imperfection is promised, {but_for}"
        imperfection = known_imperfection(shuffle, requirement)
        noise = enough_noise(local, shuffle.num_honest, f"{shuffle.num_honest} honest people of {shuffle.num_users}")
        value = f"num_users={shuffle.num_users}"
        supported = Hypothesis(
            "supported-size", f"at most {MOST_USERS:.0e} people", value, shuffle.num_users <= MOST_USERS
        )
        return (shares, rounds, imperfection, oblivious(model), noise, supported)

    def bound(self, model: ProtocolModel) -> "_Bound":
        """Privacy bound for a model that meets the hypotheses of `shape`."""
        local = cast(LaplaceShareModel, model.local)
        return _bound(local, model.shuffle.num_honest, cast(float, model.shuffle.imperfection))

    def reached(self, least: float) -> str:
        """Words for what the certificate requires: a delta of ``least`` or more, or rounds that mix."""
        if least == 1:
            return "more messages, more people or a better shuffle, as these rounds are not certified to mix"
        return f"a delta of at least {in_digits(least, 'at most')}, which these rounds are certified to reach"

    def stating(self, model: ProtocolModel, guarantee: Guarantee, *, delta: float) -> PrivacyStatement:
        """Statement with remarks on how well rounds mix, and on faults of one round."""
        statement = super().stating(model, guarantee, delta=delta)
        bits, local = math.floor(self.bound(model).security_bits), cast(LaplaceShareModel, model.local)
        return statement.remarking(
            f"The rounds are within 2^-{bits} of telling nothing but the noisy sum. {local.may_fail}"
        )

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust assumptions: the shuffler, or the hosts not counted as colluding."""
        return trust_in_hosts(super().trust(model))


@dataclass(frozen=True, slots=True)
class _Step:
    """Curve of discrete Laplace noise in one coordinate that moves by at most ``steps``.

    At the loss ``total`` delta is 0.
    """

    total: float
    steps: int

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.total:
            return 0.0
        rate = self.total / self.steps
        last = math.ceil((self.steps - epsilon / rate) / 2) - 1  # up to here losses are above epsilon; 0 or more
        outside = math.exp(-rate * (last + 1)) + math.exp(epsilon - rate * (self.steps - last))
        return min(1.0, max(0.0, 1 - outside / (1 + math.exp(-rate))) + _SLACK)

    def turning(self, distance: float) -> float:
        """Epsilon up to which delta(epsilon) + (1 + exp(epsilon)) * distance falls."""
        # The second law's probability of the largest loss is exp(-total) / 2 or more: above any distance.
        return self.total


@dataclass(frozen=True, slots=True)
class _Coordinates:
    """Independent binary responses of equal loss, one for each coordinate."""

    total: float
    dimension: int

    def delta(self, epsilon: float) -> float:
        losses, masses = self._law()
        left = losses > epsilon
        lost = masses[left] * -np.expm1(epsilon - losses[left])
        return min(1.0, float(lost.sum()) * _INFLATED)

    def turning(self, distance: float) -> float:
        losses, masses = self._law()
        others = np.cumsum(masses * np.exp(-losses))  # the second law's probability of a loss at least so large
        place = int(np.searchsorted(others, distance * _INFLATED))
        return float(losses[min(place, losses.size - 1)])

    def _law(self) -> tuple[Floats, Floats]:
        """Losses above 0 in descending order, with their probabilities under the first law."""
        flipped = np.arange((self.dimension + 1) // 2, dtype=np.float64)
        losses, loss = (1 - 2 * flipped / self.dimension) * self.total, self.total / self.dimension
        ways = log_binomial(np.full(flipped.size, float(self.dimension)), flipped)
        return losses, np.exp(ways - flipped * loss - self.dimension * math.log1p(math.exp(-loss)))


@dataclass(frozen=True, slots=True)
class _Bound(ShareBound):
    """Privacy bound from the noise, and from the distance of all rounds and samplers together."""

    noise: _Step | _Coordinates
    distance: float

    @property
    def turning(self) -> float:
        """Epsilon from which on the bound is constant."""
        return self.noise.turning(self.distance)

    @property
    def security_bits(self) -> float:
        """Bits of security in total variation, rounded down.

        The view is within 2^-bits of showing only the sum.
        """
        return max(0.0, -math.log2(self.distance) * (1 - 1e-12)) if self.distance > 0 else math.inf

    def delta(self, epsilon: float) -> float:
        """Delta at an epsilon up to `turning`; 1 where the rounds do not mix."""
        if (1 + exp(self.noise.total)) * self.distance > _LARGEST_REMAINDER:
            return 1.0
        return min(1.0, rounded_up(self.noise.delta(epsilon) + (1 + math.exp(epsilon)) * self.distance))


@lru_cache(maxsize=128)
def _bound(local: LaplaceShareModel, num_honest: int, imperfection: float) -> _Bound:
    mixing = mixing_distance(
        num_honest,
        local.num_shares,
        imperfection,
        local.modulus,
        shares_per_buffer=local.messages_per_round,
        told_buffers=local.told_rounds,
    )
    distance = local.dimension * (mixing + num_honest * local.sampler_error)
    return _Bound(_noise(local), min(1.0, distance * (1 + 1e-14)))


def _noise(local: LaplaceShareModel) -> _Step | _Coordinates:
    if local.l1_bounded and local.dimension > 1:
        return _Coordinates(local.epsilon, 1)
    exact = local.rate * local.precision * local.dimension
    total = float(exact)
    total = math.nextafter(total, math.inf) if Fraction(total) < exact else total
    return _Step(total, local.precision) if local.dimension == 1 else _Coordinates(total, local.dimension)


def _rounds(local: LaplaceShareModel, shuffle: ShuffleModel) -> Hypothesis:
    """Hypothesis: the messages go through the rounds that their model names, or through one uniform shuffle."""
    each = local.messages_per_round
    requirement = "a round of its own for each of a user's messages (or one uniform shuffle of all of them)"
    value = f"num_rounds={shuffle.num_rounds} of kind {shuffle.kind!r}, num_messages={local.num_messages}"
    if each > 1 or shuffle.messages_per_round > 1:
        requirement = f"a buffer for each {each} of a user's messages (or one uniform shuffle of all of them)"
        value += f", messages_per_round={shuffle.messages_per_round}"
    one_buffer = shuffle.num_rounds == 1 and local.dimension == 1  # of messages that tell their rounds
    return Hypothesis("parallel-rounds", requirement, value, takes_all(local, shuffle, one_buffer=one_buffer))


def takes_all(local: ShareModel, shuffle: ShuffleModel, *, one_buffer: bool = False) -> bool:
    """Whether the shuffles take all messages of all people, round by round or as ``one_buffer``."""
    if shuffle.is_uniform and shuffle.num_rounds == 1:  # whatever messages tell of their rounds
        return True
    uniform_rounds = shuffle.labels is LabelMeaning.ROUND  # which take what they are given
    each = local.messages_per_round if uniform_rounds else shuffle.messages_per_round
    named = shuffle.num_rounds == local.num_rounds or one_buffer
    return named and shuffle.num_rounds * each == local.num_messages
