"""What a release leaks about one person, put to the test: the stated success of the best guess, and guesses counted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffledp._numerals import in_digits
from shuffledp.attacks import DEFAULT_GUESSES, Guessing, Verdict, guess_answers
from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import Vulnerability, target_vulnerability
from shuffledp.pipeline import Pipeline
from shuffledp.statements import Kind

if TYPE_CHECKING:
    from shuffledp.attacks.games import Progress
    from shuffledp.randomness import RandomSource

__all__ = ["LeakageFinding", "audit_leakage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageFinding:
    """What became of the stated vulnerability of one column, for answers that are all equally likely beforehand.

    Args:
        verdict: refuted, consistent or not audited.
        reason: why it was not audited; else "".
        vulnerability: what is stated; None if nothing is.
        guessing: how often an attacker was right; None if no attack is known.
    """

    verdict: Verdict
    reason: str = ""
    vulnerability: Vulnerability | None = None
    guessing: Guessing | None = None

    def __str__(self) -> str:
        if self.guessing is not None and not self.reason:
            return " ".join(filter(None, [str(self.guessing), self.power]))
        return f"{self.verdict.upper()}: how often one person's answer can be guessed. {self.reason}"

    @property
    def power(self) -> str:
        """What the trials could have found, in a sentence; "" where none was held against it."""
        if self.guessing is None or self.verdict is not Verdict.CONSISTENT:
            return ""
        lower, upper = self.guessing.success_limits
        return (
            f"With {self.guessing.trials:,} trials the limits are {in_digits(upper - lower, 'at most', digits=2)} "
            "apart: if the claim is wrong by less, that may well have gone unseen."
        )

    def to_dict(self) -> dict[str, Any]:
        """The part of the object that ``shuffledp audit --leakage --json`` prints."""
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "vulnerability": None if self.vulnerability is None else self.vulnerability.to_dict(),
            "guessing": None if self.guessing is None else self.guessing.to_dict(),
        }


def audit_leakage(
    pipeline: Pipeline,
    *,
    num_users: int,
    trials: int | None,
    confidence: float,
    source: "RandomSource | None",
    progress: "Progress | None",
) -> LeakageFinding:
    """Hold the stated chance that one person's answer is guessed right against guesses by Bayes' rule.

    An exact one is refuted by too many right guesses, and by too few where no attack is right more often (after a
    uniform shuffle, and without any); an upper bound by too many.

    Args:
        pipeline: of the column.
        num_users: people in the batch.
        trials: runs; None is ``DEFAULT_GUESSES``.
        confidence: of both limits together.
        source: randomness; None is the cryptographic source.
        progress: told how many runs are done.
    """
    try:
        stated = target_vulnerability(pipeline.model(num_users))
    except UnsupportedModelError as error:
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"Nothing is stated: {error}")
    if not stated.kind.promises:
        kind = "An estimate" if stated.kind is Kind.ESTIMATE else "A lower bound"
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"{kind} promises nothing.", vulnerability=stated)
    exact = stated.kind is Kind.EXACT
    try:
        found = guess_answers(
            pipeline,
            stated.value if exact else min(stated.upper, 1.0),
            num_users=num_users,
            exact=exact,
            trials=trials or DEFAULT_GUESSES,
            confidence=confidence,
            source=source,
            progress=progress,
        )
    except UnsupportedModelError as error:
        return LeakageFinding(verdict=Verdict.NOT_AUDITED, reason=f"No attack: {error}", vulnerability=stated)
    few = found.verdict is Verdict.NOT_AUDITED
    reason = f"No outcome of {found.trials:,} trials could refute {found.claimed:.6g}." if few else ""
    return LeakageFinding(verdict=found.verdict, reason=reason, vulnerability=stated, guessing=found)
