"""Sums of additive shares with any noise: delta of the noise, plus the delta that rounds and samplers add.

What is seen of a sum is (e, delta)-private with a delta of two parts. That of the noise falls as e grows; (1 + exp(e))
times the distance of all rounds and samplers to perfect ones rises. So the bound falls up to some e, the turning, and
what it is there holds beyond. A theorem says which noise, and under which hypotheses; this module says the rest.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

from shuffledp.accounting.numerics import smallest_below
from shuffledp.accounting.theorem import Theorem
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.sum_models import ShareModel


class ShareBound(ABC):
    """Delta of a sum of shares as a function of epsilon."""

    __slots__ = ()

    @property
    @abstractmethod
    def turning(self) -> float:
        """Epsilon up to which `delta` falls."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Delta at an epsilon up to `turning`; 1 where the rounds do not mix."""

    @property
    def least(self) -> float:
        """Least delta at any epsilon; 1 where the rounds do not mix."""
        return self.delta(self.turning)


class ShareSums(Theorem):
    """Base of theorems about sums of shares."""

    status = Status.OWN_PROOF
    reports: ClassVar[type[ShareModel]]

    @abstractmethod
    def shape(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Hypotheses on the model's shape, without the certificate.

        Only those that make sense for the model.
        """

    @abstractmethod
    def bound(self, model: ProtocolModel) -> ShareBound:
        """Privacy bound for a model that meets the hypotheses of `shape`."""

    @abstractmethod
    def reached(self, least: float) -> str:
        """Words for what the certificate requires, given the ``least`` delta that it can reach."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses on the model's shape and, if all of them hold, on the certificate for this delta."""
        shape, shuffle = self.shape(model), model.shuffle
        if not all(hypothesis.holds for hypothesis in shape):
            return shape
        least = self.bound(model).least
        value = (
            f"delta={delta:g} with num_messages={model.local.num_messages}, imperfection={shuffle.imperfection:g}, "
            f"{shuffle.num_honest} honest people"
        )
        return (*shape, Hypothesis("certified-mixing", self.reached(least), value, least < 1 and delta >= least))

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports are shares with this noise."""
        return isinstance(model.local, self.reports)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon whose delta is at most the given delta; infinity if there is no such epsilon."""
        if not self.applies(model, delta=delta):
            return math.inf
        bound = self.bound(model)
        return smallest_below(bound.delta, level=delta, limit=bound.turning)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of the noise, plus (1 + exp(epsilon)) times the total variation of all rounds and samplers."""
        if not all(hypothesis.holds for hypothesis in self.shape(model)):
            return 1.0
        bound = self.bound(model)
        return bound.delta(min(epsilon, bound.turning))


def known_imperfection(shuffle: ShuffleModel, requirement: str) -> Hypothesis:
    """Hypothesis: the shuffler promises a finite imperfection."""
    gamma = shuffle.imperfection
    value = f"shuffler {shuffle.kind!r}, imperfection {'not known' if gamma is None else format(gamma, '.6g')}"
    return Hypothesis("known-imperfection", requirement, value, gamma is not None and gamma < math.inf)


def enough_noise(local: ShareModel, honest: int, value: str) -> Hypothesis:
    """Hypothesis: enough honest people add noise for the plan."""
    requirement = f"at least noise_users={local.noise_users} honest people, whose noise adds up to the planned one"
    return Hypothesis("enough-noise", requirement, value, honest >= local.noise_users)
