"""The swap bound: what hides a report if the others keep their own laws, instead of what these have in common.

Of the other people some are donors, whose reports supply what all laws have in common; the victim's report is exchanged
with each of the others by way of these (docs/proofs.md, "Swap bound"). For any epsilon0-private randomizer, and for
explicit channels without zeros; the numbers are in `shuffledp.accounting.swapping`. Seconds each, however many people.

Rotations exchange three places: proved for uniform shuffles alone, with one message each, of one randomizer for all.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from shuffledp.accounting.numerics import SMALLEST, exp
from shuffledp.accounting.theorem import Theorem, not_adaptive, shuffled_pure_reports
from shuffledp.accounting.theorems.blanket_laws import moderate_epsilon0
from shuffledp.accounting.theorems.two_levels import LdpWitness
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

CLOSE = 1.02  # ratio of the known epsilon to the least possible one, up to which the bound is not worked out
_LEAST_DELTA, _ANY_DELTA = 1e-12, 0.5
_MOST_USERS, _FEWEST_USERS = 10**12, 20
_ENOUGH, _POWER = 12, 2.3  # people for each E^2.3: with fewer the strong pair is below in all cases tried
_MOST_INPUTS, _MOST_OUTPUTS = 6, 32
_LEAST_ENTRY = 1e-6


class _SwapTheorem(Theorem):
    status = Status.OWN_PROOF
    is_costly = True

    @abstractmethod
    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """The hypotheses about the randomizer."""

    @abstractmethod
    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """An epsilon below which the bound never is."""

    @abstractmethod
    def solved(self, model: ProtocolModel, delta: float) -> float | None:
        """An epsilon below epsilon0 at which the bound was found to be at most delta."""

    @abstractmethod
    def evaluated(self, model: ProtocolModel, epsilon: float) -> float:
        """The bound on delta at an epsilon below epsilon0; 1 where there is none."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """One pure randomizer for all that is not adaptive, one message each, a uniform shuffle, enough people."""
        shape = (*shuffled_pure_reports(model), not_adaptive(model), moderate_epsilon0(model))
        requirement = f"delta >= {_LEAST_DELTA:g}"
        moderate = Hypothesis("moderate-delta", requirement, f"delta={delta:g}", delta >= _LEAST_DELTA)
        return (*shape, moderate, *self.special_hypotheses(model))

    def may_gain(self, model: ProtocolModel, *, delta: float, known: float) -> bool:
        """Whether the bound can be below the known epsilon by more than two per cent."""
        return known > CLOSE * self.at_least(model, delta)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The least epsilon that the search finds; epsilon0 where it finds none."""
        if not self.applies(model, delta=delta):
            return model.local.epsilon0
        found = self.solved(model, delta)
        return model.local.epsilon0 if found is None else min(found, model.local.epsilon0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The least delta that the search finds, where the theorem applies."""
        if not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        if epsilon >= model.local.epsilon0:
            return 0.0
        return min(self.evaluated(model, epsilon) + SMALLEST, 1.0)


class SwapBound(_SwapTheorem):
    """The swap bound for any randomizer of this local loss: at most 1.03 times the best possible for 10,000 people.

    It knows epsilon0 and the number of people alone, so it also holds for randomizers of which more is known.
    """

    id = "swap-bound"
    citation = "rotations of the victim's report, others' and those of a reservoir, certified numerically"

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Number of people from which the reservoir is large."""
        return (_large_reservoir(model),)

    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """What some randomizer of this local loss loses."""
        return LdpWitness().epsilon(model, delta=delta)

    def solved(self, model: ProtocolModel, delta: float) -> float | None:
        """Epsilon of any randomizer of this local loss; None if the search finds none."""
        from shuffledp.accounting.swapping.certified_losses import private_epsilon  # what takes seconds loads late

        return private_epsilon(model.local.epsilon0, model.num_users, delta)

    def evaluated(self, model: ProtocolModel, epsilon: float) -> float:
        """Delta of any randomizer of this local loss."""
        from shuffledp.accounting.swapping.certified_losses import private_delta_at

        return private_delta_at(model.local.epsilon0, model.num_users, epsilon)


class SwapBoundChannel(_SwapTheorem):
    """The swap bound with a channel's own laws, for every ordered pair of inputs and every input of the others."""

    id = "swap-bound-channel"
    citation = "rotations of the victim's report, others' and those of a reservoir, certified for an explicit channel"

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """A small channel in which every output may come from every input."""
        users = model.num_users
        bounds = f"{_FEWEST_USERS} <= n <= {_MOST_USERS:g}"
        people = Hypothesis("moderate-users", bounds, f"num_users={users}", _FEWEST_USERS <= users <= _MOST_USERS)
        return (people, _positive_channel(model.local))

    def at_least(self, model: ProtocolModel, delta: float) -> float:
        """What the channel loses on the data sets that are evaluated exactly."""
        from shuffledp.accounting.lower_bounds import best_lower_bound  # which knows all theorems, this one too

        found: Any = best_lower_bound(model, delta)
        return 0.0 if found is None else float(found.guarantee.epsilon)

    def solved(self, model: ProtocolModel, delta: float) -> float | None:
        """The largest epsilon of all pairs; None if one has none."""
        from shuffledp.accounting.swapping.certified_losses import channel_epsilon

        return channel_epsilon(_rows(model.local), model.num_users, delta)

    def evaluated(self, model: ProtocolModel, epsilon: float) -> float:
        """The largest delta of all pairs."""
        from shuffledp.accounting.swapping.certified_losses import channel_delta

        return channel_delta(_rows(model.local), model.num_users, epsilon)


def _large_reservoir(model: ProtocolModel) -> Hypothesis:
    least = max(_ENOUGH * exp(_POWER * model.local.epsilon0), _FEWEST_USERS)
    return Hypothesis(
        name="large-reservoir",
        requirement=f"{_ENOUGH} exp({_POWER} epsilon0) = {least:.6g} <= n <= {_MOST_USERS:g}",
        value=f"num_users={model.num_users}",
        holds=least <= model.num_users <= _MOST_USERS,
    )


def _positive_channel(local: LocalModel) -> Hypothesis:
    matrix = _matrix(local)
    value = f"{local.kind!r} reports"
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
    """Rows sum to 1; outputs that never come are left out. None where there is none, or it is too large."""
    # Of a large domain only the size is needed; its channel would take seconds and a hundred megabytes.
    if isinstance(local, FrequencyModel) and local.domain_size > _MOST_INPUTS:
        return None
    channel = local.sufficient_channel()
    if channel is None:
        return None
    matrix = channel.matrix[:, channel.matrix.max(axis=0) > 0].astype(np.float64)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _rows(local: LocalModel) -> tuple[tuple[float, ...], ...]:
    matrix = _matrix(local)
    return () if matrix is None else tuple(tuple(row) for row in matrix.tolist())
