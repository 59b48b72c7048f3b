"""Ways to a mean on the page of a plan: error against people, with messages, bytes, trust and liars beside."""

import math
from collections.abc import Iterable

from shuffledp.core.guarantees import CentralDP
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import PAGE, Block, Column, Picture, Table, Text
from shuffledp.documents.charts.crowd_charts import crowd_chart
from shuffledp.documents.document import Section
from shuffledp.planning.crowd_losses import crowds_around
from shuffledp.protocols.shares.planning.ways_to_sum import Wanted, WayToSum, ways_to_sum
from shuffledp.survey import ColumnPlan, Plan

_HEADS = (
    Column("way", left=True),
    *map(Column, ("error", "messages", "bytes", "1% who lie")),
    Column("trusted", left=True),
)


def ways_section(plan: Plan, column: ColumnPlan) -> Section | None:
    """Picture and table of all ways to the mean of a column; None for other questions, and without a central loss."""
    own = next(each for each in plan.task.columns if each.value == column.value)
    section, stated = own.randomizer, column.statements[0].guarantee
    lower, upper = getattr(section, "lower", None), getattr(section, "upper", None)
    is_mean = section.answers == "number" and getattr(section, "dimension", 1) == 1
    if not is_mean or lower is None or upper is None or not isinstance(stated, CentralDP):
        return None
    if not (0 < stated.epsilon < math.inf and 0 < stated.delta < 1) or own.shuffler.needs_strata:
        return None
    people = crowds_around(plan.num_users)
    wanted = Wanted(lower=float(lower), upper=float(upper), epsilon=stated.epsilon, delta=stated.delta)
    ways = ways_to_sum(wanted, plan.num_users, people)
    return Section(
        anchor=f"ways-{column.value}", title="Ways to this mean", blocks=tuple(_blocks(plan, column, wanted, ways))
    )


def _blocks(plan: Plan, column: ColumnPlan, wanted: Wanted, ways: tuple[WayToSum, ...]) -> Iterable[Block]:
    loss = f"epsilon = {in_digits(wanted.epsilon, 'at most')} and delta = {wanted.delta:g}"
    yield Text(
        f"Five ways to the mean of numbers from {wanted.lower:g} to {wanted.upper:g}, each with {loss} after all, "
        "through a uniform shuffle where there is one. The table is for "
        f"{count_of(plan.num_users, 'person', 'people')}, of whom nobody stays away.",
        on=PAGE,
    )
    yield Picture(
        crowd_chart(
            crowds_around(plan.num_users),
            {each.name: each.errors for each in ways},
            name=f"ways-{plan.columns.index(column)}",
            title="Standard error of the mean against the number of people",
            measured="standard error",
            caption="Counted bits are the fewest that err by an eighth of what sampling people adds, or by a quarter, "
            "and so on. A line begins where there are people enough for its way.",
        ),
        has_files=False,
        on=PAGE,
    )
    rows = tuple(_row(each) for each in ways)
    yield Table("", _HEADS, rows, on=PAGE)


def _row(way: WayToSum) -> tuple[str, ...]:
    if not way.messages:
        return (way.name, "–", "–", "–", "–", way.trusted)
    moved = "anything" if math.isinf(way.moved) else in_digits(way.moved, "at most", digits=3)
    error = in_digits(way.error, "about", digits=3)
    return (way.name, error, f"{way.messages:,}", f"{way.size:,}", moved, way.trusted)
