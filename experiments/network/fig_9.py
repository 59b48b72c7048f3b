"""Fig. 9: means of vectors by PrivUnit on Twitch, error against epsilon, with the dummies that there are."""

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
from shuffledp.randomness.sources import RandomSource
from shuffledp.testing import SeededSource

PARTS = "epsilons"
WRONG_DUMMIES = 7_080  # people of fewer neighbors than the mean, whom the paper takes for those without a report

Row = dict[str, Any]
KEY = ("epsilon0",)
DRAWN = {"dummies seen": Drawn("dummies error", "runs")} | {
    f"squared error, {name}": Drawn(f"standard error, {name}", "runs")
    for name in ("all", "single", "single, 7,080 dummies")
}
Vectors = NDArray[np.float64]


def compute(settings: Row) -> list[Row]:
    """One row for each epsilon0: squared errors, averaged over runs, and what each protocol's epsilon is."""
    graph, vectors = _people(settings)
    return [_case(graph, vectors, epsilon0, settings) for epsilon0 in progress(settings["epsilons"], "fig-9")]


def _people(settings: Row) -> tuple[Graph, Vectors]:
    graph, rng = graph_of(settings["graph"]), np.random.default_rng(9)
    vectors = rng.normal(size=(graph.num_users, settings["dimension"])) + settings["signal"]
    return graph, vectors / np.linalg.norm(vectors, axis=1)[:, None]


def _case(graph: Graph, vectors: Vectors, epsilon0: float, settings: Row) -> Row:
    randomizer = sdp.PrivUnit(epsilon0=epsilon0, dimension=vectors.shape[1])
    walk: Row = {"graph": graph, "num_rounds": settings["rounds"]}
    everything = sdp.RandomWalkShuffler(**walk)
    one = sdp.RandomWalkShuffler(**walk, protocol="single")  # dummies of uniform directions
    errors = np.array([_errors(randomizer, everything, one, vectors, run) for run in range(settings["runs"])])
    people, delta = graph.num_users, settings["delta"]
    known = PRINTED.get(settings["graph"])
    squares = (known.irregularity if known else graph.irregularity) / people
    row: Row = {
        "epsilon0": epsilon0,
        "dummies expected": one.bounds.dummies,
        "dummies seen": float(errors[:, 3].mean()),
    }
    row |= {"dummies error": float(errors[:, 3].std(ddof=1) / np.sqrt(len(errors))), "runs": len(errors)}
    for place, name in enumerate(("all", "single", "single, 7,080 dummies")):
        row[f"squared error, {name}"] = float(errors[:, place].mean())
        row[f"standard error, {name}"] = float(errors[:, place].std(ddof=1) / np.sqrt(len(errors)))
    row |= printed(epsilon0, people, squares, delta)
    row["all, ours"] = uniform(epsilon0, people, delta)
    row["single, ours"] = min(row["all, ours"], single(graph.stationary, epsilon0, delta))
    return row


def _errors(
    randomizer: sdp.PrivUnit,
    everything: sdp.RandomWalkShuffler,
    one: sdp.RandomWalkShuffler,
    vectors: Vectors,
    run: int,
) -> tuple[float, float, float, float]:
    """Squared distances from the true mean: all, single, and as if as many as printed held none; and the dummies."""
    source, truth, analyzer = SeededSource(run), vectors.mean(axis=0), sdp.MeanAnalyzer()
    reports = randomizer.randomize(vectors, source=source)

    def distance(view: sdp.View) -> float:
        return float(((analyzer.estimate(analyzer.summarize(view)).estimate - truth) ** 2).sum())

    walked = one.shuffle(reports, source=source)
    positions = one.walk(source=source).positions
    wrong = round(WRONG_DUMMIES / 9_498 * len(vectors))
    kept = np.random.default_rng(run).permutation(len(vectors))[wrong:]
    noise = randomizer.randomize(_directions(wrong, vectors.shape[1], source), source=source)
    handed_in = sdp.IdentityShuffler().shuffle(Reports.concat([reports.take(kept), noise]))
    guess = analyzer.summarize(handed_in).mean * len(vectors) / len(kept)
    return (
        distance(everything.shuffle(reports, source=source)),
        distance(walked),
        float(((guess - truth) ** 2).sum()),
        float(len(vectors) - len(np.unique(positions))),
    )


def _directions(count: int, dimension: int, source: RandomSource) -> Vectors:
    normal = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator)).normal(size=(count, dimension))
    return np.asarray(normal / np.linalg.norm(normal, axis=1)[:, None])


def draw(rows: list[Row]) -> Any:
    """Squared error against the epsilon that is printed, and against ours."""
    figure, (left, right) = new_chart(2, width=4.4, height=4.2)
    lines = (
        ("all", "5.3 printed", "all, ours", "-D", COLORS[0]),
        ("single", "5.5 printed", "single, ours", "-^", COLORS[2]),
        ("single, 7,080 dummies", "5.5 printed", "single, ours", ":s", COLORS[1]),
    )
    for name, printed_as, ours, form, color in lines:
        style: Row = {"fmt": form, "color": color, "label": name, "error": f"standard error, {name}"}
        for axes, column in ((left, printed_as), (right, ours)):
            series(axes, rows, column, f"squared error, {name}", **style)
            axes.set(xscale="log", yscale="log", xlabel="epsilon")
    left.set(ylabel="squared error of the mean", title="epsilon as printed", xlim=(0.3, 1e4))
    right.set_title("epsilon, ours")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
