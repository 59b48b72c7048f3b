"""One buffer against rounds: how many messages of each person are certified, against the imperfection."""

from typing import Any

import shuffledp as sdp
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares import Hosts

LAYOUTS = {"rounds": Hosts(), "one buffer": Hosts(buffers="host"), "three hosts": Hosts(number=3, buffers="host")}

Row = dict[str, Any]
KEY = ("people", "imperfection")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and each imperfection, with the messages that each layout needs."""
    cases = [(people, gamma) for people in settings["people"] for gamma in settings["imperfections"]]
    return [_case(*case, settings) for case in progress(cases, "buffers")]


def _case(people: int, imperfection: float, settings: Row) -> Row:
    wanted = {"num_users": people, "imperfection": imperfection, "lower": 0, "upper": 1}
    row: Row = {"people": people, "imperfection": imperfection}
    for name, hosts in LAYOUTS.items():
        try:
            found = sdp.calibrate.split_and_mix(
                **wanted, epsilon=settings["epsilon"], delta=settings["delta"], hosts=hosts
            )
        except InvalidParameterError:
            row[name] = None
        else:
            row[name] = found.num_messages
    return row


def draw(rows: list[Row]) -> Any:
    """One panel for each number of people."""
    crowds = sorted({row["people"] for row in rows})
    figure, panels = new_chart(len(crowds), width=3.6, height=4.0)
    for axes, people in zip(panels, crowds, strict=True):
        here = [row for row in rows if row["people"] == people]
        for place, name in enumerate(LAYOUTS):
            series(axes, here, "imperfection", name, label=name, fmt=f"-{MARKERS[place]}", color=COLORS[place])
        axes.set(xlabel="imperfection gamma", title=f"{people:,} people", ylim=(0, None))
    panels[0].set_ylabel("messages of each person")
    panels[0].legend(frameon=False, fontsize=8)
    return figure
