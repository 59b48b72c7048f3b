"""Randomizers whose reports have one of two densities: k-ary response, hashing, Hadamard, subsets, bits, PrivUnit.

With a public base law, a set of base mass c for each input and E = exp(epsilon0), the report of z has density E v on
the set of z and v elsewhere, v = 1 / (1 + c (E - 1)). The blanket v times the base law is below all of them.

Against it, the pair (a, b) of two inputs' densities is (E, 1) on what the first set has alone, (1, E) on what the
second has alone, (E, E) on what they share and (1, 1) outside. With G = a - e b and 1 <= e <= E,

    1 - E e <= E (1 - e) and 1 - e <= E - e,   E (1 - e) + (1 - e) = (1 - E e) + (E - e),

so moving mass from (E, E) and (1, 1), in equal parts, to (E, 1) and (1, E) keeps the mean of G and spreads it: it
goes up in convex order, and so does the blanket bound. Hence pairs of inputs whose sets have the least in common are
the worst, and an overlap that is stated too small errs upward. With k-ary response, c = 1/k and nothing in common,
this is the blanket of Balle et al. for it; the others are the same with a real number 1/c in place of k, and an
overlap.

A larger E, at the same c, is worse: the smaller one is the larger one with some of the reports replaced by draws of
the base law. So epsilon0 rounded up errs upward.
"""

import math
from typing import ClassVar

from shuffledp.accounting.by_law import LOOSER, LawTheorem, moderate_epsilon0
from shuffledp.accounting.evaluators.family import LawFamily
from shuffledp.accounting.evaluators.laws import two_level_blanket, two_level_homogeneous
from shuffledp.models import LocalModel, ProtocolModel, TwoLevelLaw
from shuffledp.statements import Hypothesis, Kind

__all__ = ["BlanketTwoLevel", "OthersEqual", "ThirdValue"]

_STATED_ABOVE = 4e-9  # nats: epsilon0 is stated above the truth by no more, and PrivUnit's by half of it


class BlanketTwoLevel(LawTheorem):
    """The privacy blanket's exact divergence for two levels: the law of the module docstring, evaluated.

    The lemma is printed by Balle et al. with Hoeffding's and Bennett's inequalities behind it, which lose 17 to 31 % of
    epsilon for ten categories; this evaluates the expectation itself.
    """

    id: ClassVar[str] = "blanket-two-level"
    citation: ClassVar[str] = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for two densities"
    supersedes: ClassVar[tuple[str, ...]] = LOOSER

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Two densities, and a moderate epsilon0."""
        return (_two_densities(model.local), moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """One law: exchanging the two inputs changes nothing."""
        shape, epsilon0 = _shape(model), model.local.epsilon0
        law = two_level_blanket(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap)
        return LawFamily((law,), model.num_users, epsilon0)


class OthersEqual(LawTheorem):
    """The exact delta of the data sets in which all others hold the victim's value, or the one it is replaced by.

    They are the worst where there is little to hide among: few users, or a tiny delta.
    """

    id: ClassVar[str] = "two-level-others-equal"
    citation: ClassVar[str] = "exact evaluation on the data sets where all others agree with the victim"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Two densities, and a moderate epsilon0."""
        return (_two_densities(model.local), moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """Both data sets."""
        shape, epsilon0 = _shape(model), _understated(model)
        laws = two_level_homogeneous(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap)
        return LawFamily(laws, model.num_users, model.local.epsilon0)


class ThirdValue(LawTheorem):
    """The exact delta of the data set in which all others hold one value, different from both of the victim's two.

    For k-ary response with many users it is the worst data set, and meets the blanket. Merging the reports that are
    neither of the two values gives the pair of distributions that FMT23 and the variation-ratio analysis print for
    k-ary response as an upper bound: it is a lower one, and this one is above it (docs/errata.md).
    """

    id: ClassVar[str] = "two-level-third-value"
    citation: ClassVar[str] = "exact evaluation on the data set where all others hold a third value"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """Two densities, with three inputs of which all overlaps are known, and a moderate epsilon0."""
        shape = model.local.two_level
        known = shape is not None and shape.triple is not None
        third = Hypothesis(
            name="third-value",
            requirement="three inputs whose sets have known overlaps",
            value=f"triple={shape.triple:.6g}"
            if shape is not None and shape.triple is not None
            else "unknown, or none",
            holds=known,
        )
        return (_two_densities(model.local), third, moderate_epsilon0(model))

    def family(self, model: ProtocolModel) -> LawFamily:
        """One law: exchanging the two inputs changes nothing."""
        shape, epsilon0 = _shape(model), _understated(model)
        laws = two_level_homogeneous(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap, triple=shape.triple)
        return LawFamily(laws[2:], model.num_users, model.local.epsilon0)


def _two_densities(local: LocalModel) -> Hypothesis:
    shape = local.two_level
    return Hypothesis(
        name="two-level",
        requirement="reports whose density takes two values",
        value="others" if shape is None else f"share={shape.share:.6g}, overlap={shape.overlap:.6g}",
        holds=shape is not None,
    )


def _shape(model: ProtocolModel) -> TwoLevelLaw:
    shape = model.local.two_level
    return TwoLevelLaw(share=math.nan, overlap=math.nan) if shape is None else shape


def _understated(model: ProtocolModel) -> float:
    """Epsilon0 from below, since it is stated from above; a smaller one errs downward."""
    return max(model.local.epsilon0 - _STATED_ABOVE, model.local.epsilon0 / 2)
