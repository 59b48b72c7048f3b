"""Interpolation on the map of a real country: how many people it takes before groups of 1,000 leave a map.

Places are real, people and answers are not: people are drawn by population and scattered around their place. A
neighborhood of 1,000 people has one habit, most of them answer yes or most no, and how many neighborhoods are of which
kind changes slowly through the country. Groups are everybody's 1,000 nearest people: along one coordinate, or in the
plane. So there is something to hide at the scale of groups, and something to learn at that of regions.
"""

import csv
import functools
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.showing import COLORS, lettered, new_chart, series
from shuffledp.protocols.d_sigma.analyzers.learned_laws import learnability_error
from shuffledp.protocols.d_sigma.attacks.pilot_attacks import PilotAttacks
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("groups", "people", "mechanism")
DRAWN = {
    "rho": Drawn("rho error", "draws", most=1.0),
    "lambda": Drawn("lambda error", "draws"),
    "lambda near": Drawn("lambda near error", "draws"),
    "share": Drawn("share error", "draws", most=1.1),
}
MECHANISMS = {
    "none": "no shuffle",
    "mallows": "Mallows, pure: as printed, in the best order",
    "noisy sort": "Laplace sort, pure",
    "mallows, delta": "Mallows, with delta",
    "regions": "uniform inside each of the 16 regions",
    "uniform": "uniform shuffle",
}
PLACES = Path(__file__).parent / "places" / "chile.csv"
REGIONS = 16
_LOOKED_AT = 25
_KM = 111.195  # of a degree of latitude
_DENSITY = 3000.0  # people on a square kilometer of a town
_METER = 0.001


class Country(NamedTuple):
    """Made-up people at real places."""

    answers: NDArray[np.int64]
    groups: Groups
    order: NDArray[np.int64]  # the reference order
    near: NDArray[np.int64]  # people in an order of neighborhoods; a region is a stretch of it


def cases(settings: Row) -> list[Row]:
    """Every mechanism for every number of people along the line, and once in the plane."""
    given = {name: settings[name] for name in ("neighbors", "alpha", "delta", "epsilon0", "draws")}
    sizes = [("line", people) for people in settings["people"]] + [("plane", settings["plane"])]
    return [
        given | {"groups": groups, "people": people, "mechanism": name}
        for groups, people in sizes
        for name in MECHANISMS
        if groups == "line" or name != "noisy sort"
    ]


def points_of(people: int) -> NDArray[np.float64]:
    """Kilometers north and east of people drawn by population and scattered around their place, to the meter."""
    with PLACES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lat, lon, live = (np.array([float(row[name]) for row in rows]) for name in ("lat", "lon", "people"))
    draw = np.random.default_rng(0)
    home = draw.choice(live.size, people, p=live / live.sum())
    around = np.sqrt(live[home] / _DENSITY / math.pi)[:, None] * draw.standard_normal((people, 2))
    places = np.column_stack([lat, (lon - lon.mean()) * math.cos(math.radians(lat.mean()))]) * _KM
    return np.round((places[home] + around) / _METER) * _METER


def halved(points: NDArray[np.float64], size: int) -> list[NDArray[np.int64]]:
    """Neighborhoods of at most ``size`` people: halves of halves, cut across the longer side."""
    parts, found = [np.arange(len(points))], []
    while parts:
        part = parts.pop()
        if part.size <= size:
            found.append(part)
            continue
        side = int(np.argmax(np.ptp(points[part], axis=0)))
        along = part[np.argsort(points[part, side], kind="stable")]
        parts += [along[along.size // 2 :], along[: along.size // 2]]
    return found


@functools.lru_cache(maxsize=1)
def country(kind: str, people: int, neighbors: int) -> Country:
    """People with their groups along a line, from north to south, or in the plane."""
    points = points_of(people)[:, : 1 if kind == "line" else 2]
    draw = np.random.default_rng(1)
    parts = halved(points, neighbors)
    near = np.concatenate(parts)
    along = np.arange(len(parts)) / len(parts)
    often = draw.random(len(parts)) < 0.5 + 0.25 * np.sin(4 * math.pi * along)
    chance = np.repeat(np.where(often, 0.9, 0.1), [part.size for part in parts])
    answers = np.empty(people, dtype=np.int64)
    answers[near] = draw.random(people) < chance
    groups = Groups.from_neighbors(points, neighbors)
    orders = [np.argsort(side, kind="stable") for side in points.T] + ([] if kind == "line" else [near])
    best = min(orders, key=lambda order: order_sensitivity(groups, order))
    return Country(answers, groups, best, near)


def compute(case: Row) -> list[Row]:
    """Rho of the vote on 25 people of the neighborhood, lambda of regions and of neighborhoods, and displacement."""
    kind, people, neighbors = case["groups"], case["people"], case["neighbors"]
    here = country(kind, people, neighbors)
    randomizer = sdp.KaryRandomizedResponse(epsilon0=case["epsilon0"], domain_size=2)
    place = np.clip(np.arange(people), _LOOKED_AT // 2, people - 1 - _LOOKED_AT // 2)
    looked_at = np.empty((people, _LOOKED_AT), dtype=np.int64)
    looked_at[here.near] = here.near[place[:, None] + np.arange(_LOOKED_AT) - _LOOKED_AT // 2]
    attacks = PilotAttacks(here.answers, np.asarray(randomizer.model.channel().matrix), looked_at)
    shuffler, uniform, found = _shuffler(case, here), (people**2 - 1) / (3 * people), []
    rank = np.empty(people, dtype=np.int64)
    rank[here.order] = np.arange(people)
    for number in range(case["draws"]):
        source = SeededSource(2).substream("draw", number)
        star = _drawn(case["mechanism"], shuffler, here, source)
        reports = randomizer.randomize(here.answers, source=source)
        said = (reports.columns["value"][star] - float(randomizer.model.q)) / float(
            randomizer.model.p - randomizer.model.q
        )
        laws = {"lambda": REGIONS, "lambda near": max(people // neighbors, REGIONS)}
        found.append(
            {name: _lambda(said[here.near], here.answers[here.near], parts) for name, parts in laws.items()}
            | {"rho": attacks.rho(star, lambda answers: answers)}
            | {"share": float(np.abs(rank[star] - rank).mean() / uniform)}
        )
    row = {"groups": kind, "people": people, "mechanism": case["mechanism"]}
    row |= {"largest group": int(here.groups.sizes.max()), "alpha": case["alpha"], "draws": case["draws"]}
    return [row | _means(found)]


def _shuffler(case: Row, here: Country) -> Any:
    given = {"groups": here.groups, "alpha": case["alpha"], "order": here.order}
    if case["mechanism"] == "mallows":
        return sdp.MallowsShuffler(**given)
    if case["mechanism"] == "mallows, delta":
        return sdp.MallowsShuffler(**given, delta=case["delta"])
    return sdp.NoisySortShuffler(**given) if case["mechanism"] == "noisy sort" else None


def _drawn(name: str, shuffler: Any, here: Country, source: SeededSource) -> NDArray[np.int64]:
    """The person whose report lies in each slot."""
    people = here.near.size
    if name == "none":
        return np.arange(people)
    if name in {"uniform", "regions"}:
        drawn = np.random.Generator(source.bit_generator).random(people)  # type: ignore[arg-type]
        part = np.arange(people) * (REGIONS if name == "regions" else 1) // people
        found = np.empty(people, dtype=np.int64)
        found[here.near] = here.near[np.lexsort((drawn, part))]
        return found
    star: NDArray[np.int64] = shuffler.draw(source=source)
    return star


def _lambda(said: NDArray[np.float64], answers: NDArray[np.int64], parts: int) -> float:
    """Error of the share of yes in equal stretches, in units of that of the uniform guess."""
    part = np.arange(said.size) * parts // said.size
    sizes = np.bincount(part)
    shares = [np.bincount(part, each) / sizes for each in (said, answers)]
    return learnability_error(*(np.column_stack([1 - share, share]) for share in shares))


def _means(found: list[Row]) -> Row:
    """Means over draws, each with its standard error."""
    means: Row = {}
    for name in found[0]:
        values = np.array([each[name] for each in found])
        means |= {name: float(values.mean()), f"{name} error": float(values.std(ddof=1) / math.sqrt(values.size))}
    return means


def draw(rows: list[Row]) -> Any:
    """Displacement, rho and lambda against the number of people; the plane as single marks."""
    figure, panels = new_chart(4, width=3.5, height=3.1, columns=2)
    parts = (
        ("share", "displacement, uniform = 1", "how far reports move"),
        ("rho", "rho: share vulnerable", "found out at the scale of groups"),
        ("lambda", "lambda", f"what is learned of {REGIONS} regions"),
        ("lambda near", "lambda", "what is learned of neighborhoods"),
    )
    for place, (axes, (column, label, title)) in enumerate(zip(panels, parts, strict=True)):
        for number, (name, words) in enumerate(MECHANISMS.items()):
            color = COLORS[(5, 1, 0, 2, 3, 4)[number]]
            here = [row for row in rows if row["mechanism"] == name]
            line = [row for row in here if row["groups"] == "line"]
            series(
                axes, line, "people", column, error=f"{column} error", count="draws", color=color, label=words, fmt="-o"
            )
            plane = [row for row in here if row["groups"] == "plane" and name.startswith("mallows")]
            for row in plane:
                axes.plot(row["people"] * 1.25, row[column], "*", color=color, markersize=9, linestyle="none")
        axes.set(xscale="log", xlabel="people", ylabel=label, ylim=(0, None))
        lettered(axes, place, title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, title="stars: groups in the plane"
    )
    return figure
