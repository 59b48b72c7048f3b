"""The picture of the estimates: a dot with an interval for each."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate
from shuffledp.core.text import count_of
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, annotate, new_figure, text_width
from shuffledp.documents.words import Scale, count, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_DRAWN = 40
_LONGEST_NAME = 30
_AROUND_VALUES = 20  # pixels
_LEAST_SHARE_OF_RANGE = 0.1


def estimates_chart(estimate: Estimate, scale: Scale, column: str, *, name: str = "estimates") -> Chart:
    """A dot and a line for each estimate; of too many to be read, the largest are drawn.

    Args:
        estimate: what to draw.
        scale: how its numbers are written.
        column: what people answered.
        name: of the chart's files.
    """
    shown = np.arange(len(estimate.target))
    caption = f"Dots: estimates. Lines: {estimate.level * 100:.4g}% intervals."
    if len(shown) > MOST_DRAWN:
        size = estimate.estimate if scale.is_share else np.abs(estimate.estimate)
        shown = np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN])
        kind = "largest" if scale.is_share else "largest in size"
        caption += f" Of {count(len(estimate.target))} only the {MOST_DRAWN} {kind} are drawn; the table has all."
    if scale.lies_outside(estimate):
        caption += f" Gray: where no true {'share' if scale.is_share else 'mean'} can lie."
    largest = int(np.argmax(estimate.estimate))
    return Chart(
        name=name,
        title=f"Estimated {estimate.statistic} with {estimate.level * 100:.4g}% intervals",
        description=(
            f"A dot with an interval for each of {count_of(len(shown), 'row')}; the numbers are in the table "
            f"below. The largest is {estimate.target[largest]} with {scale.text(estimate.estimate[largest])}."
        ),
        caption=caption,
        draw=partial(_draw, estimate, scale, shown, _axis_label(estimate, scale, column)),
    )


def _axis_label(estimate: Estimate, scale: Scale, column: str) -> str:
    if scale.is_share:
        return "share of the people"
    return f"{estimate.statistic} of {shortened(column, _LONGEST_NAME)}, in its own units"


def _draw(estimate: Estimate, scale: Scale, shown: NDArray[np.intp], label: str, width: int) -> "Figure":
    """One line per row: name, dot and interval, value; on narrow screens name and value stand above the line."""
    narrow = width <= NARROW
    pitch = 44 if narrow else (44 if len(shown) <= 5 else 32 if len(shown) <= 15 else 24)
    names = [shortened(estimate.target[row], _LONGEST_NAME) for row in shown]
    values = [scale.text(estimate.estimate[row]) for row in shown]
    left = 4 if narrow else max(text_width(name) for name in names) + _AROUND_VALUES
    right = 4 if narrow else max(text_width(value) for value in values) + _AROUND_VALUES
    figure, axes = new_figure(width, pitch * len(shown) + 54, left=left, right=right, top=10, bottom=44)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    _draw_range(axes, estimate, scale, shown, narrow=narrow)
    center, margin = scale.factor * estimate.estimate[shown], scale.factor * estimate.margin[shown]
    places = np.arange(len(shown)) + (0.22 if narrow else 0.0)
    axes.hlines(places, center - margin, center + margin, color=LIGHT["blue"], linewidth=2.5)
    axes.plot(center, places, "o", color=LIGHT["blue"], markersize=8, markeredgecolor=LIGHT["paper"])
    axes.set_xlabel(label, labelpad=6)
    across = axes.get_yaxis_transform()
    for row, (name, value, place) in enumerate(zip(names, values, places - 0.42 if narrow else places, strict=True)):
        if narrow:
            axes.axhspan(row - 0.5, row, color=LIGHT["paper"], linewidth=0, zorder=1.5)
        side = "left" if narrow else "right"
        annotate(axes, name, (0, place), (0 if narrow else -8, 0), xycoords=across, ha=side)
        annotate(axes, value, (1, place), (0 if narrow else right - 2, 0), xycoords=across, ha="right")
    return figure


def _draw_range(axes: "Axes", estimate: Estimate, scale: Scale, shown: NDArray[np.intp], *, narrow: bool) -> None:
    """The axis; values that no truth can have are shaded."""
    first, last = _ends(estimate, scale, shown)
    axes.set_xlim(first, last)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    axes.locator_params(axis="x", nbins=4 if narrow else 8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}{scale.unit}".replace("-", "\N{MINUS SIGN}"))
    if first <= 0 <= last:
        axes.axvline(0, color=LIGHT["soft"], linewidth=1, zorder=1)
    if scale.bounds:
        low, high = (scale.factor * end for end in scale.bounds)
        for end, beyond in ((low, min(first, low)), (high, max(last, high))):
            if first < end < last:
                axes.axvline(end, color=LIGHT["soft"], linewidth=1, zorder=1)
                axes.axvspan(*sorted((end, beyond)), color=LIGHT["line"], alpha=0.45, linewidth=0, zorder=0)
        axes.set_xlim(first, last)


def _ends(estimate: Estimate, scale: Scale, shown: NDArray[np.intp]) -> tuple[float, float]:
    """Ends of the axis: shares start at zero; means have their range, unless they fill too little of it to be read."""
    low = scale.factor * float(estimate.lower[shown].min())
    high = scale.factor * float(estimate.upper[shown].max())
    if scale.is_share:
        low, high = min(0.0, low), max(0.0, high)
        high = max(high, scale.factor) if high > 0.85 * scale.factor else high
    elif scale.bounds and high - low > _LEAST_SHARE_OF_RANGE * (scale.bounds[1] - scale.bounds[0]):
        low, high = min(scale.bounds[0], low), max(scale.bounds[1], high)
    else:
        low, high = low - (high - low), high + (high - low)
    margin = 0.03 * (high - low or 1.0)
    return low - margin, high + margin
