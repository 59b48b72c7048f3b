"""What `leakage` does: read what is believed and what guesses are worth, and call the library once."""

from fractions import Fraction
from pathlib import Path

from shuffledp._validate import one_of
from shuffledp.cli.protocols import Asked
from shuffledp.errors import InvalidParameterError
from shuffledp.leakage import METHODS, TargetExamination, examine_target
from shuffledp.tables import read_gain

__all__ = ["leakage"]

_LONGEST = 100  # characters of a number


def leakage(
    asked: Asked, *, prior: str | None, adversary: str, gain: str, compare: bool, method: str
) -> TargetExamination:
    """What is known of what the protocol tells about one person."""
    one_of(METHODS, method=method)
    return examine_target(
        asked.model(),
        prior=None if prior is None else _shares(prior),
        gain=None if gain == "bayes" else read_gain(Path(gain)),
        adversary=adversary,
        compare=compare,
        method=method,
    )


def _shares(prior: str) -> list[float]:
    """Of an option such as "0.2,0.3,0.5" or "1/3,2/3"."""
    parts = [part.strip() for part in prior.split(",")]
    try:
        if max(map(len, parts)) > _LONGEST:
            raise ValueError
        return [float(Fraction(part)) if "/" in part else float(part) for part in parts]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidParameterError(
            f"--prior must be probabilities with commas between them, such as 0.2,0.3,0.5; got prior={prior!r}."
        ) from None
