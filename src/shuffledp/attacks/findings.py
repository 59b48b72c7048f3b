"""What an audit says: a verdict on each claim, with what the strongest attack showed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shuffledp._described import Described
from shuffledp._numerals import in_digits
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.intervals import to_width
from shuffledp.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy
from shuffledp.models import ProtocolModel, ShuffleModel
from shuffledp.shufflers import IdentityShuffleModel, ParallelShuffleModel
from shuffledp.statements import PrivacyStatement

__all__ = ["AuditReport", "Evidence", "Finding", "Mode", "Verdict", "outcome_of", "played", "tally"]


class Verdict(StrEnum):
    """What became of a claim. No audit can prove one, so that there is no "passed"."""

    REFUTED = "refuted"
    CONSISTENT = "consistent"
    NOT_AUDITED = "not-audited"


def tally(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """How many claims met each verdict; all three are there."""
    given = list(verdicts)
    return {verdict: given.count(verdict) for verdict in Verdict}


def outcome_of(counts: Mapping[Verdict, int], weak: int = 0) -> str:
    """A `tally` in one sentence, which never lets silence pass for success.

    Args:
        counts: of the verdicts.
        weak: how many of the consistent claims could hardly have been refuted, see `Finding.weak`.
    """
    refuted, stood, left = (counts[verdict] for verdict in Verdict)
    if not refuted + stood:
        return (
            "Nothing was audited: no attack was held against any claim, so that nothing was found for or against them."
        )
    held = f"{refuted} of {refuted + stood} audited claims refuted"
    if not refuted:
        held = f"{stood} {'claim' if stood == 1 else 'claims'} audited, none refuted"
        if weak == stood:
            held = f"Nothing is known: {held}"
    if weak:
        held += f"; {weak} could hardly have been, with so few trials"
    return f"{held}; {left} not audited." if left else f"{held}."


def played(shuffle: ShuffleModel) -> str:
    """What reports go through, of which several rounds may be side by side."""
    if isinstance(shuffle, ParallelShuffleModel):
        return f"through {shuffle.num_rounds:,} {shuffle.round.kind} rounds side by side"
    return f"through {shuffle.kind}" if shuffle.kind != IdentityShuffleModel.kind else "without a shuffle"


class Mode(StrEnum):
    """What the runs of a game about the view are."""

    PIPELINE = "pipeline"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Described):
    """What one event, chosen on other runs, showed on held-out runs.

    All limits of all findings of a report hold together with probability ``confidence`` at least.

    Args:
        attack: which score the event is about.
        inputs: the two data sets.
        likely: "first" or "second": the one with which the event is the likelier.
        trials: held-out runs with each of the two.
        training_trials: runs with each, before, on which the event was chosen, for each pair of data sets tried.
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

    attack: str
    inputs: NeighboringInputs
    likely: str
    trials: int
    training_trials: int
    true_positive_rate: float
    true_positive_limits: tuple[float, ...]
    false_positive_rate: float
    false_positive_limits: tuple[float, ...]
    epsilon: float
    epsilon_lower: float
    epsilon_upper: float
    roc: tuple[tuple[float, ...], ...]

    def told(self, symbol: str) -> str:
        """What was shown, in a sentence, of a loss of this name."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Described):
    """The verdict on one claim.

    Args:
        statement: the claim, as it came in.
        verdict: refuted, consistent or not audited.
        reason: why it was not audited; else "".
        evidence: what the strongest attack showed; None if it was not audited.
        detectable: the true loss from which on these trials refute the claim with probability 90 %, by an attack whose
            event shows all of that loss and is of the shape of the one that decided
            (`shuffledp.attacks.power.others_of`); None if the claim is not consistent.
        trials_needed: how many trials it would take, for the claim to be refuted with probability 90 % by the best
            event there could be if the true loss were twice what is claimed, or for central claims that of a report
            that is not shuffled, if that is more; None if these trials are enough, or the claim is not consistent.
    """

    statement: PrivacyStatement
    verdict: Verdict
    reason: str = ""
    evidence: Evidence | None = None
    detectable: float | None = None
    trials_needed: int | None = None

    @property
    def weak(self) -> bool:
        """Whether the claim stood because it could hardly have been refuted, however good the attack."""
        return self.trials_needed is not None

    @property
    def symbol(self) -> str:
        """What the loss is called: of orders alpha, else epsilon."""
        return "alpha" if isinstance(self.statement.guarantee, DSigmaPrivacy) else "epsilon"

    @property
    def power(self) -> str:
        """What these trials could have found, in a sentence; "" where the claim is refuted or was not audited."""
        if self.detectable is None or self.evidence is None:
            return ""
        least = in_digits(self.detectable, "at most", digits=3)
        said = (
            f"With {self.evidence.trials:,} trials, a true {self.symbol} of {least} or more would have been found with "
            "a probability of about 90 %, if an event such as this one showed all of it; where attacks show less, a "
            "larger break may go unseen."
        )
        if self.trials_needed is not None:
            central = isinstance(self.statement.guarantee, CentralDP)
            unshuffled = ", or that of reports that are not shuffled" if central else ""
            said += (
                f" These are too few to conclude anything: even the best attack there could be needs "
                f"{self.trials_needed:,} to find a true {self.symbol} that is twice as large{unshuffled}."
            )
        return said

    def __str__(self) -> str:
        claim = self.statement.guarantee
        shown, relation = claim.type, self.statement.kind.relation
        if claim.is_trivial:
            shown = f"{claim.type}, without a bound"
        elif isinstance(claim, DSigmaPrivacy):
            shown = f"{claim.type}, alpha {relation} {in_digits(claim.alpha, relation)} at delta = {claim.delta:g}"
        elif isinstance(claim, DifferentialPrivacy):
            shown = f"{claim.type}, epsilon {relation} {in_digits(claim.epsilon, relation)} at delta = {claim.delta:g}"
        said = " ".join(filter(None, [self.evidence.told(self.symbol) if self.evidence else self.reason, self.power]))
        return f"{self.verdict.upper()}: {shown} ({self.statement.basis.theorem}). {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport(Described):
    """All findings of one audit. ``print`` gives a paragraph for each, ``to_dict`` everything.

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
        """True if some claim is refuted."""
        return any(finding.verdict is Verdict.REFUTED for finding in self.findings)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many claims met each verdict."""
        return tally(finding.verdict for finding in self.findings)

    @property
    def weak(self) -> int:
        """How many consistent claims could hardly have been refuted by so few trials."""
        return sum(finding.weak for finding in self.findings)

    @property
    def opening(self) -> str:
        """What was played, what came of it, and what the verdicts mean."""
        counts = self.verdicts
        opening = (
            f"Audit of {self.model.local.kind} {played(self.model.shuffle)} with {self.model.num_users:,} "
            f"{'person' if self.model.num_users == 1 else 'people'}: {outcome_of(counts, self.weak)}"
        )
        if len(self.findings) > counts[Verdict.NOT_AUDITED]:
            opening += f" All limits hold together with confidence {self.confidence:g}."
        if counts[Verdict.CONSISTENT]:
            opening += " Consistent does not mean proven: it says that these attacks found nothing against the claim."
        if self.mode is Mode.STATISTICS:
            opening += " Views were drawn from the law that the models imply: central claims were tested, the code not."
        return opening

    def __str__(self) -> str:
        return "\n\n".join([self.opening, *map(str, self.findings)])
