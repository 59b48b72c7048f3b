"""A theorem as the accountant sees it: hypotheses, a curve from epsilon to delta and back; and the local guarantee."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from shuffledp.accounting.numerics import ROUND_UP, SMALLEST, rounded_up
from shuffledp.core.errors import HypothesisError
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import ProtocolModel, SumModel
from shuffledp.core.statement_terms import ASSUMED, FAKE_SENDERS, Basis, Hypothesis, Kind, Status, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats
from shuffledp.core.validate import nonnegative, open_probability


class Theorem(ABC):
    """A published (or own) result about the central guarantee of a protocol. One instance each is in ``THEOREMS``.

    Class attributes: ``id`` (short name), ``citation`` (source with theorem number), ``kind`` (upper or lower bound),
    ``status`` (published or own proof), ``is_vectorized`` (whether ``curve`` is fast: a thousand points in a second or
    so, and made for Renyi privacy and composition), ``is_costly`` (whether a number takes seconds), ``supersedes`` (ids
    of theorems that never say more where this one applies).
    """

    id: ClassVar[str]
    citation: ClassVar[str]
    kind: ClassVar[Kind] = Kind.UPPER_BOUND
    status: ClassVar[Status] = Status.PUBLISHED
    is_vectorized: ClassVar[bool] = False
    is_costly: ClassVar[bool] = False
    supersedes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Every hypothesis, evaluated for this model and delta."""

    @abstractmethod
    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The central epsilon at this delta, provided that the hypotheses hold."""

    @abstractmethod
    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The central delta at this epsilon, non-increasing; where it says nothing, 1 (upper bound) or 0 (lower)."""

    def guarantee(self, model: ProtocolModel, *, delta: float) -> Guarantee:
        """What the theorem gives at this delta."""
        return CentralDP(epsilon=self.epsilon(model, delta=delta), delta=delta)

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether such protocols are its subject, so that readers want to know why it says nothing about this one.

        Most theorems start from what a report tells by itself: a share of a number tells nothing.
        """
        return not isinstance(model.local, SumModel)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """`guarantee`, and what to say beside any statement about such a protocol: whom it is about, for example."""
        return self.guarantee(model, delta=delta), ()

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """Whom people must trust for what the theorem says about this model."""
        return (Trust.OWN_DEVICE, *model.local.trust, *model.shuffle.trust)

    def state(self, model: ProtocolModel, *, delta: float) -> PrivacyStatement:
        """The theorem's statement about a model.

        Raises:
            HypothesisError: if a hypothesis does not hold; the message names it, its value and the way out.
        """
        open_probability(delta=delta)
        self.require(model, delta=delta)
        return self.stating(model, self.guarantee(model, delta=delta), delta=delta)

    def stating(self, model: ProtocolModel, guarantee: Guarantee, *, delta: float) -> PrivacyStatement:
        """The statement of a guarantee that the theorem gave for this model and delta.

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
        """True if every hypothesis holds."""
        return all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=delta))

    def require(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """The hypotheses, all of which hold.

        Raises:
            HypothesisError: if one does not; the message names it, its value and the way out.
        """
        hypotheses = self.hypotheses(model, delta=delta)
        failing = "; ".join(hypothesis.text for hypothesis in hypotheses if not hypothesis.holds)
        if failing:
            raise HypothesisError(f"{self.id} {failing}. Use account(), which takes a theorem that applies.")
        return hypotheses

    def where_hypotheses_hold(self, model: ProtocolModel, delta: float) -> float:
        """A closed form's ``delta``, rounded up, if all hypotheses hold there; else 1: nothing is said."""
        stated = rounded_up(max(delta, SMALLEST))
        met = stated < 1 and all(hypothesis.holds for hypothesis in self.hypotheses(model, delta=stated))
        return stated if met else 1.0

    def delta_at(self, model: ProtocolModel, *, epsilon: float) -> float:
        """`delta`, after checking epsilon, and 0 from epsilon0 on where a pure local guarantee holds anyway."""
        nonnegative(epsilon=epsilon)
        local = model.local.guarantee
        return 0.0 if local.delta == 0 and epsilon >= local.epsilon else self.delta(model, epsilon=epsilon)

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """`delta_at` for many epsilons, 0 or more; a theorem whose evaluation is vectorized does better than this loop.

        For Renyi privacy and composition, which need a thousand points: they may be less tight than `delta_at`.
        """
        return np.array([self.delta_at(model, epsilon=float(epsilon)) for epsilon in epsilons])


def inside_unit(delta: float) -> float:
    """A delta from 0 to 1 as the nearest one that is neither, for hypotheses that divide by it or its logarithm."""
    return min(max(delta, SMALLEST), math.nextafter(1.0, 0.0))


def fake_senders(model: ProtocolModel, *, shuffled: bool = True) -> tuple[Hypothesis, ...]:
    """No more of the reports are fake than are left out; none where no senders are fake.

    Where others hide an answer, what is in fake reports does not depend on it.
    """
    if not model.fakes:
        return ()
    what = "reports are" if model.local.num_messages == 1 else "people's messages are"
    many = f"at most {model.fakes:,} of the {model.num_senders:,} {what} by fake senders"
    blind = ", who do not know the answer that they attack and copy nobody's report" * shuffled
    colluding = model.num_users - model.shuffle.num_honest - model.fakes
    beside = f", besides {colluding:,} who may collude" if colluding > 0 else ""
    return (Hypothesis(FAKE_SENDERS, f"{many}{blind}{beside}", ASSUMED, True),)


def uniform_shuffle(model: ProtocolModel) -> Hypothesis:
    """Every order of the reports is equally likely, and nothing else about their origin is seen."""
    return Hypothesis(
        "uniform-shuffle", "a uniform shuffle", f"shuffler {model.shuffle.kind!r}", model.shuffle.is_uniform
    )


def one_message_each(model: ProtocolModel) -> Hypothesis:
    """Each user sends one message."""
    messages = model.local.num_messages
    return Hypothesis("one-message-each", "one message per user", f"num_messages={messages}", messages == 1)


def common_randomizer(model: ProtocolModel) -> Hypothesis:
    """All users apply the same randomizer, so that a report does not tell by its form who may have sent it.

    Without it nothing need be amplified: with an alphabet of its own for each user, shuffling hides nothing.
    """
    shared = model.local.is_common
    value = "the same for all" if shared else "one that depends on the user"
    return Hypothesis("common-randomizer", "one randomizer for all users", value, shared)


def not_adaptive(model: ProtocolModel) -> Hypothesis:
    """No report depends on the reports before it, or on its place after the shuffle."""
    adaptive = model.local.is_adaptive
    value = "one that may depend on its place and on earlier reports" if adaptive else "one that depends on it alone"
    return Hypothesis("non-adaptive", "a randomizer that depends on nothing but the answer", value, not adaptive)


def common_reports(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """One report each, of one randomizer for all that depends on nothing but the answer."""
    return (one_message_each(model), common_randomizer(model), not_adaptive(model))


def oblivious(model: ProtocolModel) -> Hypothesis:
    """The shuffle does not look at the reports."""
    holds = model.shuffle.is_oblivious
    value = "one that is" if holds else "one that depends on them"
    return Hypothesis("oblivious", "a permutation drawn independently of the reports", value, holds)


def several_users(model: ProtocolModel) -> Hypothesis:
    """There is somebody to hide among."""
    users = model.num_users
    return Hypothesis("several-users", "n >= 2", f"num_users={users}", users >= 2)


def pure_local(model: ProtocolModel) -> Hypothesis:
    """The randomizer is (epsilon0, 0)-locally private with a finite epsilon0."""
    local = model.local.guarantee
    requirement = "a randomizer with finite epsilon0 and local delta 0"
    value = f"epsilon0={local.epsilon:.6g}, local delta={local.delta:g}"
    return Hypothesis("pure-local-dp", requirement, value, not local.is_trivial and local.delta == 0)


def shuffled_pure_reports(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """What theorems that know epsilon0 alone ask for: one pure report each, of one randomizer, uniformly shuffled."""
    return (uniform_shuffle(model), one_message_each(model), pure_local(model), common_randomizer(model))


def small_epsilon0(model: ProtocolModel, *, delta: float, formula: str, exp_limit: float) -> Hypothesis:
    """Epsilon0 is at most the logarithm of ``exp_limit``, which ``formula`` spells out."""
    limit = math.log(exp_limit) if exp_limit > 0 else -math.inf
    epsilon0 = model.local.epsilon0
    value = f" = {limit:.6g}" if exp_limit > 0 else ", which no epsilon0 is for so few users"
    return Hypothesis(
        name="small-epsilon0",
        requirement=f"epsilon0 <= {formula}{value}",
        value=f"epsilon0={epsilon0:.6g} with num_users={model.num_users}, delta={delta:g}",
        holds=epsilon0 <= limit,
    )


class LocalOnly(Theorem):
    """The released data are computed from the reports alone, so the local guarantee carries over (post-processing).

    Nobody but one's own device is trusted. Where the local guarantee is empty this says nothing: reports that mean
    nothing alone may well be private together.
    """

    id = "local-dp"
    citation = "post-processing of the local guarantee; Dwork and Roth 2014, Proposition 2.1"
    is_vectorized = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Epsilon0 is finite, and the local delta within the delta asked for."""
        local, requirement = model.local.guarantee, f"a local delta of at most {delta:g}"
        return (
            Hypothesis("local-guarantee", "a finite epsilon0", f"epsilon0={local.epsilon:.6g}", not local.is_trivial),
            Hypothesis("local-delta", requirement, f"local delta={local.delta:g}", local.delta <= delta),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon0, at any delta."""
        return model.local.epsilon0

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The local delta from epsilon0 on; below, what binary randomized response loses, which is the worst."""
        return float(self.curve(model, epsilons=np.array([epsilon]))[0])

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
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
        local = model.local.guarantee
        return CentralDP(epsilon=local.epsilon, delta=local.delta, neighbors=local.neighbors)

    def trust(self, model: ProtocolModel) -> tuple[Trust, ...]:
        """One's own device, and nobody else."""
        return (Trust.OWN_DEVICE,)
