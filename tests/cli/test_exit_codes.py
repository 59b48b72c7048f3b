"""Commands that go wrong: the exit code, one line on the error stream, and nothing left behind."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import COMMANDS, refused, shuffledp, task_with, toml, write_answers, write_task
from shuffledp import cli
from shuffledp.documents import page
from shuffledp.files.parquet import read_facts


def test_a_negative_seed_is_refused(folder):
    assert "--seed must be an integer that is 0 or more; got -1." in refused(
        2, "run", "task.toml", "--input", "answers.csv", "--output", "out", "--seed", -1
    )
    assert not (folder / "out").exists()


# ---- exit codes -----------------------------------------------------------------------------------------------------

WRITTEN = "reports and views are written in no other format; got "
NO_TASK = [
    ("absent.toml", "the task file must be readable; got absent.toml: No such file or directory"),
    (".", "the task file must be readable; got .: Is a directory"),
    ("answers.csv", "the task file must be TOML; got answers.csv"),
    ("wrong.toml", "[randomizer] must have only the keys "),
]


@pytest.mark.parametrize("command", COMMANDS[:-1])
@pytest.mark.parametrize(("task", "message"), NO_TASK)
def test_a_task_that_is_none_is_exit_code_2(folder, command, task, message):
    (folder / "wrong.toml").write_text(toml(task_with(randomizer={"espilon": 1})))
    before = set(folder.iterdir())
    assert message in refused(2, command, task, "--input", "answers.csv", "--output", "out")
    assert set(folder.iterdir()) == before


NO_INPUT = [
    ("run", 2, "absent.csv", "there is no such file"),
    ("run", 2, ".", "must be a folder of files alone"),
    ("run", 3, "empty.csv", "is empty"),
    ("run", 3, "task.toml", "it lacks 'cheated'"),
    ("randomize", 3, "damaged.parquet", "not a whole Parquet file"),
    ("shuffle", 3, "answers.csv", "not a whole Parquet file"),
    ("shuffle", 2, "absent.parquet", "there is no such file"),
    ("analyze", 3, "damaged.parquet", "not a whole Parquet file"),
    ("analyze", 2, ".", "it is not a file"),
]


@pytest.mark.parametrize(("command", "code", "source", "message"), NO_INPUT)
def test_input_that_cannot_be_used_stops_the_command(folder, command, code, source, message):
    (folder / "empty.csv").touch()
    (folder / "damaged.parquet").write_bytes(b"PAR1 and no more")
    before = set(folder.iterdir())
    assert message in refused(code, command, "task.toml", "--input", source, "--output", "new/out")
    assert set(folder.iterdir()) == before


PIPES = [
    ("account", "pipe"),
    ("plan", "pipe"),
    ("run", "pipe", "--input", "answers.csv", "--output", "out"),
    ("run", "task.toml", "--input", "pipe", "--output", "out"),
    ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--earlier", "pipe"),
    ("plan", "task.toml", "--users", "100", "--earlier", "pipe"),
    ("plan", "graph.toml"),
    ("account", "--channel", "pipe", "--users", "10", "--delta", "1e-6"),
    ("leakage", "--users", "10", "--categories", "2", "--epsilon0", "1", "--gain", "pipe"),
    ("graph", "inspect", "pipe"),
    ("audit", "task.toml", "--users", "100", "--output", "pipe.html", "--force"),
]


@pytest.fixture
def no_waiting():
    """Whatever waits for a pipe in which nobody writes is interrupted."""

    def interrupt(*_):
        pytest.fail("it waited")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(30)  # a busy machine takes seconds to import what an audit needs; a pipe would wait for ever
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("arguments", PIPES, ids=" ".join)
def test_a_pipe_is_refused_wherever_a_file_is_expected(folder, no_waiting, arguments):
    for name in ("pipe", "pipe.html"):
        os.mkfifo(folder / name)
    (folder / "graph.toml").write_text(toml(task_with(shuffler={"kind": "network", "graph": "pipe"})))
    before = set(folder.iterdir())
    assert "pipe" in refused(3 if arguments[0] == "graph" else 2, *arguments)
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("arguments", [each for each in PIPES if "--force" not in each], ids=" ".join)
def test_a_file_that_may_not_be_read_is_refused_in_a_line(folder, monkeypatch, arguments):
    (folder / "pipe").write_text("0,1\n")
    (folder / "graph.toml").write_text(toml(task_with(shuffler={"kind": "network", "graph": "pipe"})))
    opened = type(folder).open

    def may_not(path, *rest, **options):
        if path.name == "pipe":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, *rest, **options)

    monkeypatch.setattr(type(folder), "open", may_not)  # the tests may run as root, who may read everything
    monkeypatch.setattr(os, "access", lambda path, *_, **__: path != "pipe")
    text = refused(3 if arguments[0] == "graph" else 2, *arguments)
    assert "pipe" in text
    assert "Permission denied" in text


@pytest.mark.parametrize(
    ("arguments", "size"), [(PIPES[0], 1 << 26), (PIPES[1], 1 << 26), (PIPES[4], 1 << 30), (PIPES[7], 1 << 26)]
)
def test_a_file_of_senseless_size_is_refused_unread(folder, no_waiting, arguments, size):
    with (folder / "pipe").open("wb") as file:
        file.truncate(size + 1)  # of which nothing is on the disk
    assert f"it is larger than {size >> 20} MiB" in refused(2, *arguments)


@pytest.mark.parametrize("command", ["randomize", "shuffle"])
@pytest.mark.parametrize("name", ["r.csv", "r.CSV.gz", "r.json", "r.parquet.txt"])
def test_no_file_gets_a_name_that_promises_another_format(folder, command, name):
    text = refused(2, command, "task.toml", "--input", "answers.csv", "--output", name, "--force")
    assert f"output must be the name of a Parquet file, such as reports.parquet: {WRITTEN}{name!r}.\n" in text
    assert not (folder / name).exists()


@pytest.mark.parametrize("command", ["run", "shuffle", "analyze"])
def test_a_batch_that_is_too_small_is_exit_code_4_and_nothing_is_released(folder, command, monkeypatch):
    write_task(folder, release={"minimum_batch": 201})
    with monkeypatch.context() as careless:
        careless.setattr("shuffledp.survey.columns.Column.require_batch", lambda *_: None)
        for stage, source, target in (("randomize", "answers.csv", "r.parquet"), ("shuffle", "r.parquet", "v.parquet")):
            assert shuffledp(stage, "task.toml", "--input", source, "--output", target).code == 0
    source = {"run": "answers.csv", "shuffle": "r.parquet", "analyze": "v.parquet"}[command]
    before = set(folder.iterdir())
    text = refused(4, command, "task.toml", "--input", source, "--output", "out")
    assert (
        "a release needs at least minimum_batch = 201 reports of column 'cheated'; got 200. Nothing was released."
        in text
    )
    assert set(folder.iterdir()) == before


def test_answers_that_do_not_fit_are_exit_code_3(folder):
    write_answers(folder, ["No", "Perhaps", "Yes", ""])
    text = refused(3, "run", "task.toml", "--input", "answers.csv", "--output", "out")
    assert "1 of 4 answers are something else: row 2 (counted from 1, without the header)." in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("ruin",),
        ("run",),
        ("run", "task.toml", "--input", "answers.csv"),
        ("run", "task.toml", "--output", "out"),
        ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--seed", "x"),
        ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--seed", "9" * 5000),
        ("run", "task.toml", "--input", "answers.csv", "--output", "out", "--sede", "1"),
        ("analyze", "task.toml", "--input", "answers.csv", "--output", "out", "--seed", "1"),
        ("demo", "--output", "out", "--people", "many"),
    ],
    ids=str,
)
def test_a_command_that_is_none_is_exit_code_2_with_the_usage(folder, arguments):
    before = set(folder.iterdir())
    result = shuffledp(*arguments)
    assert result.code == 2
    assert "Usage:" in result.out + result.err
    assert "Traceback" not in result.err
    assert set(folder.iterdir()) == before


def test_no_command_at_all_shows_the_usage():
    result = shuffledp()
    assert result.code in (0, 2)  # as the parser of arguments has it, which changed its mind
    assert "Usage:" in result.out + result.err


# ---- printing -------------------------------------------------------------------------------------------------------


class Full(io.StringIO):
    """A stream that takes nothing."""

    def write(self, *_):
        raise OSError(errno.ENOSPC, "SECRET")


def ended(monkeypatch, *arguments) -> object:
    """The exit code of a command whose output nobody takes, or whose errors nobody hears."""
    monkeypatch.setattr(sys, "argv", ["shuffledp", *arguments])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    return ending.value.code


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_output_that_nobody_can_take_is_said_in_a_line_and_the_files_are_there(folder, monkeypatch, capsys, json):
    monkeypatch.setattr(sys, "stdout", Full())
    command = ["randomize", "task.toml", "--input", "answers.csv", "--output", "r.parquet", *json]
    assert ended(monkeypatch, *command) == 1
    text = capsys.readouterr().err
    assert text.startswith("shuffledp: printing, or reading, failed: No space left on device (OSError at ")
    assert text.endswith("Outputs that are in their place are whole.\n")
    assert text.count("\n") == 1
    assert read_facts(folder / "r.parquet").content == "reports"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_nothing_is_said_about_it_once_more_at_the_end():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "shuffledp", "--version"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_an_error_that_nobody_can_hear_still_has_its_exit_code(folder, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Full())
    assert ended(monkeypatch, "account", "absent.toml") == 2


# ---- what should never happen ---------------------------------------------------------------------------------------


def test_an_unexpected_error_shows_its_place_and_neither_text_nor_values(folder, monkeypatch):
    def broken(*_, **__):
        secret = "SECRET-ANSWER-42"  # noqa: S105
        raise KeyError(secret)

    monkeypatch.setattr(page, "write_page", broken)
    text = refused(1, "run", "task.toml", "--input", "answers.csv", "--output", "out")
    assert re.search(r"this is a bug, please report it: KeyError at documents/release_document\.py:\d+", text)
    assert "SECRET" not in text
    assert not (folder / "out").exists()


def test_too_little_memory_is_said_in_a_line(folder, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError("SECRET")

    monkeypatch.setattr(page, "write_page", greedy)
    text = refused(1, "run", "task.toml", "--input", "answers.csv", "--output", "out")
    assert text == "shuffledp: there is not enough memory for this.\n"


@pytest.mark.parametrize("missing", [["pyarrow"], ["typer", "rich"], ["matplotlib", "jinja2"]])
def test_without_the_extra_a_line_says_what_to_install(monkeypatch, missing):
    find = cli.importlib.util.find_spec
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    monkeypatch.setattr(sys, "argv", ["shuffledp", "demo"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    needed = ", ".join(missing)
    # A text as exit code is printed to the error stream, and the code is 1.
    assert ended.value.code == (
        f'shuffledp: the command line needs {needed}; install it with: pip install "shuffledp[cli]" '
        '(in a source checkout: pip install ".[cli]")'
    )
