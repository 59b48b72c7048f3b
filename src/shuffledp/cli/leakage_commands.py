"""What `leakage` does: read what is believed and what guesses are worth, and call the library once."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from shuffledp._validate import one_of
from shuffledp.cli.protocols import Asked
from shuffledp.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.leakage import METHODS, Comparison, TargetExamination, compare_ways, examine_target
from shuffledp.leakage.iid import MOST_PEOPLE
from shuffledp.tables import read_gain

__all__ = ["leakage", "without_shuffle"]

_LONGEST = 100  # characters of a number


def leakage(
    asked: Asked, *, prior: str | None, adversary: str, gain: str, compare: bool, method: str, whole: bool
) -> TargetExamination | Comparison:
    """What the protocol tells about one person; unless ``whole``, the comparison alone where the rest is refused."""
    one_of(METHODS, method=method)
    if asked.users is not None and asked.users > MOST_PEOPLE:
        raise InvalidParameterError(
            f"--users must be at most {MOST_PEOPLE:,}, beyond which what is learned is not evaluated (more people tell "
            f"less); got users={asked.users}."
        )
    model = asked.model_of_run()
    about: dict[str, Any] = {
        "prior": None if prior is None else _shares(prior),
        "gain": None if gain == "bayes" else read_gain(Path(gain)),
        "method": method,
    }
    try:
        found = examine_target(model, adversary=adversary, compare=compare, **about)
    except UnsupportedModelError:
        if whole or not compare:
            raise
        return without_shuffle(compare_ways(model, **about), model.shuffle.kind)
    compared = found.comparison
    return replace(found, comparison=None if compared is None else without_shuffle(compared, model.shuffle.kind))


def without_shuffle(found: Comparison, kind: str) -> Comparison:
    """Only what randomizing does, if nothing is shuffled."""
    return (
        found if kind != "none" else replace(found, ways=tuple(way for way in found.ways if way.name == "randomizing"))
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
