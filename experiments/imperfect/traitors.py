"""Messages against colluding shufflers: what each further traitor costs, for hosts of one message or of several."""

import math
from typing import Any

from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance

Row = dict[str, Any]
KEY = ("messages of a host", "imperfection", "colluding")


def compute(settings: Row) -> list[Row]:
    """One row for each way to spread messages, with the fewest hosts that are certified against so many traitors."""
    cases = [
        (each, gamma, colluding)
        for each in settings["messages"]
        for gamma in settings["imperfections"]
        for colluding in settings["colluding"]
    ]
    return [_case(*case, settings) for case in progress(cases, "traitors")]


def _case(each: int, imperfection: float, colluding: int, settings: Row) -> Row:
    people = settings["people"]
    modulus = math.ceil(2 * people**1.5)

    def certified(hosts: int) -> bool:
        told = {"shares_per_buffer": each, "told_buffers": colluding}
        distance = mixing_distance(people, hosts * each, imperfection, modulus, **told)
        return (1 + math.exp(settings["epsilon"])) * distance <= settings["delta"]

    hosts = next(number for number in range(colluding + 1, 100) if number * each > 1 and certified(number))
    return {
        "messages of a host": each,
        "imperfection": imperfection,
        "colluding": colluding,
        "hosts": hosts,
        "messages": hosts * each,
    }


def draw(rows: list[Row]) -> Any:
    """Hosts, and messages of each person, against those who collude."""
    gammas = sorted({row["imperfection"] for row in rows})
    figure, panels = new_chart(2 * len(gammas), width=3.2, height=4.0)
    for place, gamma in enumerate(gammas):
        for order, each in enumerate(sorted({row["messages of a host"] for row in rows})):
            here = [row for row in rows if row["messages of a host"] == each and row["imperfection"] == gamma]
            style: Row = {"fmt": f"-{MARKERS[order]}", "color": COLORS[order], "label": f"{each} for each host"}
            series(panels[2 * place], here, "colluding", "hosts", **style)
            series(panels[2 * place + 1], here, "colluding", "messages", **style)
        panels[2 * place].set(ylabel="hosts", title=f"gamma = {gamma:g}")
        panels[2 * place + 1].set(ylabel="messages of each person", title=f"gamma = {gamma:g}")
    for axes in panels:
        axes.set(xlabel="hosts who collude", ylim=(0, None))
    panels[0].legend(frameon=False, fontsize=8)
    return figure
