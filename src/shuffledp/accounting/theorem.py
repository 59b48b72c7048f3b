"""Theorem in the form for the accountant: hypotheses, epsilon at a delta, and delta at an epsilon.

The local guarantee is here too, as a theorem of its own.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol, cast

import numpy as np

from shuffledp.accounting.numerics import ROUND_UP, SMALLEST, rounded_up
from shuffledp.core.errors import HypothesisError
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import ASSUMED, FAKE_SENDERS, Basis, Hypothesis, Kind, Status, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.sum_models import SumModel
from shuffledp.core.table import Floats
from shuffledp.core.validate import nonnegative, open_probability

Premise = Callable[[ProtocolModel], Hypothesis]  # hypothesis that asks nothing of delta, evaluated for a protocol
_ANY_DELTA = 0.5  # for theorems that ask nothing of delta


class Theorem(ABC):
    """Published or own result about the central guarantee of a protocol.

    ``THEOREMS`` holds one instance of each.
    Class attributes: ``id`` (short name), ``citation`` (source with theorem number), ``kind`` (upper or lower bound),
    ``status`` (published or own proof), ``is_vectorized`` (whether ``curve`` is fast: a thousand points in a second or
    so, and made for Renyi privacy and composition), ``is_costly`` (whether a number takes seconds), ``supersedes`` (ids
    of theorems that never say more where this one applies), ``premises`` (the hypotheses that ask nothing of delta).
    """

    id: ClassVar[str]
    citation: ClassVar[str]
    kind: ClassVar[Kind] = Kind.UPPER_BOUND
    status: ClassVar[Status] = Status.PUBLISHED
    is_vectorized: ClassVar[bool] = False
    is_costly: ClassVar[bool] = False
    supersedes: ClassVar[tuple[str, ...]] = ()
    premises: ClassVar[tuple[Premise, ...]]  # no default: a theorem without hypotheses would apply to everything

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses of the theorem, evaluated for this model and delta."""
        return tuple(premise(model) for premise in self.premises)

    @abstractmethod
    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Central epsilon at this delta, if the hypotheses hold."""

    @abstractmethod
    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Central delta at this epsilon; where unknown, 1 (upper bound) or 0 (lower bound).

        It never grows with epsilon.
        """

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """Guarantee that the theorem gives at this delta."""
        return CentralDP(epsilon=self.epsilon(model, delta=delta), delta=delta)

    @property
    def authors(self) -> str:
        """First author and year of the result behind the theorem; "" without such a result."""
        found = re.search(r"\b([A-Z][a-z]+)\b[^0-9;]*?\b((?:19|20)\d\d)\b", self.citation)
        return "" if found is None else f"{found[1]} et al. {found[2]}"

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the theorem is about protocols of the model's kind.

        If so, readers want to know why it fails for this one. Most theorems start from what a report tells by itself: a
        share of a number tells nothing.
        """
        return not isinstance(model.local, SumModel)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """Guarantee at this delta, with remarks for the theorem's statement.

        A remark names, for example, the people that the guarantee is about.
        """
        return self.guarantee(model, delta=delta), ()

    def may_gain(self, model: ProtocolModel, *, delta: float, known: float) -> bool:
        """Whether evaluating a slow theorem may give an epsilon noticeably below ``known``.

        Slow theorems take seconds.
        """
        return True

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust assumptions behind the theorem's statement about this model."""
        return (Trust.OWN_DEVICE, *model.local.trust, *model.shuffle.trust)

    def state(self, model: ProtocolModel, *, delta: float) -> PrivacyStatement:
        """Statement of the theorem about a model.

        Raises:
            HypothesisError: if a hypothesis does not hold; the message names it, its value and the way out.
        """
        open_probability(delta=delta)
        self.require(model, delta=delta)
        return self.stating(model, self.guarantee(model, delta=delta), delta=delta)

    def stating(self, model: ProtocolModel, guarantee: Guarantee, *, delta: float) -> PrivacyStatement:
        """Statement of a guarantee that the theorem gave for this model and delta.

        Raises:
            HypothesisError: if a hypothesis does not hold.
        """
        hypotheses, trust = self.require(model, delta=inside_unit(delta)), self.trust(model)
        shuffled = bool(set(model.shuffle.trust) & set(trust))
        return PrivacyStatement(
            guarantee=guarantee,
            kind=self.kind,
            basis=Basis(
                theorem=self.id,
                citation=self.citation,
                hypotheses=(*hypotheses, *fake_senders(model, shuffled=shuffled)),
                status=self.status,
            ),
            trust=trust,
            remarks=(*model.local.remarks, *(model.shuffle.remarks if shuffled else ())),
        )

    def applies(self, model: ProtocolModel, *, delta: float) -> bool:
        """Whether every hypothesis holds."""
        return all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=delta))

    def require(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses for this model and delta, after a check that all hold.

        Raises:
            HypothesisError: if one does not; the message names it, its value and the way out.
        """
        hypotheses = self.hypotheses(model, delta=delta)
        failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
        if failing:
            raise HypothesisError(f"{self.id} {failing}. Use account(), which takes a theorem that applies.")
        return hypotheses

    def where_hypotheses_hold(self, model: ProtocolModel, delta: float) -> float:
        """Rounded-up delta of a closed form if all hypotheses hold at this delta; else 1.

        A delta of 1 promises nothing.
        """
        stated = rounded_up(max(delta, SMALLEST))
        met = stated < 1 and all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=stated))
        return stated if met else 1.0

    def delta_at(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta at an epsilon of 0 or more, after a check; 0 from epsilon0 on for a pure randomizer."""
        nonnegative(epsilon=epsilon)
        local = model.local.guarantee
        return 0.0 if local.delta == 0 and epsilon >= local.epsilon else self.delta(model, epsilon=epsilon)

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at many epsilons of 0 or more, by `delta_at` at each.

        A vectorized evaluation may replace the loop. For Renyi privacy and composition, which need a thousand points:
        they may be less tight than `delta_at`.
        """
        return np.array([self.delta_at(model, epsilon=float(epsilon)) for epsilon in epsilons])


def inside_unit(delta: float) -> float:
    """Delta moved strictly inside (0, 1), so that divisions by delta or log(delta) are possible."""
    return min(max(delta, SMALLEST), math.nextafter(1.0, 0.0))


def fake_senders(model: ProtocolModel, *, shuffled: bool = True) -> tuple[Hypothesis, ...]:
    """Hypothesis: fake senders send at most the number of reports that the model assumes.

    No hypothesis where no senders are fake. Where others hide an answer, what is in fake reports does not depend on it.
    """
    if not model.fakes:
        return ()
    what = "reports are" if model.local.num_messages == 1 else "people's messages are"
    many = f"at most {model.fakes:,} of the {model.num_senders:,} {what} by fake senders"
    blind = ", who do not know the answer that they attack and copy nobody's report" * shuffled
    colluding = model.shuffle.num_untrusted - model.fakes
    beside = f", besides {colluding:,} who may collude" if colluding > 0 else ""
    return (Hypothesis(FAKE_SENDERS, f"{many}{blind}{beside}", ASSUMED, True),)


def uniform_shuffle(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: all orders of the reports are equally likely; nothing else about origins is seen."""
    return Hypothesis(
        "uniform-shuffle", "a uniform shuffle", f"shuffler {model.shuffle.kind!r}", model.shuffle.is_uniform
    )


def one_message_each(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: each user sends one message."""
    messages = model.local.num_messages
    return Hypothesis("one-message-each", "one message per user", f"num_messages={messages}", messages == 1)


def common_randomizer(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: all users apply one randomizer.

    So the form of a report does not point to its sender. Without it nothing need be amplified: with an alphabet of its
    own for each user, shuffling hides nothing.
    """
    shared = model.local.is_common
    value = "the same for all" if shared else "one that depends on the user"
    return Hypothesis("common-randomizer", "one randomizer for all users", value, shared)


def not_adaptive(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: no report depends on earlier reports or on its place after the shuffle."""
    adaptive = model.local.is_adaptive
    value = "one that may depend on its place and on earlier reports" if adaptive else "one that depends on it alone"
    return Hypothesis("non-adaptive", "a randomizer that depends on nothing but the answer", value, not adaptive)


def oblivious(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the permutation of the shuffle does not depend on the reports."""
    holds = model.shuffle.is_oblivious
    value = "one that is" if holds else "one that depends on them"
    return Hypothesis("oblivious", "a permutation drawn independently of the reports", value, holds)


def users_within(name: str, model: ProtocolModel, requirement: str, least: float, most: float = math.inf) -> Hypothesis:
    """Hypothesis: the number of users is from ``least`` to ``most``, with the requirement in words."""
    return Hypothesis(name, requirement, f"num_users={model.num_users}", least <= model.num_users <= most)


def several_users(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: two users or more."""
    return users_within("several-users", model, "n >= 2", 2)


def pure_local(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: the randomizer is (epsilon0, 0)-locally private with a finite epsilon0."""
    local = model.local.guarantee
    requirement = "a randomizer with finite epsilon0 and local delta 0"
    value = f"epsilon0={local.epsilon:.6g}, local delta={local.delta:g}"
    return Hypothesis("pure-local-dp", requirement, value, not local.is_trivial and local.delta == 0)


# Premises of theorems that use epsilon0 alone: one pure report each, from one randomizer, uniformly shuffled.
PURE_REPORTS: tuple[Premise, ...] = (uniform_shuffle, one_message_each, pure_local, common_randomizer)
# Premises: one report each, from one randomizer for all, which depends on the answer alone.
COMMON_REPORTS: tuple[Premise, ...] = (one_message_each, common_randomizer, not_adaptive)


def common_reports(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """Hypotheses of ``COMMON_REPORTS``: one report each, one randomizer for all, not adaptive."""
    return tuple(premise(model) for premise in COMMON_REPORTS)


def small_epsilon0(model: ProtocolModel, *, delta: float, formula: str, exp_limit: float) -> Hypothesis:
    """Hypothesis: epsilon0 is at most log(``exp_limit``), written as ``formula``."""
    limit = math.log(exp_limit) if exp_limit > 0 else -math.inf
    epsilon0 = model.local.epsilon0
    value = f" = {limit:.6g}" if exp_limit > 0 else ", which no epsilon0 is for so few users"
    return Hypothesis(
        name="small-epsilon0",
        requirement=f"epsilon0 <= {formula}{value}",
        value=f"epsilon0={epsilon0:.6g} with num_users={model.num_users}, delta={delta:g}",
        holds=epsilon0 <= limit,
    )


def small_channel(local: LocalModel, *, most_inputs: int) -> Floats | None:
    """Channel matrix of the randomizer, with equivalent outputs merged; None if there is no small matrix.

    Of a larger domain only the size is read: its channel would take seconds and a hundred megabytes.
    """
    if isinstance(local, FrequencyModel) and local.domain_size > most_inputs:
        return None
    channel = local.sufficient_channel()
    return None if channel is None else channel.matrix.astype(np.float64)


def normalized(matrix: Floats) -> Floats:
    """Matrix with each row divided by its sum, so that rows sum to 1."""
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


class Evaluator(Protocol):
    """Evaluator of an upper bound: delta at any epsilon, and the least epsilon at any delta."""

    def epsilon(self, delta: float) -> float:
        """Least epsilon found at which the bound is at most delta."""
        ...

    def delta(self, epsilon: float) -> float:
        """Bound on delta at an epsilon."""
        ...


class CurveEvaluator(Evaluator, Protocol):
    """Evaluator with a fast curve."""

    def curve(self, epsilons: Floats) -> Floats:
        """Bounds on delta at many epsilons, which may be less tight than `delta`."""
        ...


class EvaluatedTheorem(Theorem):
    """Theorem with an upper bound that an evaluator computes if the hypotheses hold.

    Elsewhere it gives epsilon0, and a delta of 1. The evaluator's numbers may be wrong by ``guard``, a relative error
    of delta.
    """

    is_vectorized = True
    guard: ClassVar[float] = 0.0

    @abstractmethod
    def evaluator(self, model: ProtocolModel) -> Evaluator:
        """Evaluator for a model that the theorem applies to."""

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon that the evaluator finds for this delta, at most epsilon0."""
        if not self.applies(model, delta=delta):
            return model.local.epsilon0
        return min(self.evaluator(model).epsilon(delta * (1 - self.guard)), model.local.epsilon0)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta that the evaluator finds; 1 where the theorem does not apply."""
        if not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        return min(self.evaluator(model).delta(epsilon) * (1 + self.guard), 1.0)

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Curve of delta by the evaluator, or by `delta_at` at each epsilon without a fast curve."""
        if not self.is_vectorized:
            return super().curve(model, epsilons=epsilons)
        if not self.applies(model, delta=_ANY_DELTA):
            return np.ones(len(epsilons))
        fast = cast(CurveEvaluator, self.evaluator(model))
        return np.minimum(fast.curve(epsilons) * (1 + self.guard), 1.0)


class LocalOnly(Theorem):
    """Local guarantee, which the release keeps because it is computed from reports alone.

    This is post-processing. Nobody but one's own device is trusted. Where the local guarantee is empty this says
    nothing: reports that mean nothing alone may well be private together.
    """

    id = "local-dp"
    citation = "post-processing of the local guarantee; Dwork and Roth 2014, Proposition 2.1"
    is_vectorized = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: a finite epsilon0, and a local delta of at most ``delta``."""
        local, requirement = model.local.guarantee, f"a local delta of at most {delta:g}"
        return (
            Hypothesis("local-guarantee", "a finite epsilon0", f"epsilon0={local.epsilon:.6g}", not local.is_trivial),
            Hypothesis("local-delta", requirement, f"local delta={local.delta:g}", local.delta <= delta),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Local epsilon0, at any delta."""
        return model.local.epsilon0

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Local delta from epsilon0 on; a worst-case delta by binary randomized response below epsilon0."""
        return float(self.curve(model, epsilons=np.array([epsilon]))[0])

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at many epsilons: delta0 + (1 - delta0) (E - e) / (E + 1), and delta0 from epsilon0 on.

        Where E = exp(epsilon0) and e = exp(epsilon). Kairouz, Oh, Viswanath 2015, Theorem 2: whatever is (epsilon0,
        delta0)-private is post-processing of that pair.
        """
        local = model.local.guarantee
        if math.isinf(local.epsilon):
            return np.where(np.isinf(epsilons), local.delta, 1.0)
        below = -np.expm1(np.minimum(epsilons - local.epsilon, 0.0)) / (1 + math.exp(-local.epsilon))
        return np.asarray(np.minimum(local.delta + (1 - local.delta) * below * ROUND_UP, 1.0))

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """Central guarantee with the local epsilon0 and the local delta (0 for a pure randomizer).

        The local delta is at most the delta asked for.
        """
        local = model.local.guarantee
        return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Trust in one's own device, and in no other party."""
        return (Trust.OWN_DEVICE,)
