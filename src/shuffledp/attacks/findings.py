"""Audit report: a verdict and the strongest evidence for each claim, and the success rate of guesses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shuffledp.attacks.audit_statistics import clopper_pearson, to_width
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import count_of, in_digits, plural, said_of
from shuffledp.core.upward_calls import Shown

WRONG_AT_ZERO = 0.1  # true loss that the trials must reveal where no loss is claimed


class Verdict(StrEnum):
    """Verdict on a claim; there is no "passed", because no audit can prove a claim."""

    REFUTED = "refuted"
    CONSISTENT = "consistent"
    NOT_AUDITED = "not-audited"


def tally(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """Number of claims for each of the three verdicts, including zeros."""
    given = list(verdicts)
    return {verdict: given.count(verdict) for verdict in Verdict}


def outcome_of(counts: Mapping[Verdict, int], weak: int = 0) -> str:
    """Outcome of a `tally` in one sentence; ``weak`` is the number of weakly tested claims.

    The sentence never reports silence as success.
    """
    refuted, stood, left = (counts[verdict] for verdict in Verdict)
    if not refuted + stood:
        return (
            "Nothing was audited: no attack was held against any claim, so that nothing was found for or against them."
        )
    held = f"{refuted} of {refuted + stood} audited claims refuted"
    if not refuted:
        held = f"{stood} {plural(stood, 'claim')} audited, none refuted"
        if weak == stood:
            held = f"Nothing is known: {held}"
    if weak:
        held += f"; {weak} could hardly have been, with so few trials"
    return f"{held}; {left} not audited." if left else f"{held}."


class Mode(StrEnum):
    """Kind of runs in a game about the view."""

    PIPELINE = "pipeline"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedEvent(Described):
    """Event of an attack on the views of two data sets, with the number of runs.

    Args:
        attack: which score the event is about.
        inputs: the two data sets.
        likely: "first" or "second": the one with which the event is the likelier.
        trials: held-out runs with each of the two.
        training_trials: runs with each, before, on which the event was chosen, for each pair of data sets tried.
    """

    attack: str
    inputs: NeighboringInputs
    likely: str
    trials: int
    training_trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(AuditedEvent):
    """Evidence of one event, which was chosen on training runs and counted on held-out runs.

    All limits of all findings of a report hold together with probability ``confidence`` at least.

    Args:
        true_positive_rate: how often the event came with the likely data set.
        true_positive_limits: lower and upper limit of that probability (Clopper and Pearson).
        false_positive_rate: how often it came with the other one: the rate actually reached.
        false_positive_limits: limits of that probability.
        epsilon: the loss that the rates show at the delta of the claim; infinite if the second rate is 0.
        epsilon_lower: lower limit of this event's loss, and so of the epsilon of the whole mechanism.
        epsilon_upper: upper limit of this event's loss; other events may show more.
        roc: (false positive rate, true positive rate) for other thresholds on the same score, held-out as well; each
            by itself, without limits.
    """

    true_positive_rate: float
    true_positive_limits: tuple[float, ...]
    false_positive_rate: float
    false_positive_limits: tuple[float, ...]
    epsilon: float
    epsilon_lower: float
    epsilon_upper: float
    roc: tuple[tuple[float, ...], ...]

    def told(self, symbol: str) -> str:
        """Evidence in a sentence, with this symbol for the privacy loss."""
        lower, upper = in_digits(self.epsilon_lower, "at least"), in_digits(self.epsilon_upper, "at most")
        detected, mistaken = (
            to_width(rate, least, most, percent=True)
            for rate, (least, most) in (
                (self.true_positive_rate, self.true_positive_limits),
                (self.false_positive_rate, self.false_positive_limits),
            )
        )
        return (
            f"The strongest attack ({self.attack}) shows {symbol} >= {lower} (measured "
            f"{to_width(self.epsilon, self.epsilon_lower, self.epsilon_upper)}, limits {lower} to {upper}): its event "
            f"came in {detected} of {self.trials:,} runs with one data set, and in {mistaken} of those with the other."
        )

    def __str__(self) -> str:
        return self.told("epsilon")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finding(Described, Shown):
    """Verdict of an audit on one claim, with its evidence.

    Args:
        statement: the claim, as it came in.
        verdict: refuted, consistent or not audited.
        reason: why it was not audited; else "".
        evidence: what the strongest attack showed; None if it was not audited.
        detectable: the true loss from which on these trials refute the claim with probability 90%, by an event that
            shows all of it and is shaped as the one that decided (`shuffledp.attacks.audit_statistics.others_of`);
            None if the claim is not consistent.
        trials_needed: how many trials the best event there could be would take to refute the claim with probability
            90%, if the true loss were twice what is claimed, or for central claims that of an unshuffled report, if
            that is more; None if these trials are enough, or the claim is not consistent.
    """

    statement: PrivacyStatement
    verdict: Verdict
    reason: str = ""
    evidence: Evidence | None = None
    detectable: float | None = None
    trials_needed: int | None = None

    @property
    def weak(self) -> bool:
        """Whether the trials were too few to refute the claim reliably, even by a perfect attack.

        That is, with probability 90%, if the true loss were as large as ``trials_needed`` assumes.
        """
        return self.trials_needed is not None

    @property
    def symbol(self) -> str:
        """Symbol of the privacy loss: alpha for orders, else epsilon."""
        return "alpha" if isinstance(self.statement.guarantee, DSigmaPrivacy) else "epsilon"

    @property
    def power(self) -> str:
        """Power of these trials in a sentence; "" if the claim is refuted or was not audited."""
        if self.detectable is None or self.evidence is None:
            return ""
        least = in_digits(self.detectable, "at most", digits=3)
        said = (
            f"With {self.evidence.trials:,} trials, a true {self.symbol} of {least} or more would have been found with "
            "a probability of about 90%, if an event such as this one showed all of it; where attacks show less, a "
            "larger break may go unseen."
        )
        if self.trials_needed is not None:
            said += (
                f" These are too few to conclude anything: even the best attack there could be needs "
                f"{self.trials_needed:,} to find {self._break_looked_for}."
            )
        return said

    @property
    def _break_looked_for(self) -> str:
        """Larger true loss, in words, that ``trials_needed`` trials would find.

        Twice a claim of 0 is no larger loss, so another one is named.
        """
        guarantee = self.statement.guarantee
        is_central = isinstance(guarantee, CentralDP)
        claimed = guarantee.alpha if isinstance(guarantee, DSigmaPrivacy) else getattr(guarantee, "epsilon", 0.0)
        if claimed > 0:
            unshuffled = ", or that of reports that are not shuffled" if is_central else ""
            return f"a true {self.symbol} that is twice as large{unshuffled}"
        if is_central:
            return f"the {self.symbol} of reports that are not shuffled"
        return f"a true {self.symbol} of {WRONG_AT_ZERO:g} where 0 is claimed"

    @property
    def in_short(self) -> str:
        """Verdict and claim in short."""
        return f"{self.verdict}: {self.statement.in_short}"

    def __str__(self) -> str:
        claim = self.statement.guarantee
        shown, relation = claim.type, self.statement.kind.relation
        if claim.is_trivial:
            shown = f"{claim.type}, without a bound"
        elif isinstance(claim, DSigmaPrivacy):
            shown = f"{claim.type}, alpha {said_of(claim.alpha, relation)} at delta = {claim.delta:g}"
        elif isinstance(claim, DifferentialPrivacy):
            shown = f"{claim.type}, epsilon {said_of(claim.epsilon, relation)} at delta = {claim.delta:g}"
        said = " ".join(filter(None, [self.evidence.told(self.symbol) if self.evidence else self.reason, self.power]))
        return f"{self.verdict.upper()}: {shown} ({self.statement.basis.theorem}). {said}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditReport(Described, Shown):
    """Audit report with all findings, printed as one paragraph for each finding.

    Args:
        model: the public description of what was played.
        findings: one for each claim, in the order in which they came.
        confidence: probability with which all limits in the report hold together.
        mode: whether views were those of the pipeline, or drawn by their sufficient statistics.
        seeded: True if the runs can be repeated by whoever knows the seed.
    """

    model: ProtocolModel
    findings: tuple[Finding, ...]
    confidence: float
    seeded: bool
    mode: Mode = Mode.PIPELINE

    @property
    def refuted(self) -> bool:
        """Whether at least one claim is refuted."""
        return any(finding.verdict is Verdict.REFUTED for finding in self.findings)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of claims for each verdict."""
        return tally(finding.verdict for finding in self.findings)

    @property
    def weak(self) -> int:
        """Number of consistent claims that these trials could not have refuted reliably."""
        return sum(finding.weak for finding in self.findings)

    @property
    def opening(self) -> str:
        """Opening paragraph: the game, its outcome, and the meaning of the verdicts."""
        counts = self.verdicts
        opening = (
            f"Audit of {self.model.local.kind} {self.model.shuffle.passage} with "
            f"{count_of(self.model.num_users, 'person', 'people')}: {outcome_of(counts, self.weak)}"
        )
        if len(self.findings) > counts[Verdict.NOT_AUDITED]:
            opening += f" All limits hold together with confidence {self.confidence:g}."
        if counts[Verdict.CONSISTENT]:
            opening += " Consistent does not mean proven: it says that these attacks found nothing against the claim."
        if self.mode is Mode.STATISTICS:
            opening += " Views were drawn from the law that the models imply: central claims were tested, the code not."
        return opening

    @property
    def in_short(self) -> str:
        """Outcome in one sentence."""
        return outcome_of(self.verdicts, self.weak)

    def __str__(self) -> str:
        return "\n\n".join([self.opening, *map(str, self.findings)])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Success(Described, Shown):
    """Success rate of an attacker in independent runs, and its verdict on a claim.

    Args:
        verdict: refuted if the limits contradict the claim; not audited if no outcome of so few runs could.
        claimed: the probability that is claimed.
        trials: runs that count.
        success: the share of them in which the attacker was right.
        success_limits: lower and upper limit of that chance (Clopper and Pearson), which hold together.
        by_chance: the success of whoever has not seen anything.
        confidence: of the limits.
        seeded: True if the runs can be repeated by whoever knows the seed.
    """

    verdict: Verdict
    claimed: float
    trials: int
    success: float
    success_limits: tuple[float, ...]
    by_chance: float
    confidence: float
    seeded: bool

    @property
    def refuted_from_below(self) -> bool:
        """Whether the claim is refuted because the attacker was right more rarely than claimed."""
        return self.verdict is Verdict.REFUTED and self.success_limits[1] < self.claimed

    @property
    def measured(self) -> str:
        """Success rate and its limits, in words."""
        least, most = self.success_limits
        lower, upper = in_digits(least, "at least"), in_digits(most, "at most")
        share = to_width(self.success, least, most, percent=True)
        return f"{share} of {self.trials:,} runs (limits {lower} to {upper} with confidence {self.confidence:g})"


def counted(wins: int, trials: int, *, claimed: float, confidence: float, both_ways: bool = False) -> dict[str, Any]:
    """Fields of `Success` from a number of right guesses in independent runs.

    With ``both_ways`` an attacker who is right less often than is claimed refutes it too.
    """
    tail = (1 - confidence) / 2
    lower, upper = (float(limit) for limit in clopper_pearson(wins, trials, tail=tail))
    least, most = float(clopper_pearson(0, trials, tail=tail)[1]), float(clopper_pearson(trials, trials, tail=tail)[0])
    if lower > claimed or (both_ways and upper < claimed):
        verdict = Verdict.REFUTED
    elif most > claimed or (both_ways and least < claimed):
        verdict = Verdict.CONSISTENT
    else:
        verdict = Verdict.NOT_AUDITED
    return {
        "verdict": verdict,
        "claimed": float(claimed),
        "trials": int(trials),
        "success": wins / trials,
        "success_limits": (lower, upper),
        "confidence": float(confidence),
    }


def check_counting(claimed: float, trials: int, confidence: float) -> None:
    """Check that a claim is a probability, and that there are trials to count."""
    validate.probability(claimed=claimed)
    validate.integer_at_least(2, trials=trials)
    validate.open_probability(confidence=confidence)
