"""The command that says what to expect, before anything is collected."""

from cli.running import refused, shuffledp, write_task
from shuffledp.survey import Task, plan


def test_a_plan_says_what_to_expect_and_what_would_do_better(folder):
    write_task(folder, randomizer={"epsilon0": 1.0, "categories": [f"c{number}" for number in range(30)]})
    result = shuffledp("plan", "task.toml", "--users", 5000)
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    assert text.startswith("risk survey epsilon <= 0.01975 delta 1e-06 5,000 people, each epsilon0 = 1 ")
    assert "reports of 5 bits by k-rr. For a frequency of 1/30" in text
    assert "subset would have a standard error that is" in text
    assert result.out.splitlines()[-1].startswith("subset would have a standard error")
    result = shuffledp("plan", "task.toml", "--users", 5000, "-v")
    assert "Whatever one person answered, replacing that answer by any other" in result.out
    assert "\nk-rr (yours)" in result.out
    assert result.out.splitlines()[-1].startswith("One false report in place of an honest one moves")


def test_a_plan_says_that_nothing_would_do_better(folder):
    text = " ".join(shuffledp("plan", "task.toml", "--users", 5000, "-v").out.split())
    assert "No randomizer for such answers has a smaller standard error than yours. randomizer bits" in text


def test_json_of_a_plan_is_that_of_the_library(folder):
    result = shuffledp("plan", "task.toml", "--users", 5000, "--json")
    assert result.json == plan(Task.read("task.toml"), 5000).to_dict()


def test_what_cannot_be_is_listed_with_its_reason(folder):
    numbers = {"kind": "laplace-mean", "epsilon0": 35.0, "lower": 0, "upper": 1, "categories": None}
    write_task(folder, randomizer=numbers)
    text = " ".join(shuffledp("plan", "task.toml", "--users", 10, "-v").out.split())
    assert "rounded-mean cannot: epsilon0 must be" in text


def test_a_plan_needs_a_number_of_people(folder):
    assert "--users N" in refused(2, "plan", "task.toml")
    assert "--users must be an integer that is 1 or more; got 0." in refused(2, "plan", "task.toml", "--users", 0)
    write_task(folder, people={"expected": 100})
    assert "   100 people, each epsilon0 = 2\n" in shuffledp("plan", "task.toml").out


def test_a_run_composes_with_the_releases_that_its_task_names(folder):
    assert shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "first").code == 0
    write_task(folder, name="second", people={"earlier": [Task.read("task.toml").sha256]})
    run = ("run", "task.toml", "--input", "answers.csv", "--output", "second")
    assert "--earlier FILE must be given for each task" in refused(2, *run)
    result = shuffledp(*run, "--earlier", "first/statement.json", "--json")
    assert result.code == 0
    assert result.json["statements"][0]["basis"]["theorem"] == "adding-losses"
    planned = shuffledp("plan", "task.toml", "--users", 200, "--earlier", "first/statement.json", "--json")
    assert planned.json["statements"][0]["guarantee"] == result.json["statements"][0]["guarantee"]
