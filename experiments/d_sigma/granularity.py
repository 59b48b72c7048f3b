"""Fig. 1: labels at three granularities as they are released, and what a Gaussian process makes of each release."""

from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.d_sigma.data import people_of
from experiments.d_sigma.mechanisms import MECHANISMS, shuffler_of
from shuffledp.attacks import GaussianProcessAttack, SideInformation
from shuffledp.attacks.side_information import reports_by_slot
from shuffledp.testing import SeededSource

__all__ = ["cases", "compute", "draw"]

Row = dict[str, Any]
# Warm and cool, two shades of each crescent: the colors that the labels are named after.
COLORS = ("#f4a3a0", "#b3261e", "#f7c98b", "#c76a00", "#9fc5e8", "#1f4e8c", "#a8d8b0", "#1e7b3a")


def cases(settings: Row) -> list[Row]:
    """What is released: labels as they are, randomized, and shuffled at each radius."""
    given = {name: settings[name] for name in ("people", "shown", "epsilon0", "alpha", "centers")}
    kinds: list[tuple[str, float | None]] = [("original", None), ("none", None)]
    kinds += [(name, radius) for radius in settings["radii"] for name in ("paper", "mallows", "noisy sort")]
    return [given | {"mechanism": name, "radius": radius} for name, radius in [*kinds, ("uniform", None)]]


def compute(case: Row) -> list[Row]:
    """One row of numbers, with what some of the people's slots show and what the attack says of them."""
    people = people_of("syn", case["people"])
    shown = np.random.default_rng(0).permutation(case["people"])[: case["shown"]]
    if case["mechanism"] == "original":
        released, guesses = people.answers, people.answers
    else:
        groups = None if case["radius"] is None else people.groups(case["radius"])
        shuffler = shuffler_of(case["mechanism"], groups, case["alpha"], people.coordinates)
        randomizer = sdp.KaryRandomizedResponse(epsilon0=case["epsilon0"], domain_size=8)
        source = SeededSource(4)
        view = shuffler.shuffle(randomizer.randomize(people.answers, source=source), source=source)
        released = reports_by_slot(view, case["people"])
        attack = GaussianProcessAttack(num_centers=case["centers"])
        guesses = attack.infer(view, SideInformation(points=people.points))
    row = {
        "people": case["people"],
        "mechanism": case["mechanism"],
        "radius": case["radius"],
        "epsilon0": case["epsilon0"],
        "alpha": case["alpha"],
    }
    for bits, count in enumerate((8, 4, 2)):
        row[f"{count} ways"] = float((guesses >> bits == people.answers >> bits).mean())
    digits = ("".join(map(str, each[shown].tolist())) for each in (released, guesses))
    row["released"], row["guesses"] = digits
    return [row]


def draw(rows: list[Row]) -> Any:
    """Above what is released, below what the attack makes of it; one column for each release."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from experiments.showing import STYLE

    count = len(rows[0]["released"])
    people = _points(rows, count)
    with rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(2.1 * len(rows), 4.3), layout="constrained")
        axes = figure.subplots(2, len(rows), sharex=True, sharey=True)
    for place, row in enumerate(rows):
        for line, column in enumerate(("released", "guesses")):
            colors = [COLORS[int(digit)] for digit in row[column]]
            panel = axes[line, place]
            panel.scatter(*people.T, c=colors, s=1.6, linewidths=0, rasterized=True)
            panel.set(xticks=[], yticks=[], aspect="equal")
            panel.spines[:].set_visible(False)
        name = row["mechanism"] if row["mechanism"] == "original" else MECHANISMS[row["mechanism"]].split(":")[0]
        name = {"paper": "paper", "mallows": "ours: Mallows", "noisy sort": "ours: noisy sort"}.get(
            row["mechanism"], name
        )
        at = "" if row["radius"] is None else f"\nr = {row['radius']:g}"
        axes[0, place].set_title(name + at)
        axes[1, place].set_xlabel(
            f"right: {row['8 ways']:.0%} of 8,\n{row['4 ways']:.0%} of 4, {row['2 ways']:.0%} of 2"
        )
    axes[0, 0].set_ylabel("released")
    axes[1, 0].set_ylabel("Gaussian process")
    return figure


def _points(rows: list[Row], count: int) -> Any:
    people = people_of("syn", rows[0]["people"])
    return people.points[np.random.default_rng(0).permutation(rows[0]["people"])[:count]]
