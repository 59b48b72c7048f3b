"""``python -m experiments.qif NAME``: compute or remember, print a table, write rows and a picture, or compare."""

import argparse
import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.qif import chances, crowd, crowd_and_values, limit, strong, tables, values
from experiments.showing import as_csv, as_markdown, as_svg

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
EXPERIMENTS: Mapping[str, ModuleType] = {
    "fig-2": crowd,
    "fig-3": values,
    "fig-4": chances,
    "fig-5": crowd_and_values,
    "fig-6": strong,
    "fig-7": limit,
    **{f"table-{number}": tables for number in range(1, 6)},
}

Rows = list[dict[str, Any]]


def settings_of(name: str, *, tiny: bool = False) -> dict[str, Any]:
    """The table [NAME] of the configuration; with ``tiny``, what [NAME.tiny] says replaces it."""
    settings = dict(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))[name])
    small = settings.pop("tiny")
    return settings | small if tiny else settings


def read(text: str) -> list[dict[str, str]]:
    """The rows of a file."""
    return list(csv.DictReader(text.splitlines()))


def differing(name: str, rows: Rows) -> list[dict[str, str]]:
    """Which of these rows are not among the expected ones, up to the tolerance of the configuration."""
    expected = read((EXPECTED / f"{name}.csv").read_text(encoding="utf-8"))
    tolerance = float(settings_of(name)["tolerance"])
    found = read(as_csv(rows))
    return [row for row in found if not any(_agree(row, other, tolerance) for other in expected)]


def _agree(row: dict[str, str], other: dict[str, str], tolerance: float) -> bool:
    return row.keys() == other.keys() and all(_equal(row[name], other[name], tolerance) for name in row)


def _equal(one: str, other: str, tolerance: float) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=tolerance, abs_tol=0)
    except ValueError:
        return one == other


def run(name: str, *, tiny: bool, out: Path, kept: Path) -> Rows:
    """One experiment: a table on the terminal, NAME.csv and NAME.svg in the folder."""
    experiment = EXPERIMENTS[name]
    rows = cached(experiment.compute, settings_of(name, tiny=tiny), kept)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.csv").write_text(as_csv(rows), encoding="utf-8")
    (out / f"{name}.svg").write_bytes(as_svg(experiment.draw(rows)))
    print(f"{name}\n\n{as_markdown(rows)}\n\nWritten: {out / name}.csv and .svg\n")
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.qif", description=__doc__)
    parser.add_argument("name", choices=[*EXPERIMENTS, "all"], help="which experiment")
    parser.add_argument("--tiny", action="store_true", help="fewer points")
    parser.add_argument("--check", action="store_true", help="fail if a row is not among the expected ones")
    parser.add_argument("--out", type=Path, default=FOLDER / "qif", help="where rows and pictures go")
    parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
    options = parser.parse_args(arguments)
    for name in EXPERIMENTS if options.name == "all" else (options.name,):
        rows = run(name, tiny=options.tiny, out=options.out, kept=options.kept)
        if options.check:
            _check(name, rows)


def _check(name: str, rows: Rows) -> None:
    if wrong := differing(name, rows):
        raise SystemExit(f"{name}: {len(wrong)} of {len(rows)} rows differ from the expected ones; first: {wrong[0]}")
    print(f"{name}: {len(rows)} rows as expected\n")


if __name__ == "__main__":
    main()
