"""What a release leaks about one person, put to the test: the stated success of the best guess, and guesses counted."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scipy.stats import binom

from shuffledp._numerals import in_digits
from shuffledp.attacks import DEFAULT_GUESSES, Guessing, Verdict, guess_answers
from shuffledp.attacks.successes import counted
from shuffledp.errors import UnsupportedModelError
from shuffledp.leakage import Vulnerability, target_vulnerability
from shuffledp.pipeline import Pipeline
from shuffledp.shufflers import IdentityShuffler
from shuffledp.statements import Kind

if TYPE_CHECKING:
    from shuffledp.attacks.games import Progress
    from shuffledp.randomness import RandomSource

__all__ = ["LeakageFinding", "audit_leakage"]

_POWER = 0.9  # with which a break is to be found


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageFinding:
    """What became of the stated vulnerability of one column, for answers that are all equally likely beforehand.

    Args:
        verdict: refuted, consistent or not audited.
        reason: why it was not audited; else "".
        vulnerability: what is stated; None if nothing is.
        guessing: how often an attacker was right; None if no attack is known.
        weak: whether it stood because it could hardly have been refuted: not with probability 90 % where the best guess
            gains twice as much as is claimed, or as much as from a report that is not shuffled, if that is more.
    """

    verdict: Verdict
    reason: str = ""
    vulnerability: Vulnerability | None = None
    guessing: Guessing | None = None
    weak: bool = False

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
        said = (
            f"With {self.guessing.trials:,} trials the limits are {in_digits(upper - lower, 'at most', digits=2)} "
            "apart: if the claim is wrong by less, that may well have gone unseen."
        )
        if self.weak:
            said += (
                " These are too few to conclude anything: that guesses gain twice as much as is claimed, or as much as "
                "from reports that are not shuffled, would hardly have been found."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """The part of the object that ``shuffledp audit --leakage --json`` prints."""
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "vulnerability": None if self.vulnerability is None else self.vulnerability.to_dict(),
            "guessing": None if self.guessing is None else self.guessing.to_dict(),
            "weak": self.weak,
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
    weak = found.verdict is Verdict.CONSISTENT and not _would_be_found(found, pipeline, num_users)
    return LeakageFinding(verdict=found.verdict, reason=reason, vulnerability=stated, guessing=found, weak=weak)


def _would_be_found(found: Guessing, pipeline: Pipeline, num_users: int) -> bool:
    """Whether so many trials refute the claim with probability 90 % if what is true is much more."""
    broken = 2 * found.claimed - found.by_chance
    with suppress(UnsupportedModelError):
        unshuffled = replace(pipeline.model(num_users), shuffle=IdentityShuffler().model(num_users))
        broken = max(broken, target_vulnerability(unshuffled).lower)
    wins = int(binom.ppf(1 - _POWER, found.trials, min(broken, 1.0)))
    if_broken = counted(wins, found.trials, claimed=found.claimed, confidence=found.confidence)
    return if_broken["verdict"] is Verdict.REFUTED
