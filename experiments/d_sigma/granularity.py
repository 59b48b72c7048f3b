"""Fig. 1: labels at three granularities as they are released, and what a Gaussian process makes of each release."""

from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.d_sigma.data import People, people_of
from experiments.d_sigma.gaussian_process import GaussianProcessAttack
from experiments.d_sigma.mechanisms import shuffler_of
from experiments.showing import STYLE
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, reports_by_slot
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("mechanism", "radius")
DRAWN = {f"{count} ways": Drawn(f"{count} ways error", "releases", most=1.0) for count in (8, 4, 2)}
# Warm and cool, two crescents each in two shades, in colors that color-blind people can tell apart.
COLORS = ("#eda58a", "#b23c00", "#f6d58c", "#c28a00", "#a5cbee", "#0b4f8a", "#9adcc4", "#00664c")

OF_PEOPLE = ("released", "guesses")  # columns with a digit for each person that is shown
COLUMNS, LETTERS = 3, "abcdefghijklmnop"
NAMES = {
    "original": "original",
    "none": "randomized, no shuffle",
    "paper": "paper",
    "mallows": "ours: Mallows",
    "noisy sort": "ours: Laplace sort",
    "uniform": "uniform shuffle",
}


def cases(settings: Row) -> list[Row]:
    """What is released: labels as they are, randomized, and shuffled at each radius."""
    given = {name: settings[name] for name in ("people", "shown", "epsilon0", "alpha", "centers", "releases")}
    kinds: list[tuple[str, float | None]] = [("original", None), ("none", None)]
    kinds += [(name, radius) for radius in settings["radii"] for name in ("paper", "mallows", "noisy sort")]
    return [given | {"mechanism": name, "radius": radius} for name, radius in [*kinds, ("uniform", None)]]


def compute(case: Row) -> list[Row]:
    """Means over fresh releases; what some of the people's slots show in the first one, and what the attack says."""
    people = people_of("syn", case["people"])
    if case["mechanism"] == "original":
        pairs, releases = [(people.answers, people.answers)], 1
    else:
        releases = case["releases"]
        pairs = [_release(case, people, SeededSource(4).substream("release", number)) for number in range(releases)]
    row = {name: case[name] for name in ("people", "mechanism", "radius", "epsilon0", "alpha")} | {"releases": releases}
    for bits, count in enumerate((8, 4, 2)):
        shares = [float((guesses >> bits == people.answers >> bits).mean()) for _, guesses in pairs]
        row[f"{count} ways"] = float(np.mean(shares))
        row[f"{count} ways error"] = float(np.std(shares, ddof=1) / np.sqrt(releases)) if releases > 1 else None
    shown = np.random.default_rng(0).permutation(case["people"])[: case["shown"]]
    for name, each in zip(("released", "guesses"), pairs[0], strict=True):
        row[name] = "".join(map(str, each[shown].tolist()))
    return [row]


def _release(case: Row, people: People, source: SeededSource) -> tuple[Any, Any]:
    """What one release shows in everybody's slot, and what the attack makes of it."""
    groups = None if case["radius"] is None else people.groups(case["radius"])
    shuffler = shuffler_of(case["mechanism"], groups, case["alpha"], people.coordinates)
    randomizer = sdp.KaryRandomizedResponse(epsilon0=case["epsilon0"], domain_size=8)
    view = shuffler.shuffle(randomizer.randomize(people.answers, source=source), source=source)
    attack = GaussianProcessAttack(num_centers=case["centers"])
    return reports_by_slot(view, case["people"]), attack.infer(view, SideInformation(points=people.points))


def draw(rows: list[Row]) -> Any:
    """Below each release what the attack makes of it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    people = _points(rows, len(rows[0]["released"]))
    with rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(2.7 * COLUMNS, 1.08 * 2 * -(-len(rows) // COLUMNS) + 0.7), layout="constrained")
        axes = figure.subplots(2 * -(-len(rows) // COLUMNS), COLUMNS, squeeze=False)
    for panel in axes.ravel():
        panel.set_axis_off()
    for place, row in enumerate(rows):
        line, column = divmod(place, COLUMNS)
        at = "" if row["radius"] is None else f", r = {row['radius']:g}"
        shares = "attack right: " + ", ".join(f"{row[f'{count} ways']:.0%} of {count}" for count in (8, 4, 2))
        titles = {"released": f"({LETTERS[place]}) {NAMES[row['mechanism']]}{at}", "guesses": shares}
        for below, (part, title) in enumerate(titles.items()):
            if row["mechanism"] == "original" and below:
                continue
            panel = axes[2 * line + below, column]
            panel.scatter(
                *people.T, c=[COLORS[int(digit)] for digit in row[part]], s=1.2, linewidths=0, rasterized=True
            )
            panel.set_aspect("equal")
            panel.set_title(title, fontsize=9 if part == "released" else 8, pad=2)
    warm = ("warm 1, light", "warm 1, dark", "warm 2, light", "warm 2, dark")
    names = (*warm, *(name.replace("warm", "cool") for name in warm))
    dots = [Line2D([], [], linestyle="", marker="o", color=color) for color in COLORS]
    title = "Upper rows: labels as released. Lower rows: what the Gaussian-process attack names.\n"
    title += f"Shares: means of {rows[-1]['releases']} releases."
    figure.legend(dots, names, loc="outside lower center", ncols=4, frameon=False, title=title, title_fontsize=9)
    return figure


def _points(rows: list[Row], count: int) -> Any:
    people = people_of("syn", rows[0]["people"])
    return people.points[np.random.default_rng(0).permutation(rows[0]["people"])[:count]]
