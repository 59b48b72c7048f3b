"""``python -m experiments.imperfect NAME``: compute or remember, print a table, write the rows and the picture."""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.imperfect import bits, errors, messages, traffic, transformation
from experiments.showing import as_csv, as_markdown, as_svg

__all__ = ["EXPERIMENTS", "main", "settings_of"]

HERE = Path(__file__).parent
EXPERIMENTS: Mapping[str, ModuleType] = {
    "errors": errors,
    "messages": messages,
    "bits": bits,
    "traffic": traffic,
    "transformation": transformation,
}


def settings_of(name: str, *, tiny: bool = False) -> dict[str, Any]:
    """The table [NAME] of the configuration; with ``tiny``, what [NAME.tiny] says replaces it."""
    settings = dict(tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))[name])
    small = settings.pop("tiny")
    return settings | small if tiny else settings


def run(name: str, *, tiny: bool, out: Path, kept: Path) -> None:
    """One experiment: a table on the terminal, NAME.csv and NAME.svg in the folder."""
    experiment = EXPERIMENTS[name]
    rows = cached(experiment.compute, settings_of(name, tiny=tiny), kept)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.csv").write_text(as_csv(rows), encoding="utf-8")
    (out / f"{name}.svg").write_bytes(as_svg(experiment.draw(rows)))
    print(f"{name}\n\n{as_markdown(rows)}\n\nWritten: {out / name}.csv and .svg\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.imperfect", description=__doc__)
    parser.add_argument("name", choices=[*EXPERIMENTS, "all"], help="which experiment")
    parser.add_argument("--tiny", action="store_true", help="seconds instead of minutes, and numbers of no use")
    parser.add_argument("--out", type=Path, default=FOLDER / "imperfect", help="where rows and pictures go")
    parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
    options = parser.parse_args(arguments)
    for name in EXPERIMENTS if options.name == "all" else (options.name,):
        run(name, tiny=options.tiny, out=options.out, kept=options.kept)


if __name__ == "__main__":
    main()
