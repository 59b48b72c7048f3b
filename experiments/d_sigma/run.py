"""``python -m experiments.d_sigma fig-7``: compute or remember case by case, print a table, write rows and pictures."""

import argparse
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.d_sigma import accuracy, data, frontier, granularity, preservation, rho_and_lambda, widths
from experiments.d_sigma.checking import differing
from experiments.running import settings_from
from experiments.showing import as_csv, as_markdown, as_png, as_svg, from_csv, progress

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
    "frontier-syn": rho_and_lambda,
}
FRONTIER = "frontier"
SEVERAL = {"fig-4": ("fig-4-twitch", "fig-4-acs"), "fig-11": ("fig-4-twitch", "fig-8"), "all": (*FIGURES, FRONTIER)}
FRONTIER_OF = ("fig-8", "fig-4-twitch", "fig-4-acs", "frontier-syn")

Rows = list[dict[str, Any]]


def rows_of(name: str, *, tiny: bool, kept: Path) -> Rows:
    """All rows of a figure; each case is remembered by itself, so that a run that was stopped goes on."""
    if name == FRONTIER:
        return [row for each in FRONTIER_OF for row in rows_of(each, tiny=tiny, kept=kept)]
    module, settings = FIGURES[name], settings_from(HERE, name, tiny=tiny)
    files = data.files_of(settings.get("data"))
    return [row for case in progress(module.cases(settings), name) for row in cached(module.compute, case, kept, files)]


def run(name: str, *, tiny: bool, out: Path, kept: Path, rows_only: bool = False) -> Rows:
    """One figure: a table on the terminal; NAME.csv, NAME.svg and NAME.png in the folder."""
    rows = rows_of(name, tiny=tiny, kept=kept)
    short = [_short(row) for row in rows]
    (out / f"{name}.csv").write_text(as_csv(short), encoding="utf-8")
    print(f"{name}\n\n{as_markdown(short)}\n\nWritten: {out / name}.csv\n")
    if not rows_only:
        if short != rows:
            people = [{column: value for column, value in row.items() if column not in _short(row)} for row in rows]
            (out / f"{name}-people.json").write_text(json.dumps(people, indent=0) + "\n", encoding="utf-8")
        _picture(name, rows, out)
    return short


def expected_rows(name: str, *, tiny: bool) -> Rows:
    """What is committed."""
    folder = HERE / "expected" / ("tiny" if tiny else "")
    return from_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))


def check(name: str, rows: Rows, *, tiny: bool) -> list[str]:
    """How rows differ from the expected ones by more than the tolerances of config.toml."""
    tolerances = settings_from(HERE, FRONTIER_OF[0] if name == FRONTIER else name)["tolerance"]
    return differing(from_csv(as_csv(rows)), expected_rows(name, tiny=tiny), tolerances)


def redraw(name: str, out: Path) -> None:
    """The picture of the rows that lie in a folder."""
    rows = from_csv((out / f"{name}.csv").read_text(encoding="utf-8"))
    people = out / f"{name}-people.json"
    if people.exists():
        rows = [row | more for row, more in zip(rows, json.loads(people.read_text(encoding="utf-8")), strict=True)]
    _picture(name, rows, out)


def _picture(name: str, rows: Rows, out: Path) -> None:
    figure = (frontier if name == FRONTIER else FIGURES[name]).draw(rows)
    (out / f"{name}.svg").write_bytes(as_svg(figure))
    (out / f"{name}.png").write_bytes(as_png(figure))
    print(f"Drawn: {out / name}.svg and .png\n")


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """Without columns of single people."""
    return {name: value for name, value in row.items() if name not in granularity.OF_PEOPLE}


def _obstacle(names: Sequence[str], options: argparse.Namespace) -> str | None:
    """Why it cannot be done, before anything is computed."""
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"--out: {options.out} is no folder and cannot be made one ({error.strerror})"
    for module in () if options.rows_only else ("matplotlib",):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed: pip install -e '.[experiments]'"
    if options.redraw:
        lacking = [name for name in names if not (options.out / f"{name}.csv").is_file()]
        return f"--redraw: no {lacking[0]}.csv in {options.out}; run it without --redraw first" if lacking else None
    parts = [part for name in names for part in (FRONTIER_OF if name == FRONTIER else (name,))]
    if importlib.util.find_spec("sklearn") is None and {"fig-5", *FRONTIER_OF} & set(parts):
        return "scikit-learn is not installed: pip install -e '.[experiments]'"
    return next(filter(None, (data.missing(settings_from(HERE, part).get("data")) for part in parts)), None)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.d_sigma", description=__doc__)
    parser.add_argument("name", choices=[*FIGURES, FRONTIER, *SEVERAL], help="which figure")
    parser.add_argument("--tiny", action="store_true", help="seconds instead of minutes, and numbers of no use")
    parser.add_argument("--check", action="store_true", help="fail if rows differ from the expected ones")
    parser.add_argument("--rows-only", action="store_true", help="draw nothing")
    parser.add_argument("--out", type=Path, help="where rows and pictures go (a folder in experiments/.cache)")
    parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
    parser.add_argument("--redraw", action="store_true", help="draw the rows that lie in the folder, compute nothing")
    options = parser.parse_args(arguments)
    if options.out is None:
        options.out = FOLDER / ("d_sigma-tiny" if options.tiny else "d_sigma")
    names = SEVERAL.get(options.name, (options.name,))
    if obstacle := _obstacle(names, options):
        parser.error(obstacle)
    for name in names:
        if options.redraw:
            redraw(name, options.out)
            continue
        rows = run(name, tiny=options.tiny, out=options.out, kept=options.kept, rows_only=options.rows_only)
        if options.check and (wrong := check(name, rows, tiny=options.tiny)):
            raise SystemExit(f"{name}: {len(wrong)} cells differ from the expected ones; first: {wrong[0]}")


if __name__ == "__main__":
    main()
