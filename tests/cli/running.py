"""Runs the command line inside this process, on tasks and tables that a test writes."""

import csv
import io
import json
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from shuffledp.cli import main

COMMANDS = ("run", "randomize", "shuffle", "analyze", "demo")

TASK: dict[str, Any] = {
    "name": "risk survey",
    "value": "cheated",
    "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]},
    "release": {"delta": 1e-6},
}


def without_operator(statement: dict) -> dict:
    """A statement as JSON, and all parts of it, less that one operator ran all stages."""
    parts = [part | {"statement": without_operator(part["statement"])} for part in statement["parts"]]
    return statement | {"trust": [each for each in statement["trust"] if each != "operator"], "parts": parts}


def task_with(**changes: Any) -> dict[str, Any]:
    """The usual task with other entries; a table is changed key by key, None takes an entry away."""
    task = {key: dict(value) if isinstance(value, dict) else value for key, value in TASK.items()}
    for key, value in changes.items():
        if isinstance(value, Mapping):
            task[key] = {**task.get(key, {}), **value}
        else:
            task[key] = value
        if isinstance(task[key], dict):
            task[key] = {name: entry for name, entry in task[key].items() if entry is not None}
    return {key: value for key, value in task.items() if value is not None}


def toml(task: Mapping[str, Any]) -> str:
    """A task as a file; what JSON writes for text, numbers and lists of them is TOML too."""
    plain = {key: value for key, value in task.items() if not isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    for name, table in task.items():
        if isinstance(table, Mapping):
            lines += [
                f"[{name}]",
                *(f"{key} = {inline(value)}" for key, value in table.items()),
            ]
    return "\n".join(lines) + "\n"


def inline(value: Any) -> str:
    """A value of a table, which may be a table itself."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def write_task(folder: Path, **changes: Any) -> Path:
    path = folder / "task.toml"
    path.write_text(toml(task_with(**changes)), encoding="utf-8")
    return path


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def write_answers(folder: Path, answers: Iterable[str], name: str = "answers.csv") -> Path:
    """One person per answer, beside another column."""
    return write_csv(folder / name, ["other", "cheated"], [[f"x{i}", answer] for i, answer in enumerate(answers)])


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shuffledp(
    *arguments: object, terminal: bool = False, screen: bool = False, encoding: str = "utf-8", merged: bool = False
) -> Result:
    """Run a command, with its error stream on a terminal or not, or ``merged`` with its output, perhaps on a screen."""
    out = (_Terminal if screen else io.TextIOWrapper)(io.BytesIO(), encoding=encoding, write_through=True)
    below = out.buffer if merged else io.BytesIO()
    err = (_Terminal if terminal else io.TextIOWrapper)(below, encoding=encoding, write_through=True)
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["shuffledp", *map(str, arguments)]):
            main()
    except SystemExit as ended:
        code = ended.code
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
    return Result(code or 0, *(stream.detach().getvalue().decode(encoding) for stream in (out, err)))


def refused(code, *arguments) -> str:
    """The one line that a refused command prints; nothing is left behind."""
    result = shuffledp(*arguments)
    assert result.code == code, result.err
    assert result.out == ""
    assert result.err.startswith("shuffledp: ")
    assert result.err.count("\n") == 1
    assert result.err.endswith(".\n")
    return result.err


def stub_page(document: Any, folder: Path, name: str, **_options: object) -> tuple[str, ...]:
    """In place of the page, whose charts take a second each time."""
    (folder / name).write_text(f"{document.title}, withdrawn: {document.withdrawn}", encoding="utf-8")
    return (name,)


def stub_pages(monkeypatch: Any) -> None:
    """No release has a page that is drawn, nor the sections that only a page has."""
    from shuffledp.documents import page, release_document

    sections = tuple(each for each in release_document.SECTIONS if each is not release_document.on_page)
    monkeypatch.setattr(page, "write_page", stub_page)
    monkeypatch.setattr(release_document, "SECTIONS", sections)
