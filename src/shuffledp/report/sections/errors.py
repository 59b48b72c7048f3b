"""What randomizing costs: its error beside the one that any survey of a sample has."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.models import MeanModel
from shuffledp.report.parts import Section
from shuffledp.report.words import Scale, count
from shuffledp.tasks import Outcome

__all__ = ["effective_size", "errors_section"]

UNKNOWN = "\N{EN DASH}"
_MOST_OPEN = 6  # with more rows, the table of all of them is folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One kind of error: how large it typically is, and how long its bar is in percent."""

    name: str
    note: str
    error: str
    length: str
    style: str


def errors_section(outcome: Outcome) -> Section | None:
    """Typical errors as bars, how many people without randomizing would do, and each row; None without sampling."""
    estimate = outcome.release.estimate
    sampling = estimate.sampling_error
    if sampling is None:
        return None
    scale, people = Scale.of(estimate, outcome.model.local), outcome.model.num_users
    randomizing, both = estimate.standard_error, estimate.population_error
    rows = [
        {"target": name, "errors": _row(scale, *errors), "worth": _worth(people, errors)}
        for name, *errors in zip(estimate.target, sampling, randomizing, both, strict=True)
    ]
    context = {
        "bars": _bars(scale, sampling, randomizing, both),
        "rows": rows,
        "noun": scale.noun,
        "unknown": _why_unknown(outcome) if (sampling <= 0).any() else "",
        "folded": len(rows) > _MOST_OPEN,
        "errors_in": scale.unit_of_errors,
        "people": count(people),
        "worth": _worth(people, (_typical(sampling), _typical(randomizing), _typical(both))),
    }
    return Section(name="errors", title="The price of privacy", context=context)


def _why_unknown(outcome: Outcome) -> str:
    """Why a sampling error is estimated as zero."""
    if isinstance(outcome.model.local, MeanModel):
        return "the reports differ no more than randomizing makes them"
    return "the estimate lies at or beyond an end of its range"


def _row(scale: Scale, sampling: float, randomizing: float, both: float) -> list[str]:
    """Errors as text; a sampling error that is estimated as zero is not known to be zero, and neither is the sum."""
    if sampling <= 0:
        return [UNKNOWN, scale.text(randomizing, unit=False), UNKNOWN]
    return [scale.text(each, unit=False) for each in (sampling, randomizing, both)]


def effective_size(people: int, sampling: float, both: float) -> float:
    """Of how many people, asked without randomizing, a sample would err as much: the variance falls as 1/n."""
    return people * (sampling / both) ** 2 if both > 0 else float(people)


def _worth(people: int, errors: "tuple[float, ...] | list[float]") -> str | None:
    """The effective size in words; None where the sampling error is estimated as zero, so that nothing can be said."""
    sampling, _, both = errors
    return count(max(round(effective_size(people, float(sampling), float(both))), 1)) if sampling > 0 else None


def _typical(errors: NDArray[np.float64]) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def _bars(
    scale: Scale, sampling: NDArray[np.float64], randomizing: NDArray[np.float64], both: NDArray[np.float64]
) -> list[Bar]:
    named = (
        ("Asking a sample", "the error of a survey without randomizing", sampling, "sampling"),
        ("Randomizing", "the error that privacy adds", randomizing, "randomizing"),
        ("Both together", "the error of this release, for the whole population", both, "both"),
    )
    longest = _typical(both) or 1.0
    return [
        Bar(
            name=name,
            note=note,
            error=scale.text(_typical(errors), unit=False),
            length=f"{100 * _typical(errors) / longest:.1f}",
            style=style,
        )
        for name, note, errors, style in (named if sampling.any() else named[1:2])  # else nothing is known of it
    ]
