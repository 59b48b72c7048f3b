"""What theorems share that reduce a protocol to the pair of clones, and differ in how likely a clone is."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.evaluators.pair import pair_curve, pair_delta, pair_epsilon
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import ProtocolModel

__all__ = ["ClonePairTheorem"]


class ClonePairTheorem(Theorem):
    """Each other report is a clone with a chance that depends on epsilon0 alone; see the evaluator for the pair.

    The pair dominates in both directions and at every epsilon, so it may be composed, adaptively too.
    """

    is_vectorized: ClassVar[bool] = True

    @abstractmethod
    def clone_chance(self, epsilon0: float) -> float:
        """The chance that another person's report is a clone."""

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Solved on the certified curve; at most epsilon0."""
        epsilon0 = model.local.epsilon0
        chance = self.clone_chance(epsilon0)
        return pair_epsilon(epsilon0=epsilon0, chance=chance, users=model.num_users, delta=delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The pair's delta, from above, where the theorem applies."""
        if not self.applies(model, delta=0.5):
            return 1.0
        epsilon0 = model.local.epsilon0
        chance = self.clone_chance(epsilon0)
        return pair_delta(epsilon0=epsilon0, chance=chance, users=model.num_users, epsilon=epsilon)

    def curve(self, model: ProtocolModel, *, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """The pair's delta at each epsilon, from above."""
        if not self.applies(model, delta=0.5):
            return np.ones(len(epsilons))
        epsilon0 = model.local.epsilon0
        chance = self.clone_chance(epsilon0)
        return pair_curve(epsilon0=epsilon0, chance=chance, users=model.num_users, epsilons=epsilons)
