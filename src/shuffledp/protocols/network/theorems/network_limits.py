"""Lower bounds for random walks: by colluding relays, and by the analyst's histogram.

Beside these lower bounds stand numbers for a person to weigh where a hypothesis fails, never in a statement. A
colluding neighbor knows whose report it receives in the first round, so that no epsilon below epsilon0 holds with a
small delta. What can be told is how likely it is that a report passes through a colluder's hands at all.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.accounting.numerics import largest_below
from shuffledp.accounting.theorem import LocalOnly, Theorem, one_message_each
from shuffledp.accounting.theorems.blanket_laws import HomogeneousChannel, HomogeneousLaplace
from shuffledp.accounting.theorems.reductions import uniform_model
from shuffledp.accounting.theorems.two_levels import BinaryAllEqual, LdpWitness, OthersEqual, ThirdValue
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Kind, Status
from shuffledp.core.table import Floats
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.protocols.network.theorems.network_walks import known_walks, walks_of

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts

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
_RISK_ROUND_UP = 1 + 1e-12


class NetworkFirstHop(Theorem):
    """Lower bound by colluding neighbors, who know the owner of a report received in the first round.

    With c the chance that the first to receive a person's report colludes, delta(epsilon) >= c delta_local(epsilon). If
    it is not known who colludes, c is min(1, m / (n - 1)) at least for somebody on a graph, and on an overlay the share
    of a group that all are in. Reports that stay, or are lost, in the first round are not counted, nor people who are
    offline. In layers of encryption a first receiver cannot tell what becomes of a report.
    """

    id = "network-first-hop"
    citation = "the reports that a colluding neighbor receives in the first round"
    kind = Kind.LOWER_BOUND
    status = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: random walks with colluders, and a randomizer whose local delta is known."""
        walks = walks_of(model)
        colluding = 0 if walks is None else walks.num_colluding
        requirement = "relays that collude with the analyst, and people who do not"
        value = f"num_colluding={colluding} of num_users={model.num_users}"
        some = Hypothesis("colluding-relays", requirement, value, 0 < colluding < model.num_users)
        requirement = "a randomizer whose law is known"
        value = f"{model.local.kind!r} reports"
        known = Hypothesis("known-local-delta", requirement, value, _local_delta(model.local, 0.0) > 0)
        onion = walks is not None and walks.onion
        value = "in layers of encryption" if onion else "recognized"
        followed = Hypothesis("recognized-reports", "reports that whoever has seen them recognizes", value, not onion)
        return (known_walks(model), some, followed, one_message_each(model), known)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest epsilon at which this bound on delta exceeds the given delta; 0 if there is none."""
        limit = model.local.epsilon0
        if math.isinf(limit):
            limit = 700.0
        return largest_below(lambda epsilon: self.delta(model, epsilon=epsilon), level=delta, limit=limit)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Lower bound on delta: the chance of a colluding first receiver times the local delta."""
        walks = walks_of(model)
        if walks is None or walks.onion:
            return 0.0
        # Chance that the report arrives and that its owner and receiver are online.
        there = (1 - walks.dropout) * (1 - walks.offline) ** 2 * (1 - _GUARD)
        return _first_hop(walks) * there * _local_delta(model.local, epsilon)


def _first_hop(walks: "WalkFacts") -> float:
    """Lower bound on the largest chance that a person's report goes to a colluder in the first round."""
    if walks.schedule or walks.gate is not None:
        return 0.0
    if walks.unseen_chances:
        return max(1 - walks.unseen_chances[0] - 4 * _GUARD, 0.0)
    if walks.sizes:
        from shuffledp.protocols.network.laws.walk_collusion import (
            worst_first_hop,  # imported here: only walks need graphs
        )
        from shuffledp.protocols.network.people.overlays import Overlay

        return worst_first_hop(Overlay(walks.num_users, walks.sizes), walks.num_colluding)
    return min(walks.num_colluding / max(walks.num_users - 1, 1), 1.0) * (1 - walks.laziness)


class NetworkHistogram(Theorem):
    """Lower bound of a uniform shuffle, valid for walks without losses and with all reports handed in.

    So what a data set loses through a uniform shuffle of the honest people, it loses here. Of a graph in parts, whose
    reports nobody mixes, it is that of the smallest.
    """

    id = "network-histogram"
    citation = "exact evaluation of what all reports together show, whoever hands them in"
    kind = Kind.LOWER_BOUND
    status = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: all reports are handed in, and a lower bound for a uniform shuffle of them."""
        walks = walks_of(model)
        value = "no walks" if walks is None else f"protocol {walks.protocol!r}, dropout={walks.dropout:g}"
        value += ", of whom some may hand in nothing" * (walks is not None and _may_be_refused(walks))
        holds = walks is not None and walks.protocol == "all" and walks.dropout == 0 and not _may_be_refused(walks)
        all_there = Hypothesis("all-handed-in", "random walks of which all reports are handed in", value, holds)
        known = [] if walks is None else [each.id for each in _applying(model, delta)]
        requirement = "a lower bound for a uniform shuffle of the same reports"
        bound = Hypothesis("uniform-lower-bound", requirement, ", ".join(known) or "none", bool(known))
        return (all_there, one_message_each(model), bound)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest lower bound on epsilon for a uniform shuffle."""
        uniform = _uniform(model)
        return max((each.epsilon(uniform, delta=delta) for each in _applying(model, delta)), default=0.0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Largest lower bound on delta for a uniform shuffle."""
        if not self.applies(model, delta=0.5):
            return 0.0
        uniform = _uniform(model)
        return max((each.delta_at(uniform, epsilon=epsilon) for each in _applying(model, 0.5)), default=0.0)


def _may_be_refused(walks: "WalkFacts") -> bool:
    """Whether the hand-in may be withheld, by a surplus, a shut gate or absent people."""
    aborted, kept = walks.slots and walks.surplus == "aborts", walks.gate is not None and walks.schedule is None
    some_away = walks.schedule is not None and walks.schedule.handing_in is not None
    return bool(aborted or kept or some_away)


def _applying(model: ProtocolModel, delta: float) -> list[Theorem]:
    uniform = _uniform(model)
    return [theorem for theorem in _UNIFORM if theorem.applies(uniform, delta=delta)]


def _uniform(model: ProtocolModel) -> ProtocolModel:
    """Uniform shuffle of the honest people's reports, or of the whole smallest part if it is smaller.

    Where the graph has parts, all people of the smallest part may be honest.
    """
    walks = walks_of(model)
    parts = () if walks is None else walks.parts
    people = min([model.shuffle.num_honest, *(part.num_users for part in parts)])
    return uniform_model(model, max(people, 1))


def _local_delta(local: LocalModel, epsilon: float) -> float:
    """Lower bound on the local delta of one report at this epsilon; 0 where unknown."""
    factor = math.exp(min(epsilon, 700.0))
    if local.kind == "ldp":  # the worst randomizer of the class
        return max(
            (1 - _GUARD - math.exp(epsilon - local.epsilon0) * (1 + _GUARD)) / (1 + math.exp(-local.epsilon0)), 0.0
        )
    if isinstance(local, FrequencyModel):  # by the event that the report supports the first input
        return max(local.p * (1 - _GUARD) - factor * local.q * (1 + _GUARD), 0.0)
    channel = local.channel()
    if channel is None or channel.matrix.shape[0] > _MOST_INPUTS:
        return 0.0
    rows = channel.matrix.astype(np.float64)
    gaps = np.maximum(rows[:, None] * (1 - _GUARD) - factor * rows[None] * (1 + _GUARD), 0).sum(axis=2)
    return float(gaps.max()) * (1 - _GUARD)


def first_hop_delta(*, share: float, epsilon0: float, epsilon: float) -> float:
    """Lower bound on a person's delta if a ``share`` of the neighbors collude.

    For binary randomized response with loss epsilon0, and the worst of all randomizers with it.

    Args:
        share: of the neighbors, from 0 to 1.
        epsilon0: local loss in nats, 0 or more.
        epsilon: in nats, 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.probability(share=share)
    validate.nonnegative(epsilon0=epsilon0, epsilon=epsilon)
    return share * max(-math.expm1(epsilon - epsilon0), 0.0) / (1 + math.exp(-epsilon0))


def unseen_chances(transition: Any, colluders: ArrayLike, *, num_rounds: int) -> Floats:
    """Chance that each person's report has never been with a colluder after these rounds.

    Args:
        transition: a matrix of rows that sum to 1, dense or sparse; shape (people, people).
        colluders: who they are; their own chance is 0.
        num_rounds: 0 or more.

    Raises:
        InvalidParameterError: if a colluder is nobody, or ``num_rounds`` is negative.
    """
    validate.integer_at_least(0, num_rounds=num_rounds)
    people = np.asarray(colluders, dtype=np.int64)
    size = transition.shape[0]
    if people.size and not 0 <= people.min() <= people.max() < size:
        raise InvalidParameterError(
            f"colluders must be from 0 to {size - 1}; got colluders from {people.min()} to {people.max()}."
        )
    unseen = np.ones(size)
    unseen[people] = 0.0
    for _ in range(num_rounds):
        unseen = np.asarray(transition @ unseen)
        unseen[people] = 0.0
    return unseen


def visible_empties_delta(model: ProtocolModel, *, epsilon: float, empty: float) -> float:
    """Upper bound on delta for protocol "single" if people without reports visibly hand in nothing.

    With nu the chance that the victim's report ends where nobody else's is, and f the bound with fresh dummies
    (`NetworkSingle`), delta <= nu (delta_local + e - 1) + f: the victim is alone, or takes the place of a report of one
    of those who hold some. Leaving the others' places, whose G have a mean of at least -(e - 1) each, out of the sum
    adds at most (e - 1) nu. As nu is some 1/e on a regular graph, this promises nothing with a small delta: dummies are
    needed.

    Args:
        model: reports through random walks of protocol "single".
        epsilon: in nats, 0 or more.
        empty: nu, from above: the sum of P_i times the product of 1 - P_k(i) over all others k.

    Raises:
        InvalidParameterError: if an argument is out of range.
        HypothesisError: if another hypothesis of ``network-single`` fails.
    """
    validate.nonnegative(epsilon=epsilon)
    validate.probability(empty=empty)
    NetworkSingle().require(model, delta=0.5)
    local = LocalOnly().delta(model, epsilon=epsilon)
    alone = empty * (local + math.expm1(min(epsilon, 700.0)))
    return min(local, (alone + NetworkSingle().delta(model, epsilon=epsilon)) * _RISK_ROUND_UP)


def unmixed_chance(*, num_users: int, num_rounds: int) -> float:
    """Chance that a report is alone with its holder after each round, if all moves are uniform.

    Oneself included, whoever holds a report draws one of n people: (1 - 1/n)^(t (n - 1)), about e^-t. Then somebody who
    watches who sends how many messages to whom follows it from its owner to where it is handed in, so that delta is at
    least that chance times the local one; on overlays, where fewer people pass reports to each other, it is larger.

    Args:
        num_users: 1 or more.
        num_rounds: 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    validate.integer_at_least(1, num_users=num_users)
    validate.integer_at_least(0, num_rounds=num_rounds)
    return float((1 - 1 / num_users) ** (num_rounds * (num_users - 1)))
