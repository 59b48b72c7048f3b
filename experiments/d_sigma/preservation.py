"""Fig. 7: how much of a subset's own reports stay in its slots, with probability 0.99, against three parameters."""

from typing import Any

import numpy as np

from experiments.checking import Drawn
from experiments.d_sigma.mechanisms import STYLES
from experiments.showing import legend_in, lettered, new_chart, series
from shuffledp.laws import kendall_kept_in_interval, preserved_shares, sample_mallows, sample_noisy_sort
from shuffledp.people.groups import Groups
from shuffledp.shufflers import NoisySortShuffler
from shuffledp.testing import SeededSource

Row = dict[str, Any]
KEY = ("panel", "alpha", "width", "size", "mechanism")
DRAWN = {
    "mean": Drawn("mean error", most=1.0),
    "eta": Drawn("eta error", most=1.0),
    "least of 50": Drawn("least of 50 error", most=1.0),
}
COLUMNS = [column for name, each in DRAWN.items() for column in (name, each.error)]
_RARE = 0.01  # the chance that less is kept
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
    rows = [_row(case, "none", {"mean": 1.0, "eta": 1.0, "least of 50": 1.0})]
    for name, law in draws.items():
        found = _measured(preserved_shares(law, members, case["draws"]))
        if name == "paper":
            exact = kendall_kept_in_interval(people, theta, start, start + size) / size
            found |= {"mean": float(exact), "mean error": None}
        rows.append(_row(case, name, found))
    return rows


def _measured(shares: Any) -> Row:
    """The mean, the 1 % quantile and the least of 50 draws, as printed, with their standard errors."""
    count = len(shares)
    spread = np.sqrt(_RARE * (1 - _RARE) / count)
    low, eta, high = np.quantile(shares, (max(_RARE - spread, 0), _RARE, _RARE + spread), method="lower")
    minima = shares[: count // 50 * 50].reshape(-1, 50).min(axis=1)
    return {
        "mean": float(shares.mean()),
        "mean error": float(shares.std(ddof=1) / np.sqrt(count)),
        "eta": float(eta),
        "eta error": float(high - low) / 2,
        "least of 50": float(minima[0]),
        "least of 50 error": float(minima.std(ddof=1)),
    }


def _row(case: Row, name: str, found: Row) -> Row:
    kept = {column: case[column] for column in ("panel", "alpha", "width", "size", "draws")}
    return kept | {"mechanism": name} | {column: found.get(column) for column in COLUMNS}


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
