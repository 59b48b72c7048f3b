"""How far off sums are: split and mix beside a trusted curator, one shuffled message, and no shuffle.

The values lie evenly from 0 to 1, and errors are those of their sum.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.randomizers import RoundedMeanModel
from shuffledp.testing import SeededSource

LEAST_RUNS = 40
NAMES = {
    "central": "trusted curator: discrete Laplace",
    "split and mix": "split and mix",
    "one message": "one shuffled message",
    "local Laplace": "no shuffle: discrete Laplace",
    "local one bit": "no shuffle: one bit",
}

Row = dict[str, Any]
KEY = ("protocol", "people", "epsilon")
DRAWN = {"error": Drawn("standard error", "runs")}
Values = NDArray[np.float64]
Estimate = Callable[[Values, SeededSource], float]


def compute(settings: Row) -> list[Row]:
    """Mean absolute errors, with their standard errors."""
    cases = [(people, epsilon) for epsilon in settings["epsilons"] for people in settings["people"]]
    return [row for case in progress(cases, "errors") for row in _case(*case, settings)]


def _case(people: int, epsilon: float, settings: Row) -> list[Row]:
    # The shares add up to what is split in any case: two of them have the error of any number.
    split = sdp.SplitAndMix(num_users=people, epsilon=epsilon, lower=0, upper=1, num_shares=2)
    single = single_message(people, epsilon, settings)
    grid = math.isqrt(people - 1) + 1
    local = sdp.DiscreteLaplaceMean(epsilon0=epsilon, lower=0, upper=1, num_steps=grid)
    protocols: dict[str, Estimate] = {
        "split and mix": _summing(split),
        "one message": _averaging(single),
        "local Laplace": _averaging(local),
        "local one bit": _averaging(sdp.OneBitMean(epsilon0=epsilon, lower=0, upper=1)),
    }
    found = {}
    for name, protocol in protocols.items():
        source = SeededSource(people).substream(f"{name}, {epsilon:g}")
        found[name] = _mean_absolute_error(protocol, people, settings, source)
    rate = epsilon / grid
    central = 2 * math.exp(-rate) / -math.expm1(-2 * rate) / grid  # of discrete Laplace noise, without rounding
    rows = [("central", central, 0.0, None), *((name, *values) for name, values in found.items())]
    return [
        {
            "protocol": name,
            "people": people,
            "epsilon": epsilon,
            "error": error,
            "standard error": spread,
            "runs": runs,
            "epsilon0": single.model.guarantee.epsilon if name == "one message" else None,
            "levels": single.model.num_levels if name == "one message" else None,
        }
        for name, error, spread, runs in rows
    ]


def single_message(people: int, epsilon: float, settings: Row) -> sdp.RoundedMean:
    """The least noisy rounded mean that is (epsilon, delta)-private in a shuffle of this number of people."""
    best: tuple[float, RoundedMeanModel] | None = None
    for levels in settings["levels"]:
        if levels > 2 * people ** (1 / 3):
            continue

        def family(epsilon0: float, levels: int = levels) -> RoundedMeanModel:
            return RoundedMeanModel.from_epsilon0(epsilon0=epsilon0, lower=0, upper=1, num_levels=levels)

        solved = sdp.calibrate.epsilon0(
            target_epsilon=epsilon, delta=settings["delta"], num_users=people, randomizer=family
        )
        model = family(float(solved.value))
        variance = float(model.noise_variance(np.array([0.5]))[0])
        if best is None or variance < best[0]:
            best = variance, model
    if best is None:
        raise ValueError(f"levels must hold one of at most 2 n^(1/3); got {settings['levels']}.")
    return sdp.RoundedMean.from_model(best[1])


def _summing(randomizer: sdp.SplitAndMix) -> Estimate:
    model = randomizer.model

    def estimate(values: Values, source: SeededSource) -> float:
        total = int(randomizer.randomize(values, source=source)["residue"].sum(dtype=np.int64)) % model.modulus
        return float(model.decode((total,), len(values))[0])

    return estimate


def _averaging(randomizer: Any) -> Estimate:
    analyzer, shuffler = sdp.MeanAnalyzer(), sdp.UniformShuffler()

    def estimate(values: Values, source: SeededSource) -> float:
        view = shuffler.shuffle(randomizer.randomize(values, source=source), source=source)
        return float(analyzer.estimate(analyzer.summarize(view)).estimate[0]) * len(values)

    return estimate


def _mean_absolute_error(
    estimate: Estimate, people: int, settings: Row, source: SeededSource
) -> tuple[float, float, int]:
    values = np.linspace(0, 1, people)
    runs = min(settings["runs"], max(LEAST_RUNS, settings["reports"] // people))
    errors = np.abs([estimate(values, source) - values.sum() for _ in range(runs)])
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(runs)), runs


def draw(rows: list[Row]) -> Any:
    """One panel for each epsilon."""
    epsilons = sorted({row["epsilon"] for row in rows})
    figure, panels = new_chart(len(epsilons), width=4.6, height=4.2)
    for axes, epsilon in zip(panels, epsilons, strict=True):
        here = [row for row in rows if row["epsilon"] == epsilon]
        for place, (name, label) in enumerate(NAMES.items()):
            line = [row for row in here if row["protocol"] == name]
            style = {"fmt": "--" if name == "central" else f"-{MARKERS[place]}", "color": COLORS[-1 - place]}
            series(axes, line, "people", "error", error="standard error", label=label, **style)
        axes.set(xscale="log", yscale="log", xlabel="people", title=f"epsilon = {epsilon:g}")
    panels[0].set_ylabel("mean absolute error of the sum")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
