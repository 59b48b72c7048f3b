"""What no theorem about random walks can promise less than: colluding relays, and the histogram that everybody sees."""

import math
from typing import ClassVar

import numpy as np

from shuffledp.accounting.numerics import largest_below
from shuffledp.accounting.premises import one_message_each
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.binary import BinaryAllEqual, LdpWitness
from shuffledp.accounting.theorems.blankets import uniform_model
from shuffledp.accounting.theorems.channel import HomogeneousChannel
from shuffledp.accounting.theorems.laplace import HomogeneousLaplace
from shuffledp.accounting.theorems.two_level import OthersEqual, ThirdValue
from shuffledp.accounting.walks import Walks, known_walks, walks_of
from shuffledp.models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.statements import Hypothesis, Kind, Status

__all__ = ["NetworkFirstHop", "NetworkHistogram"]

_UNIFORM: tuple[Theorem, ...] = (
    BinaryAllEqual(),
    LdpWitness(),
    ThirdValue(),
    OthersEqual(),
    HomogeneousLaplace(),
    HomogeneousChannel(),
)
_GUARD = 1e-12  # relative, of probabilities
_MOST_INPUTS = 32


class NetworkFirstHop(Theorem):
    """Colluding neighbors: whoever receives a report in the first round knows whose it is.

    With c the share of a person's neighbors who collude, delta(epsilon) >= c delta_local(epsilon), which for binary
    randomized response is c (E - e) / (1 + E): no epsilon below epsilon0 holds with a delta much below c. Nothing is
    known of who colludes, so it may be anybody: of a person with d neighbors min(1, m / d) for m who collude, and d is
    at most n - 1. Reports that stay, or are lost, in the first round are not counted, nor people who are offline.
    """

    id: ClassVar[str] = "network-first-hop"
    citation: ClassVar[str] = "the reports that a colluding neighbor receives in the first round"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND
    status: ClassVar[Status] = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Random walks with colluders, and a randomizer whose local delta is known."""
        del delta
        walks = walks_of(model)
        colluding = 0 if walks is None else walks.num_colluding
        some = Hypothesis(
            name="colluding-relays",
            requirement="relays that collude with the analyst, and people who do not",
            value=f"num_colluding={colluding} of num_users={model.num_users}",
            holds=0 < colluding < model.num_users,
        )
        known = Hypothesis(
            name="known-local-delta",
            requirement="a randomizer whose law is known",
            value=f"{model.local.kind!r} reports",
            holds=_local_delta(model.local, 0.0) > 0,
        )
        return (known_walks(model), some, one_message_each(model), known)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The largest epsilon at which that delta is known to exceed the one given; 0 if none is."""
        limit = model.local.epsilon0
        if math.isinf(limit):
            limit = 700.0
        return largest_below(lambda epsilon: self.delta(model, epsilon=epsilon), level=delta, limit=limit)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The share of neighbors times the local delta, from below."""
        walks = walks_of(model)
        return 0.0 if walks is None else _share(walks) * _local_delta(model.local, epsilon)


class NetworkHistogram(Theorem):
    """If everybody hands in all, nothing is lost and the analyst forgets who handed in what: a uniform shuffle.

    So what a data set loses through a uniform shuffle of the honest people, it loses here. Of a graph in parts, whose
    reports nobody mixes, it is that of the smallest.
    """

    id: ClassVar[str] = "network-histogram"
    citation: ClassVar[str] = "exact evaluation of what all reports together show, whoever hands them in"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND
    status: ClassVar[Status] = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """All reports are handed in, and a lower bound for a uniform shuffle of them."""
        walks = walks_of(model)
        all_there = Hypothesis(
            name="all-handed-in",
            requirement="random walks of which all reports are handed in",
            value="no walks" if walks is None else f"protocol {walks.protocol!r}, dropout={walks.dropout:g}",
            holds=walks is not None and walks.protocol == "all" and walks.dropout == 0,
        )
        known = [] if walks is None else [each.id for each in _applying(model, delta)]
        bound = Hypothesis(
            name="uniform-lower-bound",
            requirement="a lower bound for a uniform shuffle of the same reports",
            value=", ".join(known) or "none",
            holds=bool(known),
        )
        return (all_there, one_message_each(model), bound)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The largest of the lower bounds for a uniform shuffle."""
        uniform = _uniform(model)
        return max((each.epsilon(uniform, delta=delta) for each in _applying(model, delta)), default=0.0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The largest of them."""
        if not self.applies(model, delta=0.5):
            return 0.0
        uniform = _uniform(model)
        return max((each.delta_at(uniform, epsilon=epsilon) for each in _applying(model, 0.5)), default=0.0)


def _applying(model: ProtocolModel, delta: float) -> list[Theorem]:
    uniform = _uniform(model)
    return [theorem for theorem in _UNIFORM if theorem.applies(uniform, delta=delta)]


def _uniform(model: ProtocolModel) -> ProtocolModel:
    """The same reports of the honest people, uniformly shuffled; of the smallest part, all of which may be honest."""
    walks = walks_of(model)
    parts = () if walks is None else walks.parts
    people = min([model.shuffle.num_honest, *(part.num_users for part in parts)])
    return uniform_model(model, max(people, 1))


def _share(walks: Walks) -> float:
    """Of a report that the first round takes to a colluder, whose owner and receiver are online; from below."""
    neighbors = max(walks.num_users - 1, 1)
    moved = (1 - walks.laziness) * (1 - walks.dropout) * (1 - walks.offline) ** 2
    return min(walks.num_colluding / neighbors, 1.0) * moved * (1 - _GUARD)


def _local_delta(local: LocalModel, epsilon: float) -> float:
    """How far two inputs' laws of one report are apart at this epsilon, from below; 0 where it is not known."""
    factor = math.exp(min(epsilon, 700.0))
    if local.kind == "ldp":  # the worst of the class
        return max(
            (1 - _GUARD - math.exp(epsilon - local.epsilon0) * (1 + _GUARD)) / (1 + math.exp(-local.epsilon0)), 0.0
        )
    if isinstance(local, FrequencyModel):  # of whether the report supports the first input
        return max(local.p * (1 - _GUARD) - factor * local.q * (1 + _GUARD), 0.0)
    channel = local.channel()
    if channel is None or channel.matrix.shape[0] > _MOST_INPUTS:
        return 0.0
    rows = channel.matrix.astype(np.float64)
    gaps = np.maximum(rows[:, None] * (1 - _GUARD) - factor * rows[None] * (1 + _GUARD), 0).sum(axis=2)
    return float(gaps.max()) * (1 - _GUARD)
