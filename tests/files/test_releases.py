"""The end of every run of a task, which one machine, an engine, a collection and a relay share."""

import ast
from pathlib import Path

import pytest

import shuffledp

SOURCE = Path(shuffledp.__file__).parent


def calls_of(name: str) -> list[str]:
    """Files of the package that call this class or function by its name."""
    found = []
    for path in SOURCE.rglob("*.py"):
        calls = (each.func for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call))
        found += [path.name for call in calls if isinstance(call, ast.Name) and call.id == name]
    return found


@pytest.mark.parametrize("name", ["ColumnOutcome", "Outcome", "Unreleased"])
def test_every_release_of_a_task_is_made_in_one_file(name):
    assert set(calls_of(name)) <= {"releases.py", "unreleased_statement.py"}


@pytest.mark.parametrize(
    ("name", "file"), [("ColumnOutcome", "releases.py"), ("Unreleased", "unreleased_statement.py")]
)
def test_each_result_of_a_task_is_made_once(name, file):
    assert calls_of(name) == [file]


def test_the_keys_of_a_statement_of_nothing_released_are_written_beside_those_of_a_release():
    writers = [path.name for path in SOURCE.rglob("*.py") if '"not_released":' in path.read_text()]
    assert writers == ["outcome.py"]


def test_the_strata_of_a_release_are_told_in_one_place_for_one_machine_and_an_engine():
    assert [path.name for path in SOURCE.rglob("*.py") if "StratifiedResult.of(" in path.read_text()] == [
        "stratified_section.py"
    ]
