"""Fig. 1: labels at three granularities as they are released, and what a Gaussian process makes of each release."""

from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.d_sigma.data import people_of
from experiments.d_sigma.mechanisms import shuffler_of
from experiments.showing import STYLE
from shuffledp.attacks import GaussianProcessAttack, SideInformation
from shuffledp.attacks.side_information import reports_by_slot
from shuffledp.testing import SeededSource

__all__ = ["cases", "compute", "draw"]

Row = dict[str, Any]
# Warm and cool, two crescents each in two shades, in colors that color-blind people can tell apart.
COLORS = ("#eda58a", "#b23c00", "#f6d58c", "#c28a00", "#a5cbee", "#0b4f8a", "#9adcc4", "#00664c")

COLUMNS, LETTERS = 3, "abcdefghijklmnop"
NAMES = {
    "original": "original",
    "none": "randomized, no shuffle",
    "paper": "paper",
    "mallows": "ours: Mallows",
    "noisy sort": "ours: noisy sort",
    "uniform": "uniform shuffle",
}


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
    """Below each release what the attack makes of it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    people = _points(rows, len(rows[0]["released"]))
    with rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(2.7 * COLUMNS, 1.08 * 2 * -(-len(rows) // COLUMNS)), layout="constrained")
        axes = figure.subplots(2 * -(-len(rows) // COLUMNS), COLUMNS, squeeze=False)
    for panel in axes.ravel():
        panel.set_axis_off()
    for place, row in enumerate(rows):
        line, column = divmod(place, COLUMNS)
        at = "" if row["radius"] is None else f", r = {row['radius']:g}"
        shares = "right: " + ", ".join(f"{row[f'{count} ways']:.0%} of {count}" for count in (8, 4, 2))
        titles = {"released": f"({LETTERS[place]}) {NAMES[row['mechanism']]}{at}", "guesses": shares}
        for below, (part, title) in enumerate(titles.items()):
            if row["mechanism"] == "original" and below:
                continue
            panel = axes[2 * line + below, column]
            panel.scatter(
                *people.T, c=[COLORS[int(digit)] for digit in row[part]], s=1.2, linewidths=0, rasterized=True
            )
            panel.set_aspect("equal")
            panel.set_title(title, fontsize=10 if part == "released" else 9, pad=2)
    return figure


def _points(rows: list[Row], count: int) -> Any:
    people = people_of("syn", rows[0]["people"])
    return people.points[np.random.default_rng(0).permutation(rows[0]["people"])[:count]]
