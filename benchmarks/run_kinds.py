"""`shuffledp run` on ten million rows of Parquet, with every kind of randomizer: seconds, and the peak memory of each.

Peak memory is VmHWM of the process that ran (Linux only). ``python -m benchmarks.run_kinds KIND ...`` runs only these.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, DOMAIN, DIMENSION = 10_000_000, 16, 16
ROWS_AT_A_TIME = 1_000_000
CATEGORIES = [f"category {number:02d}" for number in range(DOMAIN)]
KINDS = {
    **dict.fromkeys(("k-rr", "oue", "sue", "olh", "hadamard", "subset"), f"categories = {CATEGORIES}"),
    **dict.fromkeys(("laplace-mean", "one-bit-mean", "rounded-mean"), "lower = 0.0\nupper = 1.0"),
    "priv-unit": f"dimension = {DIMENSION}",
}
COLUMNS = {"categories": "answer", "lower": "number", "dimension": "vector"}

MEASURED = """
import re, sys
from pathlib import Path
from shuffledp.cli import main
peak = Path(sys.argv.pop(1))
try:
    main()
finally:
    peak.write_text(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def write_answers(path: Path) -> None:
    """A column of texts, one of numbers and one of lists that are unit vectors."""
    draw = np.random.default_rng(0)
    writer = None
    for _ in range(ROWS // ROWS_AT_A_TIME):
        codes = pa.array(draw.integers(0, DOMAIN, ROWS_AT_A_TIME).astype(np.int32))
        vectors = draw.normal(size=(ROWS_AT_A_TIME, DIMENSION))
        vectors /= np.linalg.norm(vectors, axis=1)[:, None]
        table = pa.table(
            {
                "answer": pa.DictionaryArray.from_arrays(codes, pa.array(CATEGORIES)).cast(pa.string()),
                "number": draw.random(ROWS_AT_A_TIME),
                "vector": pa.ListArray.from_arrays(
                    np.arange(0, vectors.size + 1, DIMENSION, dtype=np.int32), vectors.ravel()
                ),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def run(kind: str, answers: Path, folder: Path) -> tuple[float, float]:
    """Wall seconds, and the peak in MiB."""
    column = COLUMNS[KINDS[kind].partition(" ")[0]]
    task, peak = folder / "task.toml", folder / "peak"
    task.write_text(
        f'name = "benchmark"\nvalue = "{column}"\n[randomizer]\nkind = "{kind}"\nepsilon0 = 1.0\n{KINDS[kind]}\n'
        "[release]\ndelta = 1e-6\n",
        encoding="utf-8",
    )
    arguments = ["run", str(task), "--input", str(answers), "--output", str(folder / "out"), "--force"]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", MEASURED, str(peak), *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, int(peak.read_text()) / 1024


def main() -> None:
    """Each kind once, on one file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_answers(folder / "answers.parquet")
        print(f"| kind, {ROWS:,} rows | seconds | peak MiB |\n|---|---|---|")
        for kind in sys.argv[1:] or KINDS:
            seconds, peak = run(kind, folder / "answers.parquet", folder)
            print(f"| {kind} | {seconds:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
