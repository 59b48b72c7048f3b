"""Tasks with groups on the command line: a plan from public columns, a run, the stages, and what is refused."""

import json
import random
from pathlib import Path

import pytest

from cli.running import refused, shuffledp, task_with, toml, write_csv

GROUPS = {"public": ["km"], "shuffler": {"kind": "auto", "alpha": 4.0}, "groups": {"columns": ["km"], "radius": 1.0}}


@pytest.fixture
def road(tmp_path, monkeypatch):
    """Four hundred people along a road, in a folder beside the one where the commands run."""
    monkeypatch.setenv("COLUMNS", "120")
    draw = random.Random(1)
    people = sorted(draw.random() * 100 for _ in range(400))
    rows = [[f"{km:.3f}", "Yes" if draw.random() < km / 100 else "No"] for km in people]
    folder = tmp_path / "task"
    folder.mkdir()
    write_csv(folder / "people.csv", ["km", "cheated"], rows)
    write_csv(folder / "km.csv", ["km"], [row[:1] for row in rows])
    (folder / "task.toml").write_text(toml(task_with(**GROUPS)))
    monkeypatch.chdir(tmp_path)
    return folder


def write(road, **changes):
    (road / "task.toml").write_text(toml(task_with(**(GROUPS | changes))))


def test_a_plan_needs_no_answers_and_says_what_other_losses_and_radii_would_do(road):
    result = shuffledp("plan", "task/task.toml", "--input", "task/km.csv", "-v")
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    assert "400 people, each epsilon0 = 2" in text
    assert "Groups: everybody within 1 of them by km." in text
    assert "exact Kendall sensitivity of" in text
    assert "Chosen because it displaces least" in text
    assert "4 (yours)" in text
    assert "1 (yours)" in text
    assert "d-sigma upper-bound: alpha = 4" in text
    assert "WARNING" not in text
    same = shuffledp("plan", "task/task.toml", "--input", "task/people.csv", "--json").json
    assert same["groups"]["mixing"]["num_users"] == same["num_users"] == 400
    assert [each["value"] for each in same["groups"]["by_reach"]] == [0.25, 0.5, 2.0, 4.0]


@pytest.mark.deep
def test_a_plan_warns_where_everything_would_be_shuffled_with_everything(road):
    write(road, groups={"columns": ["km"], "radius": 60.0})
    text = " ".join(shuffledp("plan", "task/task.toml", "--input", "task/km.csv").out.split())
    assert "WARNING: alpha = 4 is so small for groups of up to 400 of 400 people" in text
    assert "g^2 / alpha" in text


def test_a_loss_of_infinity_says_that_it_is_not_private(road):
    path = road / "task.toml"
    path.write_text(path.read_text().replace("alpha = 4.0", "alpha = inf"))
    planned = " ".join(shuffledp("plan", path, "--input", "task/km.csv").out.split())
    assert "WARNING: alpha is infinite: nothing is shuffled" in planned
    result = shuffledp("run", path, "--input", "task/people.csv", "--output", "out", "--json")
    order = next(each for each in result.json["statements"] if each["guarantee"]["type"] == "d-sigma")
    assert order["guarantee"]["alpha"] == 2.0 * result.json["mixing"]["largest"]  # of the reports by themselves
    assert result.json["mixing"]["alpha"] == "inf"
    assert result.json["statements"][0]["guarantee"]["epsilon"] == 2.0


def test_a_run_and_the_stages_release_estimates_by_place(road):
    run = shuffledp("run", "task/task.toml", "--input", "task/people.csv", "--output", "out", "-v")
    assert (run.code, run.err) == (0, "")
    assert 'Each report is released beside the number of its slot and the public column "km".' in " ".join(
        run.out.split()
    )
    assert "By place: 128 places, 256 further rows of estimates.csv." in run.out
    for stage, source, target in (
        ("randomize", "task/people.csv", "reports.parquet"),
        ("shuffle", "reports.parquet", "view.parquet"),
        ("analyze", "view.parquet", "analyzed"),
    ):
        result = shuffledp(stage, "task/task.toml", "--input", source, "--output", target, "--json")
        assert result.code == 0, result.err
    assert (
        sum("where" in row for row in result.json["estimates"]) == 2 * 128 or result.json["mixing"]["num_users"] == 400
    )
    assert result.json["mixing"]["alpha"] <= 4.0


def test_what_a_plan_of_groups_needs_is_said(road):
    assert "--input must be given for a task with [groups]: a table of the people, with 'km'; got none." in refused(
        2, "plan", "task/task.toml", "--users", 9
    )
    write(road, public=None, shuffler={"kind": "uniform"}, groups=None)
    assert "--input must be left out" in refused(2, "plan", "task/task.toml", "--input", "task/km.csv")
    write(road, groups={"lists": "absent.csv"})
    assert "beside the task file; got 'absent.csv'" in refused(2, "plan", "task/task.toml", "--input", "task/km.csv")


def test_accounting_without_the_people_points_to_the_plan(road):
    assert "shuffledp plan TASK.toml --input FILE" in refused(2, "account", "task/task.toml", "--users", 400)


def test_warnings_and_odds_of_reidentification_are_in_the_json_and_the_statement(road):
    write(road, groups={"columns": ["km"], "radius": 60.0}, shuffler={"kind": "mallows", "alpha": 0.0})
    planned = shuffledp("plan", "task/task.toml", "--input", "task/km.csv", "--json").json
    run = shuffledp("run", "task/task.toml", "--input", "task/people.csv", "--output", "out", "--json").json
    (warning,) = planned["warnings"]
    assert "is the uniform shuffle of everybody" in warning
    written = json.loads(Path("out/statement.json").read_text(encoding="utf-8"))
    assert run["warnings"] == written["warnings"] == [warning]
    assert 0 < written["reidentification"]["largest"]["success"] < 1
    again = ("run", "task/task.toml", "--input", "task/people.csv", "--output", "again", "--json", "--seed", 1)
    assert "reidentification" not in shuffledp(*again).json


@pytest.mark.deep
def test_a_plan_fits_a_narrow_screen_with_all_its_numbers_and_units(road, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    write(road, groups={"columns": ["km"], "radius": 60.0})
    text = shuffledp("plan", "task/task.toml", "--input", "task/km.csv", "-v", "--color", "never", screen=True).out
    assert max(map(len, text.splitlines())) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "4 (yours)" in text
    assert " all " in text
    assert "(km)" in text


@pytest.mark.parametrize(("changes", "alpha"), [({"radius": 0.0}, 4.0), ({"radius": 1.0}, "inf")])
def test_a_plan_has_no_table_of_radii_that_would_all_be_the_same(road, changes, alpha):
    write(road, groups={"columns": ["km"], **changes})
    path = road / "task.toml"
    path.write_text(path.read_text().replace("alpha = 4.0", f"alpha = {alpha}"))
    assert shuffledp("plan", path, "--input", "task/km.csv", "--json").json["groups"]["by_reach"] == []


@pytest.mark.deep
def test_a_plan_has_every_number_of_neighbors_once(road):
    write(road, groups={"columns": ["km"], "neighbors": 2, "radius": None})
    planned = shuffledp("plan", "task/task.toml", "--input", "task/km.csv", "--json").json["groups"]["by_reach"]
    assert [each["value"] for each in planned] == [1, 4, 8]
