"""Columns of answers in every type that files have, the three rules for missing ones, and people named twice."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from cli.running import task_with
from shuffledp.core.errors import InputDataError
from shuffledp.files.answer_reader import AnswerReader
from shuffledp.files.randomizing import PeopleCheck
from shuffledp.survey import Column

WHOLE_NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


def reader(categories, **changes) -> AnswerReader:
    return AnswerReader(Column.from_dict(task_with(randomizer={"categories": categories}, **changes)))


def kept_numbers(column, categories, **changes) -> list[int]:
    """The numbers of the answers, from a column all of whose rows are fine."""
    answers = reader(categories, **changes)
    numbers, kept = answers.read(column)
    answers.finish()
    assert len(kept) == len(column)
    assert kept.sum() == len(numbers)
    return numbers.tolist()


def refusal(*columns, categories=("No", "Yes"), **changes) -> str:
    """The message about these batches, refused while they are read or at the end."""

    def read_all():
        answers = reader(list(categories), **changes)
        for column in columns:
            answers.read(column)
        answers.finish()

    with pytest.raises(InputDataError) as caught:
        read_all()
    return str(caught.value)


# ---- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*WHOLE_NUMBERS, *FLOATS], ids=str)
def test_whole_numbers_are_read_from_any_type_of_number(kind):
    values = np.array([1, 0, 2, 1]).astype(kind.to_pandas_dtype())
    assert kept_numbers(pa.array(values, kind), [0, 1, 2]) == [1, 0, 2, 1]
    distinct, places = np.unique(values, return_inverse=True)
    assert kept_numbers(pa.DictionaryArray.from_arrays(places, pa.array(distinct, kind)), [0, 1, 2]) == [1, 0, 2, 1]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_is_read_from_any_type_of_text(kind):
    column = pa.array(["Yes", "No", "Yes"], kind)
    assert kept_numbers(column, ["No", "Yes"]) == [1, 0, 1]
    dictionary = pa.array(["Yes", "No", "Yes"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    assert kept_numbers(dictionary, ["No", "Yes"]) == [1, 0, 1]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_whole_numbers_and_truth_values_are_read_from_text(kind):
    assert kept_numbers(pa.array(["2", "-1", "2.0", "-1.00"], kind), [-1, 2]) == [1, 0, 1, 0]
    assert kept_numbers(pa.array(["true", "False", "TRUE"], kind), [False, True]) == [1, 0, 1]


def test_truth_values_are_read_from_truth_values():
    assert kept_numbers(pa.array([True, False]), [False, True]) == [1, 0]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float64()], ids=str)
def test_categories_that_the_column_cannot_hold_are_answers_that_nobody_gave(kind):
    categories = [1, 300, -5, 2**53 + 1, 2**70]
    assert kept_numbers(pa.array([1, 1], kind), categories) == [0, 0]


def test_the_largest_numbers_are_told_apart():
    column = pa.array([2**64 - 1, 2**64 - 2], pa.uint64())
    assert kept_numbers(column, [2**64 - 2, 2**64 - 1]) == [1, 0]
    assert "2 of 2" in refusal(column, categories=[0, 1])


def test_a_fraction_is_no_whole_number():
    assert "1 of 3 answers are something else: row 2 " in refusal(pa.array([1.0, 1.5, 0.0]), categories=[0, 1])
    assert "2 of 2 answers are something else" in refusal(pa.array(["1.5", "1e0"]), categories=[0, 1])


@pytest.mark.parametrize(
    ("column", "categories", "wanted"),
    [
        (pa.array([1, 2]), ["1", "2"], "text"),
        (pa.array([1, 0]), [False, True], "true/false"),
        (pa.array([True]), [0, 1], "whole numbers"),
        (pa.array([True]), ["true", "false"], "text"),
        (pa.array([b"Yes"]), ["No", "Yes"], "text"),
        (pa.array([datetime.date(2020, 1, 1)]), ["No", "Yes"], "text"),
        (pa.array([decimal.Decimal(1)]), [0, 1], "whole numbers"),
        (pa.array([["Yes"]]), ["No", "Yes"], "text"),
        (pa.array([1, 2]).dictionary_encode(), ["1", "2"], "text"),
    ],
    ids=lambda part: str(getattr(part, "type", part)),
)
def test_a_column_of_another_type_is_refused_with_its_type(column, categories, wanted):
    text = refusal(column, categories=categories)
    assert text.startswith(f"column 'cheated' must hold {wanted}, as the task's categories do; its type is ")


def test_the_type_of_a_nested_column_is_named_without_the_names_in_it():
    text = refusal(pa.array([{"SECRET-ANSWER-42": 1}]))
    assert text.endswith("its type is struct.")


# ---- missing answers ------------------------------------------------------------------------------------------------

GAPS = [
    pa.array(["Yes", None, "No", ""]),
    pa.array(["Yes", None, "No", ""]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, None]), pa.array(["Yes", "No", None])),
]


@pytest.mark.parametrize("column", GAPS, ids=["text", "dictionary", "null in the dictionary"])
def test_missing_answers_are_refused_dropped_or_a_category(column):
    text = refusal(column, missing="refuse")
    assert "2 of 4 are missing: rows 2, 4 (counted from 1, without the header)" in text
    assert kept_numbers(column, ["No", "Yes"], missing="drop") == [1, 0]
    assert kept_numbers(column, ["No", "Yes"], missing="category") == [1, 2, 0, 2]


def test_nan_is_a_missing_number():
    column = pa.array([1.0, float("nan"), None])
    assert kept_numbers(column, [0, 1], missing="category") == [1, 2, 2]
    assert kept_numbers(column.dictionary_encode(), [0, 1], missing="category") == [1, 2, 2]


def test_texts_that_mean_missing_are_those_of_the_task():
    column = pa.array(["Yes", "?", "n/a", ""])
    listed = {"missing": "drop", "missing_values": ["?", "n/a"]}
    assert "1 of 4 answers are something else: row 4 " in refusal(column, **listed)
    assert kept_numbers(column.slice(0, 3), ["No", "Yes"], **listed) == [1]
    assert "3 of 4 answers are something else" in refusal(column, missing="drop", missing_values=[])


@pytest.mark.parametrize(
    "column", [pa.nulls(3), pa.nulls(3, pa.string()), pa.nulls(3, pa.string()).dictionary_encode()]
)
def test_a_column_without_any_answer_is_missing_throughout(column):
    assert "3 of 3 are missing" in refusal(column)
    assert kept_numbers(column, ["No", "Yes"], missing="drop") == []
    assert kept_numbers(column, [0, 1], missing="category") == [2, 2, 2]


def test_an_answer_with_the_name_of_the_missing_category_is_no_category():
    assert "1 of 1 answers" in refusal(pa.array(["(missing)"]), missing="category")


# ---- answers outside the categories ---------------------------------------------------------------------------------


def test_rows_are_counted_over_all_batches_and_the_first_five_are_named():
    good, bad = pa.array(["Yes"] * 10), pa.array(["No", "SECRET", "No", "yes"])
    text = refusal(good, bad, good, bad, bad)
    assert text == (
        "column 'cheated' must hold only the task's categories 'No', 'Yes', exactly; 6 of 32 answers are something "
        "else: rows 12, 14, 26, 28, 30, ... (counted from 1, without the header)."
    )


def test_one_row_is_spoken_of_in_the_singular():
    assert "1 of 2 answers are something else: row 2 (counted" in refusal(pa.array(["Yes", "Maybe"]))


@pytest.mark.parametrize("missing", ["refuse", "drop", "category"])
def test_an_unknown_answer_is_refused_whatever_the_rule_for_missing_ones(missing):
    text = refusal(pa.array(["Yes", None, "Maybe"]), missing=missing)
    assert "1 of 3 answers are something else: row 3 " in text
    assert "Maybe" not in text


def test_letters_count_as_they_are_written():
    assert "3 of 4 answers" in refusal(pa.array(["Yes", "yes", " Yes", "Yes "]))


def test_the_message_about_missing_answers_says_the_way_out():
    assert 'write missing = "drop" or "category" in the task' in refusal(pa.array([None, "Yes"]))


# ---- people ---------------------------------------------------------------------------------------------------------


def check_people(*columns) -> None:
    people = PeopleCheck("person")
    for column in columns:
        people.read(pa.record_batch({"person": column}))
    people.finish()


def people_refusal(*columns) -> str:
    with pytest.raises(InputDataError) as caught:
        check_people(*columns)
    return str(caught.value)


@pytest.mark.parametrize("kind", [*WHOLE_NUMBERS, *FLOATS, *TEXTS], ids=str)
def test_people_are_named_by_numbers_or_text(kind):
    names = pa.array(["1", "2", "3"]).cast(pa.int8() if kind in WHOLE_NUMBERS + FLOATS else kind).cast(kind)
    check_people(names)
    check_people(names.slice(0, 1), names.slice(1))
    assert "1 of 4 rows repeat a person" in people_refusal(names, names.slice(2))


def test_a_person_who_answers_twice_is_found_in_whatever_batches():
    names = pa.array([f"SECRET-{i}" for i in range(100)])
    text = people_refusal(names, names.dictionary_encode().slice(40, 10).cast(pa.string()))
    assert text == (
        "column 'person' must name each person once; 10 of 110 rows repeat a person, and guarantees count one "
        "answer each."
    )


def test_people_without_a_name_are_counted_and_their_rows_given():
    text = people_refusal(pa.array(["a", None]), pa.array(["", "b"]))
    assert "must name a person in every row; 2 of 4 are empty: rows 2, 3 (counted" in text
    assert "1 of 2 are empty" in people_refusal(pa.array([1.0, float("nan")]))
    assert "1 of 2 are empty" in people_refusal(pa.array(["a", None]).dictionary_encode())
    assert "2 of 2 are empty" in people_refusal(pa.nulls(2))


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array([True]), pa.array([b"x"])], ids=lambda c: str(c.type))
def test_people_named_by_anything_else_are_refused(column):
    assert "must name people by text or numbers" in people_refusal(column)


def test_without_a_column_of_people_nobody_is_checked():
    people = PeopleCheck(None)
    people.read(pa.record_batch({"cheated": pa.array(["Yes"])}))
    people.finish()
