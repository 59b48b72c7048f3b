"""What is said of a report by itself where its loss is large, and of people who are asked again."""

import json

import pytest

from cli.running import shuffledp, write_task

LARGE, NOTED = 6.0, 4.0
DANGER = "WARNING: epsilon0 = 6 is large. A report by itself is the true answer 99.8% of the time, if both answers are"
NOTE = "A report by itself is the true answer 98.2% of the time, if both answers are equally likely."
ALONE = "This is about this release alone; --earlier counts others about the same people.\n"


@pytest.mark.parametrize(("epsilon0", "said"), [(LARGE, DANGER), (NOTED, NOTE)])
def test_plan_calibration_and_release_say_what_a_report_by_itself_tells(folder, epsilon0, said):
    write_task(folder, randomizer={"epsilon0": epsilon0}, release={"minimum_batch": 100})
    planned = shuffledp("plan", "task.toml", "--users", 200)
    made = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out")
    for text in (planned.out, made.out):
        assert said.removeprefix("WARNING: ") in text
    assert said.startswith("WARNING") == planned.out.startswith(said) == made.out.startswith(said)
    warned = json.loads((folder / "out" / "statement.json").read_text(encoding="utf-8"))["warnings"]
    assert any("epsilon0 = 6 is large" in each for each in warned) is (epsilon0 == LARGE)


def test_a_calibration_to_a_large_local_loss_warns():
    asked = ("calibrate", "--target-epsilon", 0.5, "--delta", 1e-9, "--users", 1e6)
    any_randomizer = shuffledp(*asked).out
    assert any_randomizer.startswith("WARNING: epsilon0 = 8.3409 is large. Which of two answers was given is guessed")
    assert "at most 99.98% of the time" in any_randomizer
    coins = shuffledp(*asked, "--randomizer", "k-rr", "--categories", 4).out
    assert "A report by itself is the true answer 99.9% of the time, if all 4 answers are equally likely." in coins


def test_a_release_is_said_to_be_about_itself_alone_unless_others_are_counted(folder):
    first = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "first")
    assert ALONE in first.out
    from shuffledp.survey import Task

    write_task(folder, name="second", people={"earlier": [Task.read("task.toml").sha256]})
    counted = ("--earlier", "first/statement.json", "--output", "second")
    second = shuffledp("run", "task.toml", "--input", "answers.csv", *counted)
    assert second.code == 0
    assert ALONE not in second.out
    assert second.err == ""


def test_a_folder_that_holds_a_release_of_the_same_task_is_warned_of(folder):
    run = ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--force")
    assert shuffledp(*run).err == ""
    again = shuffledp(*run)
    assert again.code == 0
    assert again.err.startswith("shuffledp: WARNING: out holds a release of the same task.")
    write_task(folder, name="another")
    assert shuffledp(*run).err == ""
