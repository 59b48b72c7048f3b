"""What theorems have in common that evaluate a randomizer's own law instead of its epsilon0."""

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.evaluators.family import LawFamily
from shuffledp.accounting.evaluators.laws import LARGEST_EPSILON0
from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.premises import (
    common_randomizer,
    not_adaptive,
    one_message_each,
    several_users,
    uniform_shuffle,
)
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Status

__all__ = ["LOOSER", "LawTheorem", "is_moderate", "moderate_epsilon0"]

# What a blanket of the law itself is never above: bounds that know less of the law, or put an inequality behind it.
LOOSER = (
    "efmrtt19-closed",
    "balle19-hoeffding",
    "balle19-bennett",
    "fmt21-closed",
    "fmt23-closed",
    "fmt21-pair",
    "strong-pair",
    "variation-ratio-corrected",
)

_LEAST_EPSILON0, _MOST_EPSILON0 = 1e-6, 30.0
_LEAST_DELTA, _ANY_DELTA = 1e-100, 0.5
_MOST_USERS = 10**15
_GUARD = 1e-9  # relative, of delta: more than shares that are known to 12 digits can change it


class LawTheorem(Theorem):
    """A bound by the blanket lemma, or its equality for a data set: one family of laws, evaluated from both sides.

    Upper and lower bounds are the same computation on other laws (see `shuffledp.accounting.evaluators.laws`).
    """

    status: ClassVar[Status] = Status.OWN_PROOF
    is_vectorized: ClassVar[bool] = True

    @abstractmethod
    def family(self, model: ProtocolModel) -> LawFamily:
        """The laws that count for this model, provided that the hypotheses hold."""

    @abstractmethod
    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """The hypotheses about the randomizer's law."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """One randomizer for all that depends on the answer alone, one message each, uniformly shuffled, two users."""
        shape = (uniform_shuffle(model), one_message_each(model), common_randomizer(model), not_adaptive(model))
        return (*shape, several_users(model), *_moderate(model, delta), *self.special_hypotheses(model))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Where the upper bound is known to be at most delta, or the lower bound to exceed it; to about six digits."""
        if not self.applies(model, delta=delta):
            return model.local.epsilon0 if self.kind.promises else 0.0
        family = self.family(model)
        return family.epsilon_above(delta * (1 - _GUARD)) if self.kind.promises else family.epsilon_below(delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The largest delta of the family, from the theorem's side."""
        if not self.applies(model, delta=_ANY_DELTA):
            return 1.0 if self.kind.promises else 0.0
        return self._delta(self.family(model), epsilon, tolerance=1e-4)

    def curve(self, model: ProtocolModel, *, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """One pass for each epsilon: mostly within 1e-4 of the truth, relative."""
        family = self.family(model)
        return np.array([self._delta(family, float(epsilon), tolerance=math.inf) for epsilon in epsilons])

    def limit_mu(self, model: ProtocolModel) -> float:
        """The mu of the Gaussian limit for many users, of this bound; its root-Fisher constant over sqrt(n)."""
        return self.family(model).mu

    def _delta(self, family: LawFamily, epsilon: float, *, tolerance: float) -> float:
        if epsilon >= family.limit:
            return 0.0
        if self.kind.promises:  # no later epsilon has a larger delta
            bound = family.upper(min(epsilon, LARGEST_EPSILON0), tolerance=tolerance) * (1 + _GUARD)
            return min(max(bound, SMALLEST), 1.0)
        return family.lower(epsilon, tolerance=tolerance) * (1 - _GUARD) if epsilon <= LARGEST_EPSILON0 else 0.0


def moderate_epsilon0(model: ProtocolModel, *, or_infinite: bool = False) -> Hypothesis:
    """Epsilon0 is large enough for differences of exp(epsilon0) to be floats, and small enough for its products."""
    epsilon0 = model.local.epsilon0
    within = _LEAST_EPSILON0 <= epsilon0 <= _MOST_EPSILON0
    return Hypothesis(
        name="moderate-epsilon0",
        requirement=f"{_LEAST_EPSILON0:g} <= epsilon0 <= {_MOST_EPSILON0:g}{', or infinite' if or_infinite else ''}",
        value=f"epsilon0={epsilon0:.6g}",
        holds=within or (or_infinite and math.isinf(epsilon0)),
    )


def is_moderate(model: ProtocolModel, *, delta: float) -> bool:
    """Whether laws are evaluated for so many people, at such an epsilon0 and delta."""
    return all(each.holds for each in (*_moderate(model, delta), moderate_epsilon0(model)))


def _moderate(model: ProtocolModel, delta: float) -> tuple[Hypothesis, Hypothesis]:
    """Beyond these, sums take long and floats leave little; simpler theorems are left to speak there."""
    return (
        Hypothesis(
            name="moderate-delta",
            requirement=f"delta >= {_LEAST_DELTA:g}",
            value=f"delta={delta:g}",
            holds=delta >= _LEAST_DELTA,
        ),
        Hypothesis(
            name="moderate-users",
            requirement=f"n <= {_MOST_USERS:g}",
            value=f"num_users={model.num_users}",
            holds=model.num_users <= _MOST_USERS,
        ),
    )
