"""Random walks on links with constant traffic: one envelope of equally many slots each round.

With envelopes sealed anew and sent at fixed times, what an observer of all links sees is a function of public graphs.
What is left is that links carry no more reports than slots. Couple these walks with those that no link limits: they are
equal unless some link ever has a surplus, which is an event O of the walks alone, with chance p at most. Let I, I' be
the laws of what the analyst sees of walks without limits, and B, B' their parts on O. Of the part on O reveal
everything, that is all walks: its delta is p d at most, with d the local delta. Off O the positive part of
(I - B) - e (I' - B') is at most that of I - e I' plus the negative part of B - e B', whose mass is its positive part
less its sum, p (d - 1 + e) at most. With e = exp(epsilon), and delta_0 that of the walks without limits:

    delta <= delta_0 + p (e - 1 + 2 d) where reports beyond the slots wait, and delta_0 + p (e - 1 + d) where they
    abort the walks before anything is handed in, and nobody colludes: colluders open what they have seen till then.

It grows with epsilon: delta_0 is charged what the stated epsilon costs. Given a schedule of who is online all of this
holds with the walks of that schedule, and its p; behind a gate, before it is known, with the most that the gate lets
through. The proofs are in docs/theorems.md.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shuffledp.accounting.numerics import ROUND_UP
from shuffledp.accounting.theorem import LocalOnly, Theorem
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import ASSUMED, Hypothesis, Status, Trust
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.protocols.network.theorems.network_walks import WalkTheorem, walks_of

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts

_ANY_DELTA = 0.5
_SHARES = (0.5, 0.05, 0.005)  # of delta: the first tries for the share of the walks without limits
_CLOSER = 2  # number of times that the charge is recomputed
_ROUND_DOWN = 1 - 1e-12
_LARGEST = 700.0


class NetworkConstantPattern(WalkTheorem):
    """Walks on links with slots: bounds for unlimited links, plus a charge for reports beyond the slots.

    Nobody need be trusted not to watch the links.
    """

    id = "network-constant-pattern"
    citation = "walks coupled with those that no link limits, where traffic is a function of public graphs"
    status = Status.OWN_PROOF
    is_vectorized = True

    def __init__(self, unwatched: tuple[Theorem, ...]) -> None:
        self._unwatched = unwatched

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk on links with slots."""
        walks = walks_of(model)
        return Theorem.concerns(self, model) and walks is not None and bool(walks.slots)

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: links with almost always enough slots, and the hypotheses for unlimited links."""
        walks = walks_of(model)
        requirement = "one envelope on every link in each round, of so many slots whatever there is to send"
        value = "no walks" if walks is None else f"slots={_in_short(walks.slots)}"
        constant = Hypothesis("constant-pattern", requirement, value, walks is not None and bool(walks.slots))
        if walks is None or not walks.slots:
            return (constant,)
        requirement = "envelopes of one length, sealed anew in each round, and sent at fixed times"
        sealed = Hypothesis("sealed-envelopes", requirement, ASSUMED, True)
        requirement = f"too few slots on any link with a chance below delta={delta:g}"
        rare = Hypothesis("rare-surplus", requirement, f"overflow={counted(walks):.3g}", counted(walks) < delta)
        base = _unlimited(model, walks)
        applying = self._applying(base, delta)
        needed = {
            each.name: each
            for theorem in applying or self._unwatched[:1]
            for each in theorem.hypotheses(base, delta=delta)
        }
        value = ", ".join(theorem.id for theorem in applying) or "none"
        known = Hypothesis("unwatched-bound", "a theorem about these walks if nobody watches", value, bool(applying))
        return (constant, sealed, rare, *needed.values(), known)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon of the walks on unlimited links, at delta minus the charge; at most epsilon0."""
        return self._solved(model, delta)[0]

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """Guarantee, with remarks on the charge and on the walks on unlimited links."""
        epsilon, remarks = self._solved(model, delta)
        charge = in_digits(surplus_charge(model, epsilon), "at most")
        paid = f"Of the remainder, {charge} is for links that have more reports to carry than slots."
        return CentralDP(epsilon=epsilon, delta=delta), (paid, *remarks)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta for walks on unlimited links plus the charge, at most the local delta."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        base = _unlimited(model, walks)
        found = min((each.delta(base, epsilon=epsilon) for each in self._applying(base, _ANY_DELTA)), default=1.0)
        return min(found + surplus_charge(model, epsilon), LocalOnly().delta(model, epsilon=epsilon))

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons, by fast theorems."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return np.ones(len(epsilons))
        base, local = _unlimited(model, walks), LocalOnly().curve(model, epsilons=epsilons)
        fast = [each.curve(base, epsilons=epsilons) for each in self._applying(base, _ANY_DELTA) if each.is_vectorized]
        charges = np.array([surplus_charge(model, float(epsilon)) for epsilon in epsilons])
        return np.asarray(np.minimum(np.min([local, *fast], axis=0) + charges, local))

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust assumptions of walks on unlimited links, without the assumption of unwatched links."""
        return tuple(each for each in super().trust(model) if each is not Trust.UNOBSERVED)

    def _applying(self, base: ProtocolModel, delta: float) -> list[Theorem]:
        applying = [each for each in self._unwatched if each.applies(base, delta=delta)]
        superseded = {name for each in applying for name in each.supersedes}
        return [each for each in applying if each.id not in superseded]

    def _solved(self, model: ProtocolModel, delta: float) -> tuple[float, tuple[str, ...]]:
        """Least epsilon at which walks and charge together need at most delta, with the theorems' remarks.

        The charge grows with epsilon. So whatever the walks without limits have at delta less the charge of some
        epsilon is enough if it is no more than that epsilon; and then so it is for the charge of what was found.
        """
        walks, local = walks_of(model), model.local.guarantee
        limit = local.epsilon if local.delta <= delta else math.inf
        if walks is None:
            return limit, ()
        base, gate = _unlimited(model, walks), walks.gate
        if gate is not None and gate.delta == delta and self.delta(model, epsilon=gate.epsilon) <= delta:
            return gate.epsilon, ()  # the gate was set for this delta
        for share in _SHARES:
            epsilon, remarks = self._without_limits(base, share * delta)
            if surplus_charge(model, epsilon) <= (1 - share) * delta * _ROUND_DOWN:
                break
        else:
            return limit, ()
        for _ in range(_CLOSER):
            left = (delta - surplus_charge(model, epsilon)) * _ROUND_DOWN
            epsilon, remarks = min((epsilon, remarks), self._without_limits(base, left))
        return min(epsilon, limit), remarks

    def _without_limits(self, base: ProtocolModel, delta: float) -> tuple[float, tuple[str, ...]]:
        """Least epsilon of the walks on unlimited links, with the theorems' remarks."""
        explained = [each.explained(base, delta=delta) for each in self._applying(base, delta)]
        epsilons = [guarantee.epsilon for guarantee, _ in explained if isinstance(guarantee, CentralDP)]
        return min(epsilons, default=math.inf), tuple(remark for _, remarks in explained for remark in remarks)


def surplus_charge(model: ProtocolModel, epsilon: float) -> float:
    """Charge, an upper bound on the delta that reports beyond the slots add; it grows with epsilon."""
    walks = walks_of(model)
    if walks is None:
        return 0.0
    times = 1 if walks.surplus == "aborts" and not walks.num_colluding else 2  # colluders keep what they have seen
    return charge_of(model, counted(walks), epsilon, times=times)


def charge_of(model: ProtocolModel, overflow: float, epsilon: float, *, times: int = 2) -> float:
    """Charge for a given chance of a surplus, see `surplus_charge`.

    It bounds what a surplus adds to delta. ``times`` is 1 where walks are then aborted and nobody keeps reports.
    """
    if not overflow or math.isinf(epsilon):
        return math.inf if overflow else 0.0
    local = LocalOnly().delta(model, epsilon=epsilon)
    return overflow * (math.expm1(min(epsilon, _LARGEST)) + times * local) * ROUND_UP


def counted(walks: "WalkFacts") -> float:
    """Charged chance of a surplus; behind a gate, the largest chance that the gate allows."""
    return walks.overflow if walks.gate is None else walks.gate.overflow


def _unlimited(model: ProtocolModel, walks: "WalkFacts") -> ProtocolModel:
    """Protocol with these walks on unlimited links."""
    return replace(model, shuffle=cast(ShuffleModel, cast(Any, walks.unlimited)))


def _in_short(slots: tuple[int, ...]) -> str:
    """Slots of each round as text, without repeats at the end."""
    last = next((place for place in range(len(slots), 0, -1) if slots[place - 1] != slots[-1]), 0)
    more = len(slots) - last - 1
    return f"{[*slots[:last], *slots[-1:]]}" + (f" and as many in {more} further rounds" if more else "")
