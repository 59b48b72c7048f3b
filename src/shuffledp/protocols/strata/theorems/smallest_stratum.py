"""Strata: parallel composition over disjoint people, in public strata that no answer changes.

What is seen of different strata is independent, and one person's answer changes the reports of her own stratum alone.
So she is guaranteed what a uniform shuffle of her stratum's people guarantees, and everybody what the smallest does:
for the view of m + 1 people is made from that of m of them, none of them left out being the person herself, and the
report of the other one, by putting it at a uniform place. Whoever sees the former sees no more than who sees the
latter, whose second part does not depend on her answer. So any bound for m people holds for more, whether or not the
formula of the bound falls with them, and the exact loss of everybody is that of the smallest stratum (docs/theorems.md,
"strata"). Lower bounds for its people are lower bounds for all.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shuffledp.accounting.theorem import Theorem
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.statement_terms import ASSUMED, Hypothesis, Kind, Status
from shuffledp.core.table import Floats

_ANY_DELTA = 0.5


class StrataUpper(Theorem):
    """Upper bound for strata: the best bound for a uniform shuffle of the smallest stratum.

    Args:
        uniform: the theorems to choose from; those of another kind of bound are left out.
    """

    id = "strata"
    citation = "parallel composition (McSherry 2009, Theorem 4), with a bound for the people of the smallest stratum"
    status = Status.OWN_PROOF
    is_vectorized = True

    def __init__(self, uniform: Sequence[Theorem]) -> None:
        self._uniform = tuple(each for each in uniform if each.kind.promises is self.kind.promises)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the shuffle is inside strata."""
        return super().concerns(model) and _is_stratified(model)

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: public, fixed strata of two honest people or more; a bound for the smallest stratum."""
        known, smallest = _is_stratified(model), _smallest(model).num_users
        value = f"shuffler {model.shuffle.kind!r}"
        inside = Hypothesis("uniform-in-strata", "a uniform shuffle inside each stratum", value, known)
        if not known:
            return (inside,)
        fixed = "a public stratum for each person that does not depend on the answer"
        people = Hypothesis("several-in-stratum", "n >= 2 honest people in each stratum", str(smallest), smallest >= 2)
        bounds = [each.id for each in self._applying(model, delta)] if smallest >= 2 else []
        bound = "a bound for a uniform shuffle of the people of the smallest stratum"
        return (
            inside,
            Hypothesis("fixed-strata", fixed, ASSUMED, True),
            people,
            Hypothesis("bound-for-smallest", bound, ", ".join(bounds) or "none", bool(bounds)),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Best bound on epsilon for the smallest stratum, of all theorems that apply."""
        return self._best(model, delta)[0]

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """Guarantee, with a remark on the theorem behind it."""
        epsilon, by = self._best(model, delta)
        said = tuple(f"For the smallest stratum it is by {theorem.id}: {theorem.citation}." for theorem in by)
        return CentralDP(epsilon=epsilon, delta=delta), said

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Best bound on delta for the smallest stratum, of all theorems that apply."""
        smallest, says_nothing = _smallest(model), 1.0 if self.kind.promises else 0.0
        found = [each.delta_at(smallest, epsilon=epsilon) for each in self._applying(model, _ANY_DELTA)]
        return float(self._least_or_most([says_nothing, *found]))

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons, by fast theorems."""
        smallest, says_nothing = _smallest(model), np.full(len(epsilons), 1.0 if self.kind.promises else 0.0)
        fast = [each for each in self._applying(model, _ANY_DELTA) if each.is_vectorized]
        return self._least_or_most([says_nothing, *(each.curve(smallest, epsilons=epsilons) for each in fast)])

    def _best(self, model: ProtocolModel, delta: float) -> tuple[float, list[Theorem]]:
        """Best bound on epsilon for the smallest stratum, and the first theorem that gives it.

        Where no theorem applies, the epsilon is the trivial one, and the list is empty.
        """
        smallest, anyway = _smallest(model), model.local.epsilon0 if self.kind.promises else 0.0
        applying = self._applying(model, delta)
        found = [(each.epsilon(smallest, delta=delta), each) for each in applying if not each.is_costly]
        known = min([anyway, *(epsilon for epsilon, _ in found)])
        for each in applying:
            if each.is_costly and each.may_gain(smallest, delta=delta, known=known):
                found.append((each.epsilon(smallest, delta=delta), each))
        best = float(self._least_or_most([anyway, *(epsilon for epsilon, _ in found)]))
        return best, [theorem for epsilon, theorem in found if epsilon == best][:1]

    def _least_or_most(self, found: Sequence[float] | Sequence[Floats]) -> Floats:
        """Best of several bounds: the smallest upper bound, or the largest lower bound."""
        return np.asarray(np.min(found, axis=0) if self.kind.promises else np.max(found, axis=0))

    def _applying(self, model: ProtocolModel, delta: float) -> list[Theorem]:
        """Theorems that apply to the smallest stratum, without superseded theorems."""
        if not _is_stratified(model):
            return []
        smallest = _smallest(model)
        applying = [each for each in self._uniform if each.applies(smallest, delta=delta)]
        superseded = {name for each in applying for name in each.supersedes}
        return [each for each in applying if each.id not in superseded]


class StrataLower(StrataUpper):
    """Lower bound for strata: the largest lower bound for the smallest stratum, valid for all strata."""

    id = "strata-lower"
    citation = "lower bounds for the people of the smallest stratum"
    kind = Kind.LOWER_BOUND


def _is_stratified(model: ProtocolModel) -> bool:
    return model.shuffle.labels is LabelMeaning.STRATUM


def _smallest(model: ProtocolModel) -> ProtocolModel:
    """Protocol of the smallest stratum's honest people."""
    return replace(model, shuffle=model.shuffle.worst_off)
