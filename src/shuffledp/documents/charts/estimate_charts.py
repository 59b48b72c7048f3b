"""Pictures of estimates: a dot with an interval each, the largest first if the names have no order."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers import OTHERS
from shuffledp.analyzers.exact_intervals import simultaneous
from shuffledp.core.estimates import NOT_ASKED, Estimate
from shuffledp.core.local_models import LocalModel
from shuffledp.core.text import count_of
from shuffledp.documents.charts.chart import Axis, Band, Chart, Dots, Line, Mark, Panel, Rows, Spans
from shuffledp.documents.words import Scale, count, shortened
from shuffledp.survey.questions.question import MISSING_CATEGORY

MOST_DRAWN = 40
_NO_ANSWERS = (MISSING_CATEGORY, NOT_ASKED, OTHERS)
_LONGEST_NAME = 30
_MOST_TICKS = 8
_LEADING_NUMBER = re.compile(r"[^\w.+-]*([+-]?\d+(?:\.\d+)?)")


def rows_chart(
    estimate: Estimate, scale: Scale, column: str, *, name: str = "estimates", model: LocalModel | None = None
) -> Chart:
    """Chart with a dot and a line for each estimate, or for some estimates if there are too many.

    The ``model`` is that of the reports, without which exact intervals that hold for all rows together are not known.
    """
    estimate = replace(estimate, target=estimate.names, where=None)
    shown, intervals = np.arange(len(estimate.target)), f"{estimate.level * 100:.4g}% intervals"
    caption = f"Dots: estimates. Lines: {intervals}."
    if len(shown) > MOST_DRAWN:
        estimate, shown, which = _drawn_of_many(estimate, scale, model)
        caption += which
    if scale.is_share:
        shown = _by_size(estimate, shown)
    if scale.lies_outside(estimate):
        caption += f" Gray: where no true {'share' if scale.is_share else estimate.statistic} can lie."
    label = f"{estimate.statistic} of {shortened(column, _LONGEST_NAME)}, in its own units"
    whom = "those asked" if estimate.statistic.endswith("those asked") else "the people"
    label = f"share of {whom}" if scale.is_share else label
    largest = int(np.argmax(estimate.estimate))
    return Chart(
        name=name,
        title=f"Estimated {estimate.statistic} with {intervals}",
        description=(
            f"A dot with an interval for each of {count_of(len(shown), 'row')}; the numbers are in the table "
            f"below. The largest is {estimate.target[largest]} with {scale.text(estimate.estimate[largest])}."
        ),
        caption=caption,
        panels=(_panel(estimate, scale, shown, label),),
    )


def _drawn_of_many(
    estimate: Estimate, scale: Scale, model: LocalModel | None
) -> tuple[Estimate, NDArray[np.intp], str]:
    """Estimate, indices of the rows to draw, and a note on the choice of the rows.

    The largest rows are drawn if intervals hold for all rows jointly, else the first ones.
    """
    rows, together = count(len(estimate.target)), simultaneous(estimate, model)
    if together is None:
        return estimate, np.arange(MOST_DRAWN), f" Of {rows} only the first {MOST_DRAWN} are drawn; the table has all."
    size = estimate.estimate if scale.is_share else np.abs(estimate.estimate)
    kind = "largest" if scale.is_share else "largest in size"
    which = (
        f" Of {rows} only the {MOST_DRAWN} {kind} are drawn, with intervals that hold for all {rows} together; the "
        "table has all, each with an interval of its own."
    )
    return together, np.sort(np.argsort(-size, kind="stable")[:MOST_DRAWN]), which


def _by_size(estimate: Estimate, shown: NDArray[np.intp]) -> NDArray[np.intp]:
    """Indices of rows, the largest estimate first and non-answers last; unchanged if numbers order the names."""
    if _are_in_order([name for name in estimate.target if name not in _NO_ANSWERS]):
        return shown
    return np.array(sorted(shown, key=lambda row: (estimate.target[row] in _NO_ANSWERS, -estimate.estimate[row])))


def _are_in_order(names: Sequence[str]) -> bool:
    """Whether numbers at the starts of names increase, as for ages and sizes."""
    found = [_LEADING_NUMBER.match(name) for name in names]
    numbers = [float(each[1]) for each in found if each is not None]
    return len(numbers) == len(names) and all(low < high for low, high in pairwise(numbers))


def _panel(estimate: Estimate, scale: Scale, shown: NDArray[np.intp], label: str) -> Panel:
    """Panel with a row for each estimate; shaded where the true value cannot lie."""
    number, (first, last) = len(shown), _ends(estimate, scale, shown)
    center, low, high = (scale.factor * each[shown] for each in (estimate.estimate, estimate.lower, estimate.upper))
    marks: list[Mark] = []
    for end, beyond in _impossible(scale, first, last):
        ends = sorted((end, beyond))
        marks.append(Band(x=ends, low=(-1, -1), high=(number, number), color="line", strength=0.45))
        marks.append(Line(x=(end, end), y=(-1, number), color="soft", width=1))
    return Panel(
        x=Axis(label=label, ends=(first, last), unit=scale.unit, ticks=(_MOST_TICKS, _MOST_TICKS // 2)),
        y=Rows(
            names=tuple(shortened(estimate.target[row], _LONGEST_NAME) for row in shown),
            values=tuple(scale.text(estimate.estimate[row]) for row in shown),
            pitch=(44 if number <= 5 else 32 if number <= 15 else 24, 44),
        ),
        marks=(*marks, Spans(at=range(number), low=low, high=high), Dots(x=center, y=range(number), size=8)),
    )


def _impossible(scale: Scale, first: float, last: float) -> list[tuple[float, float]]:
    """Intervals of the axis in which no true value can lie."""
    if scale.bounds is None:
        return []
    low, high = (scale.factor * end for end in scale.bounds)
    return [(end, beyond) for end, beyond in ((low, first), (high, last)) if first < end < last]


def _ends(estimate: Estimate, scale: Scale, shown: NDArray[np.intp]) -> tuple[float, float]:
    """Ends of the axis: round numbers around all intervals and estimates.

    They exceed the range of possible true values only if an estimate or an interval does.
    """
    low = scale.factor * float(np.minimum(estimate.lower, estimate.estimate)[shown].min())
    high = scale.factor * float(np.maximum(estimate.upper, estimate.estimate)[shown].max())
    room = (high - low or 1.0) * (1.0 if len(shown) == 1 else 0.02)
    least = (high - low + 2 * room) / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)
    first, last = step * math.floor((low - room) / step), step * math.ceil((high + room) / step)
    if scale.bounds is not None:
        least, most = (scale.factor * end for end in scale.bounds)
        first = max(first, least) if low >= least else low - room
        last = min(last, most) if high <= most else high + room
    return first, last
