"""Columns of numbers and of vectors, read from files: what is kept, what is refused, and that nothing is shown."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.core.errors import InputDataError
from shuffledp.files import stages
from shuffledp.files.answer_reader import AnswerReader
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

SECRET = str(987654321)  # occurs in what must be refused, and must not occur in what is said about it
UNIT = [[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]]


def task(kind="laplace-mean", **changes):
    section = {"kind": kind, "epsilon0": 2.0}
    section |= {"dimension": 2} if kind == "priv-unit" else {"lower": 0, "upper": 100}
    keys = {key: changes.pop(key) for key in ("out_of_range", "lower", "upper", "dimension") if key in changes}
    written = {"name": "survey", "value": "answer", "randomizer": section | keys, "release": {"delta": 1e-6}}
    return Task.from_dict(written | changes)


def read(column, **changes):
    reader = AnswerReader(task(**changes).column)
    values, kept = reader.read(column)
    reader.finish()
    return values.tolist(), kept.tolist()


def refused(column, **changes):
    with pytest.raises(InputDataError) as caught:
        read(column, **changes)
    message = str(caught.value)
    assert SECRET not in message
    assert caught.value.__context__ is None
    return message


# ---- numbers --------------------------------------------------------------------------------------------------------

TEXTS = ["1", "1.5", "1.", ".5", "+2", "1e1", "2.5E+1", "1e-400", " 7 ", "007", "-0"]
NUMBERS = [1, 1.5, 1, 0.5, 2, 10, 25, 0, 7, 7, 0]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_texts_are_read_as_the_numbers_that_they_spell(kind):
    column = pa.array(TEXTS).cast(kind) if kind != pa.string_view() else pa.array(TEXTS, kind)
    values, kept = read(column)
    assert values == NUMBERS
    assert all(kept)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 100], pa.int8()),
        pa.array([1, 2, 100], pa.uint64()),
        pa.array(np.array([1, 2, 100], dtype=np.float16)),
        pa.array([1, 2, 100], pa.float32()),
        pa.array([1, 2, 100], pa.float64()),
        pa.array([1, 2, 100]).cast(pa.decimal128(25, 3)),
        pa.array([1, 2, 100]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type_are_read(column):
    assert read(column) == ([1.0, 2.0, 100.0], [True] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "nano",
        "inf",
        "-Infinity",
        "1e999",
        "0x10",
        "1_000",
        "1,5",
        "--1",
        "1 2",
        ".",
        "e5",
        "９",
        f"a{SECRET}",
    ],
)
def test_a_text_that_spells_no_finite_number_is_refused_by_its_row(text):
    message = refused(pa.array(["1", text, "2"]), missing_values=[])
    said, _, hint = message.partition("without the header).")
    assert (
        said == "column 'answer' must hold finite numbers; 1 of 3 answers are something else: row 2 (counted from 1, "
    )
    assert bool(hint) == (text == "1,5")


def test_infinite_numbers_are_refused_and_not_a_number_is_missing():
    assert "must hold finite numbers; 2 of 3" in refused(pa.array([np.inf, 1.0, -np.inf]))
    assert "must hold an answer in every row; 1 of 2 are missing: row 2" in refused(pa.array([1.0, np.nan]))


def test_numbers_outside_the_range_are_counted_over_batches_and_their_rows_named():
    reader = AnswerReader(task().column)
    for batch in ([5.0, 101.0], [-0.5, 100.0], [1e300, 0.0]):
        values, kept = reader.read(pa.array(batch))
        assert len(values) == kept.sum() == 1
    with pytest.raises(InputDataError) as caught:
        reader.finish()
    assert str(caught.value) == (
        "column 'answer' must hold numbers from 0.0 to 100.0; 3 of 6 are outside: rows 2, 3, 5 (counted from 1, "
        'without the header). To move them to the nearer end, write out_of_range = "clip" in the task\'s [randomizer].'
    )


def test_no_message_holds_a_number_of_the_column():
    refused(pa.array([SECRET]))
    refused(pa.array([int(SECRET)]))
    refused(pa.array([2**64 - 1, int(SECRET)], pa.uint64()))
    refused(pa.array([True, False]))
    refused(pa.array([SECRET.encode()]))
    refused(pa.array([[float(SECRET)]]))
    refused(pa.array([{"a": SECRET}]))


def test_clipping_moves_them_to_the_nearer_end_and_counts_them():
    reader = AnswerReader(task(out_of_range="clip").column)
    values, kept = reader.read(pa.array(["5", "101", "-0.5", "1e300"]))
    reader.finish()
    assert values.tolist() == [5, 100, 0, 100]
    assert kept.all()
    assert reader.clipped == 3
    assert "must hold finite numbers" in refused(pa.array(["inf"]), out_of_range="clip")


def test_missing_answers_are_refused_or_dropped_as_the_task_says():
    column = pa.array(["1", None, "none", "2", ""])
    message = refused(column, missing_values=["none", ""])
    assert "3 of 5 are missing: rows 2, 3, 5" in message
    assert 'write missing = "drop" in the task.' in message
    values, kept = read(column, missing_values=["none", ""], missing="drop")
    assert values == [1, 2]
    assert kept == [True, False, False, True, False]
    assert read(pa.nulls(3), missing="drop") == ([], [False] * 3)


# ---- vectors --------------------------------------------------------------------------------------------------------

LISTS = [
    pa.list_(pa.float64()),
    pa.large_list(pa.float32()),
    pa.list_(pa.float64(), 2),
    pa.list_(pa.float16()),
]


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_lists_of_every_type_are_read(kind):
    number = (
        np.float16 if kind.value_type == pa.float16() else float
    )  # older versions convert no other into half floats
    rows = [[number(1), number(0)], None, [number(0), number(-1)]]
    values, kept = read(pa.array(rows, kind), kind="priv-unit", missing="drop")
    assert values == [[1, 0], [0, -1]]
    assert kept == [True, False, True]


def test_whole_numbers_make_vectors_too():
    assert read(pa.array([[0, 1]]), kind="priv-unit") == ([[0.0, 1.0]], [True])


def test_slices_of_a_column_are_read_as_themselves():
    column = pa.array([*UNIT, *UNIT]).slice(1, 3)
    assert read(column, kind="priv-unit")[0] == [UNIT[1], UNIT[2], UNIT[0]]


WRONG_VECTORS = [
    ([[1.0, 0.0, 0.0]], "lists of 2 numbers; 1 of 4"),
    ([[1.0]], "lists of 2 numbers; 1 of 4"),
    ([[]], "lists of 2 numbers; 1 of 4"),
    ([[float(SECRET), 0.0]], "vectors of length 1 (within 1e-06); 1 of 4"),
    ([[0.0, 0.0]], "vectors of length 1 (within 1e-06); 1 of 4"),
    ([[np.nan, 1.0]], "vectors of length 1 (within 1e-06); 1 of 4"),
    ([[np.inf, 1.0]], "vectors of length 1 (within 1e-06); 1 of 4"),
    ([[None, 1.0]], "vectors of length 1 (within 1e-06); 1 of 4"),
    ([None], "an answer in every row; 1 of 4"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_VECTORS)
def test_a_list_that_is_no_unit_vector_is_refused_by_its_row(wrong, message):
    found = refused(pa.array([*UNIT, *wrong]), kind="priv-unit")
    assert message in found
    assert "row 4 (counted" in found


def test_all_problems_of_a_batch_leave_the_other_vectors_in_place():
    reader = AnswerReader(task("priv-unit").column)
    values, kept = reader.read(pa.array([[3.0, 4.0], UNIT[0], [1.0], UNIT[1], None, UNIT[2]]))
    assert values.tolist() == UNIT
    assert kept.tolist() == [False, True, False, True, False, True]


@pytest.mark.parametrize("column", [pa.array([SECRET]), pa.array([1.0]), pa.array([[SECRET]]), pa.array([{"a": 1}])])
def test_a_column_that_holds_no_lists_of_numbers_is_refused(column):
    assert "must hold lists of 2 numbers, in a Parquet file; its type is" in refused(column, kind="priv-unit")


def test_a_column_of_nulls_is_missing_vectors():
    assert read(pa.nulls(2), kind="priv-unit", missing="drop") == ([], [False, False])


# ---- from file to file ----------------------------------------------------------------------------------------------


def test_every_kind_reads_what_its_question_asks_for():
    for kind in ("laplace-mean", "one-bit-mean", "rounded-mean"):
        assert read(pa.array(["7", "8.5"]), kind=kind) == ([7.0, 8.5], [True, True])
    assert read(pa.array(UNIT), kind="priv-unit") == (UNIT, [True, True, True])


@pytest.mark.parametrize("kind", ["laplace-mean", "one-bit-mean", "rounded-mean"])
def test_a_csv_of_numbers_is_run_and_its_mean_estimated(kind, tmp_path):
    values = np.random.default_rng(0).uniform(20, 60, 3000).round(1)
    file = tmp_path / "answers.csv"
    file.write_text("id,answer\n" + "\n".join(f"{row},{value}" for row, value in enumerate(values)) + "\n")
    outcome = stages.run(task(kind), file, tmp_path, source=SeededSource(1))
    found = outcome.column.release.estimate
    assert found.target == ("answer",)
    assert abs(found.estimate[0] - values.mean()) < 5 * found.standard_error[0]
    (row,) = csv.DictReader((tmp_path / "estimates.csv").read_text().splitlines())
    assert (row["statistic"], row["target"]) == ("mean", "answer")
    assert float(row["estimate"]) == found.estimate[0]


def test_a_parquet_of_vectors_goes_through_the_three_stages(tmp_path):
    vectors = np.random.default_rng(0).normal(loc=[2, 0], size=(2000, 2))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    pq.write_table(pa.table({"answer": pa.array(vectors.tolist())}), tmp_path / "answers.parquet")
    made = task("priv-unit")
    randomized = stages.randomize(made, tmp_path / "answers.parquet", tmp_path / "reports.parquet")
    assert (randomized.column.flow.received, randomized.column.flow.missing) == (2000, 0)
    stages.shuffle(made, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    found = stages.analyze(made, tmp_path / "view.parquet", tmp_path).column.release.estimate
    assert found.target == ("answer[0]", "answer[1]")
    assert (np.abs(found.estimate - vectors.mean(axis=0)) < 5 * found.standard_error).all()


def test_a_file_with_numbers_outside_the_range_makes_no_release(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text(f"answer\n5\n{SECRET}\n7\n")
    with pytest.raises(InputDataError, match="1 of 3 are outside: row 2") as caught:
        stages.run(task(), file, tmp_path)
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "statement.json").exists()
