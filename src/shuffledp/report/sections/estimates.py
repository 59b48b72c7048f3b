"""The estimates with their intervals, as a chart and as a table of the same numbers."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp._numerals import factor_in_digits
from shuffledp.estimates import Estimate
from shuffledp.models import FrequencyModel, MeanModel, SumModel
from shuffledp.report.drawing import LIGHT, NARROW, annotate, new_figure, text_width
from shuffledp.report.parts import Chart, Section
from shuffledp.report.words import Scale, count, count_of, percent, sent, shortened
from shuffledp.tasks import NumberSection, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_DRAWN", "estimates_section"]

MOST_DRAWN = 40
_LONGEST_NAME = 30
_AROUND_VALUES = 20  # pixels
_LEAST_SHARE_OF_RANGE = 0.1


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
    scale = Scale.of(estimate, outcome.model.local)
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
        "reports": sent(outcome.model, estimate.num_reports),
        "errors_in": scale.unit_of_errors,
        "noun": scale.noun,
        "clipping": _clipping(outcome, scale),
        "sentences": _sentences(outcome, scale),
    }
    charts = (_chart(estimate, scale, outcome.task.value),)
    return Section(name="estimates", title="Estimates", context=context, charts=charts)


def _sentences(outcome: Outcome, scale: Scale) -> list[str]:
    """What one report tells, what all of them tell together, and how to read the intervals."""
    estimate, local = outcome.release.estimate, outcome.model.local
    level = f"{estimate.level * 100:.4g}%"
    told = estimate.sampling_error is not None or not isinstance(local, MeanModel)
    sentences = [
        _one_report(outcome),
        "Together the reports say how often each answer was given." if scale.is_share else "",
    ]
    if len(estimate.target) > 1:
        sentences.append(f"Each interval by itself covers the truth about these people in about {level} of all runs.")
    else:
        sentences.append(f"The interval covers the truth about these people in about {level} of all runs.")
    if not told:
        sentences.append(
            "It covers it more often than that where people's values differ: reports like these cannot tell "
            "differences between people from randomizing, so both are in the standard error. It is thus also the error "
            "for a large population that these people are a random sample of."
        )
    sentences.append(_clipping(outcome, scale))
    if estimate.covariance is not None and not estimate.is_correlated:
        sentences.append("The errors that randomizing adds to different coordinates are uncorrelated.")
    if _lies_outside(estimate, scale):
        sentences.append(
            f"The estimates are unbiased and shown as they are. Values outside {scale.range} are impossible: an "
            "interval that reaches beyond an end only says that the data do not exclude that end."
        )
    return [sentence for sentence in sentences if sentence]


def _clipping(outcome: Outcome, scale: Scale) -> str:
    """What the mean is of where answers are clipped; "" elsewhere."""
    section = outcome.task.randomizer
    if not section.clips:
        return ""
    usual = isinstance(section, NumberSection)
    moved = f"Answers outside {scale.range} count as the nearer end" if usual else section.clipping.rstrip(".")
    return (
        f"{moved}: the truth meant here is the {outcome.release.estimate.statistic} of the answers after that, not of "
        "the answers as they were given."
    )


def _one_report(outcome: Outcome) -> str:
    """What a report by itself says about its sender; nothing is claimed for a withdrawn run."""
    local = outcome.model.local
    if outcome.release.seeded or any(statement.withdrawn for statement in outcome.release.statements):
        return ""
    if isinstance(local, FrequencyModel):
        return (
            f"A report supports its sender's true answer with probability {percent(local.p)}, and any other given "
            f"answer with probability {percent(local.q)}."
        )
    if isinstance(local, SumModel):
        return (
            "All but one of a person\N{RIGHT SINGLE QUOTATION MARK}s messages for a number are uniform, whatever was "
            "answered, and tell nothing; all together they add up to the answer with a little noise. So nothing is "
            "hidden before the shuffles."
        )
    if local.guarantee.is_trivial:
        return "Nothing limits what a report tells about its sender."
    sent = "a report" if local.num_messages == 1 else "all that one person sends"
    return (
        f"Any content of {sent} is at most {factor_in_digits(local.epsilon0, 'at most')} times as probable after one "
        "answer as after any other."
    )


def _lies_outside(estimate: Estimate, scale: Scale) -> bool:
    if scale.bounds is None:
        return False
    low, high = scale.bounds
    return bool((estimate.lower < low).any() or (estimate.upper > high).any())


def _chart(estimate: Estimate, scale: Scale, column: str) -> Chart:
    shown = np.arange(len(estimate.target))
    caption = f"Dots: estimates. Lines: {estimate.level * 100:.4g}% intervals."
    if len(shown) > MOST_DRAWN:
        size = estimate.estimate if scale.is_share else np.abs(estimate.estimate)
        shown = np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN])
        kind = "largest" if scale.is_share else "largest in size"
        caption += f" Of {count(len(estimate.target))} only the {MOST_DRAWN} {kind} are drawn; the table has all."
    if _lies_outside(estimate, scale):
        caption += f" Gray: where no true {'share' if scale.is_share else 'mean'} can lie."
    largest = int(np.argmax(estimate.estimate))
    return Chart(
        name="estimates",
        title=f"Estimated {estimate.statistic} with {estimate.level * 100:.4g}% intervals",
        description=(
            f"A dot with an interval for each of {count_of(len(shown), 'row', 'rows')}; the numbers are in the table "
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
