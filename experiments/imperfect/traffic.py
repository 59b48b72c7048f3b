"""The paper's opening example, played: sensors along roads count vehicles, and their clocks are never quite right.

Every sensor splits its noisy count of a minute into shares, and sends share r in round r. Clocks are skewed and lines
are slow by up to ``offset_seconds``, so that reports come in at times which have nothing to do with the counts, but
tell whose they are. A buffer holds each report back by Laplace noise of scale 2 / gamma times that time, and lets out
the order only.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import shuffledp as sdp
from experiments.showing import COLORS, new_chart, progress
from shuffledp.shufflers import DelayShuffler
from shuffledp.testing import SeededSource

Row = dict[str, Any]


def compute(settings: Row) -> list[Row]:
    """One row for each imperfection. Seeded, so that the story can be told again; a real run never is."""
    draw_from = np.random.default_rng(7)
    sensors, largest = int(settings["sensors"]), int(settings["largest"])
    counts = np.minimum(draw_from.negative_binomial(3, 0.12, sensors), largest)
    offsets = draw_from.random(sensors)  # clock skew and delay, in units of the longest
    return [_case(gamma, counts, offsets, settings) for gamma in progress(settings["imperfections"], "traffic")]


def _case(gamma: float, counts: NDArray[np.int64], offsets: NDArray[np.float64], settings: Row) -> Row:
    sensors, epsilon = len(counts), settings["epsilon"]
    randomizer = sdp.calibrate.split_and_mix(
        num_users=sensors,
        epsilon=epsilon,
        delta=settings["delta"],
        imperfection=gamma,
        lower=0,
        upper=settings["largest"],
        integer=True,
    )
    delays = DelayShuffler(imperfection=gamma, offsets=offsets)
    shuffler, analyzer = sdp.ParallelShuffler(delays, randomizer.num_messages), sdp.SumAnalyzer()
    source = SeededSource(round(100 * gamma))
    truth, found = int(counts.sum()), []
    for _ in range(settings["runs"]):
        view = shuffler.shuffle(randomizer.randomize(counts, source=source), source=source)
        found.append(float(analyzer.estimate(analyzer.summarize(view)).estimate[0]))
    errors = np.abs(np.array(found) - truth)
    order = delays.draw(sensors, source=source)
    rank_kept = float(stats.spearmanr(offsets[order], np.arange(sensors)).statistic)
    wait = 2 / gamma * settings["offset_seconds"] if gamma else None  # mean of the noise's absolute value
    return {
        "imperfection": gamma,
        "messages": randomizer.num_messages,
        "bits": randomizer.num_messages * randomizer.model.report_bits,
        "mean delay in seconds": wait,
        "minutes from first to last": None if wait is None else 2 * wait * (math.log(sensors / 2) + 0.5772) / 60,
        "order kept in one round": rank_kept,
        "true sum": truth,
        "first estimate": found[0],
        "mean absolute error": float(errors.mean()),
        "standard error": float(errors.std(ddof=1) / math.sqrt(len(errors))),
        "trusted curator's": settings["largest"] / epsilon,
        "without a shuffle": _local_error(counts, settings),
    }


def _local_error(counts: NDArray[np.int64], settings: Row) -> float:
    """Mean absolute error if every sensor adds noise enough for itself."""
    largest = settings["largest"]
    local = sdp.DiscreteLaplaceMean(epsilon0=settings["epsilon"], lower=0, upper=largest, num_steps=largest)
    variance = len(counts) * float(local.model.noise_variance(np.array([counts.mean()]))[0])
    return math.sqrt(2 * variance / math.pi)


def draw(rows: list[Row]) -> Any:
    """What a delay costs against what it saves."""
    figure, (left, right) = new_chart(2, width=4.2, height=3.6)
    delayed = [row for row in rows if row["mean delay in seconds"] is not None]
    left.plot(
        [row["mean delay in seconds"] for row in delayed], [row["messages"] for row in delayed], "-o", color=COLORS[0]
    )
    for row in delayed:
        at = (row["mean delay in seconds"], row["messages"])
        left.annotate(f"γ = {row['imperfection']:g}", at, xytext=(0, 8), textcoords="offset points", fontsize=8)
    left.set(xscale="log", xlabel="mean delay of a report, seconds", title="messages of each sensor, by gamma")
    left.margins(x=0.2, y=0.15)
    waits = [row["mean delay in seconds"] for row in delayed]
    left.set_xticks(waits, [f"{wait:g}" for wait in waits])
    left.set_xticks([], minor=True)
    left.locator_params(axis="y", integer=True)
    names = ("mean absolute error", "trusted curator's", "without a shuffle")
    for place, name in enumerate(names):
        style: Row = {"fmt": ("-o", "--", "-s")[place], "color": (COLORS[0], COLORS[-1], COLORS[1])[place]}
        spread = [2 * row["standard error"] for row in rows] if place == 0 else None
        right.errorbar(
            [row["imperfection"] for row in rows], [row[name] for row in rows], yerr=spread, label=name, **style
        )
    right.set(yscale="log", xlabel="imperfection gamma", title="error of the sum, vehicles")
    right.legend(frameon=False, fontsize=8, loc="center right")
    return figure
