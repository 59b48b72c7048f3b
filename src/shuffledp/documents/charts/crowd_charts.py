"""Charts over the number of people at one central loss: errors, and the influence of false reports."""

from collections.abc import Mapping, Sequence

import numpy as np

from shuffledp.documents.charts.chart import Axis, Chart, Line, Mark, Name, Panel

_COLORS = ("blue", "vermilion", "green", "ink", "soft")


def crowd_chart(
    people: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    name: str,
    title: str,
    measured: str,
    caption: str,
) -> Chart:
    """Chart with one line for each curve over numbers of people; both axes are logarithmic.

    Args:
        people: numbers of people, ascending.
        curves: numbers above 0, or NaN, for each of ``people``, by the name of the curve.
        name: of the chart's files.
        title: what it shows.
        measured: label of the vertical axis.
        caption: what a reader needs.
    """
    x, marks = np.array(people, dtype=float), list[Mark]()
    for color, (text, values) in zip(_COLORS, curves.items(), strict=False):
        y = np.array(values, dtype=float)
        drawn = np.flatnonzero(np.isfinite(y))
        if drawn.size:
            marks += [Line(x=x, y=y, color=color, width=2)]
            marks += [Name(text, (float(x[drawn[-1]]), float(y[drawn[-1]])), color, falls=True)]
    seen = np.concatenate([np.array(values, dtype=float) for values in curves.values()])
    seen = seen[np.isfinite(seen)]
    return Chart(
        name=name,
        title=title,
        description=f"Both axes are logarithmic. Curves: {', '.join(curves)}.",
        caption=caption,
        panels=(
            Panel(
                x=Axis(label="people", ends=(x[0], x[-1]), is_log=True, is_short=True, ticks=(6, 3)),
                y=Axis(label=measured, ends=(seen.min() / 1.5, seen.max() * 1.5), is_log=True, ticks=(10, 10)),
                marks=tuple(marks),
                height=(420, 340),
            ),
        ),
    )
