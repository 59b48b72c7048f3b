"""Feldman, McMillan, Talwar 2021: "Hiding Among the Clones" (arXiv 2012.12803)."""

import math
from typing import ClassVar

from shuffledp.accounting.numerics import exp, expm1, rounded_up
from shuffledp.accounting.premises import several_users, shuffled_pure_reports, small_epsilon0
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.pairs import ClonePairTheorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis

__all__ = ["ClosedFormFMT21", "PairFMT21"]


class ClosedFormFMT21(Theorem):
    """With E = exp(epsilon0): epsilon <= log(1 + (E-1)/(E+1) (8 sqrt(E log(4/delta) / n) + 8 E / n)).

    The theorem lets the randomizer depend on the place after the shuffle and on earlier reports, but not on the user.
    The paper prints its hypothesis with log(2/delta); log(4/delta) is used here, as in the authors' code
    (docs/errata.md).
    """

    id: ClassVar[str] = "fmt21-closed"
    citation: ClassVar[str] = "Feldman, McMillan, Talwar 2021, Theorem 3.1 (arXiv 2012.12803)"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """epsilon0 <= log(n / (16 log(4/delta))), for a pure local randomizer and a uniform shuffle."""
        largest = model.num_users / (16 * (math.log(4) - math.log(delta)))
        limit = small_epsilon0(model, delta=delta, formula="log(n / (16 log(4/delta)))", exp_limit=largest)
        return (*shuffled_pure_reports(model), limit)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The closed form of the class docstring."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        clones = 8 * math.sqrt(exp(epsilon0) * (math.log(4) - math.log(delta)) / users) + 8 * exp(epsilon0) / users
        return rounded_up(math.log1p(math.tanh(epsilon0 / 2) * clones))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The closed form solved for delta, at least the smallest delta at which the hypotheses hold."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        least = 4 * math.exp(-users / 16 * math.exp(-epsilon0))
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, least)
        clones = expm1(epsilon) / expm1(epsilon0) * (exp(epsilon0) + 1) - 8 * exp(epsilon0) / users
        delta = 4 * math.exp(-users * math.exp(-epsilon0) * (clones / 8 * clones / 8)) if clones > 0 else 1.0
        return self.where_hypotheses_hold(model, max(delta, least))


class PairFMT21(ClonePairTheorem):
    """The pair behind the closed form, evaluated: each other report is a clone with probability q = exp(-epsilon0).

    By local privacy R(z) >= (R(x) + R(x')) / (2 E) for all answers x, x', z, whatever R is at this place and after
    these earlier reports; that half of a clone lies on either side is all that the analyst cannot see. So it covers
    randomizers that differ from place to place after the shuffle and adapt to earlier reports.
    """

    id: ClassVar[str] = "fmt21-pair"
    citation: ClassVar[str] = "Feldman, McMillan, Talwar 2021, Theorem 3.2, evaluated numerically (arXiv 2012.12803)"
    supersedes: ClassVar[tuple[str, ...]] = ("fmt21-closed",)

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """A pure local randomizer not tied to its user, a uniform shuffle, two users or more."""
        del delta
        return (*shuffled_pure_reports(model), several_users(model))

    def clone_chance(self, epsilon0: float) -> float:
        """Exp(-epsilon0)."""
        return math.exp(-epsilon0)
