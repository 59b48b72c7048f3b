"""Sharpened estimates by place, in words: for the people of wide cells, beside estimates for the slots."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shuffledp.core.estimates import Estimate
from shuffledp.documents.blocks import PAGE, Block, Cell, Column, Picture, Role, Table, Text
from shuffledp.documents.charts.place_charts import folded, place_name, rows_chart, target_drawn
from shuffledp.documents.words import Scale, count
from shuffledp.protocols.d_sigma.survey.regional_result import Sharpened


def sharpened_blocks(
    sharpened: Sharpened, scale: Scale, what: str, overall: Estimate, drawn: Sequence[int]
) -> Iterable[Block]:
    """Text, chart and table of the sharpened estimates, or the reason for their absence; nothing without blur.

    Args:
        sharpened: the estimates.
        scale: of their numbers.
        what: name of the column.
        overall: estimates for everybody.
        drawn: numbers of the targets that are drawn.
    """
    if sharpened.obstacle:
        yield Text(sharpened.obstacle, Role.NOTE, on=PAGE)
    estimate = sharpened.estimate
    if estimate is None:
        return
    cells, targets = len(sharpened.people), len(estimate.target) // len(sharpened.people)
    yield Text(
        "The estimates above are of what lies in a place\u2019s slots. How the shuffle smooths is public, and can be "
        f"undone for wider cells: here {cells} of at least two mean displacements, made of places that follow each "
        f"other. Sharpened estimates of {what} are about the people of a cell themselves. Their intervals are wider "
        "for it, are not cut at the ends of what is possible, and cover where it is chance who of a cell\u2019s people "
        "lands where; otherwise there is an error that no interval shows.",
        on=PAGE,
    )
    panels = [
        target_drawn(
            target,
            estimate,
            overall,
            scale,
            what,
            people=sharpened.people,
            unshuffled_error=estimate.standard_error,
        )
        for target in drawn
    ]
    chart = rows_chart(panels, f"{what}, sharpened", _about_rows(estimate))
    yield Picture(replace(chart, name="sharpened"), has_files=False, on=PAGE)
    heads = ("Place", "People", scale.noun, "In the slots", "Sharpened", "From", "To")
    numbers = zip(
        estimate.where or (),
        estimate.target,
        sharpened.displaced.tolist(),
        estimate.estimate.tolist(),
        estimate.lower.tolist(),
        estimate.upper.tolist(),
        strict=True,
    )
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            place_name(place),
            count(int(sharpened.people[row // targets])),
            target,
            scale.text(seen),
            Cell(text=scale.text(found), bold=True),
            scale.text(low),
            scale.text(high),
        )
        for row, (place, target, seen, found, low, high) in enumerate(numbers)
    )
    caption = f"Sharpened estimates by place, with {estimate.level * 100:.4g}% intervals"
    yield folded(
        Table(caption, tuple(map(Column, heads)), rows, label="Sharpened estimates"), "cells", "statement.json"
    )


def _about_rows(estimate: Estimate) -> str:
    """Sentences on the rows of the chart, and on the coordinates that name them."""
    said = "Each row is about the people of a cell, the highest estimate first."
    coordinates = [key for key, value in (estimate.where or ({},))[0].items() if isinstance(value, float)]
    if len(coordinates) < 2 or coordinates[0].endswith(" from"):
        return said
    return f"{said} Its name is {' and '.join(coordinates)} of the cell\u2019s largest place."
