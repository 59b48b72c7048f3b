"""Bounds by pairs of clones, after Feldman, McMillan, Talwar 2021 and 2023, and Wang et al. 2023.

Randomizers of which the local guarantee has a remainder, (epsilon0, delta0) with delta0 above 0, are covered by two
theorems: both add what the remainders of all n people cost to the delta of a pair, so delta0 must be far below delta /
n.
"""

import math
from abc import abstractmethod
from typing import ClassVar, cast

import numpy as np

from shuffledp.accounting.evaluators.clone_counts import ClonePair, LimitedVariation
from shuffledp.accounting.numerics import SMALLEST, exp, rounded_up, smallest_below
from shuffledp.accounting.theorem import (
    PURE_REPORTS,
    EvaluatedTheorem,
    common_randomizer,
    not_adaptive,
    one_message_each,
    several_users,
    uniform_shuffle,
)
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

_LEAST_EPSILON0, _LARGEST_EPSILON0 = 1e-9, 300.0
_GRID = 32  # points on which the minimum of a convex curve is searched
_ROUNDS = 4


class ClonePairTheorem(EvaluatedTheorem):
    """Bound by clones: each other report is a clone with a chance that depends on epsilon0 alone.

    The pair dominates in both directions and at every epsilon, so it may be composed, adaptively too.
    """

    is_strong: ClassVar[bool]  # whether another report is a clone with a chance of 2 / (E + 1), or of 1 / E

    def evaluator(self, model: ProtocolModel) -> ClonePair:
        """Pair of clones for this model, which evaluates upper bounds on delta."""
        return self.pair(model)

    def pair(self, model: ProtocolModel) -> ClonePair:
        """Pair of clones for the model's people and local loss."""
        epsilon0 = model.local.epsilon0
        chance = 2 / (exp(epsilon0) + 1) if self.is_strong else math.exp(-epsilon0)
        return ClonePair(epsilon0=epsilon0, chance=chance, users=model.num_users)


class PairFMT21(ClonePairTheorem):
    """Evaluated pair of clones of the 2021 closed form; clones have probability exp(-epsilon0).

    That probability is q. By local privacy R(z) >= (R(x) + R(x')) / (2 E) for all answers x, x', z, whatever R is at
    this place and after these earlier reports; that half of a clone lies on either side is all that the analyst cannot
    see. So it covers randomizers that differ from place to place after the shuffle and adapt to earlier reports.
    """

    id = "fmt21-pair"
    citation = "Feldman, McMillan, Talwar 2021, Theorem 3.2, evaluated numerically (arXiv 2012.12803)"
    supersedes = ("fmt21-closed",)
    is_strong = False
    premises = (*PURE_REPORTS, several_users)


class StrongPair(ClonePairTheorem):
    """Evaluated pair of clones of the 2023 closed form; clones have probability 2 / (E + 1).

    That probability is q. For many people, no parameter mu of a Gaussian limit that depends on epsilon0 and n alone is
    more than 15.5 % below its own. At a fixed delta the ratio of epsilons can be a little larger: 1.168 was seen
    (docs/theorems.md).

    The proof (docs/theorems.md) spreads the blanket w = max(R(x), R(x')) / E in convex order to G = E - e and 1 - E e,
    with mass 1/(E+1) each. It needs one randomizer for all (or R_i(z) >= w for all i and z) that is not adaptive.
    """

    id = "strong-pair"
    citation = "pair of Feldman, McMillan, Talwar 2023, scope and proof by convex order (arXiv 2208.04591)"
    status = Status.OWN_PROOF
    supersedes = ("efmrtt19-closed", "fmt21-closed", "fmt23-closed", "fmt21-pair")
    is_strong = True
    premises = (*PURE_REPORTS, not_adaptive, several_users)


def _limited_variation(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the total variation distance is known, and below its limit tanh(epsilon0 / 2)."""
    epsilon0, distance = model.local.epsilon0, model.local.total_variation
    largest = math.tanh(epsilon0 / 2)
    holds = distance is not None and 0 < distance < largest and _LEAST_EPSILON0 < epsilon0 < _LARGEST_EPSILON0
    requirement = f"a known total variation distance below tanh(epsilon0 / 2) = {largest:.6g}"
    value = "none known" if distance is None else f"total_variation={distance:.6g}"
    return Hypothesis("total-variation", requirement, value, holds)


class VariationRatioCorrected(EvaluatedTheorem):
    """Strong pair of clones, limited by a known bound beta on the total variation between two inputs.

    The paper reduces such randomizers to a pair of which the step for beta < (E-1)/(E+1) is not proven, and false for
    k-ary response (docs/errata.md). Corrected: the proof of `strong-pair` with the mass of its atoms, before the last
    step, limited by beta. It keeps a third atom, which the paper's pair merges away.
    """

    id = "variation-ratio-corrected"
    citation = "after Wang et al. 2023, corrected (arXiv 2304.05007)"
    status = Status.OWN_PROOF
    supersedes = ("efmrtt19-closed", "fmt21-closed", "fmt23-closed", "fmt21-pair")
    premises = (*PURE_REPORTS, not_adaptive, several_users, _limited_variation)
    is_vectorized = False

    def evaluator(self, model: ProtocolModel) -> LimitedVariation:
        """Limited pair of clones for the model's people, local loss and total variation."""
        distance = cast(float, model.local.total_variation)
        return LimitedVariation(epsilon0=model.local.epsilon0, beta=distance, users=model.num_users)


class _ApproximatePair(ClonePairTheorem):
    """Delta of a pair of clones, plus a charge for the local remainders.

    The charge grows with epsilon. The sum is convex in exp(epsilon). Where it grows, a smaller epsilon than the one
    asked for promises more.
    """

    @abstractmethod
    def charge(self, model: ProtocolModel, epsilon: float) -> float:
        """Charge: the amount that the local remainders add to delta."""

    def least(self, model: ProtocolModel) -> float:
        """Smallest delta that the theorem can state before adding the charge; 0 unless overridden."""
        return 0.0

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: a small enough local remainder, one common randomizer, and a uniform shuffle."""
        local, remains = model.local.guarantee, _in_range(model)
        charge = self.charge(model, 0.0) + self.least(model) if remains else 0.0
        requirement = "a local delta strictly between 0 and 1, with 0 < epsilon0 <= 300"
        value = f"local delta={local.delta:g}, epsilon0={local.epsilon:.6g}"
        remainder = Hypothesis("local-remainder", requirement, value, remains)
        requirement, value = f"a charge for all local remainders below {delta:g}", f"{charge:g}" if remains else "none"
        small = Hypothesis("small-remainder", requirement, value, remains and charge < delta)
        shape = (uniform_shuffle(model), one_message_each(model))
        return (*shape, remainder, common_randomizer(model), several_users(model), small)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon at which pair and charge add up to at most delta; infinity if none exists."""
        if not _in_range(model):
            return math.inf
        turn = self.turn(model)
        if self._total(model, turn) > delta:
            return math.inf
        return smallest_below(lambda epsilon: self._total(model, epsilon), level=delta, limit=turn, tolerance=1e-7)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Least sum of pair and charge up to this epsilon if the theorem applies; else 1."""
        if not self.applies(model, delta=math.nextafter(1.0, 0.0)):
            return 1.0
        return self._total(model, min(epsilon, self.turn(model)))

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Sum of pair and charge at each epsilon, rounded up."""
        if not self.applies(model, delta=math.nextafter(1.0, 0.0)):
            return np.ones(len(epsilons))
        capped = np.minimum(epsilons, self.turn(model))
        pair = np.maximum(self.pair(model).curve(capped), self.least(model))
        return np.asarray(np.minimum(pair + self.charges(model, capped), 1.0))

    def charges(self, model: ProtocolModel, epsilons: Floats) -> Floats:
        """Charges at many epsilons."""
        return np.array([self.charge(model, float(epsilon)) for epsilon in epsilons])

    def _total(self, model: ProtocolModel, epsilon: float) -> float:
        pair = max(self.pair(model).delta(epsilon), self.least(model))
        return min(rounded_up(pair + self.charge(model, epsilon)) + SMALLEST, 1.0)

    def turn(self, model: ProtocolModel) -> float:
        """Epsilon near the minimum of the sum of pair and charge.

        Any value is valid; this one is good.
        """
        low, turn, high = 0.0, 0.0, model.local.epsilon0
        for _ in range(_ROUNDS):
            grid = np.linspace(low, high, _GRID + 1)
            best = int(np.argmin(self.pair(model).curve(grid) + self.charges(model, grid)))
            low, turn, high = (float(grid[min(max(place, 0), _GRID)]) for place in (best - 1, best, best + 1))
        return turn


def _in_range(model: ProtocolModel) -> bool:
    local = model.local.guarantee
    return 0 < local.delta < 1 and 0 < local.epsilon <= _LARGEST_EPSILON0


class ApproximateFMT21(_ApproximatePair):
    """Pair `fmt21-pair` for a local delta0, with a charge added to delta.

    The charge is (e + 1) (1 + (1/E) / 2) n delta0. The pair is used no smaller than at the least delta at which the
    theorem's hypothesis, epsilon0 <= log(n / (16 log(4/delta))), holds.
    """

    id = "approximate-fmt21"
    citation = (
        "Feldman, McMillan, Talwar 2021, theorem for approximate privacy, evaluated numerically (arXiv 2012.12803)"
    )
    is_strong = False

    def charge(self, model: ProtocolModel, epsilon: float) -> float:
        """Charge (e + 1) (1 + exp(-epsilon0) / 2) n delta0."""
        local = model.local.guarantee
        return (exp(epsilon) + 1) * (1 + math.exp(-local.epsilon) / 2) * model.num_users * local.delta

    def least(self, model: ProtocolModel) -> float:
        """Smallest delta at which the theorem's hypothesis holds."""
        return min(rounded_up(4 * math.exp(-model.num_users / 16 * math.exp(-model.local.epsilon0))), 1.0)


class ApproximateStrongPair(_ApproximatePair):
    """Pair `strong-pair` for a local delta0, with a charge added to delta.

    The charge is (1 + e) delta0 ((n-1) (2/E) (E+2) / (E+1) + 1 / (1+E)). Proof. The victim's two laws are within delta0
    / (1 + E) in total variation of two that are epsilon0-close (Dwork and Roth 2014, Lemma 3.17). Every other person's
    law can be lifted above w = max / E of those two at a cost in total variation of (2/E) delta0 (E + 2) / (E + 1).
    Then the proof of `strong-pair` applies, and changes of the laws by t in total variation, together, change delta by
    at most (1 + e) t.
    """

    id = "approximate-strong-pair"
    citation = "the proof of strong-pair, after moving each law to one without a remainder"
    status = Status.OWN_PROOF
    is_strong = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses of the base class, and a randomizer that is not adaptive."""
        return (*super().hypotheses(model, delta=delta), not_adaptive(model))

    def charge(self, model: ProtocolModel, epsilon: float) -> float:
        """Charge (1 + e) delta0 ((n - 1) (2/E) (E + 2) / (E + 1) + 1 / (1 + E))."""
        local, odds = model.local.guarantee, math.exp(-model.local.epsilon0)
        others = (model.num_users - 1) * 2 * odds * (1 + 2 * odds) / (1 + odds)
        return (1 + exp(epsilon)) * local.delta * (others + odds / (1 + odds))
