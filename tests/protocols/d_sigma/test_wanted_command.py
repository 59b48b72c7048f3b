"""`plan` asked for what is wanted of a shuffle near an order: what it prints, refuses and blames."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from cli.running import shuffledp
from shuffledp.files.people_files import read_around
from shuffledp.protocols.d_sigma.documents.promises_document import promised
from shuffledp.protocols.d_sigma.planning.personal_promises import Promises, SpreadOverPeople
from shuffledp.survey import Task

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema.json").read_text(encoding="utf-8"))
SOUGHT = Draft202012Validator({"$ref": "#/$defs/sought", "$defs": SCHEMA["$defs"]})
TASK = """
name = "by age"
value = "ill"
public = ["age"]
randomizer = {kind = "k-rr", epsilon0 = 0.5, categories = ["no", "yes"]}
shuffler = {kind = "auto", alpha = 4.0}
groups = {columns = ["age"], radius = 2}
release = {delta = 1e-6}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wanted")
    (folder / "task.toml").write_text(TASK)
    (folder / "uniform.toml").write_text(
        TASK.replace("auto", "uniform").replace(", alpha = 4.0", "").split("groups")[0] + "release = {delta = 1e-6}\n"
    )
    (folder / "people.csv").write_text("\n".join(["age", *(str(20 + place % 40) for place in range(400))]) + "\n")
    return folder


def plan(folder, *options, task="task.toml"):
    return shuffledp("plan", folder / task, "--input", folder / "people.csv", *options)


def test_a_wanted_chance_is_answered_with_lines_to_paste(folder):
    found = plan(folder, "--slot-chance", "0.2", "--blur", "60")
    assert found.code == 0, found.err
    assert "Take " in found.out
    assert "\n  [shuffler]\n  kind = " in found.out
    assert "names its slot at most with" in found.out
    head, table = found.out.split("For the task file:")
    (kept,) = re.findall(r"; ([\d.]+%) of a group\u2019s slots keep a report", head.replace("\n", " "))
    assert f"{kept} of it are the group\u2019s own answers" in head.replace("\n", " ")
    assert kept in table  # in the row that is taken


def test_another_number_of_people_than_in_the_input_is_refused(folder):
    found = plan(folder, "--slot-chance", "0.2", "--users", "20")
    assert found.code == 2
    assert "--users must be the number of people in the input, 400, or left out; got 20." in found.err


@pytest.mark.deep
def test_json_is_as_the_schema_says(folder):
    found = plan(folder, "--household", "3", "--chance", "0.2", "--json")
    assert found.code == 0, found.err
    SOUGHT.validate(found.json)
    best = found.json["found"][found.json["best"]]
    assert best["promises"]["households"]["3"]["most"] <= 0.2


@pytest.mark.deep
def test_a_central_epsilon_is_what_alpha_is_solved_for_where_there_are_groups(folder):
    found = plan(folder, "--epsilon", "0.45", "--json")
    assert found.code == 0, found.err
    assert found.json["wanted"]["epsilon"] == 0.45
    best = found.json["found"][found.json["best"]]
    assert best["promises"]["central"]["most"] <= 0.45


@pytest.mark.deep
def test_what_is_impossible_is_said_with_the_requirement_to_blame(folder):
    never = plan(folder, "--slot-chance", "0.001")
    assert never.code == 0
    assert "--slot-chance cannot be met at any alpha" in never.out + never.err
    both = plan(folder, "--slot-chance", "0.03", "--blur", "1")
    assert "--slot-chance needs alpha of at most" in both.out + both.err
    assert "--blur one of at least" in both.out + both.err


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--blur", "5", "--error", "0.1"), "--blur must be left out beside --error"),
        (("--blur", "5", "--weeks", "3"), "--blur must be left out beside --weeks"),
        (("--household", "3"), "household and chance must be given together"),
        (("--slot-chance", "2"), "slot_chance must be"),
    ],
)
def test_requirements_that_do_not_go_together_are_refused(folder, options, match):
    found = plan(folder, *options)
    assert found.code == 2
    assert match.replace("slot_chance", "slot") in found.err.replace("--slot-chance", "slot").replace(
        "slot_chance", "slot"
    )


def test_a_task_without_groups_is_refused(folder):
    found = shuffledp("plan", folder / "uniform.toml", "--blur", "5")
    assert found.code == 2
    assert "must have a table [groups]" in found.err


def test_a_plan_says_what_each_person_is_promised(folder):
    found = plan(folder, "-v")
    assert found.code == 0, found.err
    assert "will name the slot of one report at most with" in found.out
    assert "household of 3" in found.out
    assert "central epsilon" in found.out


def test_how_many_people_an_error_takes_is_not_asked_of_groups(folder):
    found = plan(folder, "--error", "0.05", "--epsilon", "0.5")
    assert found.code == 2
    assert "--error must be left out for a task with [groups]" in found.err


def test_the_sentence_is_about_the_household_that_is_found_most_easily():
    def spread(most):
        return SpreadOverPeople(most=most, nine_in_ten=most / 2, half=most / 4)

    promises = Promises(
        epsilon0=1.0,
        delta=1e-6,
        num_alone=0,
        named=spread(0.2),
        households={"2": spread(0.3), "4": spread(0.999999999), "5": spread(0.5)},
        central=spread(1.0),
        regions=(),
    )
    said, table = promised(promises)
    assert "Of a household of 4 they find more than half at most with 100% (half: 25.0%)." in said.text
    assert "members are not neighbors" in said.text
    assert [row[1] for row in table.rows[:4]] == ["20.0%", "30.0%", "100%", "50.0%"]
    few = replace(promises, households={"2": spread(0.3)})
    assert "neighbors" not in next(promised(few)).text


def test_groups_that_do_not_overlap_are_answered_by_a_uniform_shuffle_inside_each(folder):
    lines = TASK.replace('columns = ["age"], radius = 2', 'column = "age"')
    (folder / "apart.toml").write_text(lines)
    found = plan(folder, "--slot-chance", "0.3", task="apart.toml")
    assert found.code == 0, found.err
    assert "Take mallows with alpha = 0" in found.out
    assert "for which a smaller central epsilon is proved" in found.out
    assert "What can be learned: an estimate for one of your groups (10 people for half" in found.out
    assert "How this row was chosen" not in found.out  # there is nothing to choose from
    best = plan(folder, "--slot-chance", "0.3", "--json", task="apart.toml").json["found"]
    assert [each["setting"]["alpha"] for each in best] == [0.0]
    assert best[0]["promises"]["named"]["most"] <= 0.3
    never = plan(folder, "--slot-chance", "0.1", task="apart.toml")  # e / (e + 9) = .23
    assert "cannot be met at any alpha" in never.out
    moved = plan(folder, "--slot-chance", "0.5", "--blur", "2", task="apart.toml")
    assert "Take " in moved.out
    assert "alpha = 0:" not in moved.out


@pytest.mark.deep
def test_of_several_columns_the_one_with_the_largest_epsilon0_is_planned_for(folder):
    block = '[[value]]\ncolumn = "{}"\nrandomizer = {{kind = "k-rr", epsilon0 = {}, categories = ["no", "yes"]}}\n'
    lines = "\n".join(line for line in TASK.split("\n") if not line.startswith(("value", "randomizer")))
    (folder / "two.toml").write_text(f"{lines}\n{block.format('ill', 0.25)}{block.format('happy', 0.5)}")
    options = ("--slot-chance", "0.3", "--stays-in-group", "0.001", "--json")
    one, two = plan(folder, *options), plan(folder, *options, task="two.toml")
    assert two.code == 0, two.err
    assert two.json["epsilon0"] == 0.5
    assert [each["setting"] for each in two.json["found"]] == [each["setting"] for each in one.json["found"]]
    assert "adds up" in plan(folder, *options[:-1], task="two.toml").out
    assert (
        "--epsilon must be asked of a task with one private column"
        in plan(folder, "--epsilon", "1", task="two.toml").err
    )


@pytest.fixture
def parts(tmp_path):
    """Forty people of the north and four of the east."""
    (tmp_path / "task.toml").write_text(
        TASK.replace('["age"]', '["part"]').replace('columns = ["part"], radius = 2', 'column = "part"')
    )
    (tmp_path / "people.csv").write_text("\n".join(["part", *["north"] * 40, *["east"] * 4]) + "\n")
    return tmp_path


def test_labels_of_groups_are_kept_beside_them(parts):
    grouping = read_around(Task.read(parts / "task.toml"), parts, people=parts / "people.csv")
    assert np.asarray(grouping.labels).tolist() == ["north"] * 40 + ["east"] * 4


@pytest.mark.deep
def test_people_who_cannot_be_hidden_so_well_are_named_by_label(parts):
    found = plan(parts, "--slot-chance", "0.3")
    assert "(part east (4))" in found.out.replace("\n", " ")
    told = plan(parts, "--slot-chance", "0.3", "--json").json
    SOUGHT.validate(told)
    assert told["chosen"]["left_out"] == [{"people": 4, "at": [], "row": 40, "label": "east"}]
