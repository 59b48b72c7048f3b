"""How often an attacker is right, held against a claim: what guesses of answers and names of slots have in common."""

from dataclasses import dataclass
from typing import Any

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp._numerals import in_digits
from shuffledp.attacks.findings import Verdict
from shuffledp.attacks.intervals import clopper_pearson, to_width

__all__ = ["Success", "check_counting", "counted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Success(Described):
    """How often an attacker was right in independent runs, and what that says about a claim.

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
        """Whether the claim is refuted because the attacker was right less often."""
        return self.verdict is Verdict.REFUTED and self.success_limits[1] < self.claimed

    @property
    def measured(self) -> str:
        """The success and its limits, in words."""
        least, most = self.success_limits
        lower, upper = in_digits(least, "at least"), in_digits(most, "at most")
        share = to_width(self.success, least, most, percent=True)
        return f"{share} of {self.trials:,} runs (limits {lower} to {upper} with confidence {self.confidence:g})"


def counted(wins: int, trials: int, *, claimed: float, confidence: float, both_ways: bool = False) -> dict[str, Any]:
    """What `Success` says of so many right guesses.

    Args:
        wins: runs in which the attacker was right.
        trials: independent runs.
        claimed: the probability that is claimed.
        confidence: of both limits together, strictly between 0 and 1.
        both_ways: whether an attacker who is right less often than is claimed refutes it too.
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
    """Refuse a claim that is no probability, or limits that nothing is counted for.

    Raises:
        InvalidParameterError: if an argument is out of range.
    """
    _validate.probability(claimed=claimed)
    _validate.integer_at_least(2, trials=trials)
    _validate.open_probability(confidence=confidence)
