"""Walks behind a gate: reports are handed in only if attendance mixed them enough.

Let T be any stopping rule that looks at the schedule O alone, and let the hand-in be refused unless everybody's mean
overlap given O, times the chance of a report to arrive, is at least a. Given any O walks are independent, and what is
seen is nothing, or what `network-overlap` bounds: by the curve of the mean overlap a, as more people to hide among are
no worse. O has one law whatever the answers are, so the mixture over O, T and refusal has that curve, too. It is known
before anybody walks. On links with slots the gate looks at the chance of a surplus given O, too, and leaves room for
the most that it lets through, which `network-constant-pattern` adds. The proofs are in docs/theorems.md.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shuffledp.accounting.numerics import smallest_below
from shuffledp.core import validate
from shuffledp.core.caching import remembered
from shuffledp.core.flow import Randomizer
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.protocols.network.theorems.network_constant_pattern import charge_of
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.protocols.network.theorems.network_walks import WalkTheorem, walks_of

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk_gates import WalkGate

_MOST_REMEMBERED = 16  # gates: one command asks for the same gate several times
_LARGEST = 1 - 1e-9  # largest overlap that is asked for, because walks are rounded
_TOLERANCE = 1e-5  # of the overlap
_ROUND_DOWN = 1 - 1e-12
_MORE = 1.1  # times epsilon: up to this, room is left for the charge of links with few slots
_OVERLAP = NetworkOverlap()


class NetworkGate(WalkTheorem):
    """Walks behind a gate: the bound of `network-overlap` at the smallest mean overlap that the gate admits."""

    id = "network-gate"
    citation = "walks that are handed in only if who was online has mixed them"
    status = Status.OWN_PROOF
    is_vectorized = True
    supersedes = (NetworkOverlap.id,)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk behind a gate."""
        return super().concerns(model) and _gate_of(model) is not None

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: a gate, and the hypotheses of `network-overlap` for the admitted walks."""
        gate = _gate_of(model)
        requirement = "reports that are handed in only if everybody's mean overlap given who was online is enough"
        if gate is None:
            return (Hypothesis("gate", requirement, "no gate", False),)
        value = f"a gate at mean_overlap={gate.overlap:.6g}"
        gated = Hypothesis("gate", requirement, value, True)
        return (gated, *_OVERLAP.hypotheses(_let_through(model), delta=delta))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon at the smallest mean overlap, or the gate's own epsilon at its own delta.

        The gate's own epsilon is given only if it holds at the gate's delta.
        """
        gate = _gate_of(model)
        if gate is None:
            return model.local.epsilon0
        through = _let_through(model)
        if gate.delta == delta and _OVERLAP.delta(through, epsilon=gate.epsilon) <= delta:
            return gate.epsilon
        return _OVERLAP.epsilon(through, delta=delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of `network-overlap` at the smallest mean overlap that the gate admits."""
        return _OVERLAP.delta(_let_through(model), epsilon=epsilon) if _gate_of(model) is not None else 1.0

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons, a little less tight than `delta`."""
        return _OVERLAP.curve(_let_through(model), epsilons=epsilons)


def walk_gate(
    randomizer: Randomizer | LocalModel, *, num_users: int, epsilon: float, delta: float, overflow: float = 0.0
) -> "WalkGate":
    """Gate for walks before the hand-in, so that (epsilon, delta) can be stated before the walks begin.

    Args:
        randomizer: of the reports, or its model.
        num_users: people who pass reports on, 2 or more.
        epsilon: what is to be promised, in nats: below the local loss, and above what a uniform shuffle gives.
        delta: at this delta, strictly between 0 and 1.
        overflow: on links with slots, the chance that some link has too few with which reports are still handed in,
            whoever was online; delta counts it. From 0 to 1.

    Raises:
        InvalidParameterError: if an argument is out of range, or no walks, or any, keep that promise.

    Example:
        >>> from shuffledp.randomizers import KaryRandomizedResponse
        >>> coin = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
        >>> round(walk_gate(coin, num_users=900, epsilon=0.16, delta=1e-6).overlap, 3)
        0.74
    """
    from shuffledp.protocols.network.laws.walk_gates import WalkGate  # imported here: only walks need graphs

    local = randomizer.model if isinstance(randomizer, Randomizer) else randomizer
    validate.instance_of(LocalModel, randomizer=local)
    validate.integer_at_least(2, num_users=num_users)
    validate.nonnegative(gate=epsilon)
    validate.open_probability(delta=delta)
    validate.probability(overflow=overflow)
    if epsilon >= local.epsilon0:
        raise validate.invalid(f"below epsilon0={local.epsilon0:g}, which holds without any gate", gate=epsilon)

    overlap = _least_overlap(local, int(num_users), float(epsilon), float(delta), float(overflow))
    if overlap is None:
        least = _least_epsilon(local, int(num_users), float(delta), float(overflow))
        raise validate.invalid(
            f"at least {in_digits(least, 'at most')}, what a uniform shuffle of {num_users} people gives at "
            f"delta={delta:g}",
            gate=epsilon,
        )
    return WalkGate(epsilon=float(epsilon), delta=float(delta), overlap=overlap, overflow=float(overflow))


def _least_epsilon(local: LocalModel, num_users: int, delta: float, overflow: float) -> float:
    """Upper bound on the epsilon of a uniform shuffle, with this surplus charged; infinite if unknown."""
    uniform = _of_overlap(local, num_users, _LARGEST)
    left = delta - charge_of(uniform, overflow, _MORE * _OVERLAP.epsilon(uniform, delta=delta))
    return _OVERLAP.epsilon(uniform, delta=left) if left > 0 else math.inf


@remembered(_MOST_REMEMBERED)
def _least_overlap(local: LocalModel, num_users: int, epsilon: float, delta: float, overflow: float) -> float | None:
    """Least mean overlap, rounded up, at which (epsilon, delta) holds; None if no overlap is enough."""
    delta = (delta - charge_of(_of_overlap(local, num_users, _LARGEST), overflow, epsilon)) * _ROUND_DOWN

    def at(overlap: float) -> float:
        return _OVERLAP.delta(_of_overlap(local, num_users, overlap), epsilon=epsilon)

    if delta <= 0 or at(_LARGEST) > delta:
        return None
    uniform = _OVERLAP.epsilon(_of_overlap(local, num_users, _LARGEST), delta=delta)
    guess = (uniform / epsilon) ** 2 if epsilon > 0 else None  # epsilon falls with the root of the number of people
    return smallest_below(at, level=delta, limit=_LARGEST, guess=guess, tolerance=_TOLERANCE)


def _of_overlap(local: LocalModel, num_users: int, overlap: float) -> ProtocolModel:
    """Model of walks with a known mean overlap, and no other known fact."""
    network: Any = ShuffleModel.members()["network"]
    shuffle = network(
        num_users=num_users,
        num_rounds=1,
        graph_digest="",
        irregularity=1.0,
        mean_overlap=overlap,
        near_uniformity=math.inf,
        separation=1.0,
        position_probabilities=(1.0,),
        position_counts=(1,),
    )
    return ProtocolModel(local=local, shuffle=shuffle)


def _gate_of(model: ProtocolModel) -> "WalkGate | None":
    walks = walks_of(model)
    return None if walks is None else walks.gate


def _let_through(model: ProtocolModel) -> ProtocolModel:
    """Model of walks at the gate's smallest mean overlap; the overlap already counts lost reports."""
    gate = _gate_of(model)
    known = {"mean_overlap": 0.0 if gate is None else gate.overlap, "near_uniformity": math.inf, "separation": 1.0}
    return replace(model, shuffle=cast(Any, replace)(model.shuffle, dropout=0.0, schedule=None, **known))
