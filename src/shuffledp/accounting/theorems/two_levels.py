"""Randomizers with two report densities: k-ary response, hashing, Hadamard, subsets, bits, PrivUnit.

With a public base law, a set of base mass c for each input and E = exp(epsilon0), the report of z has density E v on
the set of z and v elsewhere, v = 1 / (1 + c (E - 1)). The blanket v times the base law is below all of them. A smaller
overlap of two inputs' sets errs upward, and so does a larger epsilon0 (docs/proofs.md, "Two densities").

**Binary response** is exact: of up to 10,000 people all data sets are gone through. Where all other people hold one
answer, two binomials tell the loss. It is a real data set, so no theorem can promise less: a lower bound.
"""

import math
from functools import partial
from typing import ClassVar

import numpy as np

from shuffledp.accounting.evaluators.binary_counts import BinaryCounts
from shuffledp.accounting.evaluators.binomial import binomial_error, log_probability, tail_ratio
from shuffledp.accounting.evaluators.report_densities import LawFamily, two_level_blanket, two_level_homogeneous
from shuffledp.accounting.numerics import SMALLEST, exp, gaussian_epsilon, largest_below
from shuffledp.accounting.theorem import (
    COMMON_REPORTS,
    EvaluatedTheorem,
    Premise,
    Theorem,
    common_randomizer,
    one_message_each,
    uniform_shuffle,
    users_within,
)
from shuffledp.accounting.theorems.blanket_laws import LOOSER, LawTheorem, is_moderate, moderate_epsilon0
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.statement_terms import Hypothesis, Kind, Status

_STATED_ABOVE = 4e-9  # nats: the most by which epsilon0 is stated above the truth; half of it for PrivUnit
_GUARD = 1e-9  # relative, of delta: bound on the effect of a rounded third
_BINARY_STATED_ABOVE = 2e-15
_LAST_DIGIT, _LATE_DIGITS = 1e-15, 1e-12  # excess allowed in a binary epsilon0: for lower bounds, for others
MOST_COUNTED = 10_000  # most people for whom all data sets are evaluated: 15 ms for each epsilon
_FEW_PEOPLE = 10  # times exp(epsilon0): about ten false reports among them
_LARGEST_EPSILON0 = 700.0  # above it e^epsilon0 overflows, and the theorem does not apply


def _two_densities(model: ProtocolModel) -> Hypothesis:
    shape = model.local.two_level
    value = "others" if shape is None else f"share={shape.share:.6g}, overlap={shape.overlap:.6g}"
    return Hypothesis("two-level", "reports whose density takes two values", value, shape is not None)


def _third_value(model: ProtocolModel) -> Hypothesis:
    shape = model.local.two_level
    known = shape is not None and shape.triple is not None
    value = f"triple={shape.triple:.6g}" if shape is not None and shape.triple is not None else "unknown, or none"
    return Hypothesis("third-value", "three inputs whose sets have known overlaps", value, known)


def _known_overlap(model: ProtocolModel) -> Hypothesis:
    shape = model.local.two_level
    known = shape is not None and not shape.is_overlap_bound
    value = "others" if shape is None else "known" if known else "a bound alone"
    return Hypothesis("known-overlap", "two inputs whose sets have a known overlap", value, known)


class _TwoLevelTheorem(LawTheorem):
    special_premises: ClassVar[tuple[Premise, ...]] = (_two_densities, moderate_epsilon0)


class BlanketTwoLevel(_TwoLevelTheorem):
    """Exact divergence of the privacy blanket for two report densities.

    The law of the module docstring, evaluated. The lemma is printed by Balle et al. with Hoeffding's and Bennett's
    inequalities behind it, which lose 17 to 31% of epsilon for ten categories; this evaluates the expectation itself.
    """

    id = "blanket-two-level"
    citation = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for two densities"
    supersedes = LOOSER

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report law in one direction, since exchanging the two inputs changes nothing."""
        shape, epsilon0 = _shape(model), model.local.epsilon0
        law = two_level_blanket(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap)
        return LawFamily((law,), model.num_users, epsilon0)


class OthersEqual(_TwoLevelTheorem):
    """Exact delta of two data sets: all others hold the victim's value, or all hold its substitute.

    They are the worst where there is little to hide among: few users, or a tiny delta.
    """

    id = "two-level-others-equal"
    citation = "exact evaluation on the data sets where all others agree with the victim"
    kind = Kind.LOWER_BOUND
    special_premises = (_two_densities, _known_overlap, moderate_epsilon0)

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report laws of both data sets."""
        shape, epsilon0 = _shape(model), _understated(model)
        laws = two_level_homogeneous(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap)
        return LawFamily(laws, model.num_users, model.local.epsilon0)


class ThirdValue(_TwoLevelTheorem):
    """Exact delta of the data set in which all other people hold a third value.

    It differs from both of the victim's values. For k-ary response with many users it is the worst data set, and meets
    the blanket. Merging the reports that are neither of the two values gives the pair of distributions that FMT23 and
    the variation-ratio analysis print for k-ary response as an upper bound: it is a lower one, and this one is above it
    (docs/errata.md).
    """

    id = "two-level-third-value"
    citation = "exact evaluation on the data set where all others hold a third value"
    kind = Kind.LOWER_BOUND
    special_premises = (_two_densities, _third_value, moderate_epsilon0)

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report law in one direction, since exchanging the two inputs changes nothing."""
        shape, epsilon0 = _shape(model), _understated(model)
        laws = two_level_homogeneous(epsilon0=epsilon0, share=shape.share, overlap=shape.overlap, triple=shape.triple)
        return LawFamily(laws[2:], model.num_users, model.local.epsilon0)


def _shape(model: ProtocolModel) -> TwoLevelLaw:
    shape = model.local.two_level
    return TwoLevelLaw(share=math.nan, overlap=math.nan) if shape is None else shape


def _understated(model: ProtocolModel) -> float:
    """Epsilon0 lowered by its possible excess, so that a lower bound is not above the truth."""
    return max(model.local.epsilon0 - _STATED_ABOVE, model.local.epsilon0 / 2)


def _binary(stated_above: float) -> Premise:
    """Premise: a symmetric 2 x 2 channel whose loss is the model's epsilon0, up to a small relative excess."""

    def symmetric(model: ProtocolModel) -> Hypothesis:
        local, name = model.local, "binary-symmetric"
        # For a large domain only the size is used; its channel would take seconds and a hundred megabytes.
        large = isinstance(local, FrequencyModel) and local.domain_size > 2
        channel = None if large else local.channel()
        if channel is None or channel.matrix.shape != (2, 2):
            value = f"{local.kind!r} reports" + ("" if channel is None else " of another shape")
            return Hypothesis(name, "a symmetric 2 x 2 channel", value, False)
        (truth, lie), (other_lie, other_truth) = channel.matrix.astype(float).tolist()
        loss = math.log(truth) - math.log(lie) if min(truth, lie) > 0 else math.inf
        excess = (local.epsilon0 - loss) / (1 + local.epsilon0) if loss < math.inf else -math.inf
        return Hypothesis(
            name=name,
            requirement=f"a symmetric 2 x 2 channel of loss {local.epsilon0:.6g}",
            value=f"the channel [[{truth:.6g}, {lie:.6g}], [{other_lie:.6g}, {other_truth:.6g}]]",
            holds=(truth, lie) == (other_truth, other_lie) and -_LAST_DIGIT <= excess <= stated_above,
        )

    return symmetric


_symmetric = _binary(_LATE_DIGITS)


def _counted_users(model: ProtocolModel) -> Hypothesis:
    return users_within("counted-users", model, f"2 <= n <= {MOST_COUNTED}", 2, MOST_COUNTED)


def _whole_class(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the model is the class of all randomizers of one local loss."""
    kind = model.local.kind
    requirement = "a model of all randomizers of loss epsilon0"
    return Hypothesis("whole-class", requirement, f"{kind!r} reports", kind == "ldp")


class BinaryAllEqual(Theorem):
    """Exact delta of binary response in the worse direction, where all others hold the second value.

    The likelihood ratio of the count of lies is monotone, so each direction is one binomial probability and one tail
    (`all_equal_terms`). What is stated errs downward, by what floating point can have added (`binomial_error`).
    """

    id = "binary-all-equal"
    citation = "exact evaluation on the data set where all others agree"
    kind = Kind.LOWER_BOUND
    status = Status.OWN_PROOF
    premises = (uniform_shuffle, one_message_each, common_randomizer, _binary(_LAST_DIGIT))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest epsilon at which the exact delta exceeds ``delta``; 0 if there is no such epsilon."""
        return _all_equal_epsilon(model, delta, start=0.0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of this data set, rounded down, in the worse direction."""
        return _all_equal_delta(model, epsilon)


class BinaryWorst(EvaluatedTheorem):
    """Exact delta of binary response: the largest over all data sets.

    There is one data set for each number of ones. The proof, and that it is computed from above, is in
    `shuffledp.accounting.evaluators.binary_counts`.
    """

    id = "binary-worst"
    citation = "exact evaluation on all data sets"
    kind = Kind.EXACT
    status = Status.OWN_PROOF
    supersedes = (*LOOSER, "blanket-two-level", "blanket-channel")
    premises = (uniform_shuffle, *COMMON_REPORTS, _counted_users, moderate_epsilon0, _symmetric)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports are binary response of a covered number of people."""
        return _counted_users(model).holds and _symmetric(model).holds

    def evaluator(self, model: ProtocolModel) -> BinaryCounts:
        """Evaluator of the largest delta, from counts of ones over all data sets."""
        return BinaryCounts(epsilon0=model.local.epsilon0, users=model.num_users)


class LdpWitness(Theorem):
    """Lower bound for any randomizer of loss epsilon0, by response with two or three values.

    It is one of them, on one data set: all others hold the second value (of two), or the third (of three). So no
    theorem that knows epsilon0, n and delta alone can promise less. (It says nothing about a given randomizer.)
    """

    id = "ldp-witness"
    citation = "exact evaluation of one randomizer of the class, on one data set"
    kind = Kind.LOWER_BOUND
    status = Status.OWN_PROOF
    premises = (uniform_shuffle, one_message_each, _whole_class)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest epsilon at which the delta with two or three values exceeds ``delta``; else 0.

        For many people two values lose more than three where epsilon0 < log 2, and for few, of whom hardly anybody
        lies, at any epsilon0: what is likely to lose more comes first, and mostly one look at the other is enough.
        """
        if model.local.epsilon0 < math.log(2) or model.num_users < _FEW_PEOPLE * exp(model.local.epsilon0):
            return _three_values_epsilon(model, delta, start=_all_equal_epsilon(model, delta, start=0.0))
        return _all_equal_epsilon(model, delta, start=_three_values_epsilon(model, delta, start=0.0))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Larger delta of response with two and with three values, rounded down."""
        known = epsilon < model.local.epsilon0 and is_moderate(model, delta=0.5)
        three = _three_values(model).lower(epsilon) * (1 - _GUARD) if known else 0.0
        return max(_all_equal_delta(model, epsilon), three)


def _three_values(model: ProtocolModel) -> LawFamily:
    """Report law of ternary randomized response where all other people hold a third value."""
    epsilon0 = model.local.epsilon0
    law = two_level_homogeneous(epsilon0=epsilon0, share=1 / 3, overlap=0.0, triple=0.0)[-1]
    return LawFamily((law,), model.num_users, epsilon0)


def _three_values_epsilon(model: ProtocolModel, delta: float, *, start: float) -> float:
    """Largest epsilon above ``start`` at which ternary response exceeds the given delta; else ``start``."""
    if not is_moderate(model, delta=delta):
        return start
    return _three_values(model).epsilon_below(delta * (1 + _GUARD), start=start)


def _all_equal_epsilon(model: ProtocolModel, delta: float, *, start: float) -> float:
    """Largest epsilon above ``start`` at which binary response exceeds the given delta; else ``start``.

    All others hold one value.
    """
    epsilon0 = model.local.epsilon0
    if _all_equal_delta(model, start) <= delta:
        return start
    guess = gaussian_epsilon(2 * math.sinh(epsilon0 / 2) / math.sqrt(model.num_users), delta)
    curve = partial(_all_equal_delta, model)
    return max(start, largest_below(curve, level=delta, limit=epsilon0, guess=guess, tolerance=1e-11))


def _all_equal_delta(model: ProtocolModel, epsilon: float) -> float:
    """Delta of binary response where all other people agree, in the worse direction, rounded down."""
    epsilon0, users = model.local.epsilon0, model.num_users
    if epsilon >= epsilon0 or epsilon0 > _LARGEST_EPSILON0:
        return 0.0
    # Stated from above, and a smaller one errs downward; close to it the loss is a difference of the two.
    epsilon0 -= _BINARY_STATED_ABOVE * (1 + epsilon0)
    if epsilon >= epsilon0:
        return 0.0
    guard = binomial_error(users) + _BINARY_STATED_ABOVE / (epsilon0 - epsilon)
    directions = all_equal_terms(epsilon0=epsilon0, epsilon=epsilon, users=users)
    worse = max(gain - loss - guard * (gain + loss) for gain, loss in directions)
    return worse if worse > SMALLEST else 0.0


def all_equal_terms(*, epsilon0: float, epsilon: float, users: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Gain and loss of both directions where all others agree; each delta is gain minus loss.

    docs/theorems.md prints delta_+ and delta_-, for epsilon below an epsilon0 of at most 700. With c = j-1 or m, and R
    the tail outward of c divided by Pr[T = c], both are Pr[T = c] ((1 - p) (1 - e/E) - (e - 1) R), which keeps its
    digits however small or large epsilon is. Any c gives the advantage of an actual test, hence at most the truth; so
    rounding in j and m cannot do harm.
    """
    odds, width = math.exp(-epsilon0), -math.expm1(-2 * epsilon0)  # odds of a lie
    above = math.ceil(users * (odds * (math.expm1(epsilon) - math.expm1(-epsilon0)) / width)) - 1
    below = math.floor(users * (odds * (math.expm1(-epsilon) - math.expm1(-epsilon0)) / width))

    def terms(place: int, *, upper: bool) -> tuple[float, float]:
        growth, lie, trials = math.expm1(epsilon), odds / (1 + odds), users - 1
        count = np.array(float(min(max(place, 0), trials)))
        probability = float(np.exp(log_probability(count, trials, lie)))
        gain = probability * (1 - lie) * -math.expm1(epsilon - epsilon0)
        # The lower tail of T is the upper tail of n-1-T, whose odds are inverse.
        outward = tail_ratio(count, trials, odds) if upper else tail_ratio(trials - count, trials, 1 / odds)
        return gain, probability * growth * float(outward)

    return terms(above, upper=True), terms(below, upper=False)
