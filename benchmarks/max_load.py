"""The fullest bin for up to a billion balls, the curves of Jurado et al., Figure 5, and peers up to where they stop."""

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from benchmarks.timing import compare
from shuffledp.leakage import expected_max_load

LARGE = [(10**6, 10**4), (10**9, 10**4), (10**9, 3), (10**9, 5), (10**9, 10), (10**9, 20), (10**9, 10**9)]
TARGETS = {(10**6, 10**4): 0.3, (10**9, 10**4): 0.3, (10**9, 3): 2.0}
MOST_SECONDS = 6.0
FIGURE = [(users, size) for size in range(2, 11) for users in range(10, 1001, 10)]
FIGURE_SECONDS = 5.0


def by_histograms(balls: int, bins: int) -> float:
    """The paper's sum over all histograms, in fractions: C(n + k - 1, k - 1) terms."""
    total = Fraction(0)
    for bars in itertools.combinations(range(balls + bins - 1), bins - 1):
        ends = (-1, *bars, balls + bins - 1)
        loads = [after - before - 1 for before, after in itertools.pairwise(ends)]
        total += max(loads) * Fraction(math.factorial(balls), math.prod(map(math.factorial, loads)))
    return float(total / bins**balls)


def by_data_sets(balls: int, bins: int) -> float:
    """What a channel matrix over data sets needs: k^n rows, as general libraries of information flow have it."""
    loads = (max(map(data.count, range(bins))) for data in itertools.product(range(bins), repeat=balls))
    return float(sum(loads) / bins**balls)


def qif_library(balls: int, bins: int) -> dict[str, Callable[[], object]]:
    """The package ``qif``, if it is installed, on the channel of a pure shuffle: from data sets to histograms."""
    try:
        import numpy as np
        from qif import measure
    except ImportError:
        return {}
    data = list(itertools.product(range(bins), repeat=balls))
    histograms = sorted({tuple(map(row.count, range(bins))) for row in data})
    column = {histogram: place for place, histogram in enumerate(histograms)}
    channel = np.zeros((bins, len(histograms)))
    for row in data:
        channel[row[0], column[tuple(map(row.count, range(bins)))]] += bins / len(data)
    prior = np.full(bins, 1 / bins)
    return {"qif (given the matrix)": lambda: measure.bayes_vuln.posterior(prior, channel)}


def main() -> None:
    """Seconds and targets of large cases, then of the figure, then beside peers."""
    expected_max_load(1000, 3)
    print("| balls | bins | expected load | seconds | target |\n|---|---|---|---|---|")
    for balls, bins in LARGE:
        start = time.perf_counter()
        load = expected_max_load(balls, bins)
        seconds = time.perf_counter() - start
        print(f"| {balls:,} | {bins:,} | {load:.12g} | {seconds:.3f} | {TARGETS.get((balls, bins), MOST_SECONDS)} |")
    start = time.perf_counter()
    for case in FIGURE:
        expected_max_load(*case)
    print(f"\nFigure 5, {len(FIGURE)} points: {time.perf_counter() - start:.2f} s, target {FIGURE_SECONDS} s")
    for balls, bins in ((10, 3), (100, 3)):
        print(f"\n{balls} balls, {bins} bins\n")
        contestants: dict[str, Callable[[], object]] = {
            "shuffledp": partial(expected_max_load, balls, bins),
            "sum over histograms": partial(by_histograms, balls, bins),
        }
        if balls <= 10:  # beyond, 3^n data sets are too many: they stop here
            contestants["sum over data sets"] = partial(by_data_sets, balls, bins)
            contestants |= qif_library(balls, bins)
        compare(contestants, floor="shuffledp", rounds=3)


if __name__ == "__main__":
    main()
