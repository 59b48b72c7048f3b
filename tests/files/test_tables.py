"""A task run on a table in memory: what comes of it is what the command makes of the same answers in a file."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cli.running import task_with, toml, write_csv
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError
from shuffledp.files import stages
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

ANSWERS = ["No", "Yes", None, "No", "Yes", "No"] * 20
AGES = [20.0, 31.0, 44.0, 50.0, None, 77.0] * 20
COLUMNS = {"person": list(range(120)), "cheated": ANSWERS, "age": AGES, "notes": ["a", None] * 60}
FRAMES = {
    "dictionary of lists": dict,
    "dictionary of series": lambda columns: {name: pd.Series(values) for name, values in columns.items()},
    "pandas": pd.DataFrame,
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"cheated": "category"}),
    "pandas objects": lambda columns: pd.DataFrame(
        {name: pd.Series(each, dtype=object) for name, each in columns.items()}
    ),
    "polars": pl.DataFrame,
    "polars categories": lambda columns: pl.DataFrame(columns, schema_overrides={"cheated": pl.Categorical}),
    "arrow": pa.table,
    "arrow dictionaries": lambda columns: pa.table(columns | {"cheated": pa.array(ANSWERS).dictionary_encode()}),
    "arrow batch": pa.record_batch,
}


def task(**changes):
    return Task.from_dict(task_with(**{"missing": "drop", "people": {"id": "person"}, **changes}))


def several():
    blocks = [
        {"column": "cheated", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}},
        {"column": "age", "randomizer": {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 18, "upper": 100}},
    ]
    return Task.from_dict(task_with(value=blocks, randomizer=None, missing="drop"))


def in_files(of, folder, seed=5):
    rows = zip(*COLUMNS.values(), strict=True)
    answers = write_csv(
        folder / "answers.csv", list(COLUMNS), [["" if each is None else each for each in row] for row in rows]
    )
    (folder / "out").mkdir()
    return stages.run(of, answers, folder / "out", source=None if seed is None else SeededSource(seed))


def without_files(outcome):
    return {key: value for key, value in outcome.to_dict().items() if key != "files"}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_table_gives_what_the_same_answers_in_a_file_give(frame, tmp_path):
    found = task().run(frame(COLUMNS), source=SeededSource(5))
    assert without_files(found) == without_files(in_files(task(), tmp_path))
    assert found.column.flow.missing == 20
    assert found.column.release.estimate.target == ("No", "Yes")
    assert found.files == found.column.files == {}


def test_a_table_of_several_columns_is_composed_as_a_file_is(tmp_path):
    found = several().run(pd.DataFrame(COLUMNS), source=SeededSource(5))
    assert without_files(found) == without_files(in_files(several(), tmp_path))
    assert len(found.statements[0].parts) == 2


def test_a_task_that_is_read_runs_and_leaves_nothing_on_the_disk(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    file = tmp_path / "task.toml"
    file.write_text(toml(task_with(missing="drop")))
    outcome = Task.read(file).run(pd.DataFrame(COLUMNS))
    assert not outcome.seeded
    assert outcome.statements[0].guarantee.epsilon < 2
    assert list((tmp_path / "private").iterdir()) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["private", "task.toml"]


def test_earlier_releases_are_counted(tmp_path):
    first = task()
    in_files(first, tmp_path, seed=None)
    second = task(name="again", people={"id": "person", "earlier": [first.sha256]})
    outcome = second.run(COLUMNS, earlier=[tmp_path / "out" / "statement.json"])
    assert len(outcome.earlier) == 1
    with pytest.raises(InvalidParameterError, match="earlier"):
        second.run(COLUMNS)


def test_files_of_a_task_are_beside_it(tmp_path):
    write_csv(tmp_path / "lists.csv", ["group", "person"], [[person % 2, person] for person in range(120)])
    grouped = task(missing="category", groups={"lists": "lists.csv"}, shuffler={"kind": "mallows", "alpha": 1.0})
    outcome = grouped.run(COLUMNS, beside=tmp_path)
    assert outcome.column.shuffle_result is not None
    with pytest.raises(InvalidParameterError, match=r"lists\.csv"):
        grouped.run(COLUMNS, beside=tmp_path / "elsewhere")


# ---- what is refused, and how ---------------------------------------------------------------------------------------

REFUSED = {
    "an answer outside": (
        {"cheated": ["No", "SECRET"]},
        r"must hold only the task's categories 'No', 'Yes', exactly; 1 of 2",
    ),
    "numbers": ({"cheated": [0, 1]}, "must hold text, as the task's categories do; its type is int64"),
    "several types": ({"cheated": ["No", 987654321]}, "column 'cheated' of the table must hold values of one type"),
    "several types in pandas": (
        pd.DataFrame({"cheated": pd.Series(["No", 987654321], dtype=object)}),
        "column 'cheated' of the table must hold values of one type",
    ),
    "objects": ({"cheated": [object()]}, "must hold values of one type"),
    "no such column": (
        {"other": ["No"]},
        "the table must have each column that the task names once; it lacks 'cheated'",
    ),
    "a column twice": (pd.DataFrame([["No", "SECRET"]], columns=["cheated", "cheated"]), "it has several of 'cheated'"),
    "a column twice in Arrow": (
        pa.table([["No"], ["SECRET"]], names=["cheated", "cheated"]),
        "it has several of 'cheated'",
    ),
    "no rows": ({"cheated": []}, "the table is empty: it has no rows"),
}


@pytest.mark.parametrize(("table", "message"), REFUSED.values(), ids=REFUSED)
def test_answers_that_do_not_fit_are_refused_without_being_shown(table, message):
    with pytest.raises(InputDataError, match=message) as caught:
        Task.from_dict(task_with()).run(table)
    assert "SECRET" not in str(caught.value)
    assert "987654321" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_columns_of_several_lengths_are_refused():
    with pytest.raises(InputDataError, match="must have columns of one length"):
        task().run({"person": [1, 2], "cheated": ["No"]})


@pytest.mark.parametrize("answers", [["No"], "answers.csv", np.array(["No"]), None, 3])
def test_what_is_no_table_is_refused(answers):
    with pytest.raises(InvalidParameterError, match="answers must be a table: a pandas or polars data frame"):
        task().run(answers)


def test_too_few_people_release_nothing():
    with pytest.raises(BatchTooSmallError, match="minimum_batch = 500"):
        task(release={"minimum_batch": 500}).run(COLUMNS)
