"""The command line that all experiments of one paper share: compute or remember, print a table, write files."""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.showing import as_csv, as_markdown, as_svg

Rows = list[dict[str, Any]]


def settings_from(here: Path, name: str, *, tiny: bool = False) -> dict[str, Any]:
    """The table [NAME] of config.toml in a folder; with ``tiny``, what [NAME.tiny] says replaces it."""
    settings = dict(tomllib.loads((here / "config.toml").read_text(encoding="utf-8"))[name])
    small = settings.pop("tiny")
    return settings | small if tiny else settings


def start(here: Path, experiments: Mapping[str, ModuleType], arguments: Sequence[str] | None, about: str) -> None:
    """Read the command line, and run what it names.

    Args:
        here: the paper's folder, with its config.toml.
        experiments: modules by name, with ``compute`` and ``draw``; where one has a ``PARTS``, that setting is a list,
            of which each item is computed and remembered by itself, so that a long run can be taken up again.
        arguments: of the command line; None is those of the process.
        about: what the help says.
    """
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{here.name}", description=about)
    parser.add_argument("name", choices=[*experiments, "all"], help="which experiment")
    parser.add_argument("--tiny", action="store_true", help="seconds instead of minutes, and numbers of no use")
    parser.add_argument("--out", type=Path, default=FOLDER / here.name, help="where rows and pictures go")
    parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
    options = parser.parse_args(arguments)
    for name in experiments if options.name == "all" else (options.name,):
        rows = _computed(experiments[name], settings_from(here, name, tiny=options.tiny), options.kept)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}.csv").write_text(as_csv(rows), encoding="utf-8")
        (options.out / f"{name}.svg").write_bytes(as_svg(experiments[name].draw(rows)))
        print(f"{name}\n\n{as_markdown(rows)}\n\nWritten: {options.out / name}.csv and .svg\n")


def _computed(experiment: ModuleType, settings: dict[str, Any], kept: Path) -> Rows:
    part = getattr(experiment, "PARTS", None)
    items = [settings] if part is None else [settings | {part: [item]} for item in settings[part]]
    return [row for item in items for row in cached(experiment.compute, item, kept)]
