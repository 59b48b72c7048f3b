"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019: "Amplification by Shuffling"."""

import math
from typing import ClassVar

from shuffledp.accounting.numerics import rounded_up
from shuffledp.accounting.premises import shuffled_pure_reports
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis

__all__ = ["ClosedFormEFMRTT19"]


class ClosedFormEFMRTT19(Theorem):
    """The first closed form: epsilon <= 12 epsilon0 sqrt(log(1/delta) / n).

    The theorem lets the randomizer depend on the place after the shuffle and on earlier reports, but not on the user.
    It is printed for epsilon0 < 1/2; it holds at 1/2 too, because a randomizer of that loss is the limit of mixtures of
    itself with a report that ignores the answer, and these lose less.
    """

    id: ClassVar[str] = "efmrtt19-closed"
    citation: ClassVar[str] = "Erlingsson et al. 2019, amplification by shuffling, main theorem (arXiv 1811.12469)"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """At least 1000 users, epsilon0 <= 1/2, delta < 1/100, for a pure local randomizer and a uniform shuffle."""
        epsilon0, users = model.local.epsilon0, model.num_users
        return (
            *shuffled_pure_reports(model),
            Hypothesis(name="many-users", requirement="n >= 1000", value=f"num_users={users}", holds=users >= 1000),
            Hypothesis(
                name="small-epsilon0",
                requirement="epsilon0 <= 0.5",
                value=f"epsilon0={epsilon0:.6g}",
                holds=epsilon0 <= 0.5,
            ),
            Hypothesis(name="small-delta", requirement="delta < 0.01", value=f"delta={delta:g}", holds=delta < 0.01),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The closed form of the class docstring."""
        return rounded_up(12 * model.local.epsilon0 * math.sqrt(-math.log(delta) / model.num_users))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The closed form solved for delta, exp(-n (epsilon / (12 epsilon0))^2), where the hypotheses hold."""
        epsilon0 = model.local.epsilon0
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, 0.0)
        return self.where_hypotheses_hold(model, math.exp(-model.num_users * (epsilon / (12 * epsilon0)) ** 2))
