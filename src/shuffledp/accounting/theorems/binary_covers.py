"""Largest delta of binary reports for any number of people, from blocks that cover all data sets.

A thousand blocks or so are evaluated, each by a crowd that all of its data sets have in common. `BinaryWorst` goes
through all data sets of up to 10,000 people, where the channel is symmetric; this covers all other channels of two
inputs and two outputs, in both directions, and all other numbers of people
(`shuffledp.accounting.evaluators.covered_counts`).
"""

import math
from typing import cast

from shuffledp.accounting.evaluators.covered_counts import BinaryChannel, CoveredCounts, symmetric_channel
from shuffledp.accounting.theorem import (
    COMMON_REPORTS,
    EvaluatedTheorem,
    normalized,
    several_users,
    small_channel,
    uniform_shuffle,
    users_within,
)
from shuffledp.accounting.theorems.blanket_laws import LOOSER, moderate_epsilon0
from shuffledp.accounting.theorems.two_levels import MOST_COUNTED
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status

_LATE_DIGITS = 1e-12  # by which a binary epsilon0 may be stated above that of its channel
_MOST_USERS = 10**15


def _channel(local: LocalModel) -> BinaryChannel | None:
    """Binary channel of a report, the larger chance of 1 first; None if there is no such channel.

    None as well where both inputs tell the same.
    """
    rows = small_channel(local, most_inputs=2)
    if rows is None or rows.shape != (2, 2) or not 0 < local.epsilon0 < math.inf:
        return None
    (first, not_first), (second, not_second) = normalized(rows).tolist()
    channel = BinaryChannel(chances=(first, second), nots=(not_first, not_second))
    if channel.is_symmetric:
        return symmetric_channel(local.epsilon0) if _states_the_loss(local, first, second) else None
    if channel.gap < 0:
        channel = BinaryChannel(chances=channel.chances[::-1], nots=channel.nots[::-1])
    return channel if channel.gap > 0 else None


def _states_the_loss(local: LocalModel, first: float, second: float) -> bool:
    """Whether the stated loss equals a symmetric channel's loss, or exceeds it in a few late digits only."""
    loss = abs(math.log(first) - math.log(second)) if min(first, second) > 0 else math.inf
    return -1e-15 <= (local.epsilon0 - loss) / (1 + local.epsilon0) <= _LATE_DIGITS


def _two_by_two(model: ProtocolModel) -> Hypothesis:
    channel = _channel(model.local)
    value = f"{model.local.kind!r} reports"
    if channel is not None:
        value = f"chances of {channel.chances[0]:.6g} and {channel.chances[1]:.6g} of one output"
    return Hypothesis(
        name="two-by-two",
        requirement="a channel of two inputs that differ and two outputs, of the loss that is stated",
        value=value,
        holds=channel is not None,
    )


def _covered(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the number of users is too large for `BinaryWorst`, and small enough for this bound."""
    channel = _channel(model.local)
    least = 2 if channel is None or not channel.is_symmetric else MOST_COUNTED + 1
    return users_within("covered-users", model, f"{least} <= n <= {_MOST_USERS:g}", least, _MOST_USERS)


class BinaryCover(EvaluatedTheorem):
    """Largest delta over blocks that cover all data sets of binary reports.

    In each block the people in whom its data sets differ are left out. An upper bound that is mostly within 1e-3 of the
    exact delta, in both directions; a dominating pair, as a maximum of convex curves is convex, so releases compose.
    """

    id = "binary-cover"
    citation = "cover of all data sets by exact evaluations of some of the people; the others hide nobody"
    status = Status.OWN_PROOF
    supersedes = (*LOOSER, "blanket-two-level", "blanket-channel")
    premises = (uniform_shuffle, *COMMON_REPORTS, several_users, _covered, moderate_epsilon0, _two_by_two)
    guard = 1e-9  # more than chances that are known to 12 digits can change it

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports come from a channel of two inputs and two outputs."""
        return super().concerns(model) and _channel(model.local) is not None

    def evaluator(self, model: ProtocolModel) -> CoveredCounts:
        """Cover of all data sets, to 1e-3 in delta, and to 1e-6 for few people."""
        channel = cast(BinaryChannel, _channel(model.local))
        return CoveredCounts(channel=channel, users=model.num_users, limit=model.local.epsilon0)
