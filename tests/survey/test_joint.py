"""Tasks of several private columns: what they say, what they refuse, and their parts."""

import json

import pytest

from cli.running import task_with, toml
from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import Column, Task

RANDOMIZER = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
TEXT = """
name = "habits"
[[value]]
column = "smokes"
[value.randomizer]
kind = "k-rr"
epsilon0 = 1.0
categories = ["No", "Yes"]
[[value]]
column = "drinks"
[value.randomizer]
kind = "oue"
epsilon0 = 2.0
categories = ["No", "Yes"]
[release]
delta = 1e-6
"""


def task(*columns: str, **changes) -> Task:
    blocks = [{"column": column, "randomizer": RANDOMIZER} for column in columns]
    return Task.from_dict({"name": "habits", "value": blocks, "release": {"delta": 1e-6}, **changes})


def read(tmp_path, text):
    (tmp_path / "task.toml").write_text(text)
    return Task.read(tmp_path / "task.toml")


def test_blocks_are_read_and_survive_the_way_through_a_dictionary(tmp_path):
    joint = read(tmp_path, TEXT)
    assert [(part.value, part.randomizer.kind) for part in joint.columns] == [("smokes", "k-rr"), ("drinks", "oue")]
    again = Task.from_dict(json.loads(json.dumps(joint.to_dict())))
    assert (again, again.sha256) == (joint, joint.sha256)
    assert joint.in_blocks


def test_a_task_of_one_column_is_read_as_before(tmp_path):
    assert read(tmp_path, toml(task_with())) == Task.from_dict(task_with())
    assert Task.from_dict(task_with()).columns == (Column.from_dict(task_with()),)


def test_parts_share_everything_else_and_know_the_whole():
    joint = task("a", "b", people={"id": "person"}, public=["place"], missing="drop")
    for part in joint.columns:
        assert (part.people, part.public, part.release, part.name) == (
            joint.people,
            joint.public,
            joint.release,
            "habits",
        )
        assert part.part_of == joint.sha256
    assert len({joint.sha256, *(part.sha256 for part in joint.columns)}) == 3


def test_what_is_about_one_column_refuses_several(tmp_path):
    with pytest.raises(
        InvalidParameterError, match=r"task must be of one private column here; got task='?smokes, drinks"
    ):
        read(tmp_path, TEXT).column  # noqa: B018
    assert task("smokes").column.value == "smokes"


def test_what_is_wrong_with_a_block_is_said_with_its_column(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"^\[\[value\]\] of column 'drinks' .*epsilon0"):
        read(tmp_path, TEXT.replace("epsilon0 = 2.0", "epsilon0 = -2"))
    with pytest.raises(InvalidParameterError, match=r"^\[\[value\]\] of column 'smokes': missing_values must be"):
        read(tmp_path, 'missing_values = ["No"]' + TEXT)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (TEXT + '[randomizer]\nkind = "k-rr"\n', r"\[randomizer\] must be in each \[\[value\]\] block"),
        (TEXT.replace('"drinks"', '"smokes"'), "value must be different columns"),
        (TEXT.replace('column = "drinks"', ""), r"\[\[value\]\] must have the key 'column'"),
        (TEXT.replace("epsilon0 = 2.0", "epsilon0 = -2"), r"epsilon0 must be"),
        (TEXT.replace('kind = "oue"', 'kind = "none"'), "kind must be one of"),
        (TEXT.replace('"drinks"', '""'), r"column must be text that is not empty"),
        (TEXT.replace("delta = 1e-6", ""), r"\[release\] must have the key 'delta'"),
        ('public = ["smokes"]' + TEXT, "different columns for value, public and people.id"),
        ("part_of = 3" + TEXT, "the task must have only the keys"),
    ],
)
def test_a_wrong_block_is_refused_with_its_key(tmp_path, text, named):
    with pytest.raises(InvalidParameterError, match=named):
        read(tmp_path, text)


def test_a_task_without_a_column_is_refused():
    with pytest.raises(InvalidParameterError, match="value must be one block or more"):
        task()


def test_folders_are_plain_names_all_different_in_any_case():
    names = task("Zigaretten/Tag", "../up", "Ω", "🎲", "a b", "a_b", "A_B", "x" * 300, "a_b-2").folders
    assert names[:7] == ("Zigaretten_Tag", "up", "column", "column-2", "a_b", "a_b-2", "A_B-3")
    assert len({name.lower() for name in names}) == len(names)
    assert max(map(len, names)) == 60


def test_a_part_names_the_whole_by_its_digest():
    with pytest.raises(InvalidParameterError, match="part_of must be a SHA-256"):
        Task.from_dict(task_with(part_of="habits"))
