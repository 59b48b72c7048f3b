"""The exact uniform shuffle of a hundred million 64-bit reports over buckets on disk: seconds and peak memory."""

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from shuffledp.core.flow import Reports
from shuffledp.files.shuffling import ReportSpool
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel

REPORTS, AT_A_TIME = 100_000_000, 1 << 19


def main() -> None:
    """Numbers 0, 1, 2, ... go in; their sum and the places of some say that they came out, and shuffled."""
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=20.0, domain_size=REPORTS)
    start = time.perf_counter()
    total, fixed, place = 0, 0, 0
    with tempfile.TemporaryDirectory() as name, ReportSpool(Path(name)) as spool:
        for first in range(0, REPORTS, AT_A_TIME):
            numbers = np.arange(first, min(first + AT_A_TIME, REPORTS), dtype=np.int64)
            spool.add(Reports({"value": numbers}, model))
        scattered = time.perf_counter()
        for view in spool.views(UniformShuffleModel(num_users=spool.num_users)):
            values = view.reports["value"]
            total += int(values.sum())
            fixed += int(np.count_nonzero(values == np.arange(place, place + len(values))))
            place += len(values)
    end = time.perf_counter()
    if (place, total) != (REPORTS, REPORTS * (REPORTS - 1) // 2):
        raise SystemExit("reports were lost")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{REPORTS:,} int64 reports: {end - start:.1f} s ({scattered - start:.1f} s in), peak {peak:.0f} MiB")
    print(f"reports still in their places: {fixed} (1 is expected)")


if __name__ == "__main__":
    main()
