"""Fig. 5: how often the learned law names the right label of Syn, of eight, of four and of two classes."""

import functools
from typing import Any

import numpy as np

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.d_sigma.data import People, people_of
from experiments.d_sigma.mechanisms import MECHANISMS, STYLES, shuffler_of
from experiments.showing import legend_in, lettered, new_chart, series
from shuffledp.protocols.d_sigma.analyzers.learned_laws import BoostedRegions, share_of_likeliest
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("mechanism", "radius")
CLASSES = {8: 0, 4: 1, 2: 2}  # how many, and how many of the last bits of a label are left out
DRAWN = {f"{count} ways": Drawn(f"{count} ways error", "releases", most=1.0) for count in CLASSES}
NEEDS = ("sklearn",)


def cases(settings: Row) -> list[Row]:
    """No shuffle and a uniform one once; the others at every radius."""
    given = {name: settings.get(name) for name in ("people", "epsilon0", "alpha", "learned", "trees")}
    ours = [name for name in MECHANISMS if name not in ("none", "uniform")]
    found = [given | {"mechanism": name, "radius": None} for name in ("none", "uniform")]
    return found + [given | {"mechanism": name, "radius": radius} for radius in settings["radii"] for name in ours]


@functools.cache
def _people(size: int) -> People:
    return people_of("syn", size)


def compute(case: Row) -> list[Row]:
    """Means over fresh randomizations and shuffles, with their standard errors."""
    people = _people(case["people"])
    groups = None if case["radius"] is None else people.groups(case["radius"])
    shuffler = shuffler_of(case["mechanism"], groups, case["alpha"], people.coordinates)
    randomizer = sdp.KaryRandomizedResponse(epsilon0=case["epsilon0"], domain_size=8)
    found: dict[int, list[float]] = {count: [] for count in CLASSES}
    for number in range(case["learned"]):
        source = SeededSource(3).substream("learned", number)
        view = shuffler.shuffle(randomizer.randomize(people.answers, source=source), source=source)
        laws = BoostedRegions(people.points, num_trees=case["trees"], seed=number).laws(view)
        for count, bits in CLASSES.items():
            coarser = (np.arange(8) >> bits).tolist()
            found[count].append(share_of_likeliest(laws, people.answers, coarser=coarser))
    row = {"mechanism": case["mechanism"], "radius": case["radius"], "alpha": case["alpha"]}
    row["group size"] = None if groups is None else float(np.median(groups.sizes[groups.own]))
    row["releases"] = case["learned"]
    for count, values in found.items():
        row[f"{count} ways"] = float(np.mean(values))
        row[f"{count} ways error"] = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return [row]


def draw(rows: list[Row]) -> Any:
    """One panel for each number of classes, and the names in a fourth."""
    figure, panels = new_chart(4, width=3.55, height=2.9, columns=2)
    for place, (axes, count) in enumerate(zip(panels[:3], CLASSES, strict=True)):
        column = f"{count} ways"
        for name, style in STYLES.items():
            line = [row for row in rows if row["mechanism"] == name]
            if line[0]["radius"] is None:
                axes.axhline(line[0][column], color=style["color"], linestyle=style["fmt"], label=style["label"])
            else:
                series(axes, line, "radius", column, error=f"{column} error", count="releases", **style)
        radii = sorted({row["radius"] for row in rows if row["radius"] is not None})
        axes.set(xscale="log", ylim=(0, 1), xlabel="radius of the groups", ylabel="share named right")
        lettered(axes, place, f"Syn, {count} classes")
        axes.set_xticks(radii, [f"{radius:g}" for radius in radii])
        axes.set_xticks([], minor=True)
    note = (
        f"alpha = {rows[-1]['alpha']:g}, epsilon0 = 2.5\nbars: 95%, Student's t,\n{rows[-1]['releases']} releases each"
    )
    legend_in(panels[3], panels[0], note)
    return figure
