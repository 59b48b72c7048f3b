"""The guarantee that remains whatever the shuffler does: the local one."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.numerics import ROUND_UP
from shuffledp.accounting.theorem import Theorem
from shuffledp.guarantees import CentralDP, Guarantee
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Trust

__all__ = ["LocalOnly"]


class LocalOnly(Theorem):
    """The released data are computed from the reports alone, so the local guarantee carries over (post-processing).

    Nobody but one's own device is trusted. Where the local guarantee is empty this says nothing: reports that mean
    nothing alone may well be private together.
    """

    id: ClassVar[str] = "local-dp"
    citation: ClassVar[str] = "post-processing of the local guarantee; Dwork and Roth 2014, Proposition 2.1"
    is_vectorized: ClassVar[bool] = True

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
        """The local delta from epsilon0 on; below, what binary randomized response loses, which is the worst."""
        return float(self.curve(model, epsilons=np.array([epsilon]))[0])

    def curve(self, model: ProtocolModel, *, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """With E = exp(epsilon0), e = exp(epsilon): delta0 + (1 - delta0) (E - e) / (E + 1), down to delta0.

        Kairouz, Oh, Viswanath 2015, Theorem 2: whatever is (epsilon0, delta0)-private is post-processing of that pair.
        """
        local = model.local.guarantee
        if math.isinf(local.epsilon):
            return np.where(np.isinf(epsilons), local.delta, 1.0)
        below = -np.expm1(np.minimum(epsilons - local.epsilon, 0.0)) / (1 + math.exp(-local.epsilon))
        return np.asarray(np.minimum(local.delta + (1 - local.delta) * below * ROUND_UP, 1.0))

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """Epsilon0 with the local delta, which is 0 for pure randomizers: stronger than what was asked for."""
        del delta
        local = model.local.guarantee
        return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """One's own device, and nobody else."""
        del model
        return (Trust.OWN_DEVICE,)
