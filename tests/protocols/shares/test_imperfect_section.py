"""The section of imperfect shufflers: its keys, its errors, and a task run through all stages."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, task_with, write_answers, write_csv, write_task
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler, DelayShuffler
from shuffledp.survey import Task
from shuffledp.survey.shuffler_section import ShufflerSection


def section(**keys):
    return ShufflerSection.from_dict({"kind": "imperfect", **keys})


def test_its_keys_are_those_of_the_shuffler():
    assert section(imperfection=0.5).shuffler() == CayleyShuffler(imperfection=0.5)
    delays = section(imperfection=2.0, construction="delay", offsets=[0.0, 1.0]).shuffler()
    assert isinstance(delays, DelayShuffler)
    assert delays.offsets.tolist() == [0.0, 1.0]
    assert not section(imperfection=0.5).keeps_public
    assert ShufflerSection.from_dict(section(imperfection=0.5).to_dict()) == section(imperfection=0.5)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "must have the key 'imperfection'"),
        ({"imperfection": -1}, "imperfection must be a number that is 0 or more"),
        ({"imperfection": "inf"}, "imperfection must be finite"),
        ({"imperfection": 1, "construction": "assumed"}, "construction must be one of 'cayley', 'delay'"),
        ({"imperfection": 1, "offsets": [0.5]}, "offsets must be None unless construction is 'delay'"),
        ({"imperfection": 1, "construction": "delay", "offsets": [2.0]}, r"offsets\[0\] is not"),
        ({"imperfection": 1, "gamma": 1}, "must have only the keys"),
    ],
)
def test_what_it_does_not_know_is_refused_with_the_name_of_the_table(keys, message):
    with pytest.raises(InvalidParameterError, match=message) as found:
        section(**keys)
    assert str(found.value).startswith("[shuffler]")


def test_a_task_states_gamma_on_top_of_the_uniform_shuffle():
    imperfect, uniform = (
        Task.from_dict(task_with(shuffler=shuffler)).column.model(1000)
        for shuffler in ({"kind": "imperfect", "imperfection": 0.25}, {"kind": "uniform"})
    )
    assert imperfect.local == uniform.local
    assert imperfect.shuffle.imperfection == 0.25


def test_all_stages_take_it_and_the_page_says_what_the_order_tells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_answers(tmp_path, ["No", "Yes"] * 300)
    write_task(tmp_path, public=["other"], shuffler={"kind": "imperfect", "imperfection": 0.25})
    stages = (
        ("randomize", "answers.csv", "reports.parquet"),
        ("shuffle", "reports.parquet", "view.parquet"),
        ("analyze", "view.parquet", "out"),
    )
    for stage, given, made in stages:
        result = shuffledp(stage, "task.toml", "--input", given, "--output", made, "-v")
        assert (result.code, result.err) == (0, ""), stage
    text = " ".join(result.out.split())
    assert "gamma = 0.25 is a promise about the shuffler: nothing here measures it" in text
    assert "The reports are released in the order in which the shuffler put them out." in text
    page = (tmp_path / "out" / "release.html").read_text(encoding="utf-8")
    assert "by an imperfect shuffle" in page
    assert "The order of the released reports is not quite uniform" in page
    assert "in the order in which the shuffler put them out" in page


# ---- offsets, row by row --------------------------------------------------------------------------------------------

ANSWERS = ["a", "b", "", "c", "d", "", "e", "f"]
OFFSETS = [0.7, 0.6, 0.0, 0.5, 0.4, 1.0, 0.3, 0.2]  # without noise, those who answered come out in the reverse order
STAGES = (("randomize", "answers.csv", "reports.parquet"), ("shuffle", "reports.parquet", "view.parquet"))


def write_late(folder, *, answers=ANSWERS, offsets=OFFSETS, **changes):
    """A task whose randomizer and shuffler hardly draw anything: nearly what was answered, in order of arrival."""
    randomizer = {"kind": "k-rr", "epsilon0": 30.0, "categories": ["a", "b", "c", "d", "e", "f"]}
    shuffler = {"kind": "imperfect", "imperfection": 1e9, "construction": "delay", "offsets": offsets}
    write_task(folder, missing="drop", shuffler=shuffler, randomizer=randomizer, **changes)
    write_answers(folder, answers)


def test_rows_without_an_answer_take_their_offsets_with_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_late(tmp_path)
    for stage, given, made in STAGES:
        assert (result := shuffledp(stage, "task.toml", "--input", given, "--output", made)).code == 0, result.err
    assert pq.read_table("view.parquet").column("value").to_pylist() == ["f", "e", "d", "c", "b", "a"]
    assert shuffledp("analyze", "task.toml", "--input", "view.parquet", "--output", "one").code == 0
    assert shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "two").code == 0
    for folder in ("one", "two"):
        released = pq.read_table(f"{folder}/release.parquet")
        assert released.column("value").to_pylist() == ["f", "e", "d", "c", "b", "a"]
        assert sorted(released.column_names) == ["label", "value"], "rows are not released"


@pytest.mark.parametrize("answers", [ANSWERS[:-1], [*ANSWERS, "a"]])
def test_another_number_of_rows_is_refused(tmp_path, monkeypatch, answers):
    monkeypatch.chdir(tmp_path)
    write_late(tmp_path, answers=answers)
    for stage in ("run", "randomize"):
        error = refused(3, stage, "task.toml", "--input", "answers.csv", "--output", "out")
        assert f"a row for each of the 8 offsets in the task's [shuffler]; it has {len(answers)}" in error


@pytest.mark.parametrize("rows", [[0, 1, 3, 4, 6, 8], [0, 1, 3, 3, 6, 7], [-1, 1, 3, 4, 6, 7]])
def test_rows_that_cannot_be_are_refused(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    write_late(tmp_path)
    assert shuffledp("randomize", "task.toml", "--input", "answers.csv", "--output", "reports.parquet").code == 0
    table = pq.read_table("reports.parquet")
    table = table.set_column(table.column_names.index("public:row"), "public:row", pa.array(rows))
    pq.write_table(table.replace_schema_metadata(pq.read_metadata("reports.parquet").metadata), "reports.parquet")
    error = refused(3, "shuffle", "task.toml", "--input", "reports.parquet", "--output", "view.parquet")
    assert "must be those of rows 0 to 7 of the input, in order" in error


def test_every_round_of_several_messages_has_the_offsets_of_those_who_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = []
    draw = DelayShuffler.draw
    monkeypatch.setattr(DelayShuffler, "draw", lambda self, *a, **k: taken.append(self.offsets) or draw(self, *a, **k))
    answers = ["" if row % 10 == 3 else row % 7 for row in range(200)]
    offsets = [row / 200 for row in range(200)]
    write_csv(tmp_path / "answers.csv", ["cheated"], [[answer] for answer in answers])
    protocol = {"kind": "split-and-mix", "epsilon": 20.0, "lower": 0, "upper": 10, "dropout_fraction": 0.1}
    shuffler = {"kind": "imperfect", "imperfection": 0.5, "construction": "delay", "offsets": offsets}
    people = {"expected": 200}
    write_task(tmp_path, missing="drop", randomizer=None, protocol=protocol, shuffler=shuffler, people=people)
    (tmp_path / "task.toml").write_text((tmp_path / "task.toml").read_text().replace("[randomizer]\n", ""))
    assert (result := shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out")).code == 0, result.err
    for stage, given, made in STAGES:
        assert (result := shuffledp(stage, "task.toml", "--input", given, "--output", made)).code == 0, result.err
    model = json.loads((tmp_path / "out" / "statement.json").read_text())["model"]
    assert len(taken) == 2 * model["shuffle"]["num_rounds"]
    kept = [offset for offset, answer in zip(offsets, answers, strict=True) if answer != ""]
    assert all(np.array_equal(each, kept) for each in taken)


@pytest.mark.parametrize(("expected", "missing"), [(9, "drop"), (9, "refuse"), (7, "refuse")])
def test_a_plan_needs_an_offset_for_each_row(tmp_path, monkeypatch, expected, missing):
    monkeypatch.chdir(tmp_path)
    write_late(tmp_path, people={"expected": expected})
    text = (tmp_path / "task.toml").read_text().replace('missing = "drop"', f'missing = "{missing}"')
    (tmp_path / "task.toml").write_text(text)
    error = refused(2, "plan", "task.toml")
    assert "[shuffler] offsets must be one for each row of the input" in error
    assert f"num_users={expected}" in error
    rows = "7" if missing == "drop" else "8"
    assert shuffledp("plan", "task.toml", "--users", rows).code == 0
