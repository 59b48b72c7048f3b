"""Feldman, McMillan, Talwar 2023: "Stronger Privacy Amplification by Shuffling" (arXiv 2208.04591)."""

import math
from typing import ClassVar

from shuffledp.accounting.numerics import exp, expm1, rounded_up
from shuffledp.accounting.premises import not_adaptive, several_users, shuffled_pure_reports, small_epsilon0
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.pairs import ClonePairTheorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Status

__all__ = ["ClosedFormFMT23", "StrongPair"]


class ClosedFormFMT23(Theorem):
    """With E = exp(epsilon0): epsilon <= log(1 + (E-1) (4 sqrt(2 log(4/delta) / ((E+1) n)) + 4 / n)).

    The paper states it for adaptive randomizers; its erratum withdraws that scope. The pair of distributions behind it
    dominates every *common, non-adaptive* randomizer by a convex-order argument of this project (docs/theorems.md),
    which is why the status is "own proof" and the hypotheses are narrower than printed.

    From the pair to the closed form. With C ~ Bin(n-1, 2/(E+1)) clones, the pair's loss exceeds epsilon only if the
    share of the C + 1 reports that look like the victim's is above 1/2 by y/2, where y >= h / (1+h), h = 2u + 2r,
    r = (E+1)/n, u = sqrt(2 L r), L = log(4/delta). Hoeffding given C, and then the generating function of C, bound the
    probability of that by exp(1/4 - m (1 - exp(-y^2/2))), m = 2 (n-1)/(E+1) >= 2/r - 1. The hypothesis says
    8 r (L - log 2) <= 1, so that m (1 - exp(-y^2/2)) >= 1.1 L at every delta, and the bound is below delta/3.
    """

    id: ClassVar[str] = "fmt23-closed"
    citation: ClassVar[str] = "Feldman, McMillan, Talwar 2023, closed form, scope as corrected here (arXiv 2208.04591)"
    status: ClassVar[Status] = Status.OWN_PROOF

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """epsilon0 <= log(n / (8 log(2/delta)) - 1), for one pure local randomizer and a uniform shuffle."""
        largest = model.num_users / (8 * (math.log(2) - math.log(delta))) - 1
        limit = small_epsilon0(model, delta=delta, formula="log(n / (8 log(2/delta)) - 1)", exp_limit=largest)
        return (*shuffled_pure_reports(model), not_adaptive(model), limit)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The closed form of the class docstring."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        clones = 4 * math.sqrt(2 * (math.log(4) - math.log(delta)) / (exp(epsilon0) + 1) / users) + 4 / users
        return rounded_up(math.log1p(expm1(epsilon0) * clones))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The closed form solved for delta, at least the smallest delta at which the hypotheses hold."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        least = 2 * math.exp(-users / 8 / (exp(epsilon0) + 1))
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, least)
        clones = expm1(epsilon) / expm1(epsilon0) - 4 / users
        delta = 4 * math.exp(-(exp(epsilon0) + 1) * users / 2 * (clones / 4) ** 2) if clones > 0 else 1.0
        return self.where_hypotheses_hold(model, max(delta, least))


class StrongPair(ClonePairTheorem):
    """The pair behind the closed form, evaluated: each other report is a clone with probability q = 2 / (E + 1).

    For many people, no parameter mu of a Gaussian limit that depends on epsilon0 and n alone is more than 15.5 % below
    its own. At a fixed delta the ratio of epsilons can be a little larger: 1.168 was seen (docs/theorems.md).

    Proof (docs/theorems.md in full). The blanket lemma of Balle et al. 2019 with w = max(R(x), R(x')) / E gives
    delta <= E[(G_1 + ... + G_n)_+] / n. Of R(x)/w and R(x')/w one is E and the other lies in [1, E]; pushing each point
    to the ends of its edge, and then all mass to the extreme atoms, raises G in convex order. What remains is

        E - e with mass 1/(E+1),   1 - E e with mass 1/(E+1),   0 with the rest,

    which is this pair. It needs one randomizer for all (or R_i(z) >= w for all i and z) that is not adaptive.
    """

    id: ClassVar[str] = "strong-pair"
    citation: ClassVar[str] = (
        "pair of Feldman, McMillan, Talwar 2023, scope and proof by convex order (arXiv 2208.04591)"
    )
    status: ClassVar[Status] = Status.OWN_PROOF
    supersedes: ClassVar[tuple[str, ...]] = ("efmrtt19-closed", "fmt21-closed", "fmt23-closed", "fmt21-pair")

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """One pure local randomizer for all that is not adaptive, a uniform shuffle, two users or more."""
        del delta
        return (*shuffled_pure_reports(model), not_adaptive(model), several_users(model))

    def clone_chance(self, epsilon0: float) -> float:
        """2 / (E + 1)."""
        return 2 / (exp(epsilon0) + 1)
