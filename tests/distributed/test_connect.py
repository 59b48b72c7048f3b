"""Spark Connect (`SPARK_REMOTE`, Databricks Connect), and workers without Python, in processes of their own.

Each starts a server of Spark or a session: in the deep tier only.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.running import write_task
from distributed.tables import ANSWERS, write_table
from shuffledp.core.errors import ShuffleDPError
from shuffledp.distributed.session import require_spark

try:
    require_spark()
except ShuffleDPError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.deep
ROOT = Path(__file__).parents[2]
HERE = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PYSPARK_PYTHON": sys.executable}
needs_connect = pytest.mark.skipif(
    not all(map(find_spec, ("grpc", "grpc_status", "google", "zstandard"))), reason='needs "pyspark[connect]"'
)

PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from distributed.tables import task_with
from shuffledp.core.errors import EngineError
from shuffledp.distributed import run, run_on, tasks
from shuffledp.files.table_files import table_files

place = Path(sys.argv[1])
session = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(session).__module__
(place / "files").mkdir()
(place / "none").mkdir()
files = table_files([place / "answers"])
outcome = run_on(session, task_with(), files, place / "files", seed=7, parts=3)
print(outcome.column.flow.released, len([name for name in outcome.column.files if "part-" in name]))
frame = session.read.parquet(str(place / "answers"))
print(run(task_with(), frame.where("number >= 50"), place / "frame").column.flow.received)

def failing(job):
    def task(batches):
        raise EngineError("a worker failed: No space left on device.")
        yield
    return task

tasks.of_parts = failing
try:
    run_on(session, task_with(), files, place / "none")
except EngineError as error:
    print(error)
session.stop()
"""


def program(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | HERE | environment,
        timeout=500,
    )


@needs_connect
def test_a_session_of_spark_connect_releases_files_and_frames(tmp_path):
    write_table(tmp_path / "answers")
    done = program("-c", PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    said = "Spark stopped the job: a worker failed: No space left on device. Nothing was released."
    assert done.stdout.splitlines() == ["300 3", "250", said]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "files", "frame", "none"]


def command(folder, **environment):
    options = ("--input", folder / "answers", "--engine", "spark", "--output", folder / "out", "--no-figures", "--json")
    return program("-m", "shuffledp", "run", folder / "task.toml", *options, **environment)


@pytest.fixture
def place(tmp_path):
    categories = {"value": "answer", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": list(ANSWERS)}}
    write_task(tmp_path, **categories)
    write_table(tmp_path / "answers")
    return tmp_path


@needs_connect
def test_the_command_takes_the_server_that_is_configured(place):
    done = command(place, SPARK_REMOTE="local[2]")
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["num_reports"] == 300


def test_workers_without_python_are_told_in_a_line_that_says_what_to_set(place):
    done = command(place, PYSPARK_PYTHON="/nonexistent/python")
    assert done.returncode == 2
    said = "the workers' Python cannot be started; set PYSPARK_PYTHON to one that is there. Nothing was released."
    assert done.stderr == f"shuffledp: Spark stopped the job: {said}\n"
    assert sorted(path.name for path in place.iterdir()) == ["answers", "task.toml"]
