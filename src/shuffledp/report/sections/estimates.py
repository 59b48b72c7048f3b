"""The estimates with their intervals, as a chart and as a table of the same numbers."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimates import Estimate
from shuffledp.report.drawing import LIGHT, NARROW, annotate, new_figure, text_width
from shuffledp.report.parts import Chart, Section
from shuffledp.report.words import Scale, count, count_of, shortened
from shuffledp.tasks import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_DRAWN", "estimates_section"]

MOST_DRAWN = 40
_LONGEST_NAME = 30
_AROUND_VALUES = 20  # pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table, as text."""

    target: str
    estimate: str
    lower: str
    upper: str
    error: str


def estimates_section(outcome: Outcome) -> Section:
    """Chart and table; the chart shows the largest estimates if they are too many to be read."""
    estimate = outcome.release.estimate
    scale = Scale.of(estimate)
    columns = (estimate.estimate, estimate.lower, estimate.upper, estimate.standard_error)
    rows = [
        Row(
            target=name,
            estimate=scale.text(a),
            lower=scale.text(b),
            upper=scale.text(c),
            error=scale.text(d, unit=False),
        )
        for name, a, b, c, d in zip(estimate.target, *columns, strict=True)
    ]
    context = {
        "rows": rows,
        "statistic": estimate.statistic,
        "level": f"{estimate.level * 100:.4g}%",
        "reports": count_of(estimate.num_reports, "report", "reports"),
        "errors_in": scale.unit_of_errors,
        "shares": scale.bounds is not None,
        "outside": _lies_outside(estimate, scale),
    }
    return Section(name="estimates", title="Estimates", context=context, charts=(_chart(estimate, scale),))


def _lies_outside(estimate: Estimate, scale: Scale) -> bool:
    if scale.bounds is None:
        return False
    low, high = scale.bounds
    return bool((estimate.lower < low).any() or (estimate.upper > high).any())


def _chart(estimate: Estimate, scale: Scale) -> Chart:
    shown = np.arange(len(estimate.target))
    caption = f"Dots: estimates. Lines: {estimate.level * 100:.4g}% intervals."
    if len(shown) > MOST_DRAWN:
        shown = np.sort(np.argsort(-estimate.estimate, kind="stable")[:MOST_DRAWN])
        caption += f" Of {count(len(estimate.target))} only the {MOST_DRAWN} largest are drawn; the table has all."
    if _lies_outside(estimate, scale):
        caption += " Gray: where no true share can lie."
    largest = int(np.argmax(estimate.estimate))
    return Chart(
        name="estimates",
        title=f"Estimated {estimate.statistic} with {estimate.level * 100:.4g}% intervals",
        description=(
            f"A dot with an interval for each of {count_of(len(shown), 'row', 'rows')}; the numbers are in the table "
            f"below. The largest is {estimate.target[largest]} with {scale.text(estimate.estimate[largest])}."
        ),
        caption=caption,
        draw=partial(_draw, estimate, scale, shown),
    )


def _draw(estimate: Estimate, scale: Scale, shown: NDArray[np.intp], width: int) -> "Figure":
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
    across = axes.get_yaxis_transform()
    for row, (name, value, place) in enumerate(zip(names, values, places - 0.42 if narrow else places, strict=True)):
        if narrow:
            axes.axhspan(row - 0.5, row, color=LIGHT["paper"], linewidth=0, zorder=1.5)
        side = "left" if narrow else "right"
        annotate(axes, name, (0, place), (0 if narrow else -8, 0), xycoords=across, ha=side)
        annotate(axes, value, (1, place), (0 if narrow else right - 2, 0), xycoords=across, ha="right")
    return figure


def _draw_range(axes: "Axes", estimate: Estimate, scale: Scale, shown: NDArray[np.intp], *, narrow: bool) -> None:
    """The axis, from the data and zero; values that no truth can have are shaded."""
    low = scale.factor * min(0.0, float(estimate.lower[shown].min()))
    high = scale.factor * max(0.0, float(estimate.upper[shown].max()))
    margin = 0.03 * (high - low or 1.0)
    if scale.bounds and high > 0.85 * scale.factor:
        high = max(high, scale.factor * scale.bounds[1])
    axes.set_xlim(low - margin, high + margin)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(axis="x", length=0)
    axes.locator_params(axis="x", nbins=4 if narrow else 8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}{scale.unit}".replace("-", "\N{MINUS SIGN}"))
    axes.axvline(0, color=LIGHT["soft"], linewidth=1, zorder=1)
    if scale.bounds:
        first, last = axes.get_xlim()
        axes.axvspan(first, 0, color=LIGHT["line"], alpha=0.45, linewidth=0, zorder=0)
        if last > scale.factor:
            axes.axvline(scale.factor, color=LIGHT["soft"], linewidth=1, zorder=1)
            axes.axvspan(scale.factor, last, color=LIGHT["line"], alpha=0.45, linewidth=0, zorder=0)
        axes.set_xlim(first, last)
    axes.set_xlabel(estimate.statistic if not scale.unit else "share of the people", labelpad=6)
