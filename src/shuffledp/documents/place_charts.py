"""Pictures of estimates by place: a line, a map with intervals, or a row for each label."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.core.table import Floats, Integers
from shuffledp.core.text import count_of
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, TEXT, annotate, new_figure, new_figures, text_width
from shuffledp.documents.estimate_charts import MOST_DRAWN, style_numbers, style_rows
from shuffledp.documents.words import Scale, count, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LONGEST_PLACE = 26
_SMALLEST, _LARGEST = 4.0, 16.0  # pixels: circles of a map
_BEYOND = 0.03  # share of the range of the truth by which axes exceed it
_LEFT = 52  # pixels beside a line or a map
_VISIBLY_WIDER = 1.05  # ratio from which on intervals without shuffling are drawn too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacesDrawn:
    """One target at all places; numbers are in the displayed unit, such as percent.

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
        """Range of the truth; None without one."""
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
        """Whether intervals are wider than without shuffling by enough to see it in a picture."""
        return self.widening >= _VISIBLY_WIDER

    @property
    def inner(self) -> tuple[Floats, Floats]:
        """Ends of intervals without shuffling, kept inside the actual intervals."""
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
    """One target at all places and for all people, with the ends of its intervals."""
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
    if len(place) == 1:
        ((key, value),) = place.items()
        return str(value) if isinstance(value, str) else f"{key} {value:g}"
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in place.items()
    )


def place_charts(drawn: PlacesDrawn, name: str = "places") -> tuple[Chart, ...]:
    """A line, a map above its intervals, or rows, by the number of coordinates of each place."""
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
        return (_chart(drawn, caption, partial(_draw_line, drawn, np.array(numbers)[:, 0]), name),)
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
            _chart(drawn, caption, partial(_draw_map, drawn, np.array(numbers)), name),
            _chart(drawn, ordered, partial(_draw_ordered, drawn), f"{name}-intervals", more=", with intervals"),
        )
    caption = f"{bars} {uniform}"
    if len(drawn.where) > MOST_DRAWN:
        caption += f" Of {count(len(drawn.where))} places only the {MOST_DRAWN} of most people are drawn."
    return (_chart(drawn, caption, partial(_draw_rows, drawn), name),)


def rows_chart(panels: Sequence[PlacesDrawn], title: str, caption: str) -> Chart:
    """One panel per target, with a row for each region; for reports that stay in their region."""
    first = panels[0]
    caption = f"Lines: {first.intervals}. Dashed: the estimate for everybody. {caption}".rstrip()
    description = (
        f"Estimates of {count_of(len(panels), 'answer' if first.scale.is_share else 'quantity', 'answers')} in "
        f"{count_of(len(first.where), 'region')}; the numbers are in the table below."
    )
    return Chart(
        name="regions", title=title, description=description, caption=caption, draw=partial(_draw_panels, panels)
    )


def _chart(drawn: PlacesDrawn, caption: str, draw: "Callable[[int], Figure]", name: str, *, more: str = "") -> Chart:
    description = (
        f"Estimates of {drawn.name} at {count_of(len(drawn.where), 'place')}, from "
        f"{drawn.estimate.min():,.4g}{drawn.unit} to {drawn.estimate.max():,.4g}{drawn.unit}; the numbers are in the "
        "table below."
    )
    title = f"{drawn.title}, by place{more}"
    return Chart(name=name, title=title, description=description, caption=caption, draw=draw)


def _beyond(drawn: PlacesDrawn) -> bool:
    """Whether an estimate or an interval exceeds the range of the truth."""
    if drawn.bounds is None:
        return False
    low, high = drawn.bounds
    least, most = np.minimum(drawn.estimate, drawn.low), np.maximum(drawn.estimate, drawn.high)
    return bool((least < low).any() or (most > high).any())


def _frame(axes: "Axes", drawn: PlacesDrawn) -> None:
    """Fit the axis to all intervals, barely beyond the range of the truth; otherwise without the longest ones."""
    low, high = drawn.low, drawn.high
    if drawn.bounds is None:
        ends = min(float(np.quantile(low, 0.02)), drawn.overall), max(float(np.quantile(high, 0.98)), drawn.overall)
        room = 0.05 * (ends[1] - ends[0] or 1)
        axes.set_ylim(ends[0] - room, ends[1] + room)
        return
    room = _BEYOND * (drawn.bounds[1] - drawn.bounds[0])
    axes.set_ylim(
        max(min(float(low.min()), drawn.overall), drawn.bounds[0]) - room,
        min(max(float(high.max()), drawn.overall), drawn.bounds[1]) + room,
    )


def _entitle(axes: "Axes", drawn: PlacesDrawn, width: int) -> None:
    """Write the displayed quantity above the upper left corner."""
    longest = int((width - 20) / (0.62 * TEXT)) - len(drawn.measure) - 2
    text = f"{shortened(drawn.name, longest)}, {drawn.measure}"
    annotate(axes, text, (0, 1), (-_LEFT + 6, 18), xycoords="axes fraction", ha="left", fontweight="bold")


def _draw_line(drawn: PlacesDrawn, at: Floats, width: int) -> "Figure":
    narrow = width <= NARROW
    order = np.argsort(at, kind="stable")
    x, y = at[order], drawn.estimate[order]
    figure, axes = new_figure(width, 320, left=_LEFT, right=14, top=32, bottom=48)
    axes.fill_between(x, drawn.low[order], drawn.high[order], color=LIGHT["blue"], alpha=0.22, linewidth=0)
    if drawn.is_wider:
        low, high = drawn.inner
        axes.fill_between(x, low[order], high[order], color=LIGHT["blue"], alpha=0.35, linewidth=0)
    axes.plot(x, y, color=LIGHT["blue"], linewidth=1.8)
    axes.axhline(drawn.overall, color=LIGHT["vermilion"], linewidth=1.4, linestyle=(0, (5, 3)))
    style_numbers(axes, drawn.unit, "y", 4 if narrow else 7)
    axes.locator_params(axis="x", nbins=5 if narrow else 10)
    axes.set_xlabel(next(iter(drawn.where[0])), labelpad=6)
    _frame(axes, drawn)
    _entitle(axes, drawn, width)
    return figure


def _draw_map(drawn: PlacesDrawn, at: Floats, width: int) -> "Figure":
    """Draw a map: latitude upward if the columns are latitude and longitude, else the first column to the right."""
    names = list(drawn.where[0])
    north = int(names[0].lower().startswith("lat"))
    x, y = at[:, north], at[:, 1 - north]
    figure, axes = new_figure(width, min(width, 520), left=_LEFT, right=14, top=32, bottom=48)
    apart = (drawn.estimate - drawn.overall) / np.maximum(drawn.error, 1e-300)
    sizes = _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(drawn.people / drawn.people.max())
    for place in np.argsort(np.abs(apart)):
        color = LIGHT["blue"] if apart[place] > 0 else LIGHT["vermilion"]
        strength = float(np.clip(abs(apart[place]) / 4, 0.06, 0.95))
        axes.plot(x[place], y[place], "o", color=color, alpha=strength, markersize=sizes[place], markeredgewidth=0)
        edge = {"color": LIGHT["soft"], "markersize": sizes[place], "markeredgewidth": 0.5}
        axes.plot(x[place], y[place], "o", fillstyle="none", **edge)
    axes.grid(True)
    axes.tick_params(length=0)
    axes.locator_params(nbins=4 if width <= NARROW else 8)
    axes.margins(0.06)
    axes.set_xlabel(names[north], labelpad=6)
    axes.set_ylabel(names[1 - north], labelpad=4)
    _entitle(axes, drawn, width)
    return figure


def _draw_ordered(drawn: PlacesDrawn, width: int) -> "Figure":
    """Draw all places side by side, in ascending order of estimates."""
    order = np.argsort(drawn.estimate, kind="stable")
    x, y = np.arange(order.size), drawn.estimate[order]
    figure, axes = new_figure(width, 300, left=_LEFT, right=14, top=32, bottom=30)
    thick = min(5.0, 0.6 * (width - _LEFT) / order.size)
    axes.vlines(x, drawn.low[order], drawn.high[order], color=LIGHT["blue"], linewidth=thick, alpha=0.45)
    if drawn.is_wider:
        low, high = drawn.inner
        axes.vlines(x, low[order], high[order], color=LIGHT["ink"], linewidth=min(1.2, thick / 2))
    axes.plot(x, y, "o", color=LIGHT["blue"], markersize=min(5.0, thick + 1), markeredgewidth=0)
    axes.axhline(drawn.overall, color=LIGHT["vermilion"], linewidth=1.4, linestyle=(0, (5, 3)))
    style_numbers(axes, drawn.unit, "y", 4 if width <= NARROW else 7)
    axes.set_xticks([])
    axes.set_xlim(-1, order.size)
    axes.set_xlabel("places, from the lowest to the highest", labelpad=8)
    _frame(axes, drawn)
    _entitle(axes, drawn, width)
    return figure


def _draw_rows(drawn: PlacesDrawn, width: int) -> "Figure":
    """Draw rows in descending order of estimates, since labels have no order."""
    return _draw_panels([drawn], width)


def _draw_panels(panels: Sequence[PlacesDrawn], width: int) -> "Figure":
    """Draw the same places and axis in each panel; if there are too many, the places with most people."""
    most = np.sort(np.argsort(-panels[0].people, kind="stable")[:MOST_DRAWN])
    names = [shortened(place_name(place), _LONGEST_PLACE) for place in panels[0].where]
    left = min(max(text_width(names[place]) for place in most) + 16, 0.5 * width)
    height = 20 * len(most) + 58
    figure, areas = new_figures(len(panels), width, height, left=left, right=14, top=10, bottom=44)
    numbers = [each for drawn in panels for each in (drawn.low[most], drawn.high[most], drawn.estimate[most])]
    room = 0.02 * (np.max(numbers) - np.min(numbers) or 1.0)
    for axes, drawn in zip(areas, panels, strict=True):
        axes.set_xlim(np.min(numbers) - room, np.max(numbers) + room)
        shown = most[np.argsort(-drawn.estimate[most], kind="stable")]
        y = np.arange(len(shown))
        axes.hlines(y, drawn.low[shown], drawn.high[shown], color=LIGHT["blue"], linewidth=5.0, alpha=0.45)
        if drawn.is_wider:
            low, high = drawn.inner
            axes.hlines(y, low[shown], high[shown], color=LIGHT["ink"], linewidth=1.4)
        axes.plot(drawn.estimate[shown], y, "o", color=LIGHT["blue"], markersize=6, markeredgecolor=LIGHT["paper"])
        axes.axvline(drawn.overall, color=LIGHT["vermilion"], linewidth=1.4, linestyle=(0, (5, 3)))
        axes.set_ylim(len(shown) - 0.5, -0.5)
        style_rows(axes, drawn.unit, 4 if width <= NARROW else 7)
        axes.set_xlabel(f"{shortened(drawn.name, _LONGEST_PLACE)}, {drawn.measure}", labelpad=6)
        for place, number in zip(y, shown.tolist(), strict=True):
            across = axes.get_yaxis_transform()
            annotate(axes, names[number], (0, float(place)), (-8, 0), xycoords=across, ha="right")
    return figure
