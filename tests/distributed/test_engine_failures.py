"""What may go wrong under a job, and sessions that others set up: the same release, or one line and nothing left."""

import subprocess
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, write_task
from distributed.tables import ANSWERS, task_with, write_table
from shuffledp.core.errors import InputDataError
from shuffledp.distributed import engine, engine_stages, randomize_on, run_on, shares, shuffle_on
from shuffledp.files.table_files import table_files

pytestmark = pytest.mark.xdist_group("spark")  # one process, and one session, for all of them

# What is set in sessions of others, and changes how Spark hands rows on; none of it is ours to set.
SETTINGS = {
    "a row at a time, in other types": {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "false",
    },
    "parts divided and joined": {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.shuffle.partitions": "50",
    },
}


@pytest.fixture
def skewed(tmp_path, monkeypatch):
    """A table of three files: of no row, one, and 2000 in one row group."""
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 1)
    folder = tmp_path / "answers"
    folder.mkdir()
    for file, rows in enumerate((0, 1, 2000)):
        answers = pa.array([ANSWERS[row % 3] for row in range(rows)], pa.string())
        pq.write_table(pa.table({"answer": answers}), folder / f"p{file}.parquet")
    return table_files([folder])


def new(path):
    path.mkdir()
    return path


def digests(outcome) -> dict[str, str]:
    return {name: sha256 for name, sha256 in outcome.column.files.items() if "part-" in name}


@pytest.fixture(scope="module")
def usual():
    return {}


@pytest.mark.parametrize("named", SETTINGS)
def test_whatever_a_session_is_set_to_the_parts_are_the_same(session, skewed, tmp_path, usual, named):
    if not usual:
        usual.update(digests(run_on(session, task_with(), skewed, new(tmp_path / "usual"), seed=7, parts=5)))
    other = session.newSession()
    for name, value in SETTINGS[named].items():
        other.conf.set(name, value)
    found = run_on(other, task_with(), skewed, new(tmp_path / "out"), seed=7, parts=5)
    assert digests(found) == usual
    assert len(usual) == 5
    assert found.column.flow.received == 2001


@pytest.mark.parametrize("parts", [1, 30])
def test_one_part_and_parts_that_stay_empty_hold_everybody_once(session, tmp_path, parts):
    table = write_table(tmp_path / "answers", files=2, rows=5, groups=1)
    found = run_on(session, task_with(), table_files([table]), new(tmp_path / "out"), parts=parts)
    assert found.column.flow.released == len(pq.read_table(tmp_path / "out" / "release.parquet")) == 10
    assert len(digests(found)) <= min(parts, 10)


@contextmanager
def small_disk(folder):
    """A disk of 256 KiB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "shuffledp-test", str(new(folder))]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("command", ["randomize", "run"])
def test_a_disk_that_is_full_while_parts_are_written_is_said_and_left_as_it_was(
    session, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    categories = [f"c{number}" for number in range(200)]
    write_task(tmp_path, randomizer={"kind": "oue", "epsilon0": 1.0, "categories": categories})
    pq.write_table(pa.table({"cheated": categories * 200}), "answers.parquet")  # reports of 25 random bytes each
    with small_disk(tmp_path / "disk") as disk:
        line = refused(
            2, command, "task.toml", "--input", "answers.parquet", "--output", disk / "out", "--engine", "spark"
        )
        assert "a worker failed: No space left on device" in line
        assert list(disk.iterdir()) == []


def test_reports_that_change_under_the_job_are_refused(session, tmp_path, monkeypatch):
    table, reports, done_by = write_table(tmp_path / "answers"), new(tmp_path / "reports"), engine_stages.done_by
    randomize_on(session, task_with(), table_files([table]), reports)

    def changing(*job):
        found = done_by(*job)
        part = reports / "part-00000.parquet"
        part.write_bytes(part.read_bytes() + b"x")
        return found

    monkeypatch.setattr(engine_stages, "done_by", changing)
    with pytest.raises(
        InputDataError, match=r"part-00000\.parquet must stay as it is while it is read; it has changed\."
    ):
        shuffle_on(session, task_with(), reports, new(tmp_path / "view"))
    assert not (tmp_path / "view" / "_parts.json").exists()


@pytest.mark.parametrize(("module", "stage"), [(engine, run_on), (engine_stages, randomize_on)])
def test_the_rows_of_a_table_are_divided_after_its_digests_are_taken(tmp_path, monkeypatch, module, stage):
    table, divided = write_table(tmp_path / "answers", files=1, groups=1) / "p0.parquet", []

    @contextmanager
    def digested(*_):
        pq.write_table(pa.concat_tables([pq.read_table(table)] * 2), table, row_group_size=100)  # another file by then
        yield lambda *_, **told: divided.append(told["shares"])

    monkeypatch.setattr(module, "unchanged", digested)
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 1)
    monkeypatch.setattr(module, "done_by", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stage(None, task_with(), table, new(tmp_path / "out"))
    assert [len(each) for each in divided] == [2]
