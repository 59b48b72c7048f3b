"""Pictures of estimates: a dot with an interval each, the largest first if the names have no order."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers import Histogram
from shuffledp.analyzers.exact_intervals import simultaneous
from shuffledp.core.estimates import Estimate
from shuffledp.core.text import count_of
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, Drawn, annotate, draw, new_figure, text_width
from shuffledp.documents.histogram_document import histogram_chart
from shuffledp.documents.words import MINUS, Scale, count, shortened
from shuffledp.survey.randomizer_section import MISSING_CATEGORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_DRAWN = 40
_LONGEST_NAME = 30
_AROUND_VALUES = 20  # pixels
_AROUND = 16  # pixels beside the axis on a narrow screen
_MOST_TICKS = 8
_LEADING_NUMBER = re.compile(r"[^\w.+-]*([+-]?\d+(?:\.\d+)?)")


def estimates_chart(estimate: Estimate, scale: Scale, column: str, *, name: str = "estimates") -> Chart:
    """A dot and a line for each estimate, or bars for bins; only the largest if there are too many to read."""
    if isinstance(estimate, Histogram):
        return histogram_chart(estimate, scale, column, name=name)
    estimate = replace(estimate, target=estimate.names, where=None)
    shown, intervals = np.arange(len(estimate.target)), f"{estimate.level * 100:.4g}% intervals"
    caption = f"Dots: estimates. Lines: {intervals}."
    if len(shown) > MOST_DRAWN:
        estimate, shown, which = _drawn_of_many(estimate, scale)
        caption += which
    if scale.is_share:
        shown = _by_size(estimate, shown)
    if scale.lies_outside(estimate):
        caption += f" Gray: where no true {'share' if scale.is_share else estimate.statistic} can lie."
    label = f"{estimate.statistic} of {shortened(column, _LONGEST_NAME)}, in its own units"
    label = "share of the people" if scale.is_share else label
    largest = int(np.argmax(estimate.estimate))
    return Chart(
        name=name,
        title=f"Estimated {estimate.statistic} with {intervals}",
        description=(
            f"A dot with an interval for each of {count_of(len(shown), 'row')}; the numbers are in the table "
            f"below. The largest is {estimate.target[largest]} with {scale.text(estimate.estimate[largest])}."
        ),
        caption=caption,
        draw=partial(_draw, estimate, scale, shown, label),
    )


def _drawn_of_many(estimate: Estimate, scale: Scale) -> tuple[Estimate, NDArray[np.intp], str]:
    """Rows to draw, their indices, and a note: the largest rows if intervals hold for all jointly, else the first."""
    rows, together = count(len(estimate.target)), simultaneous(estimate)
    if together is None:
        return estimate, np.arange(MOST_DRAWN), f" Of {rows} only the first {MOST_DRAWN} are drawn; the table has all."
    size = estimate.estimate if scale.is_share else np.abs(estimate.estimate)
    kind = "largest" if scale.is_share else "largest in size"
    which = (
        f" Of {rows} only the {MOST_DRAWN} {kind} are drawn, with intervals that hold for all {rows} together; the "
        "table has all, each with an interval of its own."
    )
    return together, np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN]), which


def picture_of(estimate: Estimate) -> Drawn:
    """The picture of an estimate by itself."""
    return draw(estimates_chart(estimate, Scale.of(estimate), estimate.statistic))


def _by_size(estimate: Estimate, shown: NDArray[np.intp]) -> NDArray[np.intp]:
    """Indices with the largest first and missing answers last; unchanged if numbers order the names."""
    if _are_in_order([name for name in estimate.target if name != MISSING_CATEGORY]):
        return shown
    return np.array(sorted(shown, key=lambda row: (estimate.target[row] == MISSING_CATEGORY, -estimate.estimate[row])))


def _are_in_order(names: Sequence[str]) -> bool:
    """Whether the number at the start of each name is larger than the one before, as for ages and sizes."""
    found = [_LEADING_NUMBER.match(name) for name in names]
    numbers = [float(each[1]) for each in found if each is not None]
    return len(numbers) == len(names) and all(low < high for low, high in pairwise(numbers))


def _draw(estimate: Estimate, scale: Scale, shown: NDArray[np.intp], label: str, width: int) -> "Figure":
    """One line per row with name, dot, interval and value; on narrow screens the text stands above the line."""
    narrow = width <= NARROW
    pitch = 44 if narrow else (44 if len(shown) <= 5 else 32 if len(shown) <= 15 else 24)
    names = [shortened(estimate.target[row], _LONGEST_NAME) for row in shown]
    values = [scale.text(estimate.estimate[row]) for row in shown]
    left = _AROUND if narrow else max(text_width(name) for name in names) + _AROUND_VALUES
    right = _AROUND if narrow else max(text_width(value) for value in values) + _AROUND_VALUES
    figure, axes = new_figure(width, pitch * len(shown) + 54, left=left, right=right, top=10, bottom=44)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    _draw_range(axes, estimate, scale, shown, narrow=narrow)
    center, low, high = (scale.factor * each[shown] for each in (estimate.estimate, estimate.lower, estimate.upper))
    places = np.arange(len(shown)) + (0.22 if narrow else 0.0)
    axes.hlines(places, low, high, color=LIGHT["blue"], linewidth=2.5)
    axes.plot(center, places, "o", color=LIGHT["blue"], markersize=8, markeredgecolor=LIGHT["paper"], clip_on=False)
    axes.set_xlabel(label, labelpad=6)
    across = axes.get_yaxis_transform()
    for row, (name, value, place) in enumerate(zip(names, values, places - 0.42 if narrow else places, strict=True)):
        if narrow:
            axes.axhspan(row - 0.5, row, color=LIGHT["paper"], linewidth=0, zorder=1.5)
        side = "left" if narrow else "right"
        annotate(axes, name, (0, place), (-left if narrow else -8, 0), xycoords=across, ha=side)
        annotate(axes, value, (1, place), (right - 2, 0), xycoords=across, ha="right")
    return figure


def _draw_range(axes: "Axes", estimate: Estimate, scale: Scale, shown: NDArray[np.intp], *, narrow: bool) -> None:
    """Scale the axis, and shade values that are impossible for the truth."""
    first, last = _ends(estimate, scale, shown)
    style_rows(axes, scale.unit, _MOST_TICKS // 2 if narrow else _MOST_TICKS)
    for end, beyond in _impossible(scale, first, last):
        axes.axvspan(*sorted((end, beyond)), color=LIGHT["line"], alpha=0.45, linewidth=0, zorder=0)
        axes.axvline(end, color=LIGHT["soft"], linewidth=1, zorder=1)
    axes.set_xlim(first, last)


def _impossible(scale: Scale, first: float, last: float) -> list[tuple[float, float]]:
    """Intervals inside the axis that lie outside the range of the truth."""
    if scale.bounds is None:
        return []
    low, high = (scale.factor * end for end in scale.bounds)
    return [(end, beyond) for end, beyond in ((low, first), (high, last)) if first < end < last]


def style_numbers(axes: "Axes", unit: str, axis: Literal["x", "y"], most_ticks: int) -> None:
    """Style the axis of the estimates."""
    axes.grid(axis=axis)
    axes.tick_params(length=0)
    axes.locator_params(axis=axis, nbins=most_ticks)
    along = axes.xaxis if axis == "x" else axes.yaxis
    along.set_major_formatter(lambda value, _: f"{value:,.6g}{unit}".replace("-", MINUS))


def style_rows(axes: "Axes", unit: str, most_ticks: int) -> None:
    """Style rows of estimates that are named by texts."""
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    style_numbers(axes, unit, "x", most_ticks)


def _ends(estimate: Estimate, scale: Scale, shown: NDArray[np.intp]) -> tuple[float, float]:
    """Round numbers around all intervals and estimates; beyond the range of the truth only if one of them is."""
    from matplotlib.ticker import MaxNLocator

    low = scale.factor * float(np.minimum(estimate.lower, estimate.estimate)[shown].min())
    high = scale.factor * float(np.maximum(estimate.upper, estimate.estimate)[shown].max())
    room = (high - low or 1.0) * (1.0 if len(shown) == 1 else 0.02)
    ticks = MaxNLocator(nbins=_MOST_TICKS, steps=[1, 2, 5, 10]).tick_values(low - room, high + room)
    first, last = float(ticks[0]), float(ticks[-1])
    if scale.bounds is not None:
        least, most = (scale.factor * end for end in scale.bounds)
        first = max(first, least) if low >= least else low - room
        last = min(last, most) if high <= most else high + room
    return first, last
