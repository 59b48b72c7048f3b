"""Ghazi et al. 2023, Theorem 2.3: reports through a differentially oblivious shuffle, for any blanket bound.

A shuffle is (epsilon1, delta1)-differentially oblivious if exchanging the reports of two people changes the probability
of anything seen by a factor of at most exp(epsilon1), apart from delta1, whatever the reports are.

**Theorem.** Then the view is (epsilon + epsilon1, delta + delta1)-private, with (epsilon, delta) of any blanket bound
for a uniform shuffle of the same people.

Proof. Reveal whose reports are blanket reports, and all others but the victim's. Let Z be the vector of the k blanket
reports and the victim's, a(Z_j) and b(Z_j) the likelihoods of Z_j if it is the victim's, by its two answers, relative
to the blanket, A = sum of a(Z_j), B = sum of b(Z_j), and W_j the law of what is seen if Z_j is the victim's and
the others are dealt out in an order that is uniform. Since blanket reports are exchangeable, what is seen has the
law E[sum of a(Z_j) W_j] / k' under one answer, and E[sum of b(Z_j) W_j] / k' under the other, k' = k + 1. Exchanging
the victim with whoever has Z_j' is one exchange and maps the orders behind W_j to those behind W_j', so that W_j and
W_j' are within (epsilon1, delta1) of each other; hence so are p = sum of a(Z_j) W_j / A and q = sum of b(Z_j) W_j / B,
which mix them. With e = exp(epsilon), e1 = exp(epsilon1), A p - e e1 B q is at most
(A - e B)_+ p + min(A, e B) (p - e1 q), whose positive part is at most (A - e B)_+ + A delta1. Dividing by k' and
averaging over Z, the first term is the blanket bound of the uniform shuffle, and the second delta1, since E[A] = k'.

The printed constant has (1 - e^eps0), which is negative, in place of (1 - e^-eps0); here there is no constant at all.
"""

import math
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.premises import common_randomizer, not_adaptive, one_message_each
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.blankets import (
    blanket_bound,
    raised,
    uniform_curve,
    uniform_delta,
    uniform_epsilons,
)
from shuffledp.accounting.theorems.local import LocalOnly
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Status

__all__ = ["ObliviousShuffle"]


class ObliviousShuffle(Theorem):
    """The uniform epsilon plus epsilon1, the uniform delta plus delta1; epsilon0 at most."""

    id: ClassVar[str] = "oblivious-shuffle"
    citation: ClassVar[str] = "Ghazi et al. 2023, Theorem 2.3, for any blanket bound and without a constant"
    status: ClassVar[Status] = Status.OWN_PROOF
    is_vectorized: ClassVar[bool] = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """A shuffle that promises something about exchanges, one common randomizer, and a blanket bound."""
        promise = _promise(model)
        promised = Hypothesis(
            name="exchange-privacy",
            requirement=f"a shuffle known to hide exchanges of two people, apart from a remainder below {delta:g}",
            value=f"shuffler {model.shuffle.kind!r}, "
            + ("nothing known" if promise is None else f"epsilon1={promise[0]:.6g}, delta1={promise[1]:g}"),
            holds=promise is not None and promise[1] < delta,
        )
        size = model.shuffle.num_honest if promise is not None else 0
        shape = (one_message_each(model), common_randomizer(model), not_adaptive(model))
        return (promised, *shape, blanket_bound(model, size=size, delta=delta))

    def concerns(self, model: ProtocolModel) -> bool:
        """Shuffles that are known to hide exchanges of two people."""
        return super().concerns(model) and _promise(model) is not None

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The least of the blanket bounds at delta - delta1, plus epsilon1; epsilon0 if that is less."""
        cost, remainder = _promise(model) or (math.inf, 1.0)
        left = delta if remainder == 0 else math.nextafter(delta - remainder, 0.0)
        local = model.local.guarantee
        epsilon0 = local.epsilon if local.delta <= delta else math.inf
        if cost >= epsilon0 or left <= 0:
            return epsilon0
        uniform = min(uniform_epsilons(model, model.shuffle.num_honest, left), default=math.inf)
        return min(epsilon0, (uniform + cost) * (1 + 1e-15))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The uniform delta at epsilon - epsilon1, plus delta1; below epsilon1 what follows from that."""
        cost, remainder = _promise(model) or (math.inf, 1.0)
        uniform = partial(uniform_delta, model, model.shuffle.num_honest)
        found = raised(uniform, np.array([epsilon]), cost=cost, remainder=remainder)
        return min(float(found[0]), LocalOnly().delta(model, epsilon=epsilon))

    def curve(self, model: ProtocolModel, *, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for many epsilons."""
        cost, remainder = _promise(model) or (math.inf, 1.0)
        uniform = partial(uniform_curve, model, model.shuffle.num_honest)
        found = raised(uniform, epsilons, cost=cost, remainder=remainder)
        return np.minimum(found, LocalOnly().curve(model, epsilons=epsilons))


def _promise(model: ProtocolModel) -> tuple[float, float] | None:
    """(epsilon1, delta1); None where nothing is known, and for a uniform shuffle, which blanket bounds are about."""
    return None if model.shuffle.is_uniform else model.shuffle.exchange_privacy
