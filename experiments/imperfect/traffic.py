"""The paper's opening example, played: sensors along roads count vehicles, and their clocks are never quite right.

Every sensor splits its noisy count of a minute into shares, and sends share r in round r. Clocks are skewed and lines
are slow by up to ``offset_seconds``, so that reports come in at times which have nothing to do with the counts, but
tell whose they are. A buffer holds each report back by Laplace noise of scale 2 / gamma times that time, and lets out
the order only.

Half of that noise is negative, and no buffer can let out a report before it has come in. So it adds one common time to
wait to all of them, and lets a report go at once if its noise is below minus that time. Such an overflow shows more
than the ideal order does: all overflows together may have ``overflow_share`` of delta.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import shuffledp as sdp
from experiments.checking import Drawn
from experiments.showing import COLORS, new_chart, progress
from shuffledp.protocols.shares.shufflers.imperfect import DelayShuffler
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("imperfection",)
DRAWN = {
    "order kept in one round": Drawn("order error", "runs", least=-1.0, most=1.0),
    "mean absolute error": Drawn("standard error", "runs"),
}


def compute(settings: Row) -> list[Row]:
    """One row for each imperfection. Seeded, so that the story can be told again; a real run never is."""
    draw_from = np.random.default_rng(7)
    sensors, largest = int(settings["sensors"]), int(settings["largest"])
    counts = np.minimum(draw_from.negative_binomial(3, 0.12, sensors), largest)
    offsets = draw_from.random(sensors)  # clock skew and delay, in units of the longest
    return [_case(gamma, counts, offsets, settings) for gamma in progress(settings["imperfections"], "traffic")]


def _case(gamma: float, counts: NDArray[np.int64], offsets: NDArray[np.float64], settings: Row) -> Row:
    sensors, epsilon, spent = len(counts), settings["epsilon"], settings["overflow_share"] * settings["delta"]
    randomizer = sdp.calibrate.split_and_mix(
        num_users=sensors,
        epsilon=epsilon,
        delta=settings["delta"] - spent,
        imperfection=gamma,
        lower=0,
        upper=settings["largest"],
        integer=True,
    )
    delays = DelayShuffler(imperfection=gamma, offsets=offsets)
    shuffler, analyzer = sdp.ParallelShuffler(delays, randomizer.num_messages), sdp.SumAnalyzer()
    source, runs = SeededSource(round(100 * gamma)), settings["runs"]
    truth, found, kept = int(counts.sum()), [], []
    for _ in range(runs):
        view = shuffler.shuffle(randomizer.randomize(counts, source=source), source=source)
        found.append(float(analyzer.estimate(analyzer.summarize(view)).estimate[0]))
        order = delays.draw(sensors, source=source)
        kept.append(float(stats.spearmanr(offsets[order], np.arange(sensors)).statistic))
    errors = np.abs(np.array(found) - truth)
    return {
        "imperfection": gamma,
        "messages": randomizer.num_messages,
        "bits": randomizer.num_messages * randomizer.model.report_bits,
        **waits(gamma, sensors, randomizer.num_messages, epsilon=epsilon, delta=spent, unit=settings["offset_seconds"]),
        "order kept in one round": float(np.mean(kept)),
        "order error": float(np.std(kept, ddof=1) / math.sqrt(runs)),
        "true sum": truth,
        "mean absolute error": float(errors.mean()),
        "standard error": float(errors.std(ddof=1) / math.sqrt(runs)),
        "runs": runs,
        "trusted curator's": settings["largest"] / epsilon,
        "without a shuffle": _local_error(counts, settings),
    }


def waits(gamma: float, sensors: int, messages: int, *, epsilon: float, delta: float, unit: float) -> Row:
    """How long a buffer holds reports back that lets none go before it has come in.

    Between the views of this buffer and of the ideal one lies at most the chance t of any overflow, and of two laws
    that are so near to (epsilon, delta)-indistinguishable ones the remainder grows by (1 + e^epsilon) t at most.

    Args:
        gamma: the imperfection; at 0 there is no buffer of this kind.
        sensors: who send one message in each round.
        messages: rounds.
        epsilon: of the whole.
        delta: what overflows may add to the remainder.
        unit: the longest time between two arrivals, in seconds.

    Returns:
        The common time to wait, which is the mean delay but for overflows; the mean of the most negative noise of a
        round, for which every second round overflows or so; the chance of any overflow; and the mean time between the
        first and the last report of a round.
    """
    columns = ("mean delay in seconds", "most negative noise of a round", "chance of an overflow")
    if gamma == 0:
        return dict.fromkeys((*columns, "minutes from first to last"))
    scale, chance = 2 / gamma * unit, delta / (1 + math.exp(epsilon))
    wait = scale * math.log(sensors * messages / (2 * chance))
    extreme = scale * (math.log(sensors / 2) + 0.5772)
    return dict(zip(columns, (wait, extreme, chance), strict=True)) | {"minutes from first to last": 2 * extreme / 60}


def _local_error(counts: NDArray[np.int64], settings: Row) -> float:
    """Mean absolute error if every sensor adds noise enough for itself."""
    largest = settings["largest"]
    local = sdp.DiscreteLaplaceMean(epsilon0=settings["epsilon"], lower=0, upper=largest, num_steps=largest)
    variance = len(counts) * float(local.model.noise_variance(np.array([counts.mean()]))[0])
    return math.sqrt(2 * variance / math.pi)


def draw(rows: list[Row]) -> Any:
    """What a delay costs against what it saves."""
    figure, (left, right) = new_chart(2, width=4.4, height=3.8)
    delayed = [row for row in rows if row["mean delay in seconds"] is not None]
    messages = [row["messages"] for row in delayed]
    times = [row["mean delay in seconds"] / 60 for row in delayed]
    left.plot(times, messages, "-o", color=COLORS[0], label="mean delay of a buffer that can be built")
    shortest = [row["most negative noise of a round"] / 60 for row in delayed]
    left.plot(shortest, messages, ":s", color=COLORS[1], label="one round in two would overflow", mfc="none")
    for row, time in zip(delayed, times, strict=True):
        at = (time, row["messages"])
        left.annotate(f"γ = {row['imperfection']:g}", at, xytext=(6, 5), textcoords="offset points", fontsize=8)
    left.set(xscale="log", xlabel="delay, minutes", title="messages of each sensor, by gamma")
    left.margins(x=0.2)
    left.set_ylim(min(messages) - 1, max(messages) + 4)
    left.xaxis.set_major_formatter("{x:g}")
    left.locator_params(axis="y", integer=True)
    left.legend(frameon=False, fontsize=8, loc="upper right")
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
