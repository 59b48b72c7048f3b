"""``python -m experiments.d_sigma fig-7``: compute or remember case by case, print a table, write rows and pictures."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.d_sigma import accuracy, frontier, granularity, preservation, rho_and_lambda, widths
from experiments.running import settings_from
from experiments.showing import as_csv, as_markdown, as_png, as_svg, from_csv, progress

__all__ = ["FIGURES", "main"]

HERE = Path(__file__).parent
FIGURES: Mapping[str, ModuleType] = {  # what computes and draws; its settings are the table of that name
    "fig-1": granularity,
    "fig-4-twitch": rho_and_lambda,
    "fig-4-acs": rho_and_lambda,
    "fig-5": accuracy,
    "fig-7": preservation,
    "fig-8": rho_and_lambda,
    "fig-9": widths,
    "fig-10": widths,
}
FRONTIER = "frontier"
LONGEST = 100
SEVERAL = {"fig-4": ("fig-4-twitch", "fig-4-acs"), "fig-11": ("fig-4-twitch", "fig-8"), "all": (*FIGURES, FRONTIER)}
FRONTIER_OF = ("fig-8", "fig-4-twitch", "fig-4-acs")

Rows = list[dict[str, Any]]


def rows_of(name: str, *, tiny: bool, kept: Path) -> Rows:
    """All rows of a figure; each case is remembered by itself, so that a run that was stopped goes on."""
    module = FIGURES[name]
    cases = module.cases(settings_from(HERE, name, tiny=tiny))
    return [row for case in progress(cases, name) for row in cached(module.compute, case, kept)]


def run(name: str, *, tiny: bool, out: Path, kept: Path, redraw: bool = False) -> None:
    """One figure: a table on the terminal; NAME.csv, NAME.svg and NAME.png in the folder."""
    if redraw:
        rows = from_csv((out / f"{name}.csv").read_text(encoding="utf-8"))
    else:
        parts = FRONTIER_OF if name == FRONTIER else (name,)
        rows = [row for each in parts for row in rows_of(each, tiny=tiny, kept=kept)]
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.csv").write_text(as_csv(rows), encoding="utf-8")
        print(f"{name}\n\n{as_markdown([_short(row) for row in rows])}\n")
    figure = (frontier if name == FRONTIER else FIGURES[name]).draw(rows)
    (out / f"{name}.svg").write_bytes(as_svg(figure))
    (out / f"{name}.png").write_bytes(as_png(figure))
    print(f"Written: {out / name}.csv, .svg and .png\n")


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """Without columns of single people."""
    return {name: value for name, value in row.items() if not isinstance(value, str) or len(value) < LONGEST}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.d_sigma", description=__doc__)
    parser.add_argument("name", choices=[*FIGURES, FRONTIER, *SEVERAL], help="which figure")
    parser.add_argument("--tiny", action="store_true", help="seconds instead of minutes, and numbers of no use")
    parser.add_argument("--out", type=Path, default=FOLDER / "d_sigma", help="where rows and pictures go")
    parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
    parser.add_argument("--redraw", action="store_true", help="draw the rows that lie in the folder, compute nothing")
    options = parser.parse_args(arguments)
    for name in SEVERAL.get(options.name, (options.name,)):
        run(name, tiny=options.tiny, out=options.out, kept=options.kept, redraw=options.redraw)


if __name__ == "__main__":
    main()
