"""Estimates by place: a line along one public number, a map of two, or a row for each label."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimates import Estimate
from shuffledp.report.drawing import LIGHT, NARROW, annotate, new_figure, text_width
from shuffledp.report.parts import Chart, Section
from shuffledp.report.words import Scale, count, count_of, shortened
from shuffledp.tasks import Outcome, Regional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["places_section"]

_MOST_DRAWN = 40
_MOST_OPEN = 15
_MOST_ROWS = 400
_LONGEST_NAME = 26
_SMALLEST, _LARGEST = 4.0, 16.0  # pixels: circles of a map

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    """One target at all places.

    Args:
        name: of the target.
        where: what each place is.
        estimate: shape (places,), in the scale of the page, like all others.
        margin: half of the width of the interval.
        unshuffled: the same if nothing were shuffled.
        overall: the estimate of everybody together: what each place would get from a uniform shuffle.
        people: slots at each place.
        unit: of the numbers.
    """

    name: str
    where: tuple[dict[str, Any], ...]
    estimate: Floats
    margin: Floats
    unshuffled: Floats
    overall: float
    people: NDArray[np.int64]
    unit: str


def places_section(outcome: Outcome) -> Section | None:
    """A chart of the target that differs most between places, and a table of all; None without regional estimates."""
    regional = outcome.regional
    if regional is None:
        return None
    scale = Scale.of(regional.estimate, outcome.model.local)
    drawn = _most_varied(regional, outcome.release.estimate, scale, outcome.task.value)
    rows = _rows(regional, scale)
    context = {
        "rows": rows[:_MOST_ROWS],
        "left_out": count(len(rows) - _MOST_ROWS) if len(rows) > _MOST_ROWS else None,
        "folded": len(rows) > _MOST_OPEN,
        "level": f"{regional.estimate.level * 100:.4g}%",
        "noun": scale.noun,
        "errors_in": scale.unit_of_errors,
        "places": count_of(len(drawn.where), "place", "places"),
        "overall": f"{drawn.overall:,.4g}{drawn.unit}",
        "target": drawn.name,
        "wider": _wider(drawn),
    }
    return Section(name="places", title="Estimates by place", context=context, charts=(_chart(drawn),))


def _most_varied(regional: Regional, overall: Estimate, scale: Scale, column: str) -> _Drawn:
    """The target whose estimates differ most between places, in units of their errors."""
    estimate, targets = regional.estimate, len(overall.target)
    by_place = estimate.estimate.reshape(-1, targets)
    errors = np.maximum(estimate.standard_error.reshape(-1, targets), 1e-300)
    chosen = int(np.argmax((((by_place - overall.estimate) / errors) ** 2).sum(axis=0).round(9)))
    margins = estimate.margin.reshape(-1, targets)[:, chosen]
    narrower = regional.unshuffled_error.reshape(-1, targets)[:, chosen] / errors[:, chosen]
    return _Drawn(
        name=overall.target[chosen] if targets == 1 else f"{column}: {overall.target[chosen]}",
        where=tuple(dict(place) for place in (estimate.where or ())[::targets]),
        estimate=scale.factor * by_place[:, chosen],
        margin=scale.factor * margins,
        unshuffled=scale.factor * margins * np.minimum(narrower, 1.0),
        overall=scale.factor * float(overall.estimate[chosen]),
        people=regional.people,
        unit=scale.unit,
    )


def _wider(drawn: _Drawn) -> str:
    """By how much shuffling widens a typical interval."""
    ratio = float(np.median(drawn.margin / np.maximum(drawn.unshuffled, 1e-300)))
    return (
        f"{ratio:.2f} times as wide as without shuffling" if ratio >= 1.005 else "hardly wider than without shuffling"
    )


def _rows(regional: Regional, scale: Scale) -> list[dict[str, str]]:
    estimate = regional.estimate
    targets = max(1, len(estimate.target) // len(regional.people))
    return [
        {
            "place": _name(place),
            "people": count(int(regional.people[number // targets])),
            "target": target,
            "estimate": scale.text(value),
            "lower": scale.text(low),
            "upper": scale.text(high),
        }
        for number, (place, target, value, low, high) in enumerate(
            zip(
                estimate.where or (),
                estimate.target,
                estimate.estimate,
                estimate.lower,
                estimate.upper,
                strict=True,
            )
        )
    ]


def _name(place: Any) -> str:
    """A place in words: its label alone, or its coordinates with their names."""
    if len(place) == 1:
        ((key, value),) = place.items()
        return str(value) if isinstance(value, str) else f"{key} {value:g}"
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in place.items()
    )


def _chart(drawn: _Drawn) -> Chart:
    numbers = [[value for value in place.values() if isinstance(value, float)] for place in drawn.where]
    dimensions = {len(each) for each in numbers}
    reading = (
        f"Thick lines: intervals of this release. Thin lines: what they would be without shuffling. Dashed: "
        f"{drawn.overall:,.4g}{drawn.unit}, the estimate for everybody, which a uniform shuffle would give every place."
    )
    if dimensions == {1}:
        draw, caption = (
            partial(_draw_line, drawn, np.array(numbers)[:, 0]),
            reading.replace("Thick lines", "Band").replace("Thin lines", "Dark band"),
        )
    elif dimensions == {2}:
        draw = partial(_draw_map, drawn, np.array(numbers))
        caption = (
            "Blue: above the estimate for everybody; orange: below; the stronger the color, the more standard errors "
            "apart. The larger the circle, the more people. A uniform shuffle would leave all circles pale."
        )
    else:
        draw, caption = partial(_draw_rows, drawn), reading
        if len(drawn.where) > _MOST_DRAWN:
            caption += f" Of {count(len(drawn.where))} places only the {_MOST_DRAWN} of most people are drawn."
    return Chart(
        name="places",
        title=f"{drawn.name} by place",
        description=(
            f"Estimates of {drawn.name} at {count_of(len(drawn.where), 'place', 'places')}, from "
            f"{drawn.estimate.min():,.4g}{drawn.unit} to {drawn.estimate.max():,.4g}{drawn.unit}; the numbers are in "
            "the table below."
        ),
        caption=caption,
        draw=draw,
    )


def _style(axes: "Axes", drawn: _Drawn, axis: Literal["x", "y"], *, narrow: bool) -> None:
    axes.grid(axis=axis)
    axes.tick_params(length=0)
    axes.locator_params(axis=axis, nbins=4 if narrow else 7)
    along = axes.xaxis if axis == "x" else axes.yaxis
    along.set_major_formatter(lambda value, _: f"{value:,.6g}{drawn.unit}".replace("-", "\N{MINUS SIGN}"))


def _draw_line(drawn: _Drawn, at: Floats, width: int) -> "Figure":
    narrow = width <= NARROW
    order = np.argsort(at, kind="stable")
    x, y = at[order], drawn.estimate[order]
    margin, inner = drawn.margin[order], drawn.unshuffled[order]
    figure, axes = new_figure(width, 300, left=52, right=14, top=12, bottom=48)
    axes.fill_between(x, y - margin, y + margin, color=LIGHT["blue"], alpha=0.22, linewidth=0)
    axes.fill_between(x, y - inner, y + inner, color=LIGHT["blue"], alpha=0.35, linewidth=0)
    axes.plot(x, y, color=LIGHT["blue"], linewidth=1.8)
    axes.axhline(drawn.overall, color=LIGHT["vermilion"], linewidth=1.4, linestyle=(0, (5, 3)))
    _style(axes, drawn, "y", narrow=narrow)
    axes.locator_params(axis="x", nbins=5 if narrow else 10)
    axes.set_xlabel(next(iter(drawn.where[0])), labelpad=6)
    low, high = np.quantile(y - margin, 0.02), np.quantile(y + margin, 0.98)
    axes.set_ylim(
        min(low, drawn.overall) - 0.05 * (high - low or 1), max(high, drawn.overall) + 0.05 * (high - low or 1)
    )
    return figure


def _draw_map(drawn: _Drawn, at: Floats, width: int) -> "Figure":
    """Latitude upward where the columns are latitude and longitude; else the first column to the right."""
    names = list(drawn.where[0])
    north = int(names[0].lower().startswith("lat"))
    x, y = at[:, north], at[:, 1 - north]
    figure, axes = new_figure(width, min(width, 520), left=52, right=14, top=12, bottom=48)
    apart = (drawn.estimate - drawn.overall) / np.maximum(drawn.margin / 1.96, 1e-300)
    sizes = _SMALLEST + (_LARGEST - _SMALLEST) * np.sqrt(drawn.people / drawn.people.max())
    for place in np.argsort(np.abs(apart)):
        color = LIGHT["blue"] if apart[place] > 0 else LIGHT["vermilion"]
        strength = float(np.clip(abs(apart[place]) / 4, 0.06, 0.95))
        axes.plot(x[place], y[place], "o", color=color, alpha=strength, markersize=sizes[place], markeredgewidth=0)
        axes.plot(
            x[place], y[place], "o", fillstyle="none", color=LIGHT["soft"], markersize=sizes[place], markeredgewidth=0.5
        )
    axes.grid(True)
    axes.tick_params(length=0)
    axes.locator_params(nbins=4 if width <= NARROW else 8)
    axes.margins(0.06)
    axes.set_xlabel(names[north], labelpad=6)
    axes.set_ylabel(names[1 - north], labelpad=4)
    return figure


def _draw_rows(drawn: _Drawn, width: int) -> "Figure":
    narrow = width <= NARROW
    shown = np.sort(np.argsort(-drawn.people, kind="stable")[:_MOST_DRAWN])
    names = [shortened(_name(drawn.where[place]), _LONGEST_NAME) for place in shown]
    left = min(max(text_width(name) for name in names) + 16, 0.5 * width)
    figure, axes = new_figure(width, 20 * len(shown) + 58, left=left, right=14, top=10, bottom=44)
    y, center = np.arange(len(shown)), drawn.estimate[shown]
    for margins, line in ((drawn.margin[shown], 5.0), (drawn.unshuffled[shown], 1.4)):
        color = LIGHT["blue"] if line > 2 else LIGHT["ink"]
        alpha = 0.45 if line > 2 else 1.0
        axes.hlines(y, center - margins, center + margins, color=color, linewidth=line, alpha=alpha)
    axes.plot(center, y, "o", color=LIGHT["blue"], markersize=6, markeredgecolor=LIGHT["paper"])
    axes.axvline(drawn.overall, color=LIGHT["vermilion"], linewidth=1.4, linestyle=(0, (5, 3)))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    _style(axes, drawn, "x", narrow=narrow)
    axes.set_xlabel(shortened(drawn.name, _LONGEST_NAME), labelpad=6)
    for place, name in zip(y, names, strict=True):
        annotate(axes, name, (0, float(place)), (-8, 0), xycoords=axes.get_yaxis_transform(), ha="right")
    return figure
