"""The guarantee that remains whatever the shuffler does: the local one."""

from dataclasses import replace
from typing import ClassVar

from shuffledp.accounting.theorem import Theorem
from shuffledp.guarantees import CentralDP, Guarantee
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, PrivacyStatement, Trust

__all__ = ["LocalOnly"]


class LocalOnly(Theorem):
    """The released data are computed from the reports alone, so the local guarantee carries over (post-processing).

    Nobody but one's own device is trusted. Where the local guarantee is empty this says nothing: reports that mean
    nothing alone may well be private together.
    """

    id: ClassVar[str] = "local-dp"
    citation: ClassVar[str] = "post-processing of the local guarantee; Dwork and Roth 2014, Proposition 2.1"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Epsilon0 is finite, and the local delta within the delta asked for."""
        local = model.local.guarantee
        return (
            Hypothesis(
                name="local-guarantee",
                requirement="a finite epsilon0",
                value=f"epsilon0={local.epsilon:.6g}",
                holds=not local.is_trivial,
            ),
            Hypothesis(
                name="local-delta",
                requirement=f"a local delta of at most {delta:g}",
                value=f"local delta={local.delta:g}",
                holds=local.delta <= delta,
            ),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon0, at any delta."""
        del delta
        return model.local.epsilon0

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The local delta from epsilon0 on; below, nothing is said."""
        local = model.local.guarantee
        return local.delta if epsilon >= local.epsilon else 1.0

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """Epsilon0 with the local delta, which is 0 for pure randomizers: stronger than what was asked for."""
        del delta
        local = model.local.guarantee
        return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)

    def state(self, model: ProtocolModel, *, delta: float) -> PrivacyStatement:
        """As for every theorem, but trusting one's own device only."""
        return replace(super().state(model, delta=delta), trust=(Trust.OWN_DEVICE,))
