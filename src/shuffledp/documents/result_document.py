"""The main results of a release in a few lines, and in one sentence to quote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from shuffledp.analyzers.exact_intervals import simultaneous
from shuffledp.core.estimates import NOT_ASKED, AskedEstimate, Estimate, is_weighted
from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Unit
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import count_of, in_digits, printable
from shuffledp.documents.blocks import PAGE, Block
from shuffledp.documents.estimate_document import scale_of
from shuffledp.documents.estimate_forms import form_of
from shuffledp.documents.words import count, listed, shortened
from shuffledp.pipeline import Release

_MOST_SHOWN, _MOST_OF_EACH = 4, 2  # rows for a single question, and for each of several
_MOST_QUOTED, _MOST_QUESTIONS = 3, 3
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Results(Block):
    """Displayed numbers, each with name and interval, and a note on omitted numbers."""

    title: str
    rows: tuple[tuple[str, str, str], ...]
    rest: str = ""


def results_of(releases: Sequence[tuple[str, Release]]) -> tuple[Results, ...]:
    """The main estimates by question: all if they are few, else the largest over all questions."""
    alone, found = len(releases) == 1, []
    for name, release, whose in map(_quoted, releases):
        estimate, (rows, are_chosen) = release.estimate, _main(release, _MOST_SHOWN if alone else _MOST_OF_EACH)
        level = f"{estimate.level * 100:.4g}% intervals"
        what = "quantile" if _quantiles_of(release) else estimate.statistic
        if crossed := form_of(estimate, scale_of(release)).columns:
            what = f"{what} of {shortened(' and '.join(crossed), _LONGEST_NAME)}"
        together = f" that hold for all {count(len(estimate.target))} together" * are_chosen
        title = (
            f"Estimated {what}, with {level}{together}"
            if alone
            else f"{shortened(name, _LONGEST_NAME)}{whose.rstrip(',')}"
        )
        left_out = len(estimate.rows() if _quantiles_of(release) else _answers(estimate)) - len(rows)
        rest = f"and {count(left_out)} more below" if left_out else ""
        if are_chosen:
            rest += f"; these are the largest, with intervals that hold for all {count(len(estimate.target))} together"
        found.append(Results(title, rows, rest, on=PAGE))
    return tuple(found)


def quote_of(
    releases: Sequence[tuple[str, Release]],
    statement: PrivacyStatement,
    *,
    source: str,
    questions: Mapping[str, str | None] = MappingProxyType({}),
) -> str:
    """A sentence with main results, promise and source; "" if the promise is withdrawn.

    The ``source`` names publisher, day and address. ``questions`` are what people were asked, by the names of the
    releases; it is quoted as they read it. Estimates that no truth can have are moved to the nearest that one can.
    """
    if statement.withdrawn or any(release.seeded for _, release in releases):
        return ""
    models = [release.model for _, release in releases]
    clauses = "; ".join(_clause(*_quoted(each), questions.get(each[0])) for each in releases[:_MOST_QUESTIONS])
    if len(releases) > _MOST_QUESTIONS:
        clauses += f"; and {count_of(len(releases) - _MOST_QUESTIONS, 'further question')}"
    levels = sorted({f"{release.estimate.level * 100:.4g}%" for _, release in releases})
    weighted = ", counted by weight" * any(is_weighted(release.estimate) for _, release in releases)
    return (
        f"Among {_who(models)}{weighted}, {clauses}, estimated with {listed(levels)} intervals and released "
        f"{_protected(statement, models)} ({source})."
    )


def _quoted(named: tuple[str, Release]) -> tuple[str, Release, str]:
    """Name of a question, its release, and a clause about the people counted; "" if everybody was asked.

    Where shares among those asked are given, they stand in the place of those of all people.
    """
    name, release = named
    estimate = release.estimate
    if NOT_ASKED not in estimate.target:
        return name, release, ""
    if _quantiles_of(release):
        return name, release, " among those who answered"
    if isinstance(estimate, AskedEstimate) and estimate.among_asked is not None:
        return name, replace(release, estimate=estimate.among_asked), " among those asked"
    return name, release, " of all people, asked or not,"


def _answers(estimate: Estimate) -> list[int]:
    """Indices of the rows about answers, without the row of people who were not asked."""
    return [place for place, name in enumerate(estimate.target) if name != NOT_ASKED]


def _main(release: Release, most: int, *, quoted: bool = False) -> tuple[tuple[tuple[str, str, str], ...], bool]:
    """Name, value and interval of each main row, and whether rows were chosen by size.

    All rows if they are few, else the largest.

    A value that is ``quoted`` is the possible one nearest to the estimate.
    What its size has chosen has intervals that hold for all rows together; where these are not known, the first rows
    are taken in their order. Of a histogram those of its quantiles.
    """
    estimate, scale, quantiles = release.estimate, scale_of(release), _quantiles_of(release)
    if quantiles:
        return tuple((f"{share} below".capitalize(), value, ends) for share, value, ends in quantiles[:most]), False
    places, together = _answers(estimate), None
    if len(places) > most:
        together = simultaneous(estimate, release.model.local)
    if together is not None:
        size = estimate.estimate if scale.is_share else np.abs(estimate.estimate)
        estimate, places = together, [place for place in np.argsort(-size, kind="stable").tolist() if place in places]
    values = estimate.nearest if quoted else estimate.estimate
    rows = tuple(
        (
            shortened(estimate.target[place] if len(places) > 1 else estimate.statistic, _LONGEST_NAME),
            scale.text(values[place]),
            f"{scale.text(estimate.lower[place])} to {scale.text(estimate.upper[place])}",
        )
        for place in places[:most]
    )
    return rows, together is not None


def _quantiles_of(release: Release) -> list[tuple[str, str, str]]:
    """The quantiles of a histogram; empty for other estimates."""
    return form_of(release.estimate, scale_of(release)).quantiles


def _who(models: Sequence[ProtocolModel]) -> str:
    """Number of people who answered, and a note if some may be fake."""
    most = max(model.num_senders for model in models)
    fewest = min(model.num_senders for model in models)
    people = count_of(most, "person", "people") if fewest == most else f"{count(fewest)} to {count(most)} people"
    fakes = max(model.fakes for model in models)
    return f"{people}, of whom up to {count(fakes)} may be fake" if fakes else people


def _clause(name: str, release: Release, whose: str, question: str | None) -> str:
    """Clause with the estimates of one question; ``whose`` names the people they are about, or is ""."""
    estimate, about = release.estimate, shortened(name, _LONGEST_NAME)
    answers = about if question is None else f'the answers to "{printable(question)}"'
    asked = about if question is None else f'the question "{printable(question)}"'
    if quantiles := _quantiles_of(release):
        shares = [f"{share} are below {value} ({interval})" for share, value, interval in quantiles[:_MOST_QUOTED]]
        return f"{listed(shares)}{f' in {answers}' * bool(answers)}{whose}"
    rows, are_chosen = _main(release, _MOST_QUOTED, quoted=True)
    is_moved = rows != _main(release, _MOST_QUOTED)[0]
    scale = scale_of(release)
    moved = f" (an estimate outside {scale.range} is quoted as the nearer end)" * is_moved
    if scale.is_share:
        shares = [f"{value} ({interval})" for _, value, interval in rows]
        said = [f"{whose} answered ".lstrip(), *[""] * (len(rows) - 1)]
        answered = listed([f'{share} {word}"{row[0]}"' for share, word, row in zip(shares, said, rows, strict=True)])
        most, number = "", count(len(_answers(estimate)))
        if are_chosen:
            most = f", the most frequent of {number} answers, with intervals that hold for all {number} together"
        elif len(rows) < len(_answers(estimate)):
            most = f", the first of {number} answers"
        return f"{answered}{f' to {asked}' * bool(asked)}{most}{moved}"
    what = f"the {estimate.statistic}{f' of {answers}' * bool(answers)}"
    if len(estimate.target) > 1:
        return f"{what} was estimated in {count(len(estimate.target))} coordinates"
    ((_, value, interval),) = rows
    return f"{what} is {value} ({interval}){moved}"


def _protected(statement: PrivacyStatement, models: Sequence[ProtocolModel]) -> str:
    """The mechanisms and the promise, as a clause."""
    named = [*(model.local.kind for model in models), *(model.shuffle.in_words for model in models)]
    ways = listed(list(dict.fromkeys(named)))
    guarantee = statement.guarantee
    if guarantee.is_trivial or not isinstance(guarantee, DifferentialPrivacy):
        return f"by {ways} without a promise of privacy"
    epsilon, delta = (in_digits(each, statement.kind.relation) for each in (guarantee.epsilon, guarantee.delta))
    unit = " per report" * (statement.unit is Unit.REPORT)
    return (
        f"by {ways} with differential privacy{unit} of epsilon {epsilon} and delta {delta} under the stated conditions"
    )
