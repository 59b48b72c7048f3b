"""`shuffledp run` on ten million rows of Parquet (or as many as are asked for), beside reading and writing them."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, DOMAIN = 10_000_000, 16
ROWS_AT_A_TIME = 1 << 20
CATEGORIES = [f"category {number:02d}" for number in range(DOMAIN)]

TASK = f"""
name = "benchmark"
value = "answer"
[randomizer]
kind = "k-rr"
epsilon0 = 1.0
categories = {CATEGORIES}
[release]
delta = 1e-6
"""

COPY = """
import sys, pyarrow as pa, pyarrow.parquet as pq
file = pq.ParquetFile(sys.argv[1])
with pq.ParquetWriter(sys.argv[2], file.schema_arrow) as copy:
    for batch in file.iter_batches(1 << 20):
        copy.write_batch(batch)
"""


def write_answers(path: Path, rows: int) -> None:
    """A file of answers, in row groups of a million."""
    generator, values = np.random.default_rng(0), pa.array(CATEGORIES)
    with pq.ParquetWriter(path, pa.schema([("answer", pa.string())])) as file:
        for start in range(0, rows, ROWS_AT_A_TIME):
            codes = generator.integers(0, DOMAIN, min(ROWS_AT_A_TIME, rows - start)).astype(np.int32)
            column = pa.DictionaryArray.from_arrays(pa.array(codes), values).cast(pa.string())
            file.write_table(pa.table({"answer": column}))


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, seconds of processor time and the largest resident set, in MiB, of a whole process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Each process three times, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
        write_answers(folder / "answers.parquet", rows)
        (folder / "task.toml").write_text(TASK, encoding="utf-8")
        answers, task = str(folder / "answers.parquet"), str(folder / "task.toml")
        copies, runs = [], []
        for turn in range(3):
            copies.append(timed([sys.executable, "-c", COPY, answers, str(folder / "copy.parquet")]))
            output = str(folder / f"out{turn}")
            runs.append(timed([sys.executable, "-m", "shuffledp", "run", task, "--input", answers, "--output", output]))
        copy, run = sorted(copies)[1], sorted(runs)[1]
        for what, (seconds, processor, peak) in (("read and write", copy), ("shuffledp run", run)):
            print(f"{what}, {rows:,} rows: {seconds:.2f} s, {processor:.2f} s of processor time, peak {peak:.0f} MiB")
        print(f"ratio {run[0] / copy[0]:.2f}, of processor time {run[1] / copy[1]:.2f}")


if __name__ == "__main__":
    main()
