"""The task file: what it says, its defaults, its hash, and how it is read."""

import math

import pytest

from cli.running import TASK, task_with, toml
from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import (
    Column,
    Missing,
    PeopleSection,
    Question,
    ReleaseSection,
    ShufflerSection,
    Task,
)

FULL = {
    "name": "risk survey",
    "value": "cheated",
    "public": ["region", "age"],
    "missing": "drop",
    "missing_values": ["", "?"],
    "people": {"id": "person", "expected": 500, "earlier": ["4f" * 32]},
    "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"], "missing_category": False},
    "shuffler": {"kind": "none"},
    "release": {"delta": 1e-6, "minimum_batch": 100, "level": 0.9},
    "part_of": "5e" * 32,
}
# Of the line that `json.dumps(FULL, sort_keys=True, separators=(",", ":"))` writes, by sha256sum.
FULL_SHA256 = "5852d1a88342d5d5fcc722cfb3f7c96dc5ba08d847319b8a1fd6a54c8bc35e95"


def read(tmp_path, text) -> Task:
    path = tmp_path / "task.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Task.read(path)


def unreadable(tmp_path, text) -> str:
    with pytest.raises(InvalidParameterError) as caught:
        read(tmp_path, text)
    return str(caught.value)


# ---- what a task says -----------------------------------------------------------------------------------------------


def test_a_full_task_says_what_the_file_says():
    task = Task.from_dict(FULL)
    column = Column(
        name="risk survey",
        value="cheated",
        public=("region", "age"),
        missing=Missing.DROP,
        missing_values=("", "?"),
        people=PeopleSection(id="person", expected=500, earlier=("4f" * 32,)),
        randomizer=Question.members()["k-rr"](epsilon0=2.0, categories=("No", "Yes")),
        shuffler=ShufflerSection.from_dict({"kind": "none"}),
        release=ReleaseSection(delta=1e-6, minimum_batch=100, level=0.9),
        part_of="5e" * 32,
    )
    assert task == Task(column)
    assert (task.column, task.columns, task.in_blocks, task.folders) == (column, (column,), False, ("",))
    assert task.to_dict() == FULL


def test_what_is_left_out_has_a_default():
    assert Task.from_dict(TASK).to_dict() == {
        "name": "risk survey",
        "value": "cheated",
        "public": [],
        "missing": "refuse",
        "missing_values": [""],
        "people": {"id": None, "expected": None, "earlier": []},
        "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"], "missing_category": False},
        "shuffler": {"kind": "uniform"},
        "release": {"delta": 1e-6, "minimum_batch": 1, "level": 0.95},
        "part_of": None,
    }


@pytest.mark.parametrize("task", [TASK, FULL], ids=["short", "full"])
def test_a_task_survives_the_way_through_a_dictionary(task):
    assert Task.from_dict(Task.from_dict(task).to_dict()) == Task.from_dict(task)


def test_a_task_names_the_parts_of_a_pipeline():
    pipeline = Task.from_dict(FULL).column.pipeline()
    assert pipeline.randomizer.model.domain_size == 2
    assert pipeline.randomizer.model.epsilon0 == pytest.approx(2.0)
    assert pipeline.analyzer.level == 0.9
    assert Task.from_dict(FULL).column.model(7).shuffle.kind == "none"
    assert Task.from_dict(FULL).column.model(7).num_users == 7


def test_not_having_answered_becomes_the_last_category():
    task = Task.from_dict(task_with(missing="category"))
    assert task.column.randomizer.targets == ("No", "Yes", "(missing)")
    assert task.column.randomizer.categories_of_answers == (("No", "Yes"),)
    assert task.column.pipeline().randomizer.model.domain_size == 3


def test_the_missing_category_is_added_once_however_often_the_task_is_written_and_read():
    task = Task.from_dict(task_with(missing="category", missing_values=["(missing)"]))
    again = Task.from_dict(Task.from_dict(task.to_dict()).to_dict())
    assert again == task
    assert again.sha256 == task.sha256
    assert again.column.randomizer.targets.count("(missing)") == 1


# ---- its hash -------------------------------------------------------------------------------------------------------


def test_the_hash_of_a_task_never_changes():
    assert Task.from_dict(FULL).sha256 == FULL_SHA256


def test_layout_comments_and_order_of_the_file_do_not_change_the_hash(tmp_path):
    shuffled = dict(reversed(FULL.items()))
    rewritten = "# the task\r\n" + toml(shuffled).replace("\n", "   # a comment\r\n\r\n")
    assert rewritten != toml(FULL)
    assert read(tmp_path, rewritten).sha256 == read(tmp_path, toml(FULL)).sha256 == FULL_SHA256


def test_a_default_that_is_written_out_does_not_change_the_hash():
    assert Task.from_dict(Task.from_dict(TASK).to_dict()).sha256 == Task.from_dict(TASK).sha256


def test_a_whole_number_is_the_same_as_its_decimal_form(tmp_path):
    text = toml(TASK)
    assert read(tmp_path, text.replace("2.0", "2")).sha256 == read(tmp_path, text).sha256


CHANGES = [
    {"name": "risk survey "},
    {"value": "Cheated"},
    {"public": ["age", "region"]},
    {"missing": "refuse"},
    {"missing": "category"},
    {"missing_values": ["?"]},
    {"people": {"id": "other"}},
    {"people": {"id": None}},
    {"people": {"expected": 501}},
    {"people": {"earlier": []}},
    {"randomizer": {"epsilon0": math.nextafter(2.0, 3.0)}},
    {"randomizer": {"categories": ["Yes", "No"]}},
    {"randomizer": {"categories": ["No", "Yes", "Perhaps"]}},
    {"shuffler": {"kind": "uniform"}},
    {"release": {"delta": 1.0000001e-6}},
    {"release": {"minimum_batch": 101}},
    {"release": {"level": 0.95}},
    {"part_of": "5f" * 32},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_any_change_changes_the_hash(change):
    changed = {**FULL, **{k: {**FULL[k], **v} if isinstance(v, dict) else v for k, v in change.items()}}
    assert Task.from_dict(changed).sha256 != FULL_SHA256


def test_every_field_of_the_task_is_among_the_changes():
    changed = {
        (key, *(value if isinstance(value, dict) else ())) for change in CHANGES for key, value in change.items()
    }
    fields = {(key, *((name,) if name else ())) for key, value in FULL.items()
              for name in (value if isinstance(value, dict) else [None])}  # fmt: skip
    # A kind with another name is another class; the missing category follows from ``missing``.
    assert fields - changed == {("randomizer", "kind"), ("randomizer", "missing_category")}


def test_numbers_and_their_texts_are_different_categories():
    numbers = Task.from_dict(task_with(randomizer={"categories": [0, 1]}))
    texts = Task.from_dict(task_with(randomizer={"categories": ["0", "1"]}))
    assert numbers.column.randomizer.targets == texts.column.randomizer.targets
    assert numbers.sha256 != texts.sha256


# ---- the file -------------------------------------------------------------------------------------------------------


def test_a_task_is_read_from_a_file(tmp_path):
    assert read(tmp_path, toml(FULL)).to_dict() == FULL


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbf" + toml(FULL).replace("\n", "\r\n").encode()).sha256 == FULL_SHA256


def test_an_absent_task_file_and_a_folder_and_no_path_are_refused(tmp_path):
    for path in (tmp_path / "absent.toml", tmp_path, tmp_path / "half \ud83d", f"{tmp_path}/nul\0"):
        with pytest.raises(InvalidParameterError, match="the task file must be readable"):
            Task.read(path)


@pytest.mark.parametrize(
    "text", ["name = ", "name", "[people\n", "a = 1\na = 2", "x = 9" + "9" * 5000, "x = " + "[" * 5000]
)
def test_a_file_that_is_not_toml_is_refused(tmp_path, text):
    assert unreadable(tmp_path, text).startswith("the task file must be TOML")


def test_the_place_of_a_mistake_in_the_file_is_told(tmp_path):
    assert unreadable(tmp_path, "name = 'x'\nvalue").endswith(
        ": Expected '=' after a key in a key/value pair (at end of document)."
    )
    assert unreadable(tmp_path, "[people]\n[people]").endswith(": Cannot declare (...,) twice (at line 2, column 8).")


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    assert unreadable(tmp_path, b'name = "\xff"') == f"the task file must be UTF-8 text; got {tmp_path / 'task.toml'}."


def test_a_number_beyond_all_floats_is_refused(tmp_path):
    text = toml(TASK).replace("2.0", "1" + "0" * 400)
    assert unreadable(tmp_path, text).startswith("[randomizer] epsilon0 must be a number of usual size")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "-0.0", "0"])
def test_what_toml_can_write_but_is_no_loss_is_refused(tmp_path, value):
    assert "epsilon0 must be" in unreadable(tmp_path, toml(TASK).replace("2.0", value))


def test_an_empty_file_is_refused_with_the_first_key_it_lacks(tmp_path):
    assert unreadable(tmp_path, "") == "the task must have the key 'name'; got the keys none."


def test_a_question_and_a_language_are_part_of_the_task_where_they_are_said():
    plain = Task.from_dict(task_with())
    asked = Task.from_dict(task_with() | {"question": "Did you?", "language": "pt-BR"})
    assert "question" not in plain.to_dict()
    assert "language" not in plain.to_dict()
    assert (plain.column.asked, asked.column.asked) == ("cheated", "Did you?")
    assert Task.from_dict(asked.to_dict()) == asked
    assert asked.sha256 != plain.sha256
    assert asked.written.language == "pt-BR"


def test_each_block_has_its_question_and_the_task_one_language():
    blocks = [{"column": name, "question": f"{name}?", "randomizer": TASK["randomizer"]} for name in ("a", "b")]
    table = {key: value for key, value in task_with().items() if key not in ("value", "randomizer")}
    task = Task.from_dict(table | {"value": blocks, "language": "de"})
    assert [column.asked for column in task.columns] == ["a?", "b?"]
    assert {column.language for column in task.columns} == {"de"}
    assert Task.from_dict(task.to_dict()) == task


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("question", "", "question must be text that is not empty"),
        ("question", "two\nlines", "question must be text that is not empty, in one line"),
        ("language", "english!", "language must be a language such as 'en'"),
        ("language", "", "language must be a language such as 'en'"),
    ],
)
def test_a_question_that_is_no_line_and_a_language_that_is_none_are_refused(key, value, named):
    with pytest.raises(InvalidParameterError, match=named):
        Task.from_dict(task_with() | {key: value})
