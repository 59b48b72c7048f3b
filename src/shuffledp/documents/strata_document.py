"""What a shuffle inside strata lets one learn of regions, and what weights cost, in words."""

import math
from collections.abc import Iterable

import numpy as np

from shuffledp.core.estimates import Estimate
from shuffledp.core.table import Integers
from shuffledp.core.text import count_of, in_digits, printable
from shuffledp.documents.document import (
    DETAIL,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Column,
    Fold,
    Picture,
    Place,
    Role,
    Section,
    Table,
    Text,
    told,
)
from shuffledp.documents.estimate_document import scale_of
from shuffledp.documents.place_charts import PlacesDrawn, most_varied, place_name, rows_chart
from shuffledp.documents.words import Scale, count, number, shortened
from shuffledp.shufflers import StratifiedShuffleModel
from shuffledp.survey import ColumnOutcome, StrataPlan, Stratified, StratifiedSection

_ON_TERMINAL = 12
_MOST_OPEN = 15
_MOST_ROWS = 400
_LONGEST_NAME = 24


def strata_sections(outcome: ColumnOutcome) -> Iterable[Section]:
    """Estimates by region, and the strata; nothing for any other shuffle."""
    stratified, shuffle = outcome.stratified, outcome.model.shuffle
    if stratified is None or not isinstance(shuffle, StratifiedShuffleModel):
        return
    if stratified.estimate is not None:
        yield _regions(outcome, stratified, stratified.estimate)
    section, sizes = stratified.section, shuffle.sizes
    blocks = (
        *told(f"{_crowds(section, min(sizes), max(sizes), len(sizes))} {_classes(section)}".rstrip()),
        *told(_rounded(section, shuffle.rounding, shuffle.design_effect), on=DETAIL | PAGE),
        _every_stratum(stratified),
    )
    yield Section(anchor="strata", title="Strata", blocks=blocks)


def strata_plan_section(plan: StrataPlan, section: StratifiedSection, num_users: int) -> Section:
    """The strata of an input, or the smallest that there may be, and how far regions err."""
    if plan.largest is None or plan.num_strata is None or plan.fewest is None:
        said = [
            f"Each {section.words} is shuffled by itself. What is stated here is for a smallest stratum of "
            f"{count_of(plan.smallest, 'person', 'people')}, the minimum_batch: with fewer in any stratum nothing is "
            "released. --input FILE says which strata there are.",
            "Weights that differ make errors larger than what is said below." * (section.weight is not None),
        ]
    else:
        times = in_digits(math.sqrt(num_users / plan.fewest), "", digits=2)
        said = [
            f"{_crowds(section, plan.smallest, plan.largest, plan.num_strata)} {_classes(section)}".rstrip(),
            _rounded(section, plan.rounding or 0.0, plan.design_effect or 1.0),
        ]
        if section.by is not None:
            fewest = f"In the smallest {printable(section.by)}, of {count_of(plan.fewest, 'person', 'people')},"
            said.append(f"{fewest} errors are about {times} times those of everybody below.")
    return Section(anchor="strata", title="Strata", blocks=told(*said))


def _crowds(section: StratifiedSection, smallest: int, largest: int, num_strata: int) -> str:
    """Inside what reports are shuffled, and how many people hide each other there."""
    sizes = count_of(smallest, "person", "people")
    if smallest < largest:
        sizes = f"{count(smallest)} to {count(largest)} people"
    strata = count_of(num_strata, "stratum", "strata")
    return (
        f"Each {section.words} is shuffled by itself: {strata} of {sizes}. The promise is that of the smallest; nobody "
        "has a weaker one."
    )


def _classes(section: StratifiedSection) -> str:
    """How people are weighted; "" without weights."""
    if section.weight is None:
        return ""
    inside = "" if section.by is None else f" of a {printable(section.by)}"
    return (
        f"Everybody counts by {printable(section.weight)}, rounded to the mean of a class, of which there are at most "
        f"{section.weight_classes}{inside}."
    )


def _rounded(section: StratifiedSection, rounding: float, effect: float) -> str:
    """What rounding weights may change, and what unequal ones cost; "" without weights."""
    if section.weight is None:
        return ""
    moved, cost = in_digits(100 * rounding, "at most", digits=2), in_digits(effect, "", digits=3)
    changes = (
        f"Rounding moves {moved}% of the weight at most between people: no share changes by more than that many "
        "percentage points, and by none where answers do not go with weight inside the classes."
    )
    if not rounding:
        changes = "Rounding changes nobody's weight, since equal ones are in a class of their own."
    return f"{changes} Since weights differ, variances are {cost} times what they would be with equal ones."


def _regions(outcome: ColumnOutcome, stratified: Stratified, estimate: Estimate) -> Section:
    """The answer that differs most between regions, drawn and as rows, and a table of all."""
    name, scale = printable(str(stratified.section.by)), scale_of(outcome.release)
    people, errors, overall = stratified.people, estimate.standard_error, outcome.release.estimate
    drawn = most_varied(estimate, overall, scale, outcome.column.label, people=people, unshuffled_error=errors)
    several = len(outcome.column.targets) > 1
    most = (
        f"Drawn is {drawn.name}, which differs most between them in units of its errors; of equals the rarest."
        if several
        else ""
    )
    blocks = (
        *_on_terminal(drawn, name, scale),
        *told(f"What people in each {name} answered. {most}".rstrip(), on=PAGE),
        Picture(rows_chart(drawn, name), on=PAGE),
        _every_region(estimate, people, name, scale),
    )
    return Section(anchor="regions", title=f"Estimates by {name}", blocks=blocks, place=Place.RESULTS)


def _on_terminal(drawn: PlacesDrawn, name: str, scale: Scale) -> Iterable[Block]:
    """The regions from the highest estimate to the lowest, or those at both ends."""
    order, left_out = np.argsort(-drawn.estimate, kind="stable"), len(drawn.where) - _ON_TERMINAL
    half = _ON_TERMINAL // 2
    shown = order if left_out <= 0 else np.concatenate([order[:half], order[-half:]])
    rows = [
        (
            shortened(place_name(drawn.where[place]), _LONGEST_NAME),
            count(int(drawn.people[place])),
            scale.plain(drawn.estimate[place] / scale.factor),
            " to ".join(
                scale.plain((drawn.estimate[place] + side * drawn.margin[place]) / scale.factor) for side in (-1, 1)
            ),
        )
        for place in shown.tolist()
    ]
    if left_out > 0:
        rows.insert(half, (f"... {left_out:,} more", "", "", ""))
    yield Text(drawn.title, Role.SUBHEADING, on=TERMINAL)
    columns = (Column(name, left=True), Column("people"), Column("estimate"), Column(f"{drawn.level} interval"))
    yield Table("", columns, tuple(rows), on=TERMINAL)


def _every_region(estimate: Estimate, people: Integers, name: str, scale: Scale) -> Fold:
    """The estimates of all regions, or of the first of very many."""
    targets = len(estimate.target) // len(people)
    numbers = zip(estimate.where or (), estimate.target, estimate.estimate, estimate.lower, estimate.upper, strict=True)
    rows = tuple(
        (
            place_name(place),
            count(int(people[row // targets])),
            target,
            Cell(text=scale.text(value), bold=True),
            scale.text(low),
            scale.text(high),
        )
        for row, (place, target, value, low, high) in enumerate(numbers)
    )
    caption = f"Estimates by {name}, with {estimate.level * 100:.4g}% intervals"
    heads = tuple(map(Column, (name, "People", scale.noun, "Estimate", "From", "To")))
    further = f" ({count(len(rows) - _MOST_ROWS)} more in estimates.csv)" if len(rows) > _MOST_ROWS else ""
    table = Table(caption, heads, rows[:_MOST_ROWS], label=f"Estimates by {name}")
    summary = f"{'The first' if further else 'All'} {min(len(rows), _MOST_ROWS)} estimates as a table{further}"
    return Fold(summary, (table,), len(rows) <= _MOST_OPEN, on=PAGE)


def _every_stratum(stratified: Stratified) -> Fold:
    """What is public of each stratum, and its people."""
    columns = [stratified.table[name].tolist() for name in stratified.section.beside]
    rows = [
        (*(number(value) if isinstance(value, float) else printable(value) for value in row), count(size))
        for size, *row in zip(stratified.sizes, *columns, strict=True)
    ]
    heads = tuple(Column(printable(name)) for name in (*stratified.section.beside, "People"))
    further = f" ({count(len(rows) - _MOST_ROWS)} more in statement.json)" if len(rows) > _MOST_ROWS else ""
    table = Table("The strata, with what is public of each", heads, tuple(rows[:_MOST_ROWS]), label="Strata")
    summary = f"{'The first' if further else 'All'} {min(len(rows), _MOST_ROWS)} strata as a table{further}"
    return Fold(summary, (table,), len(rows) <= _MOST_OPEN, on=PAGE)
