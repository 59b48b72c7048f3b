"""Fig. 1, 8 and 9: which products of channels are equal, and which leak the same, worked out in fractions.

N randomizes every person's value, S shuffles, S^r shows the histogram only, and N^r randomizes a histogram. A product
is read from left to right.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from experiments.showing import COLORS, new_chart, progress
from shuffledp import Channel
from shuffledp.leakage.gain import equivalent
from shuffledp.leakage.shuffle_channels import (
    cascade,
    randomized_response_channel,
    reduced_randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

Row = dict[str, Any]
Relation = Callable[[Channel, Channel, Channel, Channel], bool]
KEY = ("figure", "relation", "people", "values", "truth")
RELATIONS: tuple[tuple[str, str, Relation], ...] = (  # of N, S, S^r and N^r
    ("1 and 9", "S leaks as S^r", lambda _n, s, sr, _nr: equivalent(s, sr)),
    ("1 and 9", "N S = S N", lambda n, s, _sr, _nr: cascade(n, s) == cascade(s, n)),
    ("1 and 9", "N S leaks as N S^r", lambda n, s, sr, _nr: equivalent(cascade(n, s), cascade(n, sr))),
    ("8 and 9", "N S^r = S^r N^r", lambda n, _s, sr, nr: cascade(n, sr) == cascade(sr, nr)),
    ("9", "S N leaks as S^r N^r", lambda n, s, sr, nr: equivalent(cascade(s, n), cascade(sr, nr))),
    ("1", "S^r N does not exist", lambda n, _s, sr, _nr: sr.outputs != n.inputs),
    ("8", "N and N^r have other inputs", lambda n, _s, _sr, nr: n.inputs != nr.inputs),
)


def compute(settings: Row) -> list[Row]:
    """One row for each relation, number of people and of values, and chance of the truth."""
    rows = []
    for people, size, text in progress(settings["cases"], "relations"):
        truth = Fraction(text)
        made = (
            randomized_response_channel(people, size, truth),
            shuffle_channel(people, size),
            reduced_shuffle_channel(people, size),
            reduced_randomized_response_channel(people, size, truth),
        )
        for figure, name, holds in RELATIONS:
            row = {"figure": figure, "relation": name, "people": people, "values": size, "truth": text}
            rows.append(row | {"holds": holds(*made)})
    return rows


def draw(rows: list[Row]) -> Any:
    """A mark for each relation and case."""
    names = list(dict.fromkeys(f"Fig. {row['figure']}: {row['relation'].replace('^r', 'ʳ')}" for row in rows))
    cases = list(dict.fromkeys((row["people"], row["values"], row["truth"]) for row in rows))
    figure, (axes,) = new_chart(1, width=7.0, height=0.8 + 0.36 * len(names))
    for row in rows:
        x = cases.index((row["people"], row["values"], row["truth"]))
        y = names.index(f"Fig. {row['figure']}: {row['relation'].replace('^r', 'ʳ')}")
        axes.plot(x, y, "o" if row["holds"] else "X", color=COLORS[2] if row["holds"] else COLORS[1], markersize=9)
    axes.set_xticks(range(len(cases)), [f"{n} people\n{k} values\np = {p}" for n, k, p in cases], fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlim=(-0.5, len(cases) - 0.5), ylim=(len(names) - 0.5, -0.5))
    axes.set_title("dots: it holds", fontsize=10)
    return figure
