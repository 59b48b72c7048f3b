"""What whoever runs a stage is told on the error stream, and no file or other stream holds."""

import re

import pytest

from cli.running import refused, shuffledp, write_csv

TASK = """
name = "commuting"
value = "minutes"
missing = "drop"
[randomizer]
kind = "{kind}"
epsilon0 = 2.0
lower = 0
upper = 60
out_of_range = "clip"
[release]
delta = 1e-6
minimum_batch = 100
"""
ANSWERS = [["" if n == 3 else "nan" if n == 4 else str(n % 100)] for n in range(500)]
OUTSIDE = sum(int(answer) > 60 for (answer,) in ANSWERS if answer.isdigit())


@pytest.fixture
def run(folder):
    def command(*options, kind="laplace-mean", name="run", output="out"):
        (folder / "task.toml").write_text(TASK.format(kind=kind))
        write_csv(folder / "numbers.csv", ["minutes"], ANSWERS)
        return shuffledp(name, "task.toml", "--input", "numbers.csv", "--output", output, *options)

    return command


@pytest.mark.parametrize("name", ["run", "randomize"])
def test_how_many_answers_were_clipped_is_told_to_the_operator_alone(run, folder, name):
    result = run("--json", name=name)
    assert f"{OUTSIDE:,} of 500 answers in column 'minutes' were outside the range" in result.err
    assert result.err.count("\n") == 1
    assert not re.search(rf"(?<![0-9a-f.]){OUTSIDE}(?![0-9a-f])", result.out)  # digests hold all digits
    written = folder / "out"
    for path in [written] if written.is_file() else written.iterdir():
        assert b"outside the range" not in path.read_bytes()
        assert f" {OUTSIDE} ".encode() not in path.read_bytes()


def test_nothing_is_told_where_nothing_was_clipped(run, folder, monkeypatch):
    monkeypatch.setattr("cli.test_operator.ANSWERS", [["30"]] * 200)
    assert run().err == ""


def test_that_answers_are_clipped_is_said_to_everybody(run):
    assert "Answers outside 0 to 60 count as the nearer end." in run().out


def test_a_nan_in_text_is_a_missing_answer(run):
    assert run("--json").json["flow"] == {
        "received": 500, "missing": 2, "released": 498, "expected": None, "detached": []
    }  # fmt: skip


def test_why_a_sampling_error_is_not_there_is_said(run):
    assert "-: reports like these cannot tell sampling from randomizing" in run("-v", kind="one-bit-mean").out


def test_a_mean_has_the_name_of_its_column(run, folder):
    assert [row["target"] for row in run("--json").json["estimates"]] == ["minutes"]
    assert '"mean","minutes",' in (folder / "out" / "estimates.csv").read_text()


@pytest.mark.parametrize("name", ["randomize", "shuffle", "analyze"])
def test_every_stage_shows_how_far_it_is(run, folder, monkeypatch, name):
    monkeypatch.setenv("TERM", "xterm")
    steps = {"randomize": ["randomizing"], "shuffle": ["reading", "shuffling"], "analyze": ["analyzing"]}
    source = "numbers.csv"
    run(name="randomize", output="given")
    for stage, said in steps.items():
        options = ("task.toml", "--input", source, "--output", f"{stage}.parquet")
        result = shuffledp(stage, *options, terminal=stage == name)
        assert result.code == 0, result.err
        assert all(word in result.err for word in said) == (stage == name)
        source = f"{stage}.parquet"


def test_a_plan_for_too_few_people_is_refused_as_a_run_would_be(run, folder):
    run()
    assert "at least minimum_batch = 100 people; planned for 99" in refused(4, "plan", "task.toml", "--users", 99)
    assert shuffledp("plan", "task.toml", "--users", 100).code == 0


def test_a_column_with_too_few_reports_is_named(run, folder, monkeypatch):
    monkeypatch.setattr("cli.test_operator.ANSWERS", [["70"]] * 20)
    assert "reports of column 'minutes'; got 20. Nothing was released." in run().err
