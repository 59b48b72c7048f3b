"""Rho by both protocols where it is exact: without a shuffle, shuffled inside the smallest cells, and uniformly."""

import math
from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.d_sigma.data import people_of
from experiments.showing import COLORS, lettered, new_chart
from shuffledp.protocols.d_sigma.attacks.side_information import similar_people
from shuffledp.protocols.d_sigma.attacks.vote_vulnerability import Vote

Row = dict[str, Any]
KEY = ("data", "shuffle")
PARTS = "sets"
SHUFFLES = {"none": "no shuffle", "cells": "inside cells", "uniform": "uniform:\nchance"}
MEASURED = {"rho": "fixed", "rho fresh": "fresh", "vote": "right"}
NAMES = {
    "adult": "Adult, balanced",
    "adult whole": "Adult, everybody",
    "acs": "ACS, balanced",
    "acs whole": "ACS, everybody",
    "twitch": "Twitch, everybody",
}


def compute(settings: Row) -> list[Row]:
    """One row for each shuffle; cells are years of age on Adult, and places on ACS."""
    rows = []
    randomizer = sdp.KaryRandomizedResponse(epsilon0=settings["epsilon0"], domain_size=2)
    for data in settings["sets"]:
        people = people_of(data, settings.get("size"))
        near = similar_people(people.near, count=25, privileged=people.privileged)
        vote = Vote(answers=people.answers, neighbors=near, truth=float(randomizer.model.p), runs=settings["num_runs"])
        found = {"none": vote.by_permutations([np.arange(len(near))] * vote.runs)}
        if people.cells is not None:
            found["cells"] = vote.in_cells(people.cells)
        found["uniform"] = vote.in_cells(np.zeros(len(near), dtype=np.int64))
        given = {"data": data, "people": len(near), "naive": float(np.bincount(people.answers).max() / len(near))}
        for name, each in found.items():
            measured = {column: getattr(each, of) for column, of in MEASURED.items()}
            rows.append(given | {"shuffle": name, "epsilon0": settings["epsilon0"]} | measured)
    return rows


def draw(rows: list[Row]) -> Any:
    """One panel for each data set: both measures beside each other, and what the commonest answer is right about."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = new_chart(len(names), width=3.3, height=2.9, columns=math.ceil(len(names) / 2))
    for place, (axes, data) in enumerate(zip(panels, names, strict=True)):
        here = [row for row in rows if row["data"] == data]
        places = np.arange(len(here))
        for side, (column, label) in enumerate((("rho", "one permutation, as printed"), ("rho fresh", "fresh ones"))):
            bars = axes.bar(
                places + 0.38 * side - 0.19, [row[column] for row in here], 0.36, color=COLORS[side], label=label
            )
            axes.bar_label(bars, fmt="%.2f", fontsize=8)
        axes.axhline(here[0]["naive"], color="#8a8f95", linestyle="-.", label="base rate: always the commonest answer")
        axes.set_xticks(places, [SHUFFLES[row["shuffle"]] for row in here])
        axes.set(ylim=(0, 1.05), ylabel="rho: share vulnerable")
        lettered(axes, place, f"{NAMES[data]}: {here[0]['people']:,}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
