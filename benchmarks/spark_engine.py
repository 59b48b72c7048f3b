"""A task on PySpark in this machine, beside Spark's own ``orderBy(rand())`` of the same table, in processor time.

With ``once`` after the number of rows the task alone runs, in a new session, and the memory of its processes is said.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.run_parquet import ROWS, TASK, write_answers
from shuffledp.distributed import run_on
from shuffledp.files.table_files import table_files
from shuffledp.survey import Task

TICK = os.sysconf("SC_CLK_TCK")
FILES = 8


def processor_time() -> float:
    """Seconds of this process and all below it, those that have ended too."""
    return sum(_below().values())


def _below() -> dict[int, float]:
    """This process and all below it, each with its seconds and those of its children that have ended."""
    spent: dict[int, float] = {}
    above: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            continue
        above[int(name)], spent[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
    ours = {os.getpid()}
    while more := {pid for pid, parent in above.items() if parent in ours} - ours:
        ours |= more
    return {pid: spent.get(pid, 0.0) for pid in ours}


class Peaks(threading.Thread):
    """The largest resident memory of this process, of Java, and of any Python worker, in MiB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.found: dict[str, int] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        """Look until the end."""
        while not self.ended.wait(0.2):
            for pid in _below():
                try:
                    lines = Path("/proc", str(pid), "status").read_text(encoding="utf-8").splitlines()
                except OSError:
                    continue
                said = dict(line.split(":", 1) for line in lines)
                name = "this process" if pid == os.getpid() else said["Name"].strip()
                peak = int(said.get("VmHWM", "0 kB").split()[0]) >> 10
                self.found[name] = max(peak, self.found.get(name, 0))


def timed(step: Callable[[], object]) -> str:
    """What a step takes."""
    start, before = time.perf_counter(), processor_time()
    step()
    return f"{processor_time() - before:.1f} s of processor time, {time.perf_counter() - start:.1f} s"


def main() -> None:
    """Each twice, in turn: the first time compiles."""
    from pyspark.sql import SparkSession, functions

    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder, answers = Path(name), Path(name) / "answers"
        answers.mkdir()
        for number in range(FILES):
            write_answers(answers / f"part-{number}.parquet", rows // FILES)
        (folder / "task.toml").write_text(TASK, encoding="utf-8")
        builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1500m")
        builder = builder.config("spark.ui.enabled", "false").config("spark.local.dir", str(folder / "spills"))
        session, task = builder.getOrCreate(), Task.read(folder / "task.toml")

        def ours(turn: int) -> None:
            (folder / f"ours{turn}").mkdir()
            run_on(session, task, table_files([answers]), folder / f"ours{turn}")

        def theirs(turn: int) -> None:
            frame = session.read.parquet(str(answers)).orderBy(functions.rand())
            frame.write.parquet(str(folder / f"theirs{turn}"))

        if "once" in sys.argv:
            peaks = Peaks()
            peaks.start()
            print(f"shuffledp, {rows:,} rows: {timed(lambda: ours(0))}")
            peaks.ended.set()
            print(f"peak MiB: {peaks.found}")
            session.stop()
            return
        for turn in range(2):
            print(f"shuffledp, {rows:,} rows: {timed(lambda turn=turn: ours(turn))}")  # type: ignore[misc]
            print(f"orderBy(rand()):          {timed(lambda turn=turn: theirs(turn))}")  # type: ignore[misc]
        session.stop()


if __name__ == "__main__":
    main()
