"""Commands that go well: what they print, what they write, and what they replace."""

import json
import re

import pytest

from cli.running import COMMANDS, refused, shuffledp, write_answers, write_csv, write_task
from shuffledp._version import __version__
from shuffledp.core.errors import InputDataError
from shuffledp.documents import page
from shuffledp.files import stages
from shuffledp.files.parquet import read_facts
from shuffledp.files.writing import is_release
from shuffledp.survey import Task


def run(*options, task="task.toml", answers="answers.csv", output="out"):
    return shuffledp("run", task, "--input", answers, "--output", output, *options)


# ---- what is printed ------------------------------------------------------------------------------------------------


def test_a_run_says_on_a_screen_what_is_guaranteed_and_what_came_out(folder):
    result = run()
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "risk survey   epsilon <= 0.9315   delta 1e-06   200 reports, each epsilon0 = 2"
    assert lines[1].startswith("Somebody who knows everybody else's answer guesses right between two at most 71.8% ")
    assert lines[2] == "Trusting: devices, shuffler, no collusion, everybody counted, operator. More: -v"
    assert lines[3].split() == ["frequency", "estimate", "95%", "interval"]
    assert [line.split()[0] for line in lines[4:6]] == ["No", "Yes"]
    assert lines[-1] == "Page: out/release.html"
    assert len(lines) <= 9
    assert not any(line.endswith(" ") for line in lines)


def test_all_there_is_to_say_is_said_where_it_is_asked_for(folder):
    lines = run("-v").out.splitlines()
    text = " ".join(lines)
    assert re.fullmatch(r"task [0-9a-f]{12}", lines[1])
    assert "Whatever one person answered, replacing that answer by any other" in text
    assert "200 rows received, 200 reports released." in text
    assert "central-dp lower-bound" in text
    assert "sampling alone" in text
    assert lines[-1] == "Files: release.parquet, estimates.csv, statement.json, release.html"


def test_stages_say_in_a_line_what_they_did(folder):
    write_answers(folder, ["No", "", "Yes"] * 1000)
    write_task(folder, missing="drop", public=["other"])
    result = shuffledp("randomize", "task.toml", "--input", "answers.csv", "--output", "reports.parquet")
    assert result.out == "2,000 reports randomized: reports.parquet. 1,000 people without an answer dropped.\n"
    result = shuffledp("shuffle", "task.toml", "--input", "reports.parquet", "--output", "view.parquet")
    detached = 'The public column "other" was taken off, and not released: beside a report it could tell whose it is.'
    dropped = f"1,000 people without an answer dropped. {detached}"
    assert result.out == f"2,000 reports shuffled: view.parquet. {dropped}\n"
    result = shuffledp("analyze", "task.toml", "--input", "view.parquet", "--output", "out")
    assert result.code == 0
    assert "3,000 rows received, 1,000 without an answer dropped, 2,000 reports released." in result.out


def test_names_of_columns_and_categories_are_printed_as_they_are_and_in_lines(folder):
    names = ["[red]alarm[/red]", "a" * 200, "Ω 🎲", ":smile:"]
    write_task(folder, public=["two\nlines", "[b]"], randomizer={"categories": names})
    write_csv(folder / "answers.csv", ["two\nlines", "[b]", "cheated"], [["x", "y", name] for name in names])
    out = run("-v").out
    assert "[red]alarm[/red]" in out
    assert "Ω 🎲" in out
    assert ":smile:" in out
    assert "a" * 100 not in out
    assert r'The public columns "two\nlines" and "[b]" were taken off, and not released' in " ".join(out.split())


def test_of_many_categories_the_first_are_shown(folder):
    write_task(folder, randomizer={"categories": [f"c{i}" for i in range(50)]})
    out = run(answers=write_answers(folder, ["c1"] * 20)).out
    assert "c11 " in out
    assert "c12 " not in out
    assert "... and 38 more in estimates.csv" in out


@pytest.mark.parametrize("command", ["run", "demo"])
def test_json_is_one_object_and_nothing_else(folder, command):
    arguments = ("run", "task.toml", "--input", "answers.csv") if command == "run" else ("demo", "--people", 100)
    result = shuffledp(*arguments, "--output", "out", "--json")
    assert (result.code, result.err) == (0, "")
    printed = json.loads(result.out)
    assert result.out == json.dumps(printed, indent=2) + "\n"
    release = folder / "out" / ("" if command == "run" else "release")
    assert set(printed["files"]) == {path.name for path in release.iterdir()}
    written = json.loads((release / "statement.json").read_text(encoding="utf-8"))
    assert written | {"files": 0} == printed | {"files": 0}


def test_json_of_the_stages_names_task_and_files(folder):
    sha256 = Task.read("task.toml").sha256
    for command, source, target in (("randomize", "answers.csv", "r.parquet"), ("shuffle", "r.parquet", "v.parquet")):
        result = shuffledp(command, "task.toml", "--input", source, "--output", target, "--json")
        assert (result.code, result.err) == (0, "")
        assert result.json["stage"] == command
        assert result.json["task_sha256"] == sha256
        assert list(result.json["files"]) == [target]
        assert result.json["seeded"] is False


def test_json_is_plain_ascii_whatever_the_names(folder):
    write_task(folder, randomizer={"categories": ["да", "нет 🎲"]})
    result = run("--json", answers=write_answers(folder, ["да"] * 5))
    assert result.out.isascii()
    assert [row["target"] for row in result.json["estimates"]] == ["да", "нет 🎲"]


@pytest.mark.parametrize("command", ["run", "randomize"])
def test_progress_goes_to_the_error_stream_and_only_to_a_terminal(folder, monkeypatch, command):
    monkeypatch.setenv("TERM", "xterm")
    arguments = (command, "task.toml", "--input", "answers.csv", "--json", "--output")
    quiet, lively = (shuffledp(*arguments, f"out{terminal}", terminal=terminal) for terminal in (False, True))
    assert quiet.err == ""
    assert "randomizing" in lively.err
    assert lively.json["num_reports"] == quiet.json["num_reports"] == 200


# ---- seeds ----------------------------------------------------------------------------------------------------------


def test_a_seed_marks_what_is_printed_and_written(folder):
    assert run().code == 0
    plain = (folder / "out" / "statement.json").read_text()
    assert "WITHDRAWN" not in plain
    seeded = run("--seed", 7, "-v", output="seeded")
    assert seeded.out.startswith("WITHDRAWN: nothing is promised, because the randomness came from a seed")
    assert "risk survey   nothing is promised   else epsilon <= 0.9315   delta 1e-06" in seeded.out
    assert "withdrawn; would have been local-dp exact: epsilon = 2" in seeded.out
    marked = json.loads((folder / "seeded" / "statement.json").read_text())
    assert marked["seeded"] is True
    assert {statement["withdrawn"] for statement in marked["statements"]} == {"seeded"}
    assert {statement["guarantee"]["epsilon"] for statement in marked["statements"]} == {"inf"}
    assert read_facts(folder / "seeded" / "release.parquet").seeded
    assert (folder / "seeded" / "estimates.csv").read_text().splitlines()[0].endswith('"seeded"')
    assert "the randomness came from a seed" in (folder / "seeded" / "release.html").read_text()


def test_a_seed_at_a_stage_is_told_at_once_and_at_every_later_stage(folder):
    warning = "SEEDED: for experiments only; no privacy is promised."
    steps = [("randomize", "answers.csv", "r.parquet", "--seed", 7), ("shuffle", "r.parquet", "v.parquet")]
    for command, source, target, *options in steps:
        assert warning in shuffledp(command, "task.toml", "--input", source, "--output", target, *options).out
    assert "WITHDRAWN" in shuffledp("analyze", "task.toml", "--input", "v.parquet", "--output", "out").out


def test_the_same_seed_gives_the_same_release(folder):
    outputs = [run("--seed", seed, "--json", output=f"out{i}").json for i, seed in enumerate([7, 7, 8])]
    digests = [output["files"]["release.parquet"] for output in outputs]
    assert digests[0] == digests[1] != digests[2]


def test_the_same_seed_at_two_stages_gives_them_different_randomness(folder, monkeypatch):
    drawn = []

    def draw(task, source_file, output, *, source, **_):
        drawn.append(source.words(4).tolist())
        raise InputDataError("enough.")

    for command in ("randomize", "shuffle"):
        monkeypatch.setattr(stages, command, draw)
        refused(3, command, "task.toml", "--input", "answers.csv", "--output", "out", "--seed", 7)
    assert len(drawn) == 2
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("seed", [0, 2**64, 10**4000])
def test_a_seed_may_be_any_whole_number_that_is_not_negative(folder, seed):
    assert run("--seed", seed).code == 0


# ---- outputs --------------------------------------------------------------------------------------------------------


def test_an_output_is_replaced_only_by_force(folder):
    assert run().code == 0
    before = (folder / "out" / "release.parquet").read_bytes()
    assert "--force" in refused(2, "run", "task.toml", "--input", "answers.csv", "--output", "out")
    assert (folder / "out" / "release.parquet").read_bytes() == before
    assert run("--force").code == 0
    assert (folder / "out" / "release.parquet").read_bytes() != before
    (folder / "out" / "notes.txt").write_text("mine")
    refused(2, "run", "task.toml", "--input", "answers.csv", "--output", "out", "--force")
    assert (folder / "out" / "notes.txt").read_text() == "mine"


def test_the_demo_is_replaced_by_force_unless_it_was_changed(folder):
    assert shuffledp("demo", "--output", "d", "--people", 100).code == 0
    assert shuffledp("demo", "--output", "d", "--people", 100).code == 2
    assert shuffledp("demo", "--output", "d", "--people", 200, "--force").code == 0
    survey = folder / "d" / "survey.csv"
    assert len(survey.read_text().splitlines()) == 201
    survey.write_text(survey.read_text() + "200,0,0,light red\n")
    refused(2, "demo", "--output", "d", "--people", 200, "--force")
    assert len(survey.read_text().splitlines()) == 202


@pytest.mark.parametrize("name", ["same.parquet", "./same.parquet", "link.parquet", "hard.parquet"])
def test_an_output_never_takes_the_place_of_its_own_input(folder, name):
    assert shuffledp("randomize", "task.toml", "--input", "answers.csv", "--output", "same.parquet").code == 0
    (folder / "link.parquet").symlink_to(folder / "same.parquet")
    (folder / "hard.parquet").hardlink_to(folder / "same.parquet")
    before = (folder / "same.parquet").read_bytes()
    text = refused(2, "shuffle", "task.toml", "--input", "same.parquet", "--output", name, "--force")
    assert "output must be another file than input" in text
    refused(2, "randomize", "task.toml", "--input", "answers.csv", "--output", "answers.csv", "--force")
    assert (folder / "same.parquet").read_bytes() == before


def test_a_release_may_be_analyzed_again_in_its_own_place(folder):
    assert run("--seed", 1).code == 0
    again = shuffledp("analyze", "task.toml", "--input", "out/release.parquet", "--output", "out", "--force", "--json")
    assert again.code == 0
    assert again.json["seeded"] is True
    assert is_release(folder / "out")


def test_a_page_that_cannot_be_drawn_leaves_no_output(folder, monkeypatch):
    def no_space(document, place, name, **_):
        (place / name).touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page, "write_page", no_space)
    before = set(folder.iterdir())
    assert "No space left on device" in refused(2, "run", "task.toml", "--input", "answers.csv", "--output", "out")
    assert set(folder.iterdir()) == before


# ---- help -----------------------------------------------------------------------------------------------------------


def test_help_lists_the_commands():
    result = shuffledp("--help")
    assert result.code == 0
    assert [name for name in COMMANDS if re.search(rf"^  {name}  ", result.out, re.MULTILINE)] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_names_its_options(command):
    result = shuffledp(command, "--help")
    assert (result.code, result.err) == (0, "")
    for option in ("--output", "--json", "--force") + (() if command == "demo" else ("--input",)):
        assert option in result.out
    assert ("--seed" in result.out) is (command != "analyze")


def test_help_of_a_plan_names_its_options():
    result = shuffledp("plan", "--help")
    assert (result.code, result.err) == (0, "")
    for option in ("--users", "--earlier", "--json"):
        assert option in result.out


def test_the_version_is_that_of_the_library():
    assert shuffledp("--version").out == f"shuffledp {__version__}\n"


def test_the_demo_draws_its_page(folder, real_page):
    result = shuffledp("demo", "--output", "d", "--people", 2000, "--seed", 3, "-v")
    assert (result.code, result.err) == (0, "")
    assert "Syn: a survey of made-up people" in result.out
    assert '2,000 rows received, 2,000 reports released. The public columns "x" and "y" were taken off' in " ".join(
        result.out.split()
    )
    assert result.out.splitlines()[-2] == "Page: d/release/release.html"
    page = (folder / "d" / "release" / "release.html").read_text(encoding="utf-8")
    assert "withdrawn" in page.lower()
    assert shuffledp("demo", "--output", "d", "--people", 100, "--force").code == 0
