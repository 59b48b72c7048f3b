"""Fig. 9: means of vectors by PrivUnit on Twitch, error against epsilon: as printed, and for the worst dummies.

As printed, half of the people have vectors around (1, .., 1) and the others around (10, .., 10), all of length 1; who
holds no report hands in that of a dummy whose vector is drawn around (5, .., 5), randomized as the others are; and the
estimate is the plain mean of what is handed in. In ours, dummies have uniformly random directions, as the library's
have, and the estimate is divided by the share of reports that are no dummies.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.network.bounds import printed, single, uniform
from experiments.network.graphs import PRINTED, graph_of
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.core.flow import Reports
from shuffledp.people.graphs import Graph
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource
from shuffledp.testing import SeededSource

PARTS = "epsilons"
WRONG_DUMMIES = 7_080  # people of fewer neighbors than the mean, whom the paper takes for those without a report

Row = dict[str, Any]
Vectors = NDArray[np.float64]
KEY = ("setting", "epsilon0")
NAMES = ("all", "single", "single, 7,080 dummies")
DRAWN = {
    "dummies seen": Drawn("dummies error", "runs"),
    **{f"squared error, {name}": Drawn(f"standard error, {name}", "runs") for name in NAMES},
}


def compute(settings: Row) -> list[Row]:
    """One row for each setting and epsilon0: squared errors over runs, and what each protocol's epsilon is."""
    graph = graph_of(settings["graph"])
    cases = [(setting, epsilon0) for setting in ("printed", "ours") for epsilon0 in settings["epsilons"]]
    return [_case(graph, *case, settings) for case in progress(cases, "fig-9")]


def _case(graph: Graph, setting: str, epsilon0: float, settings: Row) -> Row:
    people, dimension, delta = graph.num_users, settings["dimension"], settings["delta"]
    rng = np.random.default_rng(9)
    if setting == "printed":
        vectors = np.concatenate(
            [around(1, people // 2, dimension, rng), around(10, people - people // 2, dimension, rng)]
        )
    else:
        vectors = around(settings["signal"], people, dimension, rng)
    randomizer = sdp.PrivUnit(epsilon0=epsilon0, dimension=dimension)
    walk = sdp.RandomWalkShuffler(graph=graph, num_rounds=settings["rounds"], protocol="single")
    sources = [SeededSource(9).substream(setting, f"{epsilon0:g}", run) for run in range(settings["runs"])]
    errors = np.array([_errors(setting, walk, randomizer, vectors, source) for source in sources])
    spread = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    known = PRINTED.get(settings["graph"])
    squares = (known.irregularity if known else graph.irregularity) / people
    row: Row = {"setting": setting, "epsilon0": epsilon0, "runs": len(errors), "dummies expected": walk.bounds.dummies}
    row |= {"dummies seen": float(errors[:, 3].mean()), "dummies error": float(spread[3])}
    for place, name in enumerate(NAMES):
        row[f"squared error, {name}"] = float(errors[:, place].mean())
        row[f"standard error, {name}"] = float(spread[place])
    row |= printed(epsilon0, people, squares, delta)
    row["all, ours"] = uniform(epsilon0, people, delta)
    return row | {"single, ours": min(row["all, ours"], single(graph.stationary, epsilon0, delta))}


def around(center: float, count: int, dimension: int, rng: np.random.Generator) -> Vectors:
    """Normal vectors around (center, .., center), divided by their lengths."""
    vectors = rng.normal(loc=center, size=(count, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def _errors(
    setting: str, walk: sdp.RandomWalkShuffler, randomizer: sdp.PrivUnit, vectors: Vectors, source: RandomSource
) -> tuple[float, float, float, float]:
    """Squared distances from the true mean: all, single, and as if as many as printed held none; and the dummies."""
    people, analyzer = len(vectors), sdp.MeanAnalyzer()
    reports, truth = randomizer.randomize(vectors, source=source), vectors.mean(axis=0)
    holders = walk.walk(source=source).positions
    order = random_permutation(people, source=source)
    held = order[np.unique(holders[order], return_index=True)[1]]  # a random one of those that each person holds
    wrong = order[round(WRONG_DUMMIES / 9_498 * people) :]

    def distance(kept: NDArray[np.int64]) -> float:
        """With dummies for all but these reports."""
        view = reports.take(kept)
        if len(kept) < people:
            dummies = _dummies(setting, people - len(kept), vectors.shape[1], source)
            view = Reports.concat([view, randomizer.randomize(dummies, source=source)])
        mean = analyzer.summarize(sdp.IdentityShuffler().shuffle(view)).mean
        scale = 1.0 if setting == "printed" else people / len(kept)
        return float(((scale * mean - truth) ** 2).sum())

    return distance(np.arange(people)), distance(held), distance(wrong), float(people - len(held))


def _dummies(setting: str, count: int, dimension: int, source: RandomSource) -> Vectors:
    rng = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator))
    return around(5 if setting == "printed" else 0, count, dimension, rng)


def draw(rows: list[Row]) -> Any:
    """As printed, against the epsilon that is printed; then ours, against ours."""
    figure, (left, right) = new_chart(2, width=4.6, height=4.4)
    styles = (("-D", COLORS[0]), ("-^", COLORS[2]), (":s", COLORS[1]))
    sides = (
        (left, "printed", ("5.3 printed", *["5.5 printed"] * 2)),
        (right, "ours", ("all, ours", *["single, ours"] * 2)),
    )
    for axes, setting, columns in sides:
        here = [row for row in rows if row["setting"] == setting]
        for name, column, (form, color) in zip(NAMES, columns, styles, strict=True):
            style: Row = {"fmt": form, "color": color, "label": name, "error": f"standard error, {name}"}
            series(axes, here, column, f"squared error, {name}", **style)
        axes.set(xscale="log", yscale="log", xlabel="epsilon")
    left.set(ylabel="squared error of the mean", xlim=(0.05, 1e3))
    left.set_title("the print's data, plain mean, its epsilon", fontsize=10)
    right.set_title("worst dummies, debiased, our epsilon", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
