"""Federated logistic regression on Adult: who earns more than 50,000 dollars, learned from sums of clipped gradients.

In every round each person computes the gradient of the logistic loss on their own row, shortens it to a bounded length,
and sends it as shares; only the sum is seen, and moves the weights. One promise is about all rounds together.
"""

import csv
import functools
import gzip
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.running import DATA
from experiments.showing import COLORS, new_chart, progress, series
from shuffledp.testing import SeededSource

Row = dict[str, Any]
Floats = NDArray[np.float64]
People = tuple[Floats, Floats]  # features and answers
Sum = Callable[[Floats], Floats]
KEY = ("training", "round")
DRAWN = {
    "accuracy": Drawn("error of accuracy", "runs", most=1.0),
    "loss": Drawn("error of loss", "runs"),
}
WITHOUT = "without privacy"
FILE = "adult/adult.data.gz"
_WORDS = (5, 6, 7, 8, 9)  # marital status, occupation, relationship, race, sex


def files(settings: Row) -> list[Path]:
    """Path of the data, where the settings are about it."""
    return [DATA / FILE] if "training_share" in settings else []


@functools.cache
def _people() -> tuple[Floats, Floats]:
    """Features from 0 to 1, with a constant, and whether the income is above 50,000; in a fixed random order."""
    with gzip.open(DATA / FILE, "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    numbers = np.array([[float(row[0]) / 100, float(row[4]) / 16, float(row[12]) / 100] for row in rows])
    gains = np.array([[row[10] != "0", row[11] != "0"] for row in rows], dtype=np.float64)
    columns = [numbers, gains, np.ones((len(rows), 1))]
    for place in _WORDS:
        names, index = np.unique([row[place] for row in rows], return_inverse=True)
        columns.append(np.eye(len(names))[index])
    order = np.random.default_rng(0).permutation(len(rows))
    answers = np.array([row[14].startswith(">") for row in rows], dtype=np.float64)
    return np.hstack(columns)[order], answers[order]


def compute(settings: Row) -> list[Row]:
    """Accuracy and loss on other people after every round, averaged over runs."""
    cases: list[float | None] = [None, *settings["epsilons"]]
    return [row for epsilon in progress(cases, "federated") for row in _case(epsilon, settings)]


def _case(epsilon: float | None, settings: Row) -> list[Row]:
    features, answers = (part[: settings["people"]] for part in _people())
    people = round(len(features) * settings["training_share"])
    learners, others = (features[:people], answers[:people]), (features[people:], answers[people:])
    runs = settings["runs"] if epsilon else 1
    summing = [_summing(people, features.shape[1], epsilon, settings, run) for run in range(runs)]
    found = np.array([_trained(learners, others, summed, settings) for summed in summing])
    errors = found.std(axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else np.zeros(found.shape[1:])
    return [
        {
            "training": f"epsilon = {epsilon:g}" if epsilon else WITHOUT,
            "round": number,
            "accuracy": accuracy,
            "error of accuracy": errors[number][0],
            "loss": loss,
            "error of loss": errors[number][1],
            "runs": settings["runs"],  # without privacy all runs are the same
            "people": people,
            "coordinates": features.shape[1],
        }
        for number, (accuracy, loss) in enumerate(found.mean(axis=0).tolist())
    ]


def _trained(learners: People, others: People, summed: Sum, settings: Row) -> list[tuple[float, float]]:
    """Accuracy and loss on the others before the first and after every round."""
    (features, answers), norm = learners, settings["largest_norm"]
    people, dimension = features.shape
    weights = np.zeros(dimension)
    curve = [_tested(weights, *others)]
    for _ in range(settings["rounds"]):
        wrong = _chances(features @ weights) - answers
        gradients = wrong[:, np.newaxis] * features
        lengths = np.linalg.norm(gradients, axis=1)
        gradients *= np.minimum(1, norm / np.maximum(lengths, 1e-12))[:, np.newaxis]
        weights = weights - settings["step"] / people * summed(gradients)
        curve.append(_tested(weights, *others))
    return curve


def _summing(people: int, dimension: int, epsilon: float | None, settings: Row, run: int) -> Sum:
    """Sum of gradients: exact, or by shares with noise for all rounds together."""
    if epsilon is None:
        return lambda gradients: gradients.sum(axis=0)
    wanted = {"epsilon": epsilon, "delta": settings["delta"], "largest_norm": settings["largest_norm"]}
    model = sdp.calibrate.vector_sum(num_users=people, dimension=dimension, releases=settings["rounds"], **wanted).model
    # The shares add up to what is split in any case: two of them have the error of any number.
    randomizer = sdp.VectorSum(replace(model, num_shares=2), clip=True)
    analyzer, source = sdp.SumAnalyzer(), SeededSource(run).substream(f"{epsilon:g}")

    def summed(gradients: Floats) -> Floats:
        view = sdp.IdentityShuffler().shuffle(randomizer.randomize(gradients, source=source), source=source)
        return analyzer.estimate(analyzer.summarize(view)).estimate

    return summed


def _chances(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(logits, -500, 500)))


def _tested(weights: Floats, features: Floats, answers: Floats) -> tuple[float, float]:
    """Accuracy and mean logistic loss."""
    chances = np.clip(_chances(features @ weights), 1e-12, 1 - 1e-12)
    loss = -np.mean(answers * np.log(chances) + (1 - answers) * np.log(1 - chances))
    return float(np.mean((chances > 0.5) == (answers > 0.5))), float(loss)


def draw(rows: list[Row]) -> Any:
    """Learning curves: accuracy, and loss."""
    figure, panels = new_chart(2, width=4.6, height=4.0)
    names = list(dict.fromkeys(row["training"] for row in rows))
    for axes, column in zip(panels, ("accuracy", "loss"), strict=True):
        for place, name in enumerate(names):
            line = [row for row in rows if row["training"] == name]
            style = {"fmt": "--" if name == WITHOUT else "-", "color": COLORS[-1 - place]}
            series(axes, line, "round", column, error=f"error of {column}", label=name, **style)
        axes.set(xlabel="round", ylabel=f"{column} on other people")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
