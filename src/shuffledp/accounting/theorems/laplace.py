"""Laplace noise on the unit interval: the blanket of all inputs together, for the two inputs that are the worst.

Inputs x lie in [0, 1], reports are x plus Laplace noise of scale 1/s with s = epsilon0, E = exp(s), and w(y) is the least
density, (s/2) exp(-s max(|y|, |1-y|)). The worst two inputs are 0 and 1: for all x and x', and 1/E <= e <= E, t >= 0,

    F(x, x') = int (R(x) - e R(x') - t w)_+ dy <= F(0, 1),                                                   (*)

which for e and 1/e together says that G of the pair (x, x') is below G of (0, 1) in convex order (their means agree).

*Proof.* By reflection let x <= x'. F is the largest value over sets A of R(x)(A) - e R(x')(A) - t w(A). Along the line
the best A is an interval [b, c]: R(x')/R(x) and w/R(x) are constant or fall up to x, and are constant or rise from x on;
b is -infinity or lies in [1/2, x], and c is infinity or, at least x, lies below max(x', 1/2).

1. b = -infinity, c = infinity: F = 1 - e - t w(R), as for every pair.
2. b = -infinity, c finite: R(x)(A) grows as x falls, and R(x')(A) falls as x' grows; so no such pair but (0, 1) is the
   largest.
3. b finite, c infinity (only if e < 1): F grows with x and falls with x', so it is at most what x = x' = 1 gives, which
   is 1 - e - sqrt(t (1-e) / E), and b >= 1/2 says that t >= 1 - e. There F(0, 1) = 1 - sqrt((e+t) / E). The difference has
   the sign of e - 1/E - t/E + 2 sqrt(t (1-e) / E), which is concave in t and at least 0 at both ends of [1-e, (1-e) E].
4. Both finite, so that x >= b >= 1/2: F falls as x' falls; so let x' = 1. With z = exp(s x), h = e z / E, r = t / z, the
   two conditions of the ends give F = 1 - sqrt(r (1-h)) - sqrt(h (1-r)), h + r <= 1. The square of the sum of the roots is
   at least h + r - 2 h r + 2 h r >= h / z + r z / E = (e + t) / E, since (1-h) (1-r) >= h r. And b >= 1/2 says
   t >= E (1-h) / z = E / z - e >= 1 - e, where F(0, 1) = 1 - sqrt((e+t) / E).

F is continuous on the compact set of pairs; at its largest one of these cases holds, and each gives (*).
"""

import math
from typing import ClassVar

from shuffledp.accounting.by_law import LawTheorem, moderate_epsilon0
from shuffledp.accounting.evaluators.family import LawFamily
from shuffledp.accounting.evaluators.laws import laplace_blanket, laplace_homogeneous
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Kind

__all__ = ["BlanketLaplace", "HomogeneousLaplace"]

_CELLS_PER_NAT = 24
_FEWEST_CELLS, _MOST_CELLS = 24, 384


class BlanketLaplace(LawTheorem):
    """The blanket lemma for inputs 0 and 1, the noise cut into cells upward in convex order.

    The gap to the lower bound is the lemma's: with it no bound does better (up to 1.42 in epsilon for large epsilon0).
    """

    id: ClassVar[str] = "blanket-laplace"
    citation: ClassVar[str] = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for Laplace noise"

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Laplace noise, and a moderate epsilon0."""
        return (_laplace(model), moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """One law: exchanging the two inputs changes nothing."""
        epsilon0 = model.local.epsilon0
        return LawFamily((laplace_blanket(epsilon0=epsilon0, cells=_cells(epsilon0)),), model.num_users, epsilon0)


class HomogeneousLaplace(LawTheorem):
    """The exact delta where all others hold 0, the victim 0 or 1, the noise cut into cells by merging."""

    id: ClassVar[str] = "homogeneous-laplace"
    citation: ClassVar[str] = "exact evaluation on the data set where all others hold the least value"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Laplace noise, and a moderate epsilon0."""
        return (_laplace(model), moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """Both directions."""
        epsilon0 = model.local.epsilon0
        law = laplace_homogeneous(epsilon0=epsilon0, cells=_cells(epsilon0))
        return LawFamily((law, law.swapped), model.num_users, epsilon0)


def _laplace(model: ProtocolModel) -> Hypothesis:
    kind = model.local.kind
    return Hypothesis(
        name="laplace-noise",
        requirement="Laplace noise of scale 1/epsilon0 on inputs of [0, 1]",
        value=f"{kind!r} reports",
        holds=kind == "laplace",
    )


def _cells(epsilon0: float) -> int:
    return min(max(math.ceil(_CELLS_PER_NAT * epsilon0), _FEWEST_CELLS), _MOST_CELLS)
