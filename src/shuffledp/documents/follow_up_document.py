"""Questions that are asked of some people only, in words: who is asked, and the shares among them."""

from collections.abc import Iterable

from shuffledp.core.estimates import AskedEstimate
from shuffledp.core.text import printable
from shuffledp.documents.blocks import PAGE, TERMINAL, Block, Column, Picture, Table, told
from shuffledp.documents.charts.estimate_charts import rows_chart
from shuffledp.documents.words import Scale
from shuffledp.survey import Column as PrivateColumn
from shuffledp.survey import ColumnOutcome

_MOST_ROWS = 12  # on a terminal
_HALF = 0.5


def asked_after(column: PrivateColumn) -> str:
    """Sentence on who is asked and what others send; "" where everybody is asked."""
    after = column.after
    if after is None:
        return ""
    return (
        f'Asked only after "{printable(after.column)} = {printable(after.answer)}": others send "(not asked)", '
        "randomized like any answer, and no report shows whether its sender was asked."
    )


def asked_in_plan(column: PrivateColumn, standard_error: float) -> Iterable[Block]:
    """Sentences of a plan on shares among the people asked; none if everybody is asked."""
    if column.after is None:
        return ()
    return told(
        f"{asked_after(column)} Among those asked shares err by about {standard_error / _HALF:.3g} if half of all "
        "people are, and are given only if more than minimum_batch = "
        f"{column.release.minimum_batch:,} are, by the estimate: where fewer will be asked, take a minimum_batch below "
        "their number."
    )


def why_not_among(outcome: ColumnOutcome) -> str:
    """Reason why shares among the people asked are not given; "" otherwise."""
    estimate = outcome.release.estimate
    if outcome.column.after is None or (isinstance(estimate, AskedEstimate) and estimate.among_asked is not None):
        return ""
    return (
        "Shares among those asked are not given: by the estimate, no more than minimum_batch = "
        f"{outcome.column.release.minimum_batch:,} people were asked."
    )


def among_on_page(outcome: ColumnOutcome, *, name: str) -> Iterable[Block]:
    """Picture of the shares among the people asked, and who they are; none if everybody was asked."""
    estimate = outcome.release.estimate
    yield from told(asked_after(outcome.column), why_not_among(outcome), on=PAGE)
    if isinstance(estimate, AskedEstimate) and estimate.among_asked is not None:
        among = estimate.among_asked
        chart = rows_chart(among, Scale.of(among), outcome.column.value, name=name)
        yield Picture(chart, has_files=False, on=PAGE)


def among_on_terminal(outcome: ColumnOutcome) -> Iterable[Block]:
    """Table of the shares among the people asked; none if everybody was asked."""
    estimate = outcome.release.estimate
    if isinstance(estimate, AskedEstimate) and estimate.among_asked is not None:
        among = estimate.among_asked
        scale, rows = Scale.of(among), zip(among.target, among.estimate, among.lower, among.upper, strict=True)
        heads = (Column("among those asked", left=True), Column("estimate"), Column(f"{among.level:.0%} interval"))
        shown = (
            (name, scale.plain(middle), f"{scale.plain(low)} to {scale.plain(up)}") for name, middle, low, up in rows
        )
        yield Table("", heads, tuple(shown)[:_MOST_ROWS], on=TERMINAL)
    yield from told(why_not_among(outcome), on=TERMINAL)
