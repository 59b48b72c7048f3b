"""Wang, Peng, Li, Wen, Lu 2023: "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened"."""

import math
from typing import ClassVar

from shuffledp.accounting.evaluators.blanket import LimitedVariation
from shuffledp.accounting.premises import not_adaptive, several_users, shuffled_pure_reports
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Status

__all__ = ["VariationRatioCorrected"]

_LEAST, _MOST = 1e-9, 300.0  # of epsilon0


class VariationRatioCorrected(Theorem):
    """The strong pair, less what a bound beta on the total variation between two inputs' laws excludes.

    The paper reduces such randomizers to a pair of which the step for beta < (E-1)/(E+1) is not proven, and false for
    k-ary response (docs/errata.md). Corrected: the proof of `strong-pair` with the mass of its atoms, before the last
    step, limited by beta. It keeps a third atom, which the paper's pair merges away.
    """

    id: ClassVar[str] = "variation-ratio-corrected"
    citation: ClassVar[str] = "after Wang et al. 2023, corrected (arXiv 2304.05007)"
    status: ClassVar[Status] = Status.OWN_PROOF
    supersedes: ClassVar[tuple[str, ...]] = ("efmrtt19-closed", "fmt21-closed", "fmt23-closed", "fmt21-pair")

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """As for the strong pair, with a bound on the total variation that says more than epsilon0 does."""
        del delta
        distance, largest = model.local.total_variation, math.tanh(model.local.epsilon0 / 2)
        return (
            *shuffled_pure_reports(model),
            not_adaptive(model),
            several_users(model),
            Hypothesis(
                name="total-variation",
                requirement=f"a known total variation distance below tanh(epsilon0 / 2) = {largest:.6g}",
                value="none known" if distance is None else f"total_variation={distance:.6g}",
                holds=_law(model) is not None,
            ),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Solved on the certified curve; at most epsilon0, which it is where no total variation is known."""
        law = _law(model)
        return model.local.epsilon0 if law is None else law.epsilon(delta=delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of the atoms, from above, where the theorem applies."""
        law = _law(model)
        return 1.0 if law is None or not self.applies(model, delta=0.5) else law.delta(epsilon=epsilon)


def _law(model: ProtocolModel) -> LimitedVariation | None:
    """The atoms, if the total variation distance is known and says more than epsilon0 does."""
    epsilon0, distance = model.local.epsilon0, model.local.total_variation
    if distance is None or not 0 < distance < math.tanh(epsilon0 / 2) or not _LEAST < epsilon0 < _MOST:
        return None
    return LimitedVariation(epsilon0=epsilon0, beta=distance, users=model.num_users)
