"""What a theorem is to the accountant: hypotheses to check, and a curve from epsilon to delta and back."""

from abc import ABC, abstractmethod
from typing import ClassVar

from shuffledp._validate import nonnegative, open_probability
from shuffledp.accounting.numerics import SMALLEST, rounded_up
from shuffledp.errors import HypothesisError
from shuffledp.guarantees import CentralDP, Guarantee
from shuffledp.models import ProtocolModel
from shuffledp.statements import Basis, Hypothesis, Kind, PrivacyStatement, Status, Trust

__all__ = ["Theorem"]


class Theorem(ABC):
    """A published (or own) result about the central guarantee of a protocol. One instance each is in ``THEOREMS``.

    Class attributes: ``id`` (short name), ``citation`` (source with theorem number), ``kind`` (upper or lower bound),
    ``status`` (published or own proof).
    """

    id: ClassVar[str]
    citation: ClassVar[str]
    kind: ClassVar[Kind] = Kind.UPPER_BOUND
    status: ClassVar[Status] = Status.PUBLISHED

    @abstractmethod
    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Every hypothesis, evaluated for this model and delta."""

    @abstractmethod
    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The central epsilon at this delta, provided that the hypotheses hold."""

    @abstractmethod
    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The central delta at this epsilon, non-increasing; where it says nothing, 1 (upper bound) or 0 (lower)."""

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """What the theorem gives at this delta."""
        return CentralDP(epsilon=self.epsilon(model, delta=delta), delta=delta)

    def state(self, model: ProtocolModel, *, delta: float) -> PrivacyStatement:
        """The theorem's statement about a model.

        Raises:
            HypothesisError: if a hypothesis does not hold; the message names it, its value and the way out.
        """
        open_probability(delta=delta)
        hypotheses = self.hypotheses(model, delta=delta)
        failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
        if failing:
            raise HypothesisError(f"{self.id} {failing}. Use account(), which takes a theorem that applies.")
        return PrivacyStatement(
            guarantee=self.guarantee(model, delta=delta),
            kind=self.kind,
            basis=Basis(theorem=self.id, citation=self.citation, hypotheses=hypotheses, status=self.status),
            trust=(Trust.OWN_DEVICE, *model.shuffle.trust),
            remarks=model.local.remarks,
        )

    def where_hypotheses_hold(self, model: ProtocolModel, delta: float) -> float:
        """A closed form's ``delta``, rounded up, if all hypotheses hold there; else 1: nothing is said."""
        stated = rounded_up(max(delta, SMALLEST))
        met = stated < 1 and all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=stated))
        return stated if met else 1.0

    def delta_at(self, model: ProtocolModel, *, epsilon: float) -> float:
        """`delta`, after checking epsilon, and 0 from epsilon0 on where a pure local guarantee holds anyway."""
        nonnegative(epsilon=epsilon)
        local = model.local.guarantee
        return 0.0 if local.delta == 0 and epsilon >= local.epsilon else self.delta(model, epsilon=epsilon)
