"""Laplace noise on a range of real numbers or grid points: the blanket of all inputs, for the worst two of them.

Let the range be [0, 1], or S steps of a grid of step 1/S, and s = epsilon0, E = exp(s). Input x gives reports y with
density or probability proportional to exp(-s |y - x|); the least one is w(y), of exp(-s max(|y|, |1-y|)). The worst two
inputs are 0 and 1: for all x and x', and e > 0, t >= 0,

    F(x, x') = int (R(x) - e R(x') - t w)_+ dy <= F(0, 1),                                                   (*)

which for e and 1/e together says that G of the pair (x, x') is below G of (0, 1) in convex order (their means agree).

*Proof.* By reflection let x <= x'. F is the largest value over sets A of R(x)(A) - e R(x')(A) - t w(A). The best A is
an interval from b to c: both R(x')/R(x) and w/R(x) are constant or fall up to x, and are constant or rise from x on. So
A contains x, b is -infinity or at least 1/2, and c is infinity or below max(x', 1/2). Ends of intervals are real
numbers, or lie half-way between grid points. For an end c >= x, R(x)(y > c) = k exp(-s (c - x)), and the same on the
other side, where k = 1/2 for real numbers, and k = 1 / (2 cosh(s / 2S)) on a grid. In particular, as w <= R(1), for 0
<= c < 1

    F(0, 1) >= R(0)(y < c) - (e + t) R(1)(y < c) = 1 - k (u + (e + t) / (E u)),   u = exp(-s c).             (**)

1. All of the line: R(A) = 1 for every pair, so F is that of (0, 1) for the same A.
2. b = -infinity, c finite: R(x)(A) grows as x falls, and R(x')(A) falls as x' grows, for this A. So F <= F(0, 1).
3. b finite, c infinite: R(x)(A) grows with x, and R(x')(A) with x' >= x. So F is at most its value at x = x' = 1 for
   this A, (1 - e) - k ((1 - e) u + t / (E u)) with u = exp(-s (1 - b)), if e < 1, and else at most 0. In (**) with
   c = 1 - b this is exceeded by e (1 - k (u + 1 / (E u))) >= 0, for u <= 1, E u = exp(s b) >= 1 and k <= 1/2.
4. Both finite, x >= b >= 1/2: R(x')(A) falls as x' grows; so let x' = 1. With z = exp(s x), h = e z / E, r = t / z,
   u = exp(-s (x - b)) and v = exp(-s (c - x)),

       F = 1 - k (u (1 - h) + r / u + v (1 - r) + h / v),

   where h + r <= 1, since the integrand is not negative at y = x. Take (**) at c = x - b and at the c - x of here, with
   weights r / (h + r) and h / (h + r). Since (e + t) / E = h / z + r z / E <= h + r, the average is at least
   1 - k ((r u + h v) / (h + r) + r / u + h / v); and r / (h + r) <= 1 - h, h / (h + r) <= 1 - r. So F <= F(0, 1).
"""

import math
from typing import ClassVar

from shuffledp.accounting.by_law import LOOSER, LawTheorem, moderate_epsilon0
from shuffledp.accounting.evaluators.family import LawFamily
from shuffledp.accounting.evaluators.laws import (
    ReportLaw,
    discrete_laplace_blanket,
    discrete_laplace_homogeneous,
    laplace_blanket,
    laplace_homogeneous,
)
from shuffledp.models import ProtocolModel
from shuffledp.statements import Hypothesis, Kind

__all__ = ["BlanketLaplace", "HomogeneousLaplace"]

_CELLS_PER_NAT = 48
_STATED_BELOW = 1 - 1e-15  # a grid's epsilon0 is rounded up; a smaller one is this one with more noise
_FEWEST_CELLS, _MOST_CELLS = 32, 512


class BlanketLaplace(LawTheorem):
    """The blanket lemma for the two ends of the range, the noise cut into cells upward in convex order.

    The gap to the lower bound is the lemma's: with the lemma no bound does better (up to 1.45 in epsilon was seen).
    """

    id: ClassVar[str] = "blanket-laplace"
    citation: ClassVar[str] = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for Laplace noise"
    supersedes: ClassVar[tuple[str, ...]] = LOOSER

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Laplace noise, and a moderate epsilon0."""
        return (_laplace(model), moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """One law: exchanging the two inputs changes nothing."""
        epsilon0, steps = model.local.epsilon0, model.local.laplace_steps or math.inf
        law = _blanket(epsilon0, steps)
        return LawFamily((law,), model.num_users, epsilon0)


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
        epsilon0, steps = model.local.epsilon0, model.local.laplace_steps or math.inf
        law = _homogeneous(epsilon0 * _STATED_BELOW, steps)
        return LawFamily((law, law.swapped), model.num_users, epsilon0)


def _laplace(model: ProtocolModel) -> Hypothesis:
    steps = model.local.laplace_steps
    return Hypothesis(
        name="laplace-noise",
        requirement="inputs of a range plus Laplace noise",
        value=f"{model.local.kind!r} reports" if steps is None else f"laplace_steps={steps:g}",
        holds=steps is not None,
    )


def _blanket(epsilon0: float, steps: float) -> ReportLaw:
    cells = _cells(epsilon0)
    if steps == math.inf:
        return laplace_blanket(epsilon0=epsilon0, cells=cells)
    return discrete_laplace_blanket(epsilon0=epsilon0, steps=int(steps), cells=cells)


def _homogeneous(epsilon0: float, steps: float) -> ReportLaw:
    cells = _cells(epsilon0)
    if steps == math.inf:
        return laplace_homogeneous(epsilon0=epsilon0, cells=cells)
    return discrete_laplace_homogeneous(epsilon0=epsilon0, steps=int(steps), cells=cells)


def _cells(epsilon0: float) -> int:
    return min(max(math.ceil(_CELLS_PER_NAT * epsilon0), _FEWEST_CELLS), _MOST_CELLS)
