"""How far one machine goes: `shuffledp run` from Parquet to a release, by people: processor time and memory.

``python -m benchmarks.far KIND PEOPLE`` measures one run and keeps it in ``far.json``, which the picture of docs/far.md
is drawn from. KIND is "uniform", or "mallows": near the order of a public coordinate, 100 people at each place.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.run_parquet import CATEGORIES, DOMAIN, ROWS_AT_A_TIME, TASK, timed

MEASURED = Path(__file__).with_suffix(".json")
PEOPLE_OF_PLACE = 100
SHUFFLERS = {
    "uniform": "",
    "mallows": 'public = ["at"]\n[shuffler]\nkind = "mallows"\nalpha = 4.0\norder = "coordinate"\n'
    '[groups]\ncolumns = ["at"]\nradius = 1.0\n',
}


def write_answers(path: Path, people: int) -> None:
    """A file of answers and coordinates, in row groups of a million."""
    draw, values = np.random.default_rng(0), pa.array(CATEGORIES)
    with pq.ParquetWriter(path, pa.schema([("answer", pa.string()), ("at", pa.float64())])) as file:
        for start in range(0, people, ROWS_AT_A_TIME):
            rows = min(ROWS_AT_A_TIME, people - start)
            codes = pa.array(draw.integers(0, DOMAIN, rows).astype(np.int32))
            answers = pa.DictionaryArray.from_arrays(codes, values).cast(pa.string())
            at = draw.integers(0, max(people // PEOPLE_OF_PLACE, 1), rows).astype(np.float64)
            file.write_table(pa.table({"answer": answers, "at": at}))


def main() -> None:
    """One run, kept in place of an earlier one of the same kind and size."""
    kind, people = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_answers(folder / "answers.parquet", people)
        top, _, further = SHUFFLERS[kind].partition("\n")
        task = TASK.replace("[randomizer]", f"{top}\n[randomizer]", 1) + further
        (folder / "task.toml").write_text(task, encoding="utf-8")
        command = [sys.executable, "-m", "shuffledp", "run", str(folder / "task.toml")]
        command += ["--input", str(folder / "answers.parquet"), "--output", str(folder / "out")]
        _, processor, peak = timed(command)
    runs = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else []
    runs = [run for run in runs if (run["kind"], run["people"]) != (kind, people)]
    runs.append({"kind": kind, "people": people, "seconds": round(processor, 1), "mib": round(peak)})
    runs.sort(key=lambda run: (run["kind"], run["people"]))
    MEASURED.write_text("[\n" + ",\n".join("  " + json.dumps(run) for run in runs) + "\n]\n", encoding="utf-8")
    print(runs)


if __name__ == "__main__":
    main()
