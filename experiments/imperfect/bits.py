"""What one person sends, in bits, beside what the sum is then off by."""

import math
from typing import Any

import shuffledp as sdp
from experiments.imperfect.errors import single_message
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

Row = dict[str, Any]
KEY = ("protocol", "people")


def compute(settings: Row) -> list[Row]:
    """One row for each protocol and number of people. The error is the standard deviation that the model states."""
    return [row for people in progress(settings["people"], "bits") for row in _of(people, settings)]


def _of(people: int, settings: Row) -> list[Row]:
    epsilon, rows = settings["epsilon"], []
    for gamma in settings["imperfections"]:
        split = sdp.calibrate.split_and_mix(
            num_users=people, epsilon=epsilon, delta=settings["delta"], imperfection=gamma, lower=0, upper=1
        )
        bits, spread = split.num_messages * split.model.report_bits, math.sqrt(split.model.sum_variance(people))
        rows.append(_row(f"split and mix, gamma = {gamma:g}", people, split.num_messages, bits, spread))
    grid = math.isqrt(people - 1) + 1
    others: dict[str, Any] = {
        "one shuffled message": single_message(people, epsilon, settings),
        "no shuffle, Laplace": sdp.DiscreteLaplaceMean(epsilon0=epsilon, lower=0, upper=1, num_steps=grid),
        "no shuffle, one bit": sdp.OneBitMean(epsilon0=epsilon, lower=0, upper=1),
    }
    for name, randomizer in others.items():
        model = randomizer.model
        spread = math.sqrt(people * float(model.noise_variance(0.5)))
        rows.append(_row(name, people, 1, model.report_bits, spread))
    return rows


def _row(protocol: str, people: int, messages: int, bits: int, spread: float) -> Row:
    return {
        "protocol": protocol,
        "people": people,
        "messages": messages,
        "bits": bits,
        "standard deviation": spread,
    }


def draw(rows: list[Row]) -> Any:
    """Bits to the left, what they buy to the right, where gamma makes no difference to split and mix."""
    figure, panels = new_chart(2, width=4.6, height=4.2)
    drawn: list[list[float]] = []
    for place, name in enumerate(dict.fromkeys(row["protocol"] for row in rows)):
        line = [row for row in rows if row["protocol"] == name]
        style = {"fmt": f"-{MARKERS[place]}", "color": COLORS[place], "label": name}
        series(panels[0], line, "people", "bits", **style)
        spreads = [row["standard deviation"] for row in line]
        if spreads not in drawn:
            series(panels[1], line, "people", "standard deviation", **style)
        drawn.append(spreads)
    first = next(row for row in rows if row["people"] == min(row["people"] for row in rows))
    at = (first["people"], first["standard deviation"])
    panels[1].annotate("split and mix, for all gamma", at, xytext=(0, -14), textcoords="offset points", fontsize=8)
    for axes, title in zip(panels, ("bits of each person", "standard deviation of the sum"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="people", title=title)
    panels[1].set_ylim(bottom=first["standard deviation"] / 2)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
