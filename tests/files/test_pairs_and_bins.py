"""Pairs of columns and numbers in bins, of files and tables: what is kept and refused, and stages that agree."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_csv
from shuffledp.core.errors import InputDataError
from shuffledp.files import stages
from shuffledp.files.answer_reader import AnswerReader
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import TableInMemory
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

SECRET = str(987654321)
YES_NO = [["No", "Yes"], [1, 2, 3]]
LETTERS = pa.array(["No", "Yes", None, "No", "Yes"])
NUMBERS = pa.array([1, 3, 2, None, 2])


def pair(**changes):
    columns = {"value": None, "columns": ["smokes", "children"], "randomizer": {"categories": YES_NO}}
    return Task.from_dict(task_with(**{**columns, **changes}))


def binned(**changes):
    keys = {key: changes.pop(key) for key in ("out_of_range", "kind", "quantiles", "epsilon0") if key in changes}
    table = {"categories": None, "lower": 0, "upper": 100, "bins": 10, **keys}
    return Task.from_dict(task_with(value="age", randomizer=table, **changes))


def several(**changes):
    blocks = [
        {"columns": ["smokes", "children"], "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": YES_NO}},
        {"column": "age", "randomizer": {"kind": "oue", "epsilon0": 1.0, "lower": 0, "upper": 100, "bins": 10}},
    ]
    return Task.from_dict(task_with(value=blocks, randomizer=None, missing="drop", **changes))


def read(task, batch):
    reader = AnswerReader(task.column)
    values, kept = reader.read_batch(batch)
    reader.finish()
    return values.tolist(), kept.tolist()


def refused(task, batch):
    with pytest.raises(InputDataError) as caught:
        read(task, batch)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def batch_of(smokes, children):
    return pa.record_batch({"smokes": smokes, "children": children})


# ---- pairs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoded", [False, True])
def test_who_left_out_either_answer_is_missing_and_pairs_are_numbered_by_row(encoded):
    columns = [each.dictionary_encode() if encoded else each for each in (LETTERS, NUMBERS)]
    batch = batch_of(*columns)
    assert read(pair(missing="drop"), batch) == ([0, 5, 4], [True, True, False, False, True])
    assert read(pair(missing="category"), batch) == ([0, 5, 6, 6, 4], [True] * 5)
    message = refused(pair(), batch)
    assert message.startswith("columns 'smokes' and 'children' must hold an answer in every row; 2 of 5 are missing")
    assert 'missing = "drop" or "category" in the task' in message


def test_texts_of_a_csv_file_are_the_same_answers():
    batch = batch_of(pa.array(["No", "Yes", "", "No"]), pa.array(["1", "3.0", "2", ""]))
    assert read(pair(missing="drop"), batch) == ([0, 5], [True, True, False, False])


def test_an_answer_that_is_no_category_is_refused_with_its_column_and_never_shown():
    message = refused(pair(missing="drop"), batch_of(LETTERS, pa.array([1, 3, 2, 2, int(SECRET)])))
    assert message.startswith(
        "column 'children' must hold only the task's categories '1', '2', '3', exactly; 1 of 5 answers"
    )
    assert "row 5 " in message
    message = refused(pair(missing="category"), batch_of(pa.array([SECRET] * 5), NUMBERS))
    assert message.startswith("column 'smokes' must hold only the task's categories 'No', 'Yes', exactly; 5 of 5")
    message = refused(pair(), batch_of(pa.array([1.5] * 5), NUMBERS))
    assert message.startswith("column 'smokes' must hold text, as the task's categories do")


# ---- bins -----------------------------------------------------------------------------------------------------------


def test_numbers_are_put_into_the_bin_above_their_edge():
    ages = pa.record_batch({"age": pa.array([0.0, 9.99, 10.0, None, 100.0, float("nan")])})
    assert read(binned(missing="drop"), ages) == ([0, 0, 1, 9], [True, True, True, False, True, False])
    assert read(binned(missing="category"), ages) == ([0, 0, 1, 10, 9, 10], [True] * 6)
    assert refused(binned(), ages).endswith('write missing = "drop" or "category" in the task.')
    texts = pa.record_batch({"age": pa.array(["0", "1e1", "", "nan", "55"])})
    assert read(binned(missing="drop"), texts) == ([0, 1, 5], [True, True, False, False, True])


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_numbers_beyond_the_bins_are_refused_or_counted_and_put_into_the_nearest(missing):
    ages = pa.record_batch({"age": pa.array([5.0, -1.0, float(SECRET)])})
    message = refused(binned(missing=missing), ages)
    assert message.startswith("column 'age' must hold numbers from 0.0 to 100.0; 2 of 3 are outside: rows 2, 3")
    assert 'out_of_range = "clip"' in message
    reader = AnswerReader(binned(missing=missing, out_of_range="clip").column)
    assert reader.read_batch(ages)[0].tolist() == [0, 0, 9]
    assert reader.clipped == 2
    refused(binned(missing=missing, out_of_range="clip"), pa.record_batch({"age": pa.array([5.0, float("inf")])}))


# ---- whole runs -----------------------------------------------------------------------------------------------------

PEOPLE = 400
RNG = np.random.default_rng(5)
COLUMNS = {
    "smokes": [["No", "Yes", "No", None][place % 4] for place in range(PEOPLE)],
    "children": [1 + place % 3 for place in range(PEOPLE)],
    "age": RNG.integers(0, 100, PEOPLE).astype(float).tolist(),
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dictionary": dict}


def rows_of(outcome):
    return [part.rows() for part in outcome.columns.values()]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_task_run_on_a_frame_is_what_it_is_on_a_csv_and_a_parquet_file(tmp_path, frame):
    task = several()
    found = rows_of(task.run(frame(COLUMNS), source=SeededSource(5)))
    rows = [["" if each is None else each for each in row] for row in zip(*COLUMNS.values(), strict=True)]
    files = [write_csv(tmp_path / "a.csv", list(COLUMNS), rows), tmp_path / "a.parquet"]
    pq.write_table(pa.table(COLUMNS), files[1])
    for place, file in enumerate(files):
        (folder := tmp_path / str(place)).mkdir()
        assert rows_of(stages.run(task, file, folder, source=SeededSource(5))) == found
    assert [row["statistic"] for row in found[1]] == ["frequency"] * 10 + ["quantile"] * 3


@pytest.mark.parametrize(
    "task", [pair(missing="category"), binned(kind="oue"), binned(kind="hadamard", missing="category")]
)
def test_stages_one_after_the_other_release_cells_margins_and_quantiles(tmp_path, task):
    answers = TableInMemory(pa.table(COLUMNS))
    stages.randomize(task, answers, tmp_path / "reports")
    stages.shuffle(task, tmp_path / "reports", tmp_path / "view")
    (folder := tmp_path / "out").mkdir()
    outcome = stages.analyze(task, tmp_path / "view", folder)
    written = json.loads((folder / "statement.json").read_text())
    assert written["estimates"] == outcome.column.rows()
    statistics = {row["statistic"] for row in written["estimates"]}
    assert {"frequency (margin)", "frequency (row share)"} < statistics or statistics == {"frequency", "quantile"}
    lines = (folder / "estimates.csv").read_text().splitlines()
    assert len(lines) == 1 + len(written["estimates"])


def test_devices_that_answer_together_send_a_report_on_the_pair_and_on_the_bin():
    sent = randomize_each(several(), TableInMemory(pa.table(COLUMNS)))
    assert [each.model.domain_size for each in sent.reports] == [6, 10]
    assert sent.num_users == PEOPLE - sent.left_out == 300


def test_a_single_person_has_a_release_of_both_kinds():
    task = several(release={"delta": 1e-6, "minimum_batch": 1})
    outcome = task.run({"smokes": ["No"], "children": [1], "age": [3.0]})
    pairs, bins = (part.release.estimate for part in outcome.columns.values())
    assert (pairs.row_shares.interval == [0.0, 1.0]).all()
    assert (bins.quantiles.lower.min(), bins.quantiles.upper.max()) == (0.0, 100.0)
