"""What people expect of every command line: -h, completion, numbers as they are typed, standard input, no pictures."""

import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, task_with, toml, write_csv, write_task
from shuffledp.core.errors import InputDataError
from shuffledp.files import reading

ACCOUNT = ("account", "--epsilon0", 1, "--delta", 1e-6)
RUN = ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--force")
PIPED = ("run", "task.toml", "--input", "-", "--output", "piped")
COMMANDS = ("plan", "run", "randomize", "shuffle", "analyze", "account", "calibrate", "leakage", "audit", "demo")


@pytest.mark.parametrize("command", [(), ("graph",), ("graph", "inspect"), *((each,) for each in COMMANDS)])
def test_help_has_a_short_name(command):
    long, short = shuffledp(*command, "--help"), shuffledp(*command, "-h")
    assert (short.code, short.out) == (0, long.out)
    assert "-h, --help" in short.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_for_every_shell(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # the shell is named, and not looked for
    program = "from shuffledp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--show-completion", shell], capture_output=True, text=True, check=True
    )
    assert "COMPLETE=complete_" in done.stdout


def test_names_of_commands_are_completed(monkeypatch):
    monkeypatch.setenv("_SHUFFLEDP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "shuffledp acc")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert shuffledp().out.split() == ["account"]


@pytest.mark.parametrize("typed", ["1e4", "10_000", "10000.0", "1E+4"])
def test_whole_numbers_are_taken_as_they_are_typed(typed):
    assert shuffledp(*ACCOUNT, "--users", typed).out == shuffledp(*ACCOUNT, "--users", 10_000).out


@pytest.mark.parametrize("typed", ["1.5", "many", "inf", "nan", "1e9999", "1e-200", ""])
def test_other_numbers_are_refused_with_what_would_be_one(typed):
    result = shuffledp(*ACCOUNT, "--users", typed)
    assert (result.code, result.out) == (2, "")
    assert f"{typed!r} is not a whole number, such as 10000, 10_000 or 1e4." in result.err


def test_people_of_the_demo_are_counted_in_its_range(folder):
    for people in ("99", "1e8"):
        line = refused(2, "demo", "--people", people, "--output", "made")
        assert "--people must be from 100 to 10,000,000; got " in line


def pipe(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_answers_may_come_from_a_pipe_and_are_never_on_a_disk(folder, monkeypatch):
    content = (folder / "answers.csv").read_bytes()
    assert shuffledp(*RUN, "--seed", 1).code == 0
    (folder / "answers.csv").unlink()
    pipe(monkeypatch, content)
    assert shuffledp(*PIPED, "--seed", 1).code == 0
    same = [json.loads((folder / name / "statement.json").read_text())["estimates"] for name in ("out", "piped")]
    assert same[0] == same[1]
    pipe(monkeypatch, content)
    made = shuffledp("randomize", "task.toml", "--input", "-", "--output", "reports.parquet", "--seed", 1)
    assert made.out.startswith("200 reports randomized: reports.parquet.")
    assert not any(content[:40] in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_several_columns_are_read_from_one_pipe(folder, monkeypatch):
    kind = '{kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}'
    head = toml(task_with(value=None, randomizer=None, release=None))
    blocks = "".join(f'[[value]]\ncolumn = "{name}"\nrandomizer = {kind}\n' for name in ("one", "two"))
    (folder / "task.toml").write_text(f"{head}{blocks}[release]\ndelta = 1e-6\n", encoding="utf-8")
    pipe(monkeypatch, b"one,two\r\n" + b"No,Yes\r\n" * 30)
    assert "2 columns, together epsilon0 = 2" in shuffledp(*PIPED).out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "standard input is empty: it has no rows"),
        (b"other\nNo\n", "standard input must have each column that the task names once"),
        (b"cheated\nNo\nsecret\n", "column 'cheated' must"),
        (b"cheated\n\xff\xfe\n", "standard input cannot be read: it holds bytes that are not UTF-8 text; save it"),
        (b'cheated\n"No\n', "standard input cannot be read: a quotation mark in it is never closed."),
        (b"cheated\n" + b"No\n" * 400, "standard input must be at most 0 MiB, since all of it is held in memory"),
    ],
    ids=["empty", "column", "answer", "bytes", "quotes", "too much"],
)
def test_what_is_wrong_with_a_pipe_is_said_without_its_rows(folder, monkeypatch, content, reason):
    monkeypatch.setattr(reading, "_MOST_HELD", 1000)
    pipe(monkeypatch, content)
    result = shuffledp(*PIPED)
    assert result.code in (2, 3)
    assert reason in result.err
    assert "secret" not in result.err
    assert not (folder / "piped").exists()


def test_no_more_is_taken_from_a_pipe_than_is_held(monkeypatch):
    monkeypatch.setattr(reading, "_MOST_HELD", 1000)
    endless = io.BytesIO(b"No\n" * 10_000)
    with pytest.raises(InputDataError, match="at most 0 MiB"):
        reading.CsvInMemory.of(endless)
    assert endless.tell() == 1001


def test_a_parquet_file_in_a_pipe_is_refused_with_the_way_out(folder, monkeypatch):
    file = io.BytesIO()
    pq.write_table(pa.table({"cheated": ["No", "Yes"]}), file)
    pipe(monkeypatch, file.getvalue())
    assert "it is a Parquet file, which must be given by its name." in refused(3, *PIPED)


def test_a_page_without_pictures_says_nothing_of_them(folder, real_page):
    write_task(folder, randomizer={"epsilon0": 1.0})
    write_csv(folder / "answers.csv", ["cheated"], [["No"], ["Yes"]] * 100)
    assert shuffledp(*RUN, "--no-figures").code == 0
    page = (folder / "out" / "release.html").read_text(encoding="utf-8")
    assert "<figure" not in page
    assert "<svg" not in page
    assert ".svg" not in page
    assert "Table of estimates" in page
    names = {"release.html", "estimates.csv", "statement.json", "release.parquet"}
    assert {file.name for file in (folder / "out").iterdir()} == names


@pytest.mark.parametrize("arguments", [RUN, ("analyze", *RUN[1:]), ("demo",)], ids=lambda each: each[0])
def test_a_picture_has_one_form_and_no_option_asks_for_another(folder, arguments):
    done = shuffledp(*arguments, "--png")
    assert (done.code, "No such option: --png" in done.err) == (2, True)


def test_a_standard_input_that_is_closed_is_said_to_be(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "--input must be a table where standard input is closed" in refused(
        2, "run", "task.toml", "--input", "-", "--output", "out"
    )
