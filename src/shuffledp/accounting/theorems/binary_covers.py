"""Binary reports of any number of people: all data sets, covered by a thousand or so of crowds that are evaluated.

`BinaryWorst` goes through all data sets of up to 10,000 people, where the channel is symmetric; this covers all other
channels of two inputs and two outputs, in both directions, and all other numbers of people
(`shuffledp.accounting.evaluators.covered_counts`).
"""

import math

import numpy as np

from shuffledp.accounting.evaluators.covered_counts import BinaryChannel, CoveredCounts, symmetric_channel
from shuffledp.accounting.theorem import Theorem, common_reports, several_users, uniform_shuffle
from shuffledp.accounting.theorems.blanket_laws import LOOSER, moderate_epsilon0
from shuffledp.accounting.theorems.two_levels import MOST_COUNTED
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

_GUARD = 1e-9  # relative, of delta: more than chances that are known to 12 digits can change it
_LATE_DIGITS = 1e-12  # by which a binary epsilon0 may be stated above that of its channel
_MOST_USERS = 10**15
_ANY_DELTA = 0.5  # the theorem asks nothing of delta


class BinaryCover(Theorem):
    """The largest delta of blocks of data sets, each without the people in whom its data sets differ.

    An upper bound that is mostly within 1e-3 of the exact delta, in both directions; a dominating pair, as a maximum of
    convex curves is convex, so releases compose.
    """

    id = "binary-cover"
    citation = "cover of all data sets by exact evaluations of some of the people; the others hide nobody"
    status = Status.OWN_PROOF
    is_vectorized = True
    supersedes = (*LOOSER, "blanket-two-level", "blanket-channel")

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """One channel of two inputs and two outputs for all, not adaptive, uniformly shuffled; two users or more."""
        reports = (uniform_shuffle(model), *common_reports(model), several_users(model))
        return (*reports, _covered(model), moderate_epsilon0(model), _two_by_two(model.local))

    def concerns(self, model: ProtocolModel) -> bool:
        """Channels of two inputs and two outputs."""
        return super().concerns(model) and _channel(model.local) is not None

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Where the cover is known to be at most delta: to 1e-3 in delta, 1e-6 of few people; else epsilon0."""
        counts = self._counts(model)
        return model.local.epsilon0 if counts is None else counts.epsilon(delta * (1 - _GUARD))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The delta of the cover, where the theorem applies."""
        counts = self._counts(model)
        return 1.0 if counts is None else min(counts.delta(epsilon) * (1 + _GUARD), 1.0)

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """The delta of a cover by a thousand equal blocks."""
        counts = self._counts(model)
        return np.ones(len(epsilons)) if counts is None else np.minimum(counts.curve(epsilons) * (1 + _GUARD), 1.0)

    def _counts(self, model: ProtocolModel) -> CoveredCounts | None:
        channel = _channel(model.local)
        if channel is None or not self.applies(model, delta=_ANY_DELTA):
            return None
        return CoveredCounts(channel=channel, users=model.num_users, limit=model.local.epsilon0)


def _channel(local: LocalModel) -> BinaryChannel | None:
    """The channel of a report with the larger chances first; None for others, and where both inputs tell the same."""
    # Of a large domain only the size is needed; its channel would take seconds and a hundred megabytes.
    large = isinstance(local, FrequencyModel) and local.domain_size > 2
    found = None if large else local.sufficient_channel()
    if found is None or found.matrix.shape != (2, 2) or not 0 < local.epsilon0 < math.inf:
        return None
    rows = found.matrix.astype(np.float64)
    (first, not_first), (second, not_second) = (rows / rows.sum(axis=1, keepdims=True)).tolist()
    channel = BinaryChannel(chances=(first, second), nots=(not_first, not_second))
    if channel.is_symmetric:
        return symmetric_channel(local.epsilon0) if _states_the_loss(local, first, second) else None
    if channel.gap < 0:
        channel = BinaryChannel(chances=channel.chances[::-1], nots=channel.nots[::-1])
    return channel if channel.gap > 0 else None


def _states_the_loss(local: LocalModel, first: float, second: float) -> bool:
    """Whether the loss of a symmetric channel is the one that is stated, or less by a few late digits."""
    loss = abs(math.log(first) - math.log(second)) if min(first, second) > 0 else math.inf
    return -1e-15 <= (local.epsilon0 - loss) / (1 + local.epsilon0) <= _LATE_DIGITS


def _two_by_two(local: LocalModel) -> Hypothesis:
    channel = _channel(local)
    value = f"{local.kind!r} reports"
    if channel is not None:
        value = f"chances of {channel.chances[0]:.6g} and {channel.chances[1]:.6g} of one output"
    return Hypothesis(
        name="two-by-two",
        requirement="a channel of two inputs that differ and two outputs, of the loss that is stated",
        value=value,
        holds=channel is not None,
    )


def _covered(model: ProtocolModel) -> Hypothesis:
    """Where `BinaryWorst` is exact there is nothing to cover."""
    channel, users = _channel(model.local), model.num_users
    least = 2 if channel is None or not channel.is_symmetric else MOST_COUNTED + 1
    return Hypothesis(
        name="covered-users",
        requirement=f"{least} <= n <= {_MOST_USERS:g}",
        value=f"num_users={users}",
        holds=least <= users <= _MOST_USERS,
    )
