"""Table 1: how epsilon grows with epsilon0 and falls with people, in the limit of many people."""

import math
from typing import Any

from experiments.network.bounds import printed, uniform
from experiments.showing import COLORS, MARKERS, new_chart, progress, series

RATES = {  # of the exponent of e, in epsilon0, before 1 / sqrt(n)
    "Table 1, subsampling": 1.0,
    "Table 1, shuffling": 3.0,
    "Table 1, clones": 0.5,
    "Table 1, network": 1.5,
}
NAMES = {
    "no shuffle": "no shuffle",
    "5.3 printed": "all, Theorem 5.3",
    "5.5 printed": "single, Theorem 5.5",
    **{name: rf"{name}: $e^{{{rate:g}\varepsilon_0}}/\sqrt{{n}}$" for name, rate in RATES.items()},
    "ours": "ours, after many rounds",
}

Row = dict[str, Any]
KEY = ("bound", "epsilon0")


def compute(settings: Row) -> list[Row]:
    """One row for each bound and epsilon0, with its exponents there by differences of logarithms."""
    cases = [(name, epsilon0) for name in NAMES for epsilon0 in settings["epsilons"]]
    return [_case(*case, settings) for case in progress(cases, "table-1")]


def _case(name: str, epsilon0: float, settings: Row) -> Row:
    people, delta, step = settings["people"], settings["delta"], 0.01

    def at(loss: float, crowd: int) -> float:
        if name == "no shuffle":
            return loss
        if name in RATES:  # times 1, and without the logarithms that the print hides
            return math.exp(RATES[name] * loss) / math.sqrt(crowd)
        return uniform(loss, crowd, delta) if name == "ours" else float(printed(loss, crowd, 1 / crowd, delta)[name])

    here = at(epsilon0, people)
    return {
        "bound": name,
        "epsilon0": epsilon0,
        "people": people,
        "epsilon": here,
        "growth with epsilon0": math.log(at(epsilon0 + step, people) / here) / step,
        "growth with log people": math.log(at(epsilon0, 4 * people) / here) / math.log(4),
    }


def draw(rows: list[Row]) -> Any:
    """Epsilon against epsilon0, and the exponents."""
    figure, (left, right) = new_chart(2, width=4.4, height=4.0)
    lines = ["no shuffle", "5.3 printed", "5.5 printed", "ours"]
    for name, label in NAMES.items():
        place = [*lines, *RATES].index(name)
        color = (COLORS[5], COLORS[1], COLORS[2], COLORS[0], *COLORS)[place]
        style: Row = {"label": label, "fmt": ":" if name in RATES else f"-{MARKERS[place]}", "color": color}
        here = [row for row in rows if row["bound"] == name]
        series(left, here, "epsilon0", "epsilon", **style)
        series(right, here, "epsilon0", "growth with epsilon0", **style)
    left.set(yscale="log", xlabel="epsilon0", ylabel="epsilon", title=f"{rows[0]['people']:,} people")
    right.set(xlabel="epsilon0", ylabel="growth of log epsilon", title="for each unit of epsilon0")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
