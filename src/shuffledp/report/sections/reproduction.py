"""How the release was made, and what is needed to check that it is the same task: never data."""

import json
import platform
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shuffledp._version import __version__
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of
from shuffledp.statements import Trust
from shuffledp.tasks import JointOutcome, Outcome

__all__ = ["NOTHING", "canonical_text", "parameters_of", "reproduction_section", "versions"]

_ALL_STAGES = ("shuffledp run TASK.toml", "--input FILE", "--output DIR")
_LAST_STAGE = ("shuffledp analyze TASK.toml", "--input VIEW", "--output DIR")
_AGAIN = "A further release about the same people adds to the loss: what is promised here covers {}."
NOTHING = "\N{EN DASH}"
_MOST_ITEMS = 16


def reproduction_section(outcome: Outcome | JointOutcome) -> Section:
    """Versions, parameters, digests and the command."""
    task = outcome.task.to_dict()
    command, repeats = _command(outcome)
    context = {
        "command": command,
        "repeats": repeats,
        "again": "" if outcome.seeded else _AGAIN.format(_covered(outcome)),
        "versions": versions(),
        "parameters": parameters_of(task),
        "sha256": outcome.task.sha256,
        "canonical": canonical_text(task),
        "files": outcome.files,
    }
    return Section(name="reproduction", title="How it was made", context=context)


def parameters_of(task: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every entry of a task as (dotted key, text)."""
    return list(_flat(_by_column(task)))


def canonical_text(task: Mapping[str, Any]) -> str:
    """The text of which a task's digest is the SHA-256."""
    return json.dumps(task, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    return {"shuffledp": __version__, "Python": platform.python_version(), "numpy": np.__version__}


def _covered(outcome: Outcome | JointOutcome) -> str:
    """The releases whose losses are in the first statement."""
    counted = {each for release in outcome.earlier for each in release.counted}
    return (
        f"this release and {count_of(len(counted), 'earlier one', 'earlier ones')}" if counted else "this release alone"
    )


def _command(outcome: Outcome | JointOutcome) -> tuple[tuple[str, ...], str]:
    """The command in pieces that stay on one line, and what will be the same the next time."""
    earlier = ("--earlier FILE",) * len(outcome.earlier)
    # What is about this release alone: the sum is with others, which may have been made in another way.
    column = next(iter(outcome.columns.values())) if isinstance(outcome, JointOutcome) else outcome
    if Trust.OPERATOR not in column.release.statements[0].trust:
        return (*_LAST_STAGE, *earlier), "The same view gives the same estimates and the same statements."
    if outcome.seeded:
        return (*_ALL_STAGES, *earlier, "--seed N"), (
            "The same input and seed give the same numbers: so nothing is promised."
        )
    return (*_ALL_STAGES, *earlier), (
        "Each run randomizes afresh, so the estimates will differ, by about their standard errors; the statements will "
        "not."
    )


def _by_column(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """The task, with the randomizers of several private columns under the names of the columns."""
    if not isinstance(task.get("value"), list):
        return task
    return dict(task) | {"value": {block["column"]: block["randomizer"] for block in task["value"]}}


def _flat(table: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The entries of nested tables as (dotted key, text)."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{key}.")
        else:
            yield f"{within}{key}", _as_text(value)


def _as_text(value: Any) -> str:
    if value is None or value == []:
        return NOTHING
    if isinstance(value, list):
        more = f" and {count(len(value) - _MOST_ITEMS)} more" if len(value) > _MOST_ITEMS else ""
        return ", ".join(_as_text(item) for item in value[:_MOST_ITEMS]) + more
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else "(empty)"
