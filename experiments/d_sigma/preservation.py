"""Fig. 7: how much of a subset's own reports stay in its slots, with probability 0.99, against three parameters."""

from typing import Any

import numpy as np

from experiments.checking import Drawn
from experiments.showing import COLORS, lettered, new_chart, series
from shuffledp.laws import kendall_kept_in_interval, sample_mallows, sample_noisy_sort
from shuffledp.protocols.d_sigma.laws.preservation_laws import preserved_shares
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
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
SHORT = {"alpha": "alpha", "width": "width", "size": "subset"}
LINES = {"paper": "-o", "noisy sort": "--", "uniform": ":"}
NAMES = {
    "paper": "Mallows: paper and ours (equal here)",
    "noisy sort": "ours: Laplace sort",
    "uniform": "uniform shuffle",
}


def cases(settings: Row) -> list[Row]:
    """One for each point of the three panels; of each panel there is a family of curves."""
    given = {name: settings[name] for name in ("alpha", "width", "size")}
    widths = [given | {"width": width} for width in settings["family_widths"]]
    sizes = [given | {"size": size} for size in settings["family_sizes"]]
    others = [each for each in sizes if each not in widths]
    families = {"alpha": widths + others, "width": sizes, "size": widths}
    return [
        {"people": settings["people"], "draws": settings["draws"], "panel": panel} | curve | {panel: value}
        for panel, family in families.items()
        for curve in family
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
    """One panel for each parameter that changes, with a curve for each value of the others, and names in a fourth."""
    from matplotlib.lines import Line2D

    figure, panels = new_chart(4, width=4.2, height=3.3, columns=2)
    for place, (axes, (panel, label)) in enumerate(zip(panels[:3], PANELS.items(), strict=True)):
        here = [row for row in rows if row["panel"] == panel and row["mechanism"] in LINES]
        others = [name for name in PANELS if name != panel]
        varied = [name for name in others if len({row[name] for row in here}) > 1]
        curves = list(dict.fromkeys(tuple(row[name] for name in others) for row in here))
        for number, curve in enumerate(curves):
            line = [row for row in here if tuple(row[name] for name in others) == curve]
            named = ", ".join(f"{SHORT[name]} {line[0][name]:g}" for name in varied)
            for mechanism, fmt in LINES.items():
                style = {"fmt": fmt, "color": COLORS[number], "label": named if mechanism == "paper" else None}
                series(axes, [row for row in line if row["mechanism"] == mechanism], panel, "eta", **style)
        fixed = ", ".join(f"{name} = {here[0][name]:g}" for name in others if name not in varied)
        axes.set(xscale="log", ylim=(-0.03, 1.45), yticks=np.arange(6) / 5, xlabel=label, ylabel="share kept")
        if varied:
            axes.legend(loc="upper center", frameon=False, fontsize=8, ncols=2)
        lettered(axes, place, fixed or "width and size vary")
    styles: list[dict[str, Any]] = [
        {"linestyle": fmt.rstrip("o"), "marker": fmt.lstrip("-:")} for fmt in LINES.values()
    ]
    lines = [Line2D([], [], color="#56606b", **style) for style in styles]
    panels[3].set_axis_off()
    note = f"share kept with probability 0.99,\n1 % quantile of {rows[0]['draws']:,} draws"
    panels[3].legend(lines, NAMES.values(), loc="upper left", frameon=False, title=note, alignment="left")
    return figure
