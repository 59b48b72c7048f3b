"""Tables I to V: the channels of three people with two values, a and b, in fractions, and the entries as printed.

What is printed is written down here anew, as formulas of p and pb = 1 - p; ours comes from the library's channels. They
differ in one row of Table III and two rows of Table IV.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from experiments.showing import new_chart
from shuffledp import Channel
from shuffledp.leakage.shuffle_channels import (
    cascade,
    randomized_response_channel,
    reduced_randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

Row = dict[str, Any]
KEY = ("channel", "truth", "row", "column")
Entry = Callable[[Any, Any, Fraction], Fraction]

_DIFFERENT = "#f3d9c4"


def compute(settings: Row) -> list[Row]:
    """One row for each entry of each channel of the table, and each chance of the truth."""
    rows = []
    for truth in map(Fraction, settings["truths"]):
        for name, channel, printed in _channels(settings["table"], truth):
            for values, entries in zip(channel.inputs, channel.matrix, strict=True):
                for shown, entry in zip(channel.outputs, entries, strict=True):
                    print_out = printed(values, shown, truth)
                    rows.append(
                        {
                            "channel": name,
                            "truth": str(truth),
                            "row": _name(values),
                            "column": _name(shown),
                            "printed": str(print_out),
                            "ours": str(Fraction(entry)),
                            "differ": "yes" if print_out != entry else "",
                        }
                    )
    return rows


def _channels(table: int, truth: Fraction) -> list[tuple[str, Channel, Entry]]:
    """The channels of one table with what is printed for them."""
    randomize, shuffle = randomized_response_channel(3, 2, truth), shuffle_channel(3, 2)
    count, randomize_counts = reduced_shuffle_channel(3, 2), reduced_randomized_response_channel(3, 2, truth)
    channels: dict[int, list[tuple[str, Channel, Entry]]] = {
        1: [("N", randomize, _flips), ("S", shuffle, _orders), ("S^r", count, _counts)],
        2: [("NS", cascade(randomize, shuffle), _shared), ("SN", cascade(shuffle, randomize), _shared)],
        3: [("NS^r", cascade(randomize, count), _table_3)],
        4: [("N^r", randomize_counts, _table_4)],
        5: [("NS^r", cascade(randomize, count), _law), ("S^r N^r", cascade(count, randomize_counts), _law)],
    }
    return channels[table]


def _flips(values: Any, shown: Any, p: Fraction) -> Fraction:
    """Each value stays with chance p."""
    return math.prod(
        (p if one == other else 1 - p for one, other in zip(values, shown, strict=True)), start=Fraction(1)
    )


def _orders(values: Any, shown: Any, _: Fraction) -> Fraction:
    """The distinct orders of a list are equally likely."""
    return Fraction(int(sum(values) == sum(shown)), math.comb(3, sum(values)))


def _counts(values: Any, shown: Any, _: Fraction) -> Fraction:
    return Fraction(int(sum(values) == shown[1]))


def _shared(values: Any, shown: Any, p: Fraction) -> Fraction:
    """A list has its histogram's probability, shared by all its orders."""
    return _formulas(p)[int(sum(values))][int(sum(shown))] / math.comb(3, sum(shown))


def _law(values: Any, shown: Any, p: Fraction) -> Fraction:
    return _formulas(p)[int(sum(values))][int(shown[1])]


def _table_3(values: Any, shown: Any, p: Fraction) -> Fraction:
    """Two entries of the last row are printed in each other's place."""
    place: int = {1: 2, 2: 1}.get(shown[1], shown[1]) if sum(values) == 3 else shown[1]
    return _formulas(p)[int(sum(values))][place]


def _table_4(values: Any, shown: Any, p: Fraction) -> Fraction:
    """The middle entries of the middle rows are printed with a factor of 1/3."""
    factor = Fraction(1, 3) if 0 < values[1] < 3 and 0 < shown[1] < 3 else Fraction(1)
    return factor * _formulas(p)[int(values[1])][int(shown[1])]


def _formulas(p: Fraction) -> list[list[Fraction]]:
    """By the number of b among values, and among reports."""
    pb = 1 - p
    return [
        [p**3, 3 * p**2 * pb, 3 * p * pb**2, pb**3],
        [p**2 * pb, p**3 + 2 * p * pb**2, 2 * p**2 * pb + pb**3, p * pb**2],
        [p * pb**2, 2 * p**2 * pb + pb**3, p**3 + 2 * p * pb**2, p**2 * pb],
        [pb**3, 3 * p * pb**2, 3 * p**2 * pb, p**3],
    ]


def _name(values: Any) -> str:
    """A list of three values, or how many of them are a and b."""
    return "".join("ab"[value] for value in values) if len(values) == 3 else f"a:{values[0]} b:{values[1]}"


def draw(rows: list[Row]) -> Any:
    """The matrices at the first chance of the truth; where the print differs it stands below, in brackets."""
    rows = [row for row in rows if row["truth"] == rows[0]["truth"]]
    names = list(dict.fromkeys(row["channel"] for row in rows))
    tall = max(len({row["row"] for row in rows if row["channel"] == name}) for name in names)
    figure, panels = new_chart(len(names), width=4.2, height=1.0 + 0.36 * tall)
    for axes, name in zip(panels, names, strict=True):
        _draw_matrix(axes, [row for row in rows if row["channel"] == name])
        axes.set_title(f"{name.replace('^r', 'ʳ')}, p = {rows[0]['truth']}", fontsize=10)
    return figure


def _draw_matrix(axes: Any, rows: list[Row]) -> None:
    down, across = (list(dict.fromkeys(row[side] for row in rows)) for side in ("row", "column"))
    axes.grid(False)
    for row in rows:
        place = across.index(row["column"]), down.index(row["row"])
        text = row["ours"]
        if row["differ"]:
            axes.axhspan(
                place[1] - 0.5,
                place[1] + 0.5,
                place[0] / len(across),
                (place[0] + 1) / len(across),
                color=_DIFFERENT,
                zorder=0,
            )
            text = f"{text}\n({row['printed']})"
        color = "#6b7480" if text == "0" else "#1b1f24"
        axes.text(*place, text, ha="center", va="center", fontsize=8, color=color)
    axes.set_xticks(range(len(across)), across, fontsize=8)
    axes.set_yticks(range(len(down)), down, fontsize=8)
    axes.set(xlim=(-0.5, len(across) - 0.5), ylim=(len(down) - 0.5, -0.5))
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
