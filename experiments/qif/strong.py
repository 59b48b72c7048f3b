"""Fig. 6: somebody who knows everybody else's value, beside somebody who knows nobody's."""

import math
from typing import Any

from experiments.qif.responses import excess, response
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.leakage import strong_vulnerability

Row = dict[str, Any]
KEY = ("percent",)


def compute(settings: Row) -> list[Row]:
    """One row for each number of others with the second value, beside what the text of the paper prints."""
    printed = dict(settings["printed"])
    people, truth = settings["people"], settings["truth"]
    channel, rows = response(2, truth), []
    for percent in progress(settings["percents"], "fig-6"):
        second = round((people - 1) * percent / 100)
        found = strong_vulnerability(None, channel, others=[people - 1 - second, second])
        rows.append(
            {
                "percent": percent,
                "others with the second value": second,
                "strong": found.value,
                "normal limit": 0.5 + (2 * truth - 1) / math.sqrt(8 * math.pi * (people - 1) * truth * (1 - truth)),
                "uninformed": 0.5 + excess(people, 2, truth),
                "randomized only": truth,
                "printed": printed.get(percent),
            }
        )
    return rows


def draw(rows: list[Row]) -> Any:
    """Knowing which values the others hold hardly matters: to the left in full, to the right what there is of it."""
    figure, panels = new_chart(2, width=4.6, height=4.0)
    left, right = panels
    style: Row = {"linewidth": 1.8}
    for axes in panels:
        series(axes, rows, "percent", "strong", color=COLORS[0], fmt="-o", label="knows all others")
        series(axes, rows, "percent", "normal limit", color=COLORS[1], fmt="--", label="normal limit", **style)
        axes.set(xlabel="others with the second value, %")
    series(left, rows, "percent", "uninformed", color=COLORS[2], fmt="-s", label="knows nobody")
    left.axhline(0.5, color=COLORS[-1], linewidth=1.2, linestyle=":", label="beforehand")
    left.set(ylabel="chance of a right guess", title="two values, after both", ylim=(0.499, None))
    right.set(title="the same, enlarged")
    right.yaxis.set_major_formatter("{x:.5f}")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
