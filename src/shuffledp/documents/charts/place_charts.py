"""Estimates by place, drawn as a line, a map or rows, and written as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.core.table import Floats, Integers
from shuffledp.core.text import count_of
from shuffledp.documents.blocks import PAGE, Cell, Column, Fold, Table
from shuffledp.documents.charts.chart import Axis, Band, Chart, Dots, Line, Mark, Panel, Rows, Spans
from shuffledp.documents.charts.estimate_charts import MOST_DRAWN
from shuffledp.documents.words import Scale, count, shortened

_LONGEST_PLACE = 26
_MOST_OPEN, _MOST_ROWS = 15, 400  # rows of a table
_SMALLEST, _LARGEST = 4.0, 16.0  # pixels: circles of a map,
_NARROWED = 0.5  # which is about half as wide on a narrow screen
_BEYOND = 0.03  # share of the range of the truth by which axes exceed it
_TICKS, _TICKS_BELOW = (7, 4), (10, 5)  # the most of them on an axis of estimates, and on one of places
_THICK: dict[str, Any] = {"width": 5.0, "strength": 0.45}
_VISIBLY_WIDER = 1.05  # ratio from which on intervals without shuffling are drawn too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacesDrawn:
    """Estimates of one target at all places, in the displayed unit, such as percent.

    Args:
        name: of the target.
        scale: how numbers are written.
        where: what each place is.
        estimate: shape (places,).
        low: lower ends of the intervals.
        high: upper ends.
        error: standard errors.
        unshuffled: half of the width that the intervals would have if nothing were shuffled.
        overall: the estimate of everybody together: what each place would get from a uniform shuffle.
        people: slots at each place.
        level: of the intervals.
    """

    name: str
    scale: Scale
    where: tuple[dict[str, Any], ...]
    estimate: Floats
    low: Floats
    high: Floats
    error: Floats
    unshuffled: Floats
    overall: float
    people: NDArray[np.int64]
    level: float

    @property
    def measure(self) -> str:
        """Name of the displayed quantity."""
        return "share of people" if self.scale.is_share else "mean"

    @property
    def title(self) -> str:
        """The target, and the name of the displayed quantity."""
        return f"{self.name}, {self.measure}"

    @property
    def unit(self) -> str:
        """Unit of the displayed numbers."""
        return self.scale.unit

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Range of possible true values; None without limits."""
        if self.scale.bounds is None:
            return None
        low, high = self.scale.bounds
        return self.scale.factor * low, self.scale.factor * high

    @property
    def intervals(self) -> str:
        """Intervals with their level, in words."""
        return f"{self.level * 100:.4g}% intervals"

    @property
    def widening(self) -> float:
        """Typical ratio of interval lengths with and without shuffling."""
        return float(np.median(normal_half_width(self.level) * self.error / np.maximum(self.unshuffled, 1e-300)))

    @property
    def is_wider(self) -> bool:
        """Whether intervals are visibly wider than without shuffling."""
        return self.widening >= _VISIBLY_WIDER

    @property
    def inner(self) -> tuple[Floats, Floats]:
        """Ends of the intervals without shuffling, cut to lie inside the actual intervals."""
        ends = (self.estimate + side * self.unshuffled for side in (-1, 1))
        low, high = (np.clip(each, self.low, self.high) for each in ends)
        return low, high


def target_drawn(
    target: int,
    estimate: Estimate,
    overall: Estimate,
    scale: Scale,
    column: str,
    *,
    people: Integers,
    unshuffled_error: Floats,
) -> PlacesDrawn:
    """Drawing of one target at all places and for all people, with the ends of its intervals."""
    targets = len(overall.target)

    def of_target(numbers: Floats) -> Floats:
        return scale.factor * numbers.reshape(-1, targets)[:, target]

    return PlacesDrawn(
        name=overall.target[target] if targets == 1 else f"{column}: {overall.target[target]}",
        scale=scale,
        where=tuple(dict(place) for place in (estimate.where or ())[::targets]),
        estimate=of_target(estimate.estimate),
        low=of_target(estimate.lower),
        high=of_target(estimate.upper),
        error=of_target(estimate.standard_error),
        unshuffled=normal_half_width(estimate.level) * of_target(unshuffled_error),
        overall=scale.factor * float(overall.estimate[target]),
        people=people,
        level=estimate.level,
    )


def place_name(place: Mapping[str, Any]) -> str:
    """A place in words: its label, or its coordinates with their names."""
    if place.get("shuffled") == "no":
        return f"{place_name({key: value for key, value in place.items() if key != 'shuffled'})} (not shuffled)"
    if "joined" in place:
        return f"{place_name({key: value for key, value in place.items() if key != 'joined'})} ({place['joined']})"
    if len(place) == 1:
        ((key, value),) = place.items()
        return str(value) if isinstance(value, str) else f"{key} {value:g}"
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in place.items()
    )


def _brief_name(place: Mapping[str, Any]) -> str:
    """Short name of a place for a row of a chart.

    Several coordinates are written as numbers of four digits.
    """
    numbers = [value for value in place.values() if isinstance(value, float)]
    if len(numbers) + ("joined" in place) < len(place) or len(numbers) < 2 or any(" from" in key for key in place):
        return shortened(place_name(place), _LONGEST_PLACE)
    joined = f" ({place['joined']})" if "joined" in place else ""
    return ", ".join(f"{value:.4g}" for value in numbers) + joined


def place_charts(drawn: PlacesDrawn, name: str = "places") -> tuple[Chart, ...]:
    """Charts by the number of coordinates of each place: a line, a map above its intervals, or rows."""
    numbers = [[value for value in place.values() if isinstance(value, float)] for place in drawn.where]
    dimensions = {len(each) for each in numbers}
    overall = f"{drawn.overall:,.4g}{drawn.unit}"
    uniform = f"Dashed: {overall}, the estimate for everybody, which a uniform shuffle would give every place."
    if _beyond(drawn) and dimensions in ({1}, {2}):
        uniform += " Estimates of few people may lie beyond the range of the truth, where the frame ends."
    if dimensions == {1}:
        caption = (
            f"Band: {drawn.intervals} of this release."
            f"{' Dark band: what they would be without shuffling.' * drawn.is_wider} {uniform}"
        )
        return (_chart(drawn, caption, (_line(drawn, np.array(numbers)[:, 0]),), name),)
    bars = f"Lines: {drawn.intervals} of this release."
    if drawn.is_wider:
        bars = f"Thick lines: {drawn.intervals} of this release. Thin lines: what they would be without shuffling."
    if dimensions == {2}:
        caption = (
            f"Blue: above {overall}, the estimate for everybody; orange: below; the stronger the color, the more "
            "standard errors apart. The larger the circle, the more people. A uniform shuffle would leave all circles "
            "pale."
        )
        ordered = f"The same places from the lowest estimate to the highest. {bars} {uniform}"
        return (
            _chart(drawn, caption, (_map(drawn, np.array(numbers)),), name),
            _chart(drawn, ordered, (_ordered(drawn),), f"{name}-intervals", more=", with intervals"),
        )
    caption = f"{bars} {uniform}"
    if len(drawn.where) > MOST_DRAWN:
        caption += f" Of {count(len(drawn.where))} places only the {MOST_DRAWN} of most people are drawn."
    return (_chart(drawn, caption, _rows([drawn]), name),)


def rows_chart(panels: Sequence[PlacesDrawn], title: str, caption: str) -> Chart:
    """Chart with a panel per target and a row for each region; for reports that stay in their region."""
    first = panels[0]
    caption = f"Lines: {first.intervals}. Dashed: the estimate for everybody. {caption}".rstrip()
    description = (
        f"Estimates of {count_of(len(panels), 'answer' if first.scale.is_share else 'quantity', 'answers')} in "
        f"{count_of(len(first.where), 'region')}; the numbers are in the table below."
    )
    return Chart(name="regions", title=title, description=description, caption=caption, panels=_rows(panels))


def _chart(drawn: PlacesDrawn, caption: str, panels: tuple[Panel, ...], name: str, *, more: str = "") -> Chart:
    description = (
        f"Estimates of {drawn.name} at {count_of(len(drawn.where), 'place')}, from "
        f"{drawn.estimate.min():,.4g}{drawn.unit} to {drawn.estimate.max():,.4g}{drawn.unit}; the numbers are in the "
        "table below."
    )
    title = f"{drawn.title}, by place{more}"
    return Chart(name=name, title=title, description=description, caption=caption, panels=panels)


def _beyond(drawn: PlacesDrawn) -> bool:
    """Whether an estimate or an interval exceeds the range of possible true values."""
    if drawn.bounds is None:
        return False
    low, high = drawn.bounds
    least, most = np.minimum(drawn.estimate, drawn.low), np.maximum(drawn.estimate, drawn.high)
    return bool((least < low).any() or (most > high).any())


def _frame(drawn: PlacesDrawn) -> Axis:
    """Axis for all intervals; without a range of possible true values the outermost intervals may be cut."""
    low, high = drawn.low, drawn.high
    if drawn.bounds is None:
        ends = min(float(np.quantile(low, 0.02)), drawn.overall), max(float(np.quantile(high, 0.98)), drawn.overall)
        return Axis(ends=_around(*ends, 0.05), unit=drawn.unit, ticks=_TICKS)
    least, most = drawn.bounds
    room = _BEYOND * (most - least)
    first = max(min(float(low.min()), drawn.overall), least) - room
    return Axis(ends=(first, min(max(float(high.max()), drawn.overall), most) + room), unit=drawn.unit, ticks=_TICKS)


def _around(low: float, high: float, share: float) -> tuple[float, float]:
    """Ends of an axis, widened on either side by a share of its length."""
    room = share * (high - low or 1.0)
    return low - room, high + room


def _line(drawn: PlacesDrawn, at: Floats) -> Panel:
    """Panel with a line along one coordinate, in bands of the estimates' intervals."""
    order = np.argsort(at, kind="stable")
    x, ends = at[order], _around(at.min(), at.max(), 0.05)
    bands = [Band(x=x, low=drawn.low[order], high=drawn.high[order], strength=0.22)]
    if drawn.is_wider:
        low, high = drawn.inner
        bands.append(Band(x=x, low=low[order], high=high[order], strength=0.35))
    return Panel(
        x=Axis(label=next(iter(drawn.where[0])), ends=ends, ticks=_TICKS_BELOW, has_grid=False),
        y=_frame(drawn),
        marks=(*bands, Line(x=x, y=drawn.estimate[order], width=1.8), _overall(ends, [drawn.overall] * 2)),
        title=(drawn.name, drawn.measure),
    )


def _overall(x: Sequence[float], y: Sequence[float]) -> Line:
    """Dashed line at the estimate of all people together."""
    return Line(x=x, y=y, color="vermilion", dash="dashed")


def _map(drawn: PlacesDrawn, at: Floats) -> Panel:
    """Panel with a map: the first column runs to the right, except that latitude runs upward."""
    names = list(drawn.where[0])
    north = int(names[0].lower().startswith("lat"))
    apart = (drawn.estimate - drawn.overall) / np.maximum(drawn.error, 1e-300)
    order = np.argsort(np.abs(apart))
    sizes = _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(drawn.people / drawn.people.max())
    circles = Dots(
        x=at[order, north],
        y=at[order, 1 - north],
        color=["blue" if apart[place] > 0 else "vermilion" for place in order],
        size=sizes[order],
        strength=np.clip(np.abs(apart[order]) / 4, 0.06, 0.95),
        edge="soft",
        narrowed=_NARROWED,
    )
    x, y = (Axis(label=names[which]) for which in (north, 1 - north))
    return Panel(x=x, y=y, marks=(circles,), height=(520, 344), title=(drawn.name, drawn.measure))


def _ordered(drawn: PlacesDrawn) -> Panel:
    """Panel with all places side by side, in ascending order of estimates."""
    order = np.argsort(drawn.estimate, kind="stable")
    x, ends = np.arange(order.size), (-1.0, float(order.size))
    marks: list[Mark] = [Spans(at=x, low=drawn.low[order], high=drawn.high[order], upright=True, share=0.6, **_THICK)]
    if drawn.is_wider:
        low, high = (each[order] for each in drawn.inner)
        marks.append(Spans(at=x, low=low, high=high, color="ink", width=1.2, upright=True, share=0.3))
    marks.append(Dots(x=x, y=drawn.estimate[order], size=min(5.0, 1 + 300 / order.size), edge=""))
    return Panel(
        x=Axis(label="places, from the lowest to the highest", ends=ends, ticks=(0, 0)),
        y=_frame(drawn),
        marks=(*marks, _overall(ends, [drawn.overall] * 2)),
        title=(drawn.name, drawn.measure),
        height=(300, 300),
    )


def _rows(panels: Sequence[PlacesDrawn]) -> tuple[Panel, ...]:
    """One panel for each target, with a row for each place, the highest estimate first.

    All panels show the same places, those with most people if there are too many, on equal axes.
    """
    most = np.sort(np.argsort(-panels[0].people, kind="stable")[:MOST_DRAWN])
    names = list(map(_brief_name, panels[0].where))
    numbers = [each for drawn in panels for each in (drawn.low[most], drawn.high[most], drawn.estimate[most])]
    ends, rows, found = _around(np.min(numbers), np.max(numbers), 0.02), range(len(most)), []
    for drawn in panels:
        shown = most[np.argsort(-drawn.estimate[most], kind="stable")]
        marks: list[Mark] = [Spans(at=rows, low=drawn.low[shown], high=drawn.high[shown], **_THICK)]
        if drawn.is_wider:
            low, high = (each[shown] for each in drawn.inner)
            marks.append(Spans(at=rows, low=low, high=high, color="ink", width=1.4))
        marks.append(Dots(x=drawn.estimate[shown], y=rows, size=6))
        label = f"{shortened(drawn.name, _LONGEST_PLACE)}, {drawn.measure}"
        found.append(
            Panel(
                x=Axis(label=label, ends=ends, unit=drawn.unit, ticks=_TICKS),
                y=Rows(names=tuple(names[place] for place in shown), pitch=(20, 20)),
                marks=(*marks, _overall([drawn.overall] * 2, (-1, len(most)))),
            )
        )
    return tuple(found)


# ---- as a table ------------------------------------------------------------------------------------------------------


def every_place(
    estimate: Estimate, people: Integers, scale: Scale, name: str = "place", *, unshuffled_error: Floats | None = None
) -> Fold:
    """Folded table of the estimates of all places; ``name`` is the noun for a place, such as "region".

    ``people`` is of shape (places,), and ``unshuffled_error`` of (estimates,): margins without shuffling, as a column.
    """
    targets, without = max(1, len(estimate.target) // len(people)), ""
    margins: list[list[str]] = [[]] * len(estimate.target)
    heads = [name if name != "place" else "Place", "People", scale.noun, "Estimate", "From", "To"]
    if unshuffled_error is not None:
        margins = [[f"\u00b1{scale.text(each)}"] for each in normal_half_width(estimate.level) * unshuffled_error]
        without = ", and the half width of those that there would be without shuffling"
        heads.append("Unshuffled")
    numbers = zip(estimate.where or (), estimate.target, estimate.estimate, estimate.lower, estimate.upper, strict=True)
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            place_name(place),
            count(int(people[row // targets])),
            target,
            Cell(text=scale.text(value), bold=True),
            scale.text(low),
            scale.text(high),
            *margins[row],
        )
        for row, (place, target, value, low, high) in enumerate(numbers)
    )
    caption = f"Estimates by {name}, with {estimate.level * 100:.4g}% intervals{without}"
    table = Table(caption, tuple(map(Column, heads)), rows, label=f"Estimates by {name}")
    return folded(table, "estimates", "estimates.csv")


def folded(table: Table, what: str, file: str) -> Fold:
    """Table that is folded if it is long, and cut if it is very long.

    ``what`` names its rows, and ``file`` holds all of them.
    """
    rows, shown = len(table.rows), min(len(table.rows), _MOST_ROWS)
    summary = f"All {shown} {what} as a table"
    if rows > shown:
        summary = f"The first {shown} {what} as a table ({count(rows - shown)} more in {file})"
    return Fold(summary, (replace(table, rows=table.rows[:shown]),), rows <= _MOST_OPEN, on=PAGE)
