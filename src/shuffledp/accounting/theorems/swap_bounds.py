"""Swap bound: an amplification bound in which other people's reports keep their own laws.

A blanket bound uses only the part that these laws have in common. Of the other people some are donors, whose reports
supply what all laws have in common; the victim's report is exchanged with each of the others by way of these
(docs/proofs.md, "Swap bound"). For any epsilon0-private randomizer, and for explicit channels without zeros; the
numbers are in `shuffledp.accounting.swapping`. Seconds each, however many people.

Rotations exchange three places: proved for uniform shuffles alone, with one message each, of one randomizer for all.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, cast

from shuffledp.accounting.numerics import exp
from shuffledp.accounting.theorem import (
    PURE_REPORTS,
    EvaluatedTheorem,
    Evaluator,
    Premise,
    normalized,
    not_adaptive,
    small_channel,
    users_within,
)
from shuffledp.accounting.theorems.blanket_laws import moderate_delta, moderate_epsilon0
from shuffledp.accounting.theorems.two_levels import LdpWitness
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

CLOSE = 1.02  # ratio of the known epsilon to the least possible one, up to which the bound is not worked out
_LEAST_DELTA = 1e-12
_MOST_USERS, _FEWEST_USERS = 10**12, 20
_ENOUGH, _POWER = 12, 2.3  # people for each E^2.3: with fewer the strong pair is below in all cases tried
_MOST_INPUTS, _MOST_OUTPUTS = 6, 32
_LEAST_ENTRY = 1e-6


def _large_reservoir(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: there are enough people for a large reservoir, and not too many."""
    least = max(_ENOUGH * exp(_POWER * model.local.epsilon0), _FEWEST_USERS)
    requirement = f"{_ENOUGH} exp({_POWER} epsilon0) = {least:.6g} <= n <= {_MOST_USERS:g}"
    return users_within("large-reservoir", model, requirement, least, _MOST_USERS)


def _moderate_users(model: ProtocolModel) -> Hypothesis:
    requirement = f"{_FEWEST_USERS} <= n <= {_MOST_USERS:g}"
    return users_within("moderate-users", model, requirement, _FEWEST_USERS, _MOST_USERS)


def _positive_channel(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the channel is small, and every output may come from every input."""
    matrix = _matrix(model.local)
    value = f"{model.local.kind!r} reports"
    if matrix is not None:
        value = f"{matrix.shape[0]} inputs, {matrix.shape[1]} outputs, least {matrix.min():g}"
    holds = (
        matrix is not None
        and 2 <= matrix.shape[0] <= _MOST_INPUTS
        and matrix.shape[1] <= _MOST_OUTPUTS
        and float(matrix.min()) >= _LEAST_ENTRY
    )
    requirement = (
        f"a channel of 2 to {_MOST_INPUTS} inputs and at most {_MOST_OUTPUTS} outputs, each of which comes from every "
        f"input with a probability of {_LEAST_ENTRY:g} or more"
    )
    return Hypothesis("positive-channel", requirement, value, holds)


def _matrix(local: LocalModel) -> Floats | None:
    """Channel matrix of the outputs that occur; None without a small channel."""
    rows = small_channel(local, most_inputs=_MOST_INPUTS)
    return None if rows is None else normalized(rows[:, rows.max(axis=0) > 0])


class _SwapTheorem(EvaluatedTheorem):
    status = Status.OWN_PROOF
    is_vectorized = False
    is_costly = True

    premises = (*PURE_REPORTS, not_adaptive, moderate_epsilon0)
    special_premises: ClassVar[tuple[Premise, ...]]  # about the randomizer

    @abstractmethod
    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """Lower limit on the epsilon of the swap bound."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: the premises, and a moderate delta."""
        special = (premise(model) for premise in self.special_premises)
        return (*super().hypotheses(model, delta=delta), moderate_delta(delta, least=_LEAST_DELTA), *special)

    def may_gain(self, model: ProtocolModel, *, delta: float, known: float) -> bool:
        """Whether the bound can be below the known epsilon by more than two per cent."""
        return known > CLOSE * self.at_least(model, delta)


class SwapBound(_SwapTheorem):
    """Swap bound for any randomizer of this local loss.

    For 10,000 people it is at most 1.03 times the best possible. It knows epsilon0 and the number of people alone, so
    it also holds for randomizers of which more is known.
    """

    id = "swap-bound"
    citation = "rotations of the victim's report, others' and those of a reservoir, certified numerically"
    special_premises = (_large_reservoir,)

    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """Lower limit on the swap bound's epsilon, from one randomizer of this local loss."""
        return LdpWitness().epsilon(model, delta=delta)

    def evaluator(self, model: ProtocolModel) -> Evaluator:
        """Search for the swap bound of any randomizer of this local loss."""
        from shuffledp.accounting.swapping import certified_losses as losses  # what takes seconds loads late

        epsilon0, users = model.local.epsilon0, model.num_users
        return losses.SearchedLosses(
            searched_epsilon=partial(losses.private_epsilon, epsilon0, users),
            searched_delta=partial(losses.private_delta_at, epsilon0, users),
            limit=epsilon0,
        )


class SwapBoundChannel(_SwapTheorem):
    """Swap bound with a channel's own report laws, for every ordered pair of inputs.

    And for every input of the others.
    """

    id = "swap-bound-channel"
    citation = "rotations of the victim's report, others' and those of a reservoir, certified for an explicit channel"
    special_premises = (_moderate_users, _positive_channel)

    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """Largest lower bound on the channel's epsilon; 0 if there is none."""
        from shuffledp.accounting.lower_bounds import best_lower_bound  # which knows all theorems, this one too

        found: Any = best_lower_bound(model, delta)
        return 0.0 if found is None else float(found.guarantee.epsilon)

    def evaluator(self, model: ProtocolModel) -> Evaluator:
        """Search for the largest swap bound over all pairs of inputs."""
        from shuffledp.accounting.swapping import certified_losses as losses

        rows = tuple(tuple(row) for row in cast(Floats, _matrix(model.local)).tolist())
        return losses.SearchedLosses(
            searched_epsilon=partial(losses.channel_epsilon, rows, model.num_users),
            searched_delta=partial(losses.channel_delta, rows, model.num_users),
            limit=model.local.epsilon0,
        )
