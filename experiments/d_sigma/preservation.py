"""Fig. 7: how much of a subset's own reports stay in its slots, with probability 0.99, against three parameters."""

from typing import Any

import numpy as np

from experiments.d_sigma.mechanisms import STYLES
from experiments.showing import legend_in, lettered, new_chart, series
from shuffledp.laws import kendall_kept_in_interval, preserved_shares, sample_mallows, sample_noisy_sort
from shuffledp.people.groups import Groups
from shuffledp.shufflers import NoisySortShuffler
from shuffledp.testing import SeededSource

Row = dict[str, Any]
PANELS = {"alpha": "alpha", "width": "width of the groups (ranks)", "size": "size of the subset"}


def cases(settings: Row) -> list[Row]:
    """One for each point of the three panels."""
    given = {name: settings[name] for name in ("alpha", "width", "size")}
    return [
        {"people": settings["people"], "draws": settings["draws"], "panel": panel} | given | {panel: value}
        for panel in PANELS
        for value in settings[f"{panel}s"]
    ]


def compute(case: Row) -> list[Row]:
    """The shares that windows of consecutive ranks as groups allow: the paper's single concentration, ours, uniform."""
    people, size, alpha, width = (case[name] for name in ("people", "size", "alpha", "width"))
    start = (people - size) // 2
    members, last = np.arange(start, start + size), people - width
    groups = Groups.from_lists(
        [np.arange(min(max(k, 0), last - 1), min(max(k, 0), last - 1) + width + 1) for k in range(people)]
    )
    sort = NoisySortShuffler(groups=groups, alpha=alpha, order=np.arange(people))
    prepared, source = sort.prepare(), SeededSource(case["size"])
    # Groups without gaps: the exact sensitivity is the paper's, and one block holds everybody.
    theta = alpha / (width * (width + 1) / 2)
    draws = {
        "paper": lambda: sample_mallows(people, theta, source=source),
        "noisy sort": lambda: sample_noisy_sort(prepared.parameters, block_starts=prepared.starts[:-1], source=source),
        "uniform": lambda: sample_mallows(people, 0.0, source=source),
    }
    rows = [_row(case, "none", 1.0, 1.0, 1.0)]
    for name, law in draws.items():
        shares = preserved_shares(law, members, case["draws"])
        mean = kendall_kept_in_interval(people, theta, start, start + size) / size if name == "paper" else shares.mean()
        rows.append(
            _row(case, name, float(mean), float(np.quantile(shares, 0.01, method="lower")), float(shares[:50].min()))
        )
    return rows


def _row(case: Row, name: str, mean: float, eta: float, least: float) -> Row:
    kept = {column: case[column] for column in ("panel", "alpha", "width", "size", "draws")}
    return kept | {"mechanism": name, "mean": mean, "eta": eta, "least of 50": least}


def draw(rows: list[Row]) -> Any:
    """One panel for each parameter that changes, and the names in a fourth."""
    figure, panels = new_chart(4, width=3.55, height=2.9, columns=2)
    for place, (axes, (panel, label)) in enumerate(zip(panels[:3], PANELS.items(), strict=True)):
        here = [row for row in rows if row["panel"] == panel]
        for name in dict.fromkeys(row["mechanism"] for row in here):
            style = STYLES[name] | ({"label": "Mallows: paper and ours (equal here)"} if name == "paper" else {})
            series(axes, [row for row in here if row["mechanism"] == name], panel, "eta", **style)
        others = [f"{other} = {here[0][other]:g}" for other in PANELS if other != panel]
        axes.set(xscale="log", ylim=(-0.03, 1.03), xlabel=label, ylabel="share kept")
        lettered(axes, place, ", ".join(others))
    legend_in(panels[3], panels[0], f"share kept with probability 0.99,\n1 % quantile of {rows[0]['draws']:,} draws")
    return figure
