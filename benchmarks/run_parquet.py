"""`shuffledp run` on ten million rows of Parquet, beside reading and writing the same file."""

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

COPY = "import sys, pyarrow.parquet as pq; pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2])"


def timed(command: list[str]) -> tuple[float, float]:
    """Wall seconds and the largest resident set, in MiB, of a whole process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Each process three times, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        codes = np.random.default_rng(0).integers(0, DOMAIN, ROWS).astype(np.int32)
        column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(CATEGORIES)).cast(pa.string())
        pq.write_table(pa.table({"answer": column}), folder / "answers.parquet")
        (folder / "task.toml").write_text(TASK, encoding="utf-8")
        answers, task = str(folder / "answers.parquet"), str(folder / "task.toml")
        copies, runs = [], []
        for turn in range(3):
            copies.append(timed([sys.executable, "-c", COPY, answers, str(folder / "copy.parquet")]))
            output = str(folder / f"out{turn}")
            runs.append(timed([sys.executable, "-m", "shuffledp", "run", task, "--input", answers, "--output", output]))
        copy, run = sorted(copies)[1], sorted(runs)[1]
        print(f"read and write {ROWS:,} rows: {copy[0]:.2f} s, peak {copy[1]:.0f} MiB")
        print(f"shuffledp run:              {run[0]:.2f} s, peak {run[1]:.0f} MiB, ratio {run[0] / copy[0]:.2f}")


if __name__ == "__main__":
    main()
