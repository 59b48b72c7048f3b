"""Estimates in words and numbers: the table, the meaning of intervals, and the sources of error."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import MeanModel
from shuffledp.core.sum_models import SumModel
from shuffledp.core.text import count_of
from shuffledp.documents.blocks import (
    DETAIL,
    PAGE,
    TERMINAL,
    Bar,
    Bars,
    Block,
    Cell,
    Column,
    Fold,
    Picture,
    Role,
    Table,
    Text,
    told,
)
from shuffledp.documents.document import Document, Place, Section
from shuffledp.documents.estimate_forms import form_of
from shuffledp.documents.follow_up_document import among_on_page, among_on_terminal
from shuffledp.documents.open_answers_document import may_be_missing, word_sentences
from shuffledp.documents.words import NO_CURATOR, NOTHING, Scale, count, number, small_sample, wide_intervals
from shuffledp.pipeline import Release
from shuffledp.planning.mechanism_choice import error_through
from shuffledp.survey import ColumnOutcome

_MOST_ROWS = 12  # on a terminal
_LONGEST_NAME = 20
_RANDOMIZED = "every answer is randomized by itself"
_DRAWN = ("Standard error", "Drawn")


def estimates_section(outcome: ColumnOutcome) -> Section:
    """Section with the meaning, picture and table of the estimates; on a terminal only the first rows."""
    blocks = (
        *told(wide_intervals(outcome.release.estimate), role=Role.DANGER),
        Text(" ".join(_sentences(outcome, scale_of(outcome.release))), on=PAGE),
        *drawn_estimates(outcome.release, outcome.column.value),
        *among_on_page(outcome, name="among-asked"),
        *_on_terminal(outcome),
        *among_on_terminal(outcome),
    )
    return Section(anchor="estimates", title="Estimates", blocks=blocks, place=Place.RESULTS)


def estimate_document(estimate: Estimate) -> Document:
    """Document of an estimate by itself."""
    tables = tuple(_table(each, Scale.of(each), "") for each in (estimate, *estimate.derived))
    return Document(sections=(Section(anchor="estimates", title="", blocks=tables),))


def scale_of(release: Release) -> Scale:
    """Scale of the numbers of a release."""
    return Scale.of(release.estimate, release.model.local)


def drawn_estimates(
    release: Release, column: str, *, name: str = "estimates", alone: bool = True, whose: str = ""
) -> tuple[Block, ...]:
    """Picture or cross table of the estimates, shown before all tables; pictures of bins and cells are folded.

    Beside others, where a release is not ``alone``, longer tables are folded too, and no picture is written as a file.
    """
    estimate, scale, tables = release.estimate, scale_of(release), estimates_tables(release, whose)
    folded: tuple[Block, ...] = (Fold(f"All {len(estimate.rows())} estimates as a table", tables, on=PAGE),)
    form = form_of(estimate, scale)
    chart = form.chart(column, name=name, model=release.model.local)
    drawn = () if chart is None else (Picture(chart, has_files=alone, on=PAGE),)
    unfolded = not form.is_folded and (alone or len(estimate.target) <= _MOST_ROWS)
    return (*form.on_page(), *drawn, *(tables if unfolded else folded))


def estimates_tables(release: Release, whose: str = "") -> tuple[Table, ...]:
    """Every estimate with its interval and its standard error; one table for each statistic."""
    local = release.model.local
    return tuple(_table(each, Scale.of(each, local), whose) for each in (release.estimate, *release.estimate.derived))


def _table(estimate: Estimate, scale: Scale, whose: str) -> Table:
    errors_in = f"; standard errors in {scale.unit_of_errors}" if scale.unit_of_errors else ""
    heads = (scale.noun, "Estimate", "From", "To", "Standard error")
    columns = (estimate.estimate, estimate.lower, estimate.upper, estimate.standard_error)
    rows = tuple(
        (
            name,
            Cell(text=scale.text(middle), bold=True),
            scale.text(lower),
            scale.text(upper),
            scale.text(error, unit=False),
        )
        for name, middle, lower, upper, error in zip(estimate.names, *columns, strict=True)
    )
    return Table(
        f"Estimated {estimate.statistic}, with {estimate.level * 100:.4g}% intervals{errors_in}",
        tuple(map(Column, heads)),
        rows,
        label=f"Table of estimates{whose}",
        on=PAGE,
    )


def _on_terminal(outcome: ColumnOutcome) -> Iterable[Block]:
    """Blocks for a terminal: the first rows with notes; errors, and all rows of bins and cells, as details."""
    estimate, scale = outcome.release.estimate, scale_of(outcome.release)
    arranged = form_of(estimate, scale).on_terminal()
    yield from arranged or ()
    sampled = not isinstance(outcome.model.local, SumModel)  # sums have no sampling error
    columns = [
        Column(estimate.statistic, left=True),
        Column("estimate"),
        Column(f"{estimate.level:.0%} interval"),
        Column("standard error", detail=True),
        *([Column("sampling alone", detail=True)] if sampled else []),
    ]
    rows = []
    for row in estimate.rows()[: min(_MOST_ROWS, len(estimate.target))]:
        error, sampling = (scale.plain(row[name] or 0.0, unit=False) for name in ("standard_error", "sampling_error"))
        cells = (
            name if len(name := row["target"]) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}...",
            scale.plain(row["estimate"]),
            f"{scale.plain(row['lower'])} to {scale.plain(row['upper'])}",
            error,
            sampling if row["sampling_error"] else "-",
        )
        rows.append(cells[: len(columns)])
    medium = TERMINAL if arranged is None else DETAIL
    yield Table("", tuple(columns), tuple(rows), on=medium)
    left_out = len(estimate.target) - _MOST_ROWS
    yield from told(f"... and {left_out} more in estimates.csv" if left_out > 0 else "", on=medium)
    about = "Intervals and standard errors are for these people; sampling adds to them for a population."
    unknown = why_unsampled(outcome.release)
    why = f"{'-: ' if sampled else 'Note: '}{unknown}." if unknown else ""
    yield from told(may_be_missing(outcome), few_people(outcome), outcome.column.randomizer.clipping, on=TERMINAL)
    yield from told(scale.beyond(estimate), on=DETAIL)
    yield from told(about, why, on=DETAIL)


def few_people(outcome: ColumnOutcome) -> str:
    """A warning about results of few people; "" if there are enough."""
    column, people = outcome.column, outcome.model.num_senders
    error = error_through(column.randomizer.expected_error(people), outcome.model.shuffle)
    return small_sample(column, people, error, outcome.release.estimate)


def why_unsampled(release: Release) -> str:
    """The reason why a sampling error is not shown; "" if all are shown."""
    sampling, local = release.estimate.sampling_error, release.model.local
    if isinstance(local, SumModel):
        return "how much another sample of people would differ is not known, since sums tell nothing of it"
    if sampling is None:
        return "reports like these cannot tell sampling from randomizing; the standard error covers both"
    if (sampling > 0).all():
        return ""
    if isinstance(local, MeanModel):
        reason = "the reports differ no more than randomizing makes them"
    else:
        reason = "the estimate lies at or beyond an end of its range"
    return f"{reason}, so that this error cannot be estimated; it need not be zero"


def _sentences(outcome: ColumnOutcome, scale: Scale) -> Iterable[str]:
    """Sentences on the meaning of the intervals and of the estimates."""
    estimate, local = outcome.release.estimate, outcome.model.local
    which = "Each interval by itself covers" if len(estimate.target) > 1 else "The interval covers"
    covers = f"{which} the truth about these people in about {estimate.level * 100:.4g}% of all runs."
    words = list(word_sentences(outcome))
    found = [few_people(outcome), *(words or [covers])]
    if estimate.sampling_error is None and isinstance(local, MeanModel):
        found.append(
            "It covers it more often than that where people's values differ: reports like these cannot tell "
            "differences between people from randomizing, so both are in the standard error. It is thus also the error "
            "for a large population that these people are a random sample of."
        )
    found.append(clipping_of(outcome))
    if estimate.covariance is not None and not estimate.is_correlated:
        found.append("The errors that randomizing adds to different coordinates are uncorrelated.")
    found.append(scale.beyond(estimate))
    return filter(None, found)


def clipping_of(outcome: ColumnOutcome) -> str:
    """A sentence on what a mean estimates if answers are clipped; "" otherwise."""
    section = outcome.column.randomizer
    if not section.clips:
        return ""
    return (
        f"{section.clipping.rstrip('.')}: the truth meant here is the {outcome.release.estimate.statistic} of the "
        "answers after that, not of the answers as they were given."
    )


def errors_section(release: Release) -> Section | None:
    """Section on typical errors, and the open survey of equal accuracy; None without a sampling error."""
    estimate = release.estimate
    sampling = estimate.sampling_error
    if sampling is None:
        return None
    people, errors_in = release.model.num_senders, scale_of(release).unit_of_errors
    kinds = (sampling, estimate.standard_error, estimate.population_error)
    worth = _worth(people, [_typical(each) for each in kinds])
    lead = (
        f"For the population behind these {count(people)} people, this release is worth a survey of {worth} people who "
        "answer openly."
    )
    shown_in = f", in {errors_in}" if errors_in else ""
    caption = f"Typical standard error of an estimate{shown_in}"
    blocks = (
        *((Text(lead, Role.LEAD, bold=(f" {worth} ",), on=PAGE),) if worth else ()),
        Bars(caption, ("Source", *_DRAWN), tuple(_bars(release, kinds)), on=PAGE),
        *_every_error(release, kinds),
    )
    return Section(anchor="errors", title="The price of privacy", blocks=blocks)


def _every_error(release: Release, kinds: tuple[NDArray[np.float64], ...]) -> tuple[Fold, ...]:
    """Folded table of each row's errors and equivalent survey size; empty if all rows have the same errors."""
    scale, estimate = scale_of(release), release.estimate
    rows = []
    for name, *errors in zip(estimate.target, *kinds, strict=True):
        shown = [scale.text(each, unit=False) for each in errors]
        if errors[0] <= 0:  # an error estimated as zero may be larger, and so may the sum
            shown[0] = shown[2] = NOTHING
        rows.append((name, *shown, _worth(release.model.num_senders, errors) or NOTHING))
    unknown = why_unsampled(release)
    if not unknown and len({row[1:] for row in rows}) == 1:
        return ()
    errors_in = f" in {scale.unit_of_errors}" if scale.unit_of_errors else ""
    heads = tuple(map(Column, (scale.noun, "Sampling", "Randomizing", "Both", "Worth")))
    each = f"or each {scale.noun.lower()}"
    caption = f"Standard errors{errors_in}, and the open survey that errs as much"
    table = Table(caption, heads, tuple(rows), label=f"Errors f{each}")
    why = told(f"{NOTHING}: {unknown}." if unknown else "", role=Role.NOTE)
    return (Fold(f"F{each}", (table, *why), on=PAGE),)


def effective_size(people: int, sampling: float, both: float) -> float:
    """Size of an unrandomized sample with an equal error, since variances fall as 1/n."""
    return people * (sampling / both) ** 2 if both > 0 else float(people)


def _worth(people: int, errors: "list[float]") -> str:
    """Size of an equally accurate open survey, in words; "" if the sampling error is estimated as 0."""
    sampling, _, both = errors
    return count(max(round(effective_size(people, float(sampling), float(both))), 1)) if sampling > 0 else ""


def _typical(errors: NDArray[np.float64]) -> float:
    """Root mean square of the errors."""
    return float(np.sqrt(np.mean(np.square(errors))))


def _bars(release: Release, kinds: tuple[NDArray[np.float64], ...]) -> Iterable[Bar]:
    named = (
        ("Sampling", "as without randomizing", "sampling"),
        ("Randomizing", "all there is for these people alone", "randomizing"),
        ("Both together", "for the population they are a sample of", "both"),
    )
    scale, longest = scale_of(release), _typical(kinds[2]) or 1.0
    for (name, note, style), errors in zip(named, kinds, strict=True):
        if kinds[0].any() or style == "randomizing":  # otherwise the sampling error is unknown
            value, length = scale.text(_typical(errors), unit=False), 100 * _typical(errors) / longest
            yield Bar(name=name, note=note, value=value, length=length, style=style)


def beside_section(outcome: ColumnOutcome) -> Section | None:
    """Section that compares the error with other methods at the same loss; None without a trusted curator."""
    section, people = outcome.column.randomizer, outcome.model.num_senders
    curator = outcome.column.curator(outcome.model, outcome.release.statements[0])
    if curator is None:
        why = told(NO_CURATOR * (outcome.column.shuffler.is_weighted), on=PAGE)
        return Section(anchor="beside", title="Beside other ways", blocks=why) if why else None
    local, errors_of = outcome.model.local, outcome.release.estimate.standard_error
    summed = local if isinstance(local, SumModel) else None
    own, scale = float(errors_of.max()) if summed else _typical(errors_of), scale_of(outcome.release)
    unshuffled = section.local_errors(people)
    central, trusted = curator.standard_error, f"who sees all answers and adds {curator.mechanism} of the same epsilon"
    errors = [
        ("This release", summed.treated if summed else _RANDOMIZED, own, "randomizing"),
        ("A trusted curator", f"{trusted} and delta", central, "sampling"),
        *((kind, "without any shuffler, each person with epsilon0 = epsilon", error, "both")
          for kind, error in sorted(unshuffled.items(), key=lambda item: item[1])),
    ]  # fmt: skip
    longest = max(error for _, _, error, _ in errors)
    bars = tuple(
        Bar(name=name, note=note, value=number(scale.factor * error), length=100 * error / longest, style=style)
        for name, note, error, style in errors
    )
    ratio, times = number(own / central), number(min(unshuffled.values()) / own) if unshuffled else ""
    others = f"; the best randomizer that needs no shuffler would err {times} times as much as this release"
    lead = f"The standard error is {ratio} times that of a trusted curator{others if times else ''}."
    errors_in = f", in {scale.unit_of_errors}" * bool(scale.unit_of_errors)
    caption = f"Standard errors for these {count_of(people, 'person', 'people')}, with the same epsilon{errors_in}"
    price = f"{summed.price} A randomizer on the device protects them in any case." if summed else ""
    blocks = (
        Text(lead, Role.LEAD, bold=(f" {ratio} ", f" {times} ") if times else (f" {ratio} ",), on=PAGE),
        Bars(caption, ("Way", *_DRAWN), bars, on=PAGE),
        *told(price, on=PAGE),
    )
    return Section(anchor="beside", title="Beside other ways", blocks=blocks)
