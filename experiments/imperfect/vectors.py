"""Vectors against the Gaussian: the error of each coordinate, with messages and bytes, beside a curator and a box."""

import math
from typing import Any

import shuffledp as sdp
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.planning.trusted_curator import trusted_curator

Row = dict[str, Any]
KEY = ("protocol", "people")
CURATOR, VECTORS, BOX = "trusted curator: Gaussian", "vector sum", "coordinates bounded one by one"


def compute(settings: Row) -> list[Row]:
    """Standard errors of the sum in each coordinate, of vectors of a length of at most 1."""
    return [row for people in progress(settings["people"], "vectors") for row in _case(people, settings)]


def _case(people: int, settings: Row) -> list[Row]:
    wanted = {"epsilon": settings["epsilon"], "delta": settings["delta"], "num_users": people}
    dimension = settings["dimension"]
    model = sdp.calibrate.vector_sum(**wanted, largest_norm=1.0, dimension=dimension).model
    blocks = sdp.calibrate.vector_sum(**wanted, largest_norm=1.0, dimension=dimension, block=settings["block"]).model
    curator = trusted_curator(model, epsilon=wanted["epsilon"], delta=wanted["delta"], num_users=people)
    box = math.sqrt(2) * 2 * dimension / settings["epsilon"]  # of Laplace noise for epsilon / dimension in each
    none = {"messages": None, "kB": None, "kB in blocks": None}
    return [
        {"protocol": CURATOR, "people": people, "error": curator.standard_error * people, **none},
        {
            "protocol": VECTORS,
            "people": people,
            "error": math.sqrt(model.sum_variance(people)),
            "messages": model.num_messages,
            "kB": model.sent_bytes[1] / 1000,
            "kB in blocks": blocks.sent_bytes[1] / 1000,
        },
        {"protocol": BOX, "people": people, "error": box, **none},
    ]


def draw(rows: list[Row]) -> Any:
    """Errors and bytes against people."""
    figure, panels = new_chart(2, width=4.6, height=4.0)
    for place, name in enumerate((CURATOR, VECTORS, BOX)):
        line = [row for row in rows if row["protocol"] == name]
        style = {"fmt": "--" if name == CURATOR else f"-{MARKERS[place]}", "color": COLORS[-1 - place]}
        series(panels[0], line, "people", "error", label=name, **style)
    sent = [row for row in rows if row["protocol"] == VECTORS]
    for place, column in enumerate(("kB", "kB in blocks")):
        label = "sealed one by one" if column == "kB" else "in blocks"
        series(panels[1], sent, "people", column, label=label, fmt=f"-{MARKERS[place]}", color=COLORS[place])
    panels[0].set(xscale="log", yscale="log", xlabel="people", ylabel="standard error of a coordinate of the sum")
    panels[1].set(xscale="log", xlabel="people", ylabel="kB that one person sends", ylim=(0, None))
    for axes in panels:
        axes.legend(frameon=False, fontsize=8)
    return figure
