"""How many messages a sum takes: certified, as printed, and by a rule of thumb, against the imperfection."""

from typing import Any

import shuffledp as sdp
from experiments.imperfect.published_counts import (
    lemma_12_count,
    perfect_shuffle_count,
    printed_count,
    rule_of_thumb,
    security_target,
)
from experiments.showing import COLORS, MARKERS, new_chart, progress, series
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel

NAMES = {
    "printed Lemma 4.13": "Lemma 4.13 as printed",
    "Lemma 4.12 redone": "Lemma 4.12, algebra done again",
    "rule of thumb": "rule of thumb (no bound)",
    "certified": "certified",
}

Row = dict[str, Any]
KEY = ("people", "imperfection")


def compute(settings: Row) -> list[Row]:
    """One row for each number of people and each imperfection; None where a formula says nothing."""
    cases = [(people, gamma) for people in settings["people"] for gamma in settings["imperfections"]]
    return [_case(*case, settings) for case in progress(cases, "messages")]


def _case(people: int, imperfection: float, settings: Row) -> Row:
    privacy = {"epsilon": settings["epsilon"], "delta": settings["delta"]}
    row: Row = {"people": people, "imperfection": imperfection}
    try:
        randomizer = sdp.calibrate.split_and_mix(
            num_users=people, imperfection=imperfection, lower=0, upper=1, **privacy
        )
    except InvalidParameterError:
        return row | dict.fromkeys((*NAMES, "perfect shuffle", "modulus", "bits of security"))
    one = ImperfectShuffleModel(num_users=people, imperfection=imperfection, construction="assumed")
    rounds = ParallelShuffleModel(round=one, num_rounds=randomizer.num_messages)
    found = sdp.calibrate.split_and_mix_certificate(randomizer.model, rounds)
    model = randomizer.model
    bits = security_target(**privacy)
    sought: Row = {"num_users": people, "modulus": model.modulus, "security_bits": bits}
    perfect = perfect_shuffle_count(**sought)
    sought["imperfection"] = imperfection
    return row | {
        "printed Lemma 4.13": printed_count(**sought),
        "Lemma 4.12 redone": lemma_12_count(**sought),
        "rule of thumb": rule_of_thumb(**sought),
        "certified": found.num_shares,
        "perfect shuffle": perfect if imperfection == 0 else None,
        "modulus": found.modulus,
        "bits of security": found.security_bits,
    }


def draw(rows: list[Row]) -> Any:
    """One panel for each number of people."""
    crowds = sorted({row["people"] for row in rows})
    figure, panels = new_chart(len(crowds), width=3.6, height=4.2)
    for axes, people in zip(panels, crowds, strict=True):
        here = [row for row in rows if row["people"] == people]
        for place, (name, label) in enumerate(NAMES.items()):
            style: Row = {"label": label, "fmt": f"-{MARKERS[place]}", "color": COLORS[place]}
            if name == "rule of thumb":  # around the markers that it hardly differs from
                style |= {"fmt": f":{MARKERS[place]}", "markersize": 9, "markerfacecolor": "none", "zorder": 3}
            series(axes, here, "imperfection", name, **style)
        axes.set(yscale="log", xlabel="imperfection gamma", title=f"{people:,} people", ylim=(4, 4000))
        axes.set_xscale("symlog", linthresh=0.01)
        axes.set_xticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
        axes.set_xlim(-0.003, 4)
        axes.set_yticks([5, 10, 20, 50, 100, 200, 500, 1000, 2000], minor=False)
        axes.set_yticks([], minor=True)
        axes.yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("messages of each person")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
