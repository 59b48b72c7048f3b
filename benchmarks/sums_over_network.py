"""Sums of shares over a network: devices, shuffler and analyzer in processes of their own on this machine.

Seconds on the clock, from randomized shares to the release, and processor seconds of all processes::

    python -m benchmarks.sums_over_network              # 100,000 people, 8 shares each
    python -m benchmarks.sums_over_network 1000 vector  # 1,000 people, lists of 100 numbers
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.files.devices import DeviceReports
from shuffledp.parties.service.demonstration import demonstration
from shuffledp.survey import Task

PEOPLE, MOST_SECONDS = 100_000, 300
_KINDS: dict[str, dict[str, Any]] = {
    "number": {"kind": "split-and-mix", "lower": 0, "upper": 100},
    "vector": {"kind": "vector-sum", "largest_norm": 1.0, "dimension": 100},
}


def main(people: int = PEOPLE, kind: str = "number") -> None:
    """Time a collection of so many people, step by step."""
    protocol = {"epsilon": 1.0, "dropout_fraction": 0.1, **_KINDS[kind]}
    asked = {"name": "sum", "value": "wage", "people": {"expected": people}, "protocol": protocol}
    task = Task.from_dict(asked | {"release": {"delta": 1e-8, "minimum_batch": people // 2}})
    model = task.column.randomizer.randomizer().model
    values = np.full(people, 50.0) if model.dimension == 1 else np.full((people, model.dimension), 0.05)
    began = time.perf_counter()

    def told(step: str) -> None:
        print(f"{step:<24} {time.perf_counter() - began:7.1f} s", flush=True)

    sent = DeviceReports(reports=(model.randomizer().randomize(values),), public=None, left_out=0)
    told(f"{people:,} x {model.num_messages} shares")
    with tempfile.TemporaryDirectory() as place, demonstration(task, Path(place), crowd=people) as parties:
        parties.send(sent, progress=lambda _done, _of: None)
        told("sealed and stored")
        parties.release()
    told("mixed, opened, released")
    print(f"{sum(os.times()[:4]):.1f} processor seconds of all processes together")
    if kind == "number" and people == PEOPLE and time.perf_counter() - began > MOST_SECONDS:
        sys.exit(f"it must take at most {MOST_SECONDS} seconds on a machine that does nothing else")


if __name__ == "__main__":
    main(*(int(each) if each.isdigit() else each for each in sys.argv[1:]))  # type: ignore[arg-type]
