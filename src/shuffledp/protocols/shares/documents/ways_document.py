"""Ways to a mean or a sum, on the page of a plan: errors by number of people, costs and trust."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from shuffledp.core.guarantees import CentralDP
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import PAGE, Block, Cell, Column, Picture, Table, Text
from shuffledp.documents.charts.crowd_charts import crowd_chart
from shuffledp.documents.document import Section
from shuffledp.planning.crowd_losses import crowds_around
from shuffledp.protocols.shares.planning.sum_comparison import PlannedMean, WayToSum, compared_sums
from shuffledp.survey import ColumnPlan, Plan, Question

_HEADS = (
    Column("way", left=True),
    *map(Column, ("error", "messages", "bytes", "1% who lie")),
)


def ways_section(plan: Plan, column: ColumnPlan) -> Section | None:
    """Section on all ways to the mean or sum of a column.

    None for other questions, or without central loss.
    """
    own = next(each for each in plan.task.columns if each.value == column.value)
    section, stated = own.randomizer, column.statements[0].guarantee
    lower, upper = getattr(section, "lower", None), getattr(section, "upper", None)
    is_mean = section.answers == "number" and getattr(section, "dimension", 1) == 1
    if not is_mean or lower is None or upper is None or not isinstance(stated, CentralDP):
        return None
    if not (0 < stated.epsilon < math.inf and 0 < stated.delta < 1) or own.shuffler.needs_strata:
        return None
    people = crowds_around(plan.num_users)
    wanted = PlannedMean(lower=float(lower), upper=float(upper), epsilon=stated.epsilon, delta=stated.delta)
    ways = compared_sums(wanted, plan.num_users, people)
    asked = _PlannedSum(column.value, plan.columns.index(column), plan.num_users, section)
    return Section(
        anchor=f"ways-{asked.column}", title=f"Ways to this {asked.what}", blocks=tuple(_blocks(asked, wanted, ways))
    )


@dataclass(frozen=True, slots=True)
class _PlannedSum:
    """Planned mean or sum: its column, place among the task's columns, people, and section."""

    column: str
    place: int
    people: int
    section: Question

    @property
    def what(self) -> str:
        """Name of the statistic."""
        return "sum" if self.section.unit_of(2) > 1 else "mean"

    def errors(self, way: WayToSum) -> tuple[float, ...]:
        """Errors of a way for each number of people, in units of the statistic."""
        people = crowds_around(self.people)
        return tuple(error * self.section.unit_of(users) for users, error in zip(people, way.errors, strict=True))


def _blocks(asked: _PlannedSum, wanted: PlannedMean, ways: tuple[WayToSum, ...]) -> Iterable[Block]:
    loss = f"epsilon = {in_digits(wanted.epsilon, 'at most')} and delta = {wanted.delta:g}"
    yield Text(
        f"Five ways to the {asked.what} of numbers from {wanted.lower:g} to {wanted.upper:g}, each with {loss} after "
        "all, through a uniform shuffle where there is one. The table is for "
        f"{count_of(asked.people, 'person', 'people')}, of whom nobody stays away.",
        on=PAGE,
    )
    yield Picture(
        crowd_chart(
            crowds_around(asked.people),
            {each.name: asked.errors(each) for each in ways},
            name=f"ways-{asked.place}",
            title=f"Standard error of the {asked.what} against the number of people",
            measured="standard error",
            caption="Counted bits are the fewest that err by an eighth of what sampling people adds, or by a quarter, "
            "and so on. A line begins where there are people enough for its way.",
        ),
        has_files=False,
        on=PAGE,
    )
    rows = tuple(_row(each, asked.section.unit_of(asked.people)) for each in ways)
    yield Table("", _HEADS, rows, on=PAGE)


def _row(way: WayToSum, unit: float) -> tuple[str | Cell, ...]:
    name = Cell(text=way.name, note=f"trusted: {way.trusted}")
    if not way.messages:
        return (name, *["–"] * (len(_HEADS) - 1))
    limited = not math.isinf(way.moved)
    moved = in_digits(unit * way.moved, "at most", digits=3) if limited else Cell(text="anything", bold=True)
    error = in_digits(unit * way.error, "about", digits=3)
    return (name, error, f"{way.messages:,}", f"{way.size:,}", moved)
