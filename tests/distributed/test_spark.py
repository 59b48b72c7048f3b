"""A task on a session of Spark in this machine: what one machine releases, and no key in what Spark leaves behind.

Skipped, with the reason, where there is no pyspark or no Java.
"""

import base64

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import stub_pages
from distributed.tables import done_here, job_on, key_file, task_with, write_table
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError, UnsupportedModelError
from shuffledp.demo import write_survey
from shuffledp.distributed import engine, job_key, run_on, tasks
from shuffledp.distributed import run as run_frame
from shuffledp.files import is_release, stages
from shuffledp.files.table_files import table_files
from shuffledp.survey import Task

SECRET = bytes(range(100, 132))

pytestmark = pytest.mark.xdist_group("spark")  # one process, and one session, for all of them


@pytest.fixture(scope="module")
def table(place):
    return write_table(place / "answers")


def released(session, folder, task, table, **options):
    folder.mkdir()
    return run_on(session, task, table_files([table]), folder, **options)


def test_the_release_is_that_of_one_machine_and_its_words_those_of_the_kernels(session, place, table, tmp_path):
    task = task_with(people={"expected": 400})
    one, view = stages.run(task, table_files([table]), tmp_path), tmp_path / "out" / "release.parquet"
    found = released(session, tmp_path / "out", task, table, parts=3)
    assert [each.to_dict() for each in found.statements] == [each.to_dict() for each in one.statements]
    assert found.column.flow == one.column.flow
    assert found.column.model == one.column.model
    assert is_release(tmp_path / "out")
    seeded = released(session, tmp_path / "seeded", task, table, seed=7, parts=3)
    assert seeded.seeded
    with key_file(tmp_path, 7) as key:
        _, parts = done_here(job_on(tmp_path, task, table, key))
    files = {f"release.parquet/{part.name}": part.sha256 for part in parts}
    assert files.items() <= seeded.column.files.items()
    assert len(pq.read_table(view)) == 300


def test_the_survey_of_the_demonstration_is_released_as_on_one_machine(session, tmp_path):
    written, survey = write_survey(tmp_path, people=2000)
    task = Task.read(written)
    (tmp_path / "one").mkdir()
    one = stages.run(task, survey, tmp_path / "one", beside=tmp_path)
    found = released(session, tmp_path / "out", task, survey)
    assert list(found.columns) == list(one.columns)
    for name, column in found.columns.items():
        assert column.flow == one.columns[name].flow
        assert column.model == one.columns[name].model
        first, second = column.release.estimate, one.columns[name].release.estimate
        assert first.target == second.target
        errors = np.hypot(first.standard_error, second.standard_error)
        assert (abs(first.estimate - second.estimate) <= 8 * errors).all()
    assert [each.to_dict() for each in found.statements] == [each.to_dict() for each in one.statements]


def test_the_key_is_in_nothing_that_spark_writes(session, place, table, tmp_path, monkeypatch):
    monkeypatch.setattr(job_key, "_fresh_key", lambda: SECRET)
    released(session, tmp_path / "out", task_with(), table, parts=2)
    written = [path for root in (place, tmp_path) for path in root.rglob("*") if path.is_file()]
    assert any(path.parent.name.startswith("eventlog") or "events" in str(path) for path in written)
    forms = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), repr(SECRET).encode())
    assert [path for path in written if any(form in path.read_bytes() for form in forms)] == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_does_not_fit_is_refused_without_it_and_releases_nothing(session, table, tmp_path, monkeypatch):
    with pytest.raises(BatchTooSmallError, match="got 300"):
        released(session, tmp_path / "few", task_with(release={"delta": 1e-6, "minimum_batch": 301}), table)
    other = write_table(tmp_path / "other")
    changed = pq.read_table(other / "p1.parquet").set_column(0, "answer", [["SECRET"] + ["No"] * 99])
    pq.write_table(changed, other / "p1.parquet")
    with pytest.raises(InputDataError, match=r"answers are something else: row .*\(in .*parquet") as caught:
        released(session, tmp_path / "wrong", task_with(), other)
    assert "SECRET" not in str(caught.value)
    assert not (tmp_path / "wrong" / "statement.json").exists()


def test_a_table_in_a_frame_is_released_as_one_in_files(session, table, tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    frame = session.read.parquet(str(table))
    outcome = run_frame(task_with(), frame.where("number >= 50"), tmp_path / "out")
    assert outcome.column.flow.received == 250
    assert (tmp_path / "out" / "release.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def failing_once(made):
    """A kind of task whose first attempts do all their work, and then fail."""

    def kind(job):
        task = made(job)

        def failing(batches):
            from pyspark import TaskContext

            yield from task(batches)
            if TaskContext.get().attemptNumber() == 0:
                raise OSError(28, "SECRET")

        return failing

    return kind


def test_tasks_that_run_twice_draw_the_same_words_and_release_the_same(session, table, tmp_path, monkeypatch):
    once = released(session, tmp_path / "once", task_with(), table, seed=7, parts=2)
    for name in ("of_shares", "of_parts"):
        monkeypatch.setattr(tasks, name, failing_once(getattr(tasks, name)))
    twice = released(session, tmp_path / "twice", task_with(), table, seed=7, parts=2)
    parts = [name for name in once.column.files if "part-" in name]
    assert len(parts) == 2
    assert [twice.column.files[name] for name in parts] == [once.column.files[name] for name in parts]
    assert twice.column.release.num_reports == 300


def test_an_input_that_changes_under_the_job_is_refused(session, tmp_path, monkeypatch):
    other, done_by = write_table(tmp_path / "other"), engine.done_by

    def changing(*job):
        found = done_by(*job)
        (other / "p0.parquet").write_bytes((other / "p0.parquet").read_bytes() + b"x")
        return found

    monkeypatch.setattr(engine, "done_by", changing)
    with pytest.raises(InputDataError, match=r"p0\.parquet must stay as it is while it is read; it has changed\."):
        released(session, tmp_path / "out", task_with(), other)
    assert not (tmp_path / "out" / "statement.json").exists()


NEAR = {"public": ["number", "place"], "groups": {"columns": ["number"], "radius": 2.0}}


@pytest.mark.parametrize(
    "changes",
    [
        {**NEAR, "shuffler": {"kind": "mallows", "alpha": 4.0}},
        {"by": "place"},
    ],
    ids=["near", "inside"],
)
def test_orders_that_are_more_than_chance_are_released_as_on_one_machine(session, table, tmp_path, changes):
    task, whole = task_with(**changes), tmp_path / "one"
    whole.mkdir()
    one = stages.run(task, table_files([table]), whole)
    found = released(session, tmp_path / "out", task, table, parts=4)
    assert [each.to_dict() for each in found.statements] == [each.to_dict() for each in one.statements]
    assert found.column.flow == one.column.flow
    assert found.column.model == one.column.model
    each, other = found.column.shuffle_result, one.column.shuffle_result
    assert type(each) is type(other) is not type(None)
    assert each.estimate.where == other.estimate.where
    assert each.estimate.target == other.estimate.target
    errors = np.hypot(each.estimate.standard_error, other.estimate.standard_error)
    assert (abs(each.estimate.estimate - other.estimate.estimate) <= 8 * errors).all()
    assert each.people.tolist() == other.people.tolist()
    assert getattr(each, "mixing", None) == getattr(other, "mixing", None)
    assert is_release(tmp_path / "out")
    parts = tmp_path / "out" / "release.parquet"
    assert len(list(parts.glob("part-*"))) == 4
    assert pq.read_table(parts)["label"].to_pylist() == pq.read_table(whole / "release.parquet")["label"].to_pylist()
    labels = "release.labels.parquet"
    assert pq.read_table(tmp_path / "out" / labels) == pq.read_table(whole / labels)
    (tmp_path / "again").mkdir()
    again = stages.analyze(task, parts, tmp_path / "again")
    assert again.column.release.estimate.estimate.tolist() == found.column.release.estimate.estimate.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "one", "out"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"shuffler": {"kind": "none"}}, "'none'"),
        ({"shuffler": {"kind": "imperfect", "imperfection": 1.0}}, "'imperfect'"),
        ({"shuffler": {"kind": "mallows", "alpha": 1.0}, "groups": {"lists": "l.csv"}}, "lists = 'l.csv'"),
        ({"shuffler": {"kind": "network", "rounds": 5, "graph": "g.csv"}}, "'network'"),
    ],
)
def test_what_one_machine_does_alone_is_refused_by_name(table, tmp_path, changes, named):
    with pytest.raises(UnsupportedModelError, match=named):
        released(None, tmp_path / "out", task_with(**changes), table)


@pytest.mark.parametrize("answers", [pa.table({"answer": ["a"]}), [pa.table({"answer": ["a"]})], 5])
def test_answers_that_are_neither_a_frame_nor_files_are_refused(tmp_path, answers):
    with pytest.raises(InvalidParameterError, match=r"answers must be a data frame of Spark, or the path of a file"):
        run_frame(task_with(), answers, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
