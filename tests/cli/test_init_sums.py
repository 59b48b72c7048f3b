"""``init --kind sum``: which protocol, chosen by an option or at a terminal, and tasks that run on the table."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import shuffledp
from shuffledp.survey import Task


def kind_of(path):
    return Task.read(path).to_dict()["protocol"]["kind"]


def numbers(folder):
    file = folder / "answers.csv"
    file.write_text("\n".join(["minutes", *(str(each % 100) for each in range(2000))]) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", ["counted-bits", pytest.param("split-and-mix", marks=pytest.mark.deep)])
def test_the_chosen_protocol_runs_on_the_table(tmp_path, kind):
    answers, task = numbers(tmp_path), tmp_path / "task.toml"
    assert shuffledp("init", answers, "--value", "minutes", "--kind", "sum", "--sum", kind, "--output", task).code == 0
    assert kind_of(task) == kind
    done = shuffledp("run", task, "--input", answers, "--output", tmp_path / "out", "--no-figures")
    assert done.code == 0, done.err


def test_lists_give_their_number_of_coordinates_and_no_note_on_a_range(tmp_path):
    table, task = tmp_path / "lists.parquet", tmp_path / "task.toml"
    vectors = np.random.default_rng(1).normal(size=(1000, 7)) / 4
    pq.write_table(pa.table({"step": list(vectors)}), table)
    done = shuffledp("init", table, "--value", "step", "--kind", "sum", "--sum", "vector-sum", "--output", task)
    assert "lower" not in done.err
    assert Task.read(task).to_dict()["protocol"]["dimension"] == 7
    run = shuffledp("run", task, "--input", table, "--output", tmp_path / "out", "--no-figures")
    assert run.code == 0, run.err
    assert "were outside the range" in run.err  # and were shortened, and counted


def test_lists_are_summed_as_lists_and_are_no_numbers_and_no_categories(tmp_path):
    table, task = tmp_path / "lists.parquet", tmp_path / "task.toml"
    pq.write_table(pa.table({"step": [[1.0, 2.0]] * 1000}), table)
    done = shuffledp("init", table, "--value", "step", "--kind", "sum", "--output", task)
    assert (done.code, kind_of(task)) == (0, "vector-sum"), done.err
    assert "set largest_norm as it should be" in done.err
    done = shuffledp(
        "init", table, "--value", "step", "--kind", "sum", "--sum", "counted-bits", "--output", task, "--force"
    )
    assert (done.code, "must hold numbers" in done.err) == (3, True), done.err
    task.unlink()
    assert "this is a bug" not in shuffledp("init", table, "--value", "step", "--output", task).err


def test_a_script_gets_the_usual_sum_and_a_terminal_asks(tmp_path, monkeypatch):
    task = tmp_path / "task.toml"
    assert shuffledp("init", "--kind", "sum", "--output", task).code == 0
    assert kind_of(task) == "split-and-mix"
    from shuffledp.cli import init_command

    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(init_command.typer, "prompt", lambda *_, **__: "vector-sum ")
    assert init_command._sum_for("sum", None) == "vector-sum"
    assert init_command._sum_for("sum", "counted-bits") == "counted-bits"
    assert init_command._sum_for("mean", None) == "split-and-mix"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--kind", "sum", "--sum", "other"),
            "--sum must be one of split-and-mix, counted-bits, vector-sum; got 'other'",
        ),
        (("--kind", "mean", "--sum", "counted-bits"), "--sum must be left out for another kind"),
    ],
)
def test_other_sums_are_refused(tmp_path, options, words):
    done = shuffledp("init", *options, "--output", tmp_path / "task.toml")
    assert done.code != 0
    assert words in done.err
