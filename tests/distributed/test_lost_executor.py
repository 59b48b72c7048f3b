"""An executor that is killed while it permutes: Spark does its work again, and every report is there once.

Needs PySpark and Java, and processes of Spark for a master and two workers: in the deep tier only.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distributed.tables import write_table
from shuffledp.core.errors import ShuffleDPError
from shuffledp.distributed.session import require_spark

try:
    require_spark()
except ShuffleDPError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.deep
ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, signal, sys
from pathlib import Path
from pyspark.sql import SparkSession
from distributed.tables import task_with
from shuffledp.distributed import run_on, tasks
from shuffledp.files.table_files import table_files

place = Path(sys.argv[1])

def killing(made):
    def kind(job):
        task, mark = made(job), place / "killed"
        def killed(batches):
            from pyspark import TaskContext
            yield from task(batches)
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            daemon = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(daemon, signal.SIGKILL)  # the Java process above the daemon of this worker: its executor
            yield from task(iter(()))
        return killed
    return kind

session = (
    SparkSession.builder.master("local-cluster[2, 1, 1500]")
    .config("spark.speculation", "true").config("spark.speculation.quantile", "0.1")  # copies of tasks that still run
    .config("spark.speculation.multiplier", "1.01").config("spark.speculation.interval", "10ms")
    .config("spark.speculation.minTaskRuntime", "1ms")
    .config("spark.executor.memory", "1200m").config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
files = table_files([place / "answers"])
for name in ("whole", "lost"):
    if name == "lost":
        tasks.of_parts = killing(tasks.of_parts)
    (place / name).mkdir()
    outcome = run_on(session, task_with(), files, place / name, seed=7, parts=4)
    digests = sorted((file, sha) for file, sha in outcome.column.files.items() if "part-" in file)
    print(name, outcome.column.flow.received, outcome.column.release.num_reports, digests)
session.stop()
"""


def test_an_executor_that_is_killed_while_it_permutes_loses_and_doubles_nothing(tmp_path):
    write_table(tmp_path / "answers")
    here = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | here, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    whole, lost = done.stdout.splitlines()[-2:]
    assert (tmp_path / "killed").exists()
    assert whole.startswith("whole 300 300 ")
    assert lost.removeprefix("lost") == whole.removeprefix("whole")
