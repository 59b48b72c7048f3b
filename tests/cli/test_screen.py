"""How much is printed, in which order, how wide and in which colors, on a terminal and into a pipe."""

import re

import pytest

from cli.running import refused, shuffledp, task_with, toml, write_csv, write_task
from shuffledp.cli.options import Screen, screen

ACCOUNT = ("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-6)
RUN = ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--force")
THREE = [f"question {number}" for number in range(3)]


@pytest.fixture
def narrow(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return folder


def three_questions(folder):
    kind = '{kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}'
    blocks = "".join(f'[[value]]\ncolumn = "{name}"\nrandomizer = {kind}\n' for name in THREE)
    head = toml(task_with(name="habits", value=None, randomizer=None, release=None, missing="drop"))
    (folder / "task.toml").write_text(f"{head}{blocks}[release]\ndelta = 1e-6\n", encoding="utf-8")
    write_csv(folder / "answers.csv", THREE, [["No", "Yes", "No"]] * 299 + [["", "", ""]])


def test_one_question_takes_at_most_12_lines_of_a_terminal_and_three_take_25(narrow):
    write_task(narrow, randomizer={"epsilon0": 0.5}, missing="drop")
    write_csv(narrow / "answers.csv", ["cheated"], [["No"], ["Yes"]] * 200 + [[""]])
    one = shuffledp(*RUN, screen=True).out
    assert "A small sample" in one
    assert "1 without an answer dropped" in one
    assert one.count("\n") <= 12
    three_questions(narrow)
    for is_terminal in (True, False):
        assert shuffledp(*RUN, screen=is_terminal).out.count("\n") <= 25


def test_a_table_of_one_of_several_columns_bears_its_name_unless_that_is_long(narrow):
    three_questions(narrow)
    assert re.search(r"\n\nquestion 1: frequency  estimate +95% interval\nNo ", shuffledp(*RUN).out)
    long = "a question of many words and some more"
    for name in ("task.toml", "answers.csv"):
        text = (narrow / name).read_text(encoding="utf-8")
        (narrow / name).write_text(text.replace("question 1", long), encoding="utf-8")
    assert re.search(rf"\n\n{long}\nfrequency  estimate +95% interval\nNo ", shuffledp(*RUN).out)


def test_no_line_about_a_command_is_cut_at_80_columns(narrow):
    listed = shuffledp("--help").out.partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 13
    assert [line for line in listed if line.endswith("...")] == []


def test_lines_are_as_wide_as_a_terminal_and_whole_in_a_pipe(narrow):
    broken = shuffledp(*ACCOUNT, "-v", "--color", "never", screen=True).out.splitlines()
    assert 60 < max(map(len, broken)) <= 80
    pipe = shuffledp(*ACCOUNT, "-v").out.splitlines()
    assert max(map(len, pipe)) > 400
    assert len(pipe) < len(broken)
    for table in (("plan", "task.toml", "--users", 90, "-v"), ("leakage", "task.toml", "--users", 9), (*RUN, "-v")):
        assert [line for line in shuffledp(*table).out.splitlines() if line.endswith(" ")] == []
    assert " ".join(" ".join(broken).split()) == " ".join(" ".join(pipe).split())


def test_numbers_that_do_not_fit_beside_each_other_stand_below_each_other_and_in_one_piece(narrow):
    write_task(narrow, name="a name of a task that is rather long")
    first, second, *_ = shuffledp(*RUN, "--color", "never", screen=True).out.splitlines()
    assert first == "a name of a task that is rather long   epsilon <= 0.9315   delta 1e-06"
    assert second == "200 reports, each epsilon0 = 2"


def test_there_is_color_on_a_terminal_and_wherever_it_is_asked_for(narrow, monkeypatch):
    for color, on_terminal, expected in [
        ("auto", True, True), ("auto", False, False), ("always", False, True), ("never", True, False)
    ]:  # fmt: skip
        assert ("\x1b[1m" in shuffledp(*ACCOUNT, "--color", color, screen=on_terminal).out) is expected
    red = shuffledp(*RUN, "--seed", 1, "--color", "always").out
    assert red.startswith("\x1b[1;31mWITHDRAWN: ")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31" not in shuffledp(*RUN, "--seed", 1, screen=True).out
    assert "--color" in shuffledp(*ACCOUNT, "--color", "pink").err


def test_quiet_prints_nothing_but_warnings_and_errors(narrow):
    first, again = shuffledp(*RUN, "-q", terminal=True), shuffledp(*RUN, "--quiet")
    assert (first.code, first.out, first.err) == (again.code, again.out, "") == (0, "", "")
    assert again.err.startswith("shuffledp: WARNING: out holds a release of the same task.")
    assert (narrow / "out" / "release.html").is_file()
    assert shuffledp(*ACCOUNT, "-q", "--json").json["epsilon0"] == 1
    assert "--users must be" in refused(2, "account", "--epsilon0", 1, "--users", 0, "--delta", 1e-6, "-q")
    assert "--quiet must be left out beside --verbose" in refused(2, *ACCOUNT, "-q", "-v")
    shares = task_with(randomizer=None, people={"expected": 2})
    shares["protocol"] = {"kind": "split-and-mix", "epsilon": 8.0, "lower": 0, "upper": 1}
    (narrow / "task.toml").write_text(toml(shares), encoding="utf-8")
    write_csv(narrow / "answers.csv", ["cheated"], [["0"], ["1"]])
    secret = shuffledp("randomize", "task.toml", "--input", "answers.csv", "--output", "shares.parquet", "-q")
    assert secret.out == ""
    assert secret.err.startswith("shuffledp: WARNING: shares.parquet gives every answer away")


def test_what_one_command_asks_of_the_screen_does_not_hold_for_the_next(narrow):
    before = shuffledp(*ACCOUNT).out
    assert shuffledp(*ACCOUNT, "-v").out != before
    assert screen() == Screen()
    assert shuffledp(*ACCOUNT).out == before


def test_json_says_the_same_however_much_is_printed(narrow):
    printed = [shuffledp("plan", "task.toml", "--users", 90, "--json", *more).out for more in ((), ("-v",), ("-q",))]
    assert printed[0] == printed[1] == printed[2] != ""
