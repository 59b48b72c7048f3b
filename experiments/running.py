"""The command line that all experiments share: compute or remember, print a table, write files, compare with others."""

import argparse
import csv
import importlib.util
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.caching import FOLDER, cached
from experiments.checking import Cells, differing
from experiments.showing import as_csv, as_markdown, as_svg, from_csv, progress

DATA = Path(os.environ.get("SHUFFLEDP_DATA", Path(__file__).parents[2] / "shared" / "data"))

Rows = list[dict[str, Any]]
Settings = dict[str, Any]


def no_files(_: Settings) -> Sequence[Path]:
    """What an experiment reads whose people are drawn."""
    return ()


@dataclass(frozen=True)
class Family:
    """The experiments of one paper.

    A module has ``compute``, which gives the rows of some settings, ``draw``, which gives their picture, and ``KEY``,
    the columns that tell rows apart. It may have

    - ``DRAWN``, the columns that are drawn, with what is said of them (`experiments.checking.Drawn`);
    - ``PARTS``, a setting that is a list, of which each item is computed and remembered by itself, or ``cases``, which
      makes such parts of the settings: a long run can be taken up again;
    - ``OF``, the experiments whose rows it shows, in place of ``compute``;
    - ``OF_PEOPLE``, columns with something for every person, which are kept in a file of their own;
    - ``NEEDS``, what else must be installed.

    Args:
        folder: with config.toml and what is expected.
        experiments: modules by name; the settings are the table of that name in config.toml.
        several: names that stand for several.
        files: which files are read with some settings.
    """

    folder: Path
    experiments: Mapping[str, ModuleType]
    several: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Callable[[Settings], Sequence[Path]] = no_files

    def settings(self, name: str, *, tiny: bool = False) -> Settings:
        """The table [NAME] of config.toml; with ``tiny``, what [NAME.tiny] says replaces it."""
        settings = dict(self._table(name))
        small = settings.pop("tiny")
        settings.pop("tolerance", None)
        return settings | small if tiny else settings

    def _table(self, name: str) -> Mapping[str, Any]:
        table: Mapping[str, Any] = tomllib.loads((self.folder / "config.toml").read_text(encoding="utf-8"))[name]
        return table

    def parts(self, name: str) -> tuple[str, ...]:
        """The experiments whose rows this one has: itself, or several."""
        return getattr(self.experiments[name], "OF", (name,))

    def rows(self, name: str, *, tiny: bool, kept: Path) -> Rows:
        """All rows, with the columns of people."""
        return [row for part in self.parts(name) for row in self._computed(part, tiny, kept)]

    def _computed(self, name: str, tiny: bool, kept: Path) -> Rows:
        module, settings = self.experiments[name], self.settings(name, tiny=tiny)
        files, part = self.files(settings), getattr(module, "PARTS", None)
        cases: Sequence[Settings] = [settings] if part is None else [settings | {part: [it]} for it in settings[part]]
        if hasattr(module, "cases"):
            cases = module.cases(settings)
        shown = progress(cases, name) if hasattr(module, "cases") else cases
        return [row for case in shown for row in cached(module.compute, case, kept, files)]

    def expected(self, name: str, *, tiny: bool) -> list[Cells]:
        """The cells of what is committed."""
        file = self.folder / "expected" / ("tiny" if tiny else "") / f"{name}.csv"
        return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines())) if file.exists() else []

    def differing(self, name: str, rows: Rows, *, tiny: bool) -> list[str]:
        """How rows, without the columns of people, differ from what is committed."""
        module = self.experiments[name]
        return differing(
            rows,
            self.expected(name, tiny=tiny),
            key=module.KEY,
            drawn=getattr(module, "DRAWN", {}),
            tolerances=self._table(self.parts(name)[0]).get("tolerance", {}),
        )

    def table(self, name: str, rows: Rows) -> Rows:
        """Rows without the columns of people."""
        hidden = getattr(self.experiments[name], "OF_PEOPLE", ())
        return [{column: value for column, value in row.items() if column not in hidden} for row in rows]

    def start(self, arguments: Sequence[str] | None, about: str) -> None:
        """Read the command line, and do what it says.

        Args:
            arguments: of the command line; None is those of the process.
            about: what the help says.

        Raises:
            SystemExit: with 1 if rows are not the expected ones, after all experiments; with 2 if nothing can be done;
                with 3 if all is well but that some of several experiments are left out for what they need.
        """
        parser = self._parser(about)
        options = parser.parse_args(arguments)
        if options.out is None:
            options.out = FOLDER / (f"{self.folder.name}-tiny" if options.tiny else self.folder.name)
        several = {"all": tuple(self.experiments), **self.several}
        names = several.get(options.name, (options.name,))
        if obstacle := self._obstacle(names, options):
            parser.error(obstacle)
        lacking = {} if options.redraw else {name: why for name in names if (why := self._lacking(name, options))}
        left_out = [f"{name}: left out, since {why}" for name, why in lacking.items()]
        if len(left_out) == len(names):
            parser.error("\n".join(left_out))
        wrong: list[str] = []
        for name in names:
            if name in lacking:
                continue
            if options.redraw:
                self._redraw(name, options.out)
                continue
            rows = self._run(name, options)
            if options.check:
                found = self.differing(name, rows, tiny=options.tiny)
                wrong += [f"{name}: {each}" for each in found]
                print(f"{name}: {len(found)} differences\n" if found else f"{name}: {len(rows)} rows as expected\n")
        if wrong or left_out:
            print("\n".join([*wrong, *left_out]))
            raise SystemExit(1 if wrong else 3)

    def _parser(self, about: str) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=f"python -m experiments.{self.folder.name}", description=about)
        parser.add_argument("name", choices=[*self.experiments, *self.several, "all"], help="which experiment")
        parser.add_argument("--tiny", action="store_true", help="seconds instead of minutes, and numbers of no use")
        parser.add_argument(
            "--check", action="store_true", help="say how rows differ from the expected ones; then fail"
        )
        parser.add_argument("--rows-only", action="store_true", help="draw nothing")
        parser.add_argument(
            "--redraw", action="store_true", help="draw the rows that lie in the folder, compute nothing"
        )
        parser.add_argument("--out", type=Path, help="where rows and pictures go (a folder in experiments/.cache)")
        parser.add_argument("--kept", type=Path, default=FOLDER, help="where results are remembered")
        return parser

    def _run(self, name: str, options: argparse.Namespace) -> Rows:
        """One experiment: a table on the terminal; NAME.csv and NAME.svg in the folder."""
        rows, out = self.rows(name, tiny=options.tiny, kept=options.kept), options.out
        table = self.table(name, rows)
        (out / f"{name}.csv").write_text(as_csv(table), encoding="utf-8")
        print(f"{name}\n\n{as_markdown(table)}\n\nWritten: {out / name}.csv\n")
        if not options.rows_only:
            if table != rows:
                people = [{c: value for c, value in row.items() if c not in table[0]} for row in rows]
                (out / f"{name}-people.json").write_text(json.dumps(people, indent=0) + "\n", encoding="utf-8")
            self._picture(name, rows, out)
        return table

    def _redraw(self, name: str, out: Path) -> None:
        rows, people = from_csv((out / f"{name}.csv").read_text(encoding="utf-8")), out / f"{name}-people.json"
        if people.exists():
            rows = [row | more for row, more in zip(rows, json.loads(people.read_text(encoding="utf-8")), strict=True)]
        self._picture(name, rows, out)

    def _picture(self, name: str, rows: Rows, out: Path) -> None:
        (out / f"{name}.svg").write_bytes(as_svg(self.experiments[name].draw(rows)))
        print(f"Drawn: {out / name}.svg\n")

    def _obstacle(self, names: Sequence[str], options: argparse.Namespace) -> str | None:
        """Why nothing can be done, before anything is computed."""
        try:
            options.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return f"--out: {options.out} is no folder and cannot be made one ({error.strerror})"
        if options.redraw:
            lacking = [name for name in names if not (options.out / f"{name}.csv").is_file()]
            return f"--redraw: no {lacking[0]}.csv in {options.out}; run it without --redraw first" if lacking else None
        return None

    def _lacking(self, name: str, options: argparse.Namespace) -> str | None:
        """What one experiment cannot do without, and how to get it; None if all is there."""
        parts = self.parts(name)
        needed = [] if options.rows_only else ["matplotlib"]
        needed += [each for part in parts for each in getattr(self.experiments[part], "NEEDS", ())]
        for module in needed:
            if importlib.util.find_spec(module) is None:
                return f"{module} is not installed: pip install -e '.[experiments]'"
        return missing(
            [file for part in parts for file in self.files(self.settings(part, tiny=options.tiny))],
            self.folder / "README.md",
        )


def missing(files: Sequence[Path], readme: Path) -> str | None:
    """What to do about files that are not there; None if all are."""
    lacking = sorted({str(file) for file in files if not file.is_file()})
    if not lacking:
        return None
    names = f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not there"
    return f"{names}: {readme} says where to get the data; set SHUFFLEDP_DATA to their folder"
