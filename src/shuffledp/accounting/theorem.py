"""What a theorem is to the accountant: hypotheses to check, and a curve from epsilon to delta and back."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp._validate import nonnegative, open_probability
from shuffledp.accounting.numerics import SMALLEST, rounded_up
from shuffledp.errors import HypothesisError
from shuffledp.guarantees import CentralDP, Guarantee
from shuffledp.models import ProtocolModel, SumModel
from shuffledp.statements import Basis, Hypothesis, Kind, PrivacyStatement, Status, Trust

__all__ = ["Theorem", "inside_unit"]


class Theorem(ABC):
    """A published (or own) result about the central guarantee of a protocol. One instance each is in ``THEOREMS``.

    Class attributes: ``id`` (short name), ``citation`` (source with theorem number), ``kind`` (upper or lower bound),
    ``status`` (published or own proof), ``is_vectorized`` (whether ``curve`` is fast: a thousand points in a second or
    so, and made for Renyi privacy and composition), ``supersedes`` (ids of theorems that never say more where this one
    applies).
    """

    id: ClassVar[str]
    citation: ClassVar[str]
    kind: ClassVar[Kind] = Kind.UPPER_BOUND
    status: ClassVar[Status] = Status.PUBLISHED
    is_vectorized: ClassVar[bool] = False
    supersedes: ClassVar[tuple[str, ...]] = ()

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

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether such protocols are its subject, so that readers want to know why it says nothing about this one.

        Most theorems start from what a report tells by itself: a share of a number tells nothing.
        """
        return not isinstance(model.local, SumModel)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """`guarantee`, and what to say beside any statement about such a protocol: whom it is about, for example."""
        return self.guarantee(model, delta=delta), ()

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Whom people must trust for what the theorem says about this model."""
        return (Trust.OWN_DEVICE, *model.shuffle.trust)

    def state(self, model: ProtocolModel, *, delta: float) -> PrivacyStatement:
        """The theorem's statement about a model.

        Raises:
            HypothesisError: if a hypothesis does not hold; the message names it, its value and the way out.
        """
        open_probability(delta=delta)
        self.require(model, delta=delta)
        return self.stating(model, self.guarantee(model, delta=delta), delta=delta)

    def stating(self, model: ProtocolModel, guarantee: Guarantee, *, delta: float) -> PrivacyStatement:
        """The statement of a guarantee that the theorem gave for this model and delta.

        Raises:
            HypothesisError: if a hypothesis does not hold.
        """
        hypotheses, trust = self.require(model, delta=inside_unit(delta)), self.trust(model)
        return PrivacyStatement(
            guarantee=guarantee,
            kind=self.kind,
            basis=Basis(theorem=self.id, citation=self.citation, hypotheses=hypotheses, status=self.status),
            trust=trust,
            remarks=(*model.local.remarks, *(model.shuffle.remarks if set(model.shuffle.trust) & set(trust) else ())),
        )

    def applies(self, model: ProtocolModel, *, delta: float) -> bool:
        """True if every hypothesis holds."""
        return all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=delta))

    def require(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """The hypotheses, all of which hold.

        Raises:
            HypothesisError: if one does not; the message names it, its value and the way out.
        """
        hypotheses = self.hypotheses(model, delta=delta)
        failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
        if failing:
            raise HypothesisError(f"{self.id} {failing}. Use account(), which takes a theorem that applies.")
        return hypotheses

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

    def curve(self, model: ProtocolModel, *, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """`delta_at` for many epsilons, 0 or more; a theorem whose evaluation is vectorized does better than this loop.

        For Renyi privacy and composition, which need a thousand points: they may be less tight than `delta_at`.
        """
        return np.array([self.delta_at(model, epsilon=float(epsilon)) for epsilon in epsilons])


def inside_unit(delta: float) -> float:
    """A delta from 0 to 1 as the nearest one that is neither, for hypotheses that divide by it or its logarithm."""
    return min(max(delta, SMALLEST), math.nextafter(1.0, 0.0))
