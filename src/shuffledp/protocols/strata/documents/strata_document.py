"""Estimates by region after a shuffle inside strata, and the cost of weights, in words."""

import math
from collections.abc import Iterable

import numpy as np

from shuffledp.core.estimates import Estimate
from shuffledp.core.table import Integers
from shuffledp.core.text import count_of, in_digits, printable
from shuffledp.documents.blocks import (
    DETAIL,
    PAGE,
    TERMINAL,
    Block,
    Column,
    Fold,
    Picture,
    Role,
    Table,
    Text,
    told,
)
from shuffledp.documents.charts.estimate_charts import MOST_DRAWN
from shuffledp.documents.charts.place_charts import every_place, folded, place_name, rows_chart, target_drawn
from shuffledp.documents.document import Place, Section
from shuffledp.documents.estimate_document import scale_of
from shuffledp.documents.family_document import FamilyDocument
from shuffledp.documents.words import Scale, count, number, shortened, wide_intervals
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel
from shuffledp.protocols.strata.survey.stratified_section import StrataPlan, StratifiedResult, StratifiedSection
from shuffledp.survey import ColumnOutcome, Plan

_ON_TERMINAL, _ROWS_ON_TERMINAL = 12, 48  # regions, and regions times answers
_MOST_DRAWN = 96  # regions times answers
_LONGEST_NAME, _LONGEST_ANSWER = 20, 18


class StrataDocument(FamilyDocument):
    """Parts of pages about regions and strata."""

    def release_sections(self, outcome: ColumnOutcome) -> Iterable[Section | None]:
        """Sections on the estimates by region, and on the strata."""
        return strata_sections(outcome)

    def plan_sections(self, plan: Plan) -> Iterable[Section]:
        """Section on the strata of an input, or on the smallest possible stratum."""
        if isinstance(plan.of_shuffle, StrataPlan) and isinstance(plan.task.shuffler, StratifiedSection):
            yield strata_plan_section(plan.of_shuffle, plan.task.shuffler, plan.num_users)

    def stratum(self, plan: Plan) -> str:
        """Name of one stratum by its columns."""
        return plan.task.shuffler.words if isinstance(plan.task.shuffler, StratifiedSection) else ""


def strata_sections(outcome: ColumnOutcome) -> Iterable[Section]:
    """Sections on the estimates by region and on the strata; none for other shuffles."""
    stratified, shuffle = outcome.shuffle_result, outcome.model.shuffle
    if not isinstance(stratified, StratifiedResult) or not isinstance(shuffle, StratifiedShuffleModel):
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
    """Section on the strata of an input, or on the smallest possible stratum, with expected errors.

    With an input and regions, errors in the smallest region are a multiple of the errors for all people.
    """
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
    """Words for the number of strata, and for the number of people who hide each other in a stratum."""
    sizes = count_of(smallest, "person", "people")
    if smallest < largest:
        sizes = f"{count(smallest)} to {count(largest)} people"
    strata = count_of(num_strata, "stratum", "strata")
    return (
        f"Each {section.words} is shuffled by itself: {strata} of {sizes}. The promise is that of the smallest; nobody "
        "has a weaker one."
    )


def _classes(section: StratifiedSection) -> str:
    """Words for the weighting of people; "" without weights."""
    if section.weight is None:
        return ""
    inside = "" if section.by is None else f" of a {printable(section.by)}"
    return (
        f"Everybody counts by {printable(section.weight)}, rounded to the mean of a class, of which there are at most "
        f"{section.weight_classes}{inside}."
    )


def _rounded(section: StratifiedSection, rounding: float, effect: float) -> str:
    """Words for the effects of rounded and unequal weights; "" without weights."""
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


def _regions(outcome: ColumnOutcome, stratified: StratifiedResult, estimate: Estimate) -> Section:
    """Section of all answers in all regions, as charts and rows; if too many, of a selection.

    The selection does not depend on estimates.
    """
    name, scale = printable(str(stratified.section.by)), scale_of(outcome.release)
    people, overall, label = stratified.people, outcome.release.estimate, outcome.column.label
    targets, drawn_regions = len(overall.target), min(len(people), MOST_DRAWN)
    panels = [
        target_drawn(target, estimate, overall, scale, label, people=people, unshuffled_error=estimate.standard_error)
        for target in range(min(targets, max(1, _MOST_DRAWN // drawn_regions)))
    ]
    title = f"{panels[0].title if targets == 1 else f'{label}, {panels[0].measure}'}, by {name}"
    left_out = _left_out(targets, len(panels), len(people), drawn_regions, "the table has all")
    reading = (
        f"What people in each {name} answered. Each interval by itself covers the truth about these people in about "
        f"{estimate.level * 100:.4g}% of all runs."
    )
    blocks = (
        *told(wide_intervals(estimate), role=Role.DANGER),
        *_on_terminal(estimate, people, label, name, scale),
        *told(reading, on=PAGE),
        *told(scale.beyond(estimate) if scale.is_share else ""),
        Picture(rows_chart(panels, title, left_out), on=PAGE),
        every_place(estimate, people, scale, name),
    )
    return Section(anchor="regions", title=f"Estimates by {name}", blocks=blocks, place=Place.RESULTS)


def _left_out(targets: int, shown: int, regions: int, shown_regions: int, where: str) -> str:
    """Note on the shown answers and regions if some are left out; "" if all are shown.

    The choice does not depend on estimates.
    """
    found = []
    if shown < targets:
        found.append(f"the first {count(shown)} of {count(targets)} answers as the task orders them")
    if shown_regions < regions:
        found.append(f"the {count(shown_regions)} of {count(regions)} regions with most people")
    return f"Shown are {' in '.join(found)}; {where}." if found else ""


def _on_terminal(estimate: Estimate, people: Integers, label: str, name: str, scale: Scale) -> Iterable[Block]:
    """Lines on each answer in each region; if too many, the first answers in the largest regions."""
    targets = len(estimate.target) // len(people)
    places = sorted(np.argsort(-people, kind="stable")[:_ON_TERMINAL].tolist())
    answers = range(min(targets, max(1, _ROWS_ON_TERMINAL // len(places))))
    rows = [
        (
            shortened(estimate.target[row], _LONGEST_ANSWER),
            shortened(place_name((estimate.where or ())[row]), _LONGEST_NAME),
            count(int(people[place])),
            scale.plain(estimate.estimate[row]),
            f"{scale.plain(estimate.lower[row])} to {scale.plain(estimate.upper[row])}",
        )
        for answer in answers
        for place in places
        for row in [place * targets + answer]
    ]
    yield Text(f"{label}, {'share of people' if scale.is_share else 'mean'}, by {name}", Role.SUBHEADING, on=TERMINAL)
    heads = (Column(scale.noun.lower(), left=True), Column(name, left=True), Column("people"), Column("estimate"))
    columns = (*heads, Column(f"{estimate.level * 100:.4g}% interval"))
    first = int(targets == 1)  # a single quantity is named above
    yield Table("", columns[first:], tuple(row[first:] for row in rows), on=TERMINAL)
    left_out = _left_out(targets, len(answers), len(people), len(places), "estimates.csv has all")
    yield from told(left_out, on=TERMINAL)


def _every_stratum(stratified: StratifiedResult) -> Fold:
    """Folded table with the public data and number of people of each stratum."""
    columns = [stratified.table[name].tolist() for name in stratified.section.made_from.columns]
    rows = [
        (*(number(value) if isinstance(value, float) else printable(value) for value in row), count(size))
        for size, *row in zip(stratified.sizes, *columns, strict=True)
    ]
    heads = tuple(Column(printable(name)) for name in (*stratified.section.made_from.columns, "People"))
    table = Table("The strata, with what is public of each", heads, tuple(rows), label="Strata")
    return folded(table, "strata", "statement.json")
