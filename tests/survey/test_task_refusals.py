"""What a task may not say: unknown keys, wrong types, values out of range, categories that are none."""

import math

import pytest

from cli.running import task_with
from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import Question, ShufflerSection, Task


def refusal(**changes) -> str:
    with pytest.raises(InvalidParameterError) as caught:
        Task.from_dict(task_with(**changes))
    return str(caught.value)


# ---- keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "title"),
    [
        (None, "the task"),
        ("people", "[people]"),
        ("randomizer", "[randomizer]"),
        ("shuffler", "[shuffler]"),
        ("release", "[release]"),
    ],
)
def test_an_unknown_key_is_refused_with_its_table(table, title):
    change = {"epsilom": 1} if table is None else {table: {"kind": "uniform"} if table == "shuffler" else {}}
    if table is not None:
        change[table]["epsilom"] = 1
    text = refusal(**change)
    assert text.startswith(f"{title} must have only the keys ")
    assert "got 'epsilom'" in text


@pytest.mark.parametrize(
    ("change", "title", "key"),
    [
        ({"name": None}, "the task", "name"),
        ({"value": None}, "the task", "value"),
        ({"randomizer": None}, "the task", "randomizer"),
        ({"release": None}, "the task", "release"),
        ({"randomizer": {"epsilon0": None}}, "[randomizer]", "epsilon0"),
        ({"randomizer": {"categories": None}}, "[randomizer]", "categories"),
        ({"release": {"delta": None}}, "[release]", "delta"),
    ],
)
def test_a_missing_key_is_named_with_its_table(change, title, key):
    assert refusal(**change).startswith(f"{title} must have the key '{key}'")


@pytest.mark.parametrize(
    ("change", "title", "family"),
    [
        ({"randomizer": {"kind": "laplace"}}, "[randomizer]", Question),
        ({"randomizer": {"kind": None}}, "[randomizer]", Question),
        ({"randomizer": {"kind": "uniform"}}, "[randomizer]", Question),
        ({"shuffler": {"kind": "shuffled"}}, "[shuffler]", ShufflerSection),
        ({"shuffler": {"kind": ["uniform"]}}, "[shuffler]", ShufflerSection),
    ],
)
def test_an_unknown_kind_is_refused_with_the_kinds_there_are(change, title, family):
    choices = ", ".join(family.members())
    assert refusal(**change).startswith(f"{title} kind must be one of {choices}; got kind=")


# ---- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": 1}, "name"),
        ({"value": ["cheated"]}, "value"),
        ({"public": "region"}, "public"),
        ({"public": [1]}, "public"),
        ({"missing": "ignore"}, "missing"),
        ({"missing": True}, "missing"),
        ({"missing_values": [0]}, "missing_values"),
        ({"missing_values": "?"}, "missing_values"),
        ({"people": {"id": 3}}, "[people] id"),
        ({"people": {"expected": True}}, "[people] expected"),
        ({"people": {"expected": 500.0}}, "[people] expected"),
        ({"people": {"expected": "500"}}, "[people] expected"),
        ({"randomizer": {"epsilon0": True}}, "[randomizer] epsilon0"),
        ({"randomizer": {"epsilon0": "2"}}, "[randomizer] epsilon0"),
        ({"randomizer": {"epsilon0": [2.0]}}, "[randomizer] epsilon0"),
        ({"randomizer": {"categories": "No, Yes"}}, "[randomizer] categories"),
        ({"randomizer": {"categories": {"No": 0}}}, "[randomizer] categories"),
        ({"randomizer": {"categories": [0.5, 1.5]}}, "[randomizer] categories"),
        ({"randomizer": {"categories": [["No"], ["Yes"]]}}, "[randomizer] categories"),
        ({"randomizer": {"missing_category": 1}}, "[randomizer] missing_category"),
        ({"release": {"delta": True}}, "[release] delta"),
        ({"release": {"delta": "small"}}, "[release] delta"),
        ({"release": {"minimum_batch": True}}, "[release] minimum_batch"),
        ({"release": {"minimum_batch": 100.0}}, "[release] minimum_batch"),
        ({"release": {"level": "95 %"}}, "[release] level"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused_with_its_key(change, named):
    assert refusal(**change).startswith(f"{named} must be ")


@pytest.mark.parametrize("table", ["people", "randomizer", "shuffler", "release"])
@pytest.mark.parametrize("value", [3, "uniform", [1], True])
def test_a_table_that_is_no_table_is_refused(table, value):
    assert refusal(**{table: value}) == f"[{table}] must be a table; got {type(value).__name__}."


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0, -1, 0.0, -0.0, math.nan, math.inf, -math.inf, 1e9, 40, 10**300])
def test_an_epsilon0_that_is_no_loss_or_saturates_the_randomness_is_refused(epsilon0):
    assert refusal(randomizer={"epsilon0": epsilon0}).startswith("[randomizer] epsilon0 must be ")


@pytest.mark.parametrize("delta", [0, 1, -1e-6, 1.5, math.nan, math.inf])
def test_a_delta_outside_the_open_unit_interval_is_refused(delta):
    assert refusal(release={"delta": delta}).startswith("[release] delta must be a number strictly between 0 and 1")


@pytest.mark.parametrize("level", [0, 1, math.nan])
def test_a_level_outside_the_open_unit_interval_is_refused(level):
    assert refusal(release={"level": level}).startswith("[release] level must be")


@pytest.mark.parametrize("count", [0, -5])
def test_counts_of_people_are_positive(count):
    assert refusal(release={"minimum_batch": count}).startswith("[release] minimum_batch must be an integer that is 1")
    assert refusal(people={"expected": count}).startswith("[people] expected must be an integer that is 1")


@pytest.mark.parametrize("key", ["name", "value"])
def test_name_and_private_column_are_text_that_is_not_empty(key):
    assert refusal(**{key: ""}).startswith(f"{key} must be text that is not empty")


def test_columns_of_people_and_public_ones_have_names():
    assert refusal(people={"id": ""}).startswith("[people] id must be text that is not empty")
    assert refusal(public=["region", ""]).startswith("public must be text that is not empty")


@pytest.mark.parametrize(
    "text", ["two\nlines", "\x1b[31mred", "nul\x00", "bell\x07", "\x85", "half \ud83d", "\u202eesrever", "\u2066a"]
)
def test_names_that_are_shown_have_no_control_characters(text):
    assert refusal(name=text).startswith("name must be text")
    assert refusal(randomizer={"categories": ["No", text]}).startswith("[randomizer] categories must be text")


@pytest.mark.parametrize("control", [*"\u202a\u202b\u202c\u202d\u202e", *"\u2066\u2067\u2068\u2069"])
def test_no_name_turns_the_text_around_it_around(control):
    named = "must be text that is not empty"
    assert refusal(name=f"a{control}").startswith(f"name {named}")
    assert refusal(value=f"a{control}").startswith(f"value {named}")
    assert refusal(public=[f"a{control}"]).startswith(f"public {named}")
    assert refusal(randomizer={"categories": ["No", control]}).startswith(f"[randomizer] categories {named}")


def test_names_may_be_in_any_script_and_of_any_length():
    categories = ["不", "да 👩‍👩‍👧", "Ω" * 10_000, "=1+1", "a, b", '"', "'", "<b>"]
    task = Task.from_dict(task_with(name="Umfrage 🎲", value="Alter\n(Jahre)", randomizer={"categories": categories}))
    assert list(task.column.randomizer.targets) == categories
    assert len(task.sha256) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"public": ["cheated"]},
        {"public": ["region", "region"]},
        {"people": {"id": "cheated"}},
        {"public": ["person"], "people": {"id": "person"}},
    ],
    ids=str,
)
def test_a_column_has_one_part_to_play(change):
    assert refusal(**change).startswith("columns must be different columns for value, public and people.id")


def test_a_category_is_not_also_a_missing_value():
    assert refusal(missing_values=["?", "No"]).startswith("missing_values must be texts that are no categories")
    assert "missing_values" in refusal(missing_values=["1"], randomizer={"categories": [0, 1]})
    assert Task.from_dict(task_with(missing_values=[])).column.missing_values == ()


# ---- categories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("categories", [[], ["Yes"]])
def test_fewer_than_two_categories_are_refused(categories):
    text = refusal(randomizer={"categories": categories})
    assert text.startswith("[randomizer] categories must be two or more; got categories of type list with ")


@pytest.mark.parametrize("categories", [["No", "No"], [1, 2, 1], [True, True], ["a", "b", "b", "b"]])
def test_a_category_that_occurs_twice_is_refused_and_named(categories):
    text = refusal(randomizer={"categories": categories})
    assert text.startswith("[randomizer] categories must be all different; got more than once: ")


@pytest.mark.parametrize("categories", [[1, "1"], [True, "true"], [True, 1], [0, False]])
def test_categories_are_all_of_one_type(categories):
    text = refusal(randomizer={"categories": categories})
    assert text.startswith("[randomizer] categories must be all of one type")


@pytest.mark.parametrize("other", ["Caf\u0065\u0301", "Caf\u00e9\u200b", "\u2060Caf\u00e9", "Caf\u00e9\ufe0f"])
def test_categories_that_look_the_same_are_refused_and_shown_by_their_characters(other):
    """Mutant: texts compared as they are, so that two answers would share what people take for one row."""
    text = refusal(randomizer={"categories": ["Caf\u00e9", other]})
    assert text.startswith("[randomizer] categories must look different; got 'Caf\\xe9' and ")
    assert text.isascii()


def test_categories_that_differ_in_case_or_space_are_different():
    assert len(Task.from_dict(task_with(randomizer={"categories": ["No", "no", "No "]})).column.randomizer.targets) == 3


def test_an_empty_category_is_refused():
    assert "categories must be text that is not empty" in refusal(randomizer={"categories": ["", "Yes"]})


def test_categories_given_in_python_are_text_whole_numbers_or_truth_values():
    with pytest.raises(InvalidParameterError, match="all of one type"):
        Question.members()["k-rr"](epsilon0=1.0, categories=(0.5, 1.5))


def test_a_message_about_many_categories_is_short():
    many = [f"c{i}" for i in range(20_000)]
    assert len(refusal(randomizer={"categories": many + many})) < 200
    assert len(refusal(randomizer={"categories": [*many, 1]})) < 200


def test_a_duplicate_among_very_many_categories_is_found(tmp_path):
    categories = tuple(f"c{i}" for i in range(200_000))
    assert len(Question.members()["k-rr"](epsilon0=1.0, categories=categories).targets) == 200_000
    with pytest.raises(InvalidParameterError, match="more than once: 'c7'"):
        Question.members()["k-rr"](epsilon0=1.0, categories=(*categories, "c7"))


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_a_missing_category_without_its_rule_is_refused(missing):
    assert "missing must be category" in refusal(missing=missing, randomizer={"missing_category": True})


def test_a_category_with_the_name_of_the_missing_one_is_refused():
    text = refusal(missing="category", randomizer={"categories": ["No", "(missing)"]})
    assert "got more than once: '(missing)'" in text


def test_a_refused_section_leaves_no_earlier_error_behind():
    with pytest.raises(InvalidParameterError) as caught:
        Task.from_dict(task_with(release={"delta": 2}))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
