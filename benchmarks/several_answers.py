"""Ticks of a million people on twenty options beside twenty single columns, and open answers of as many decoded.

Both have the same randomizer in each message and the same counts. Processor time is compared, as other work on a
machine makes the clock say little.
"""

import resource
import time
from collections.abc import Callable

import numpy as np

import shuffledp as sdp

PEOPLE, OPTIONS, EPSILON0, ROUNDS = 1_000_000, 20, 4.0, 5


def least_processor_time(action: Callable[[], object]) -> float:
    """Least processor time of some runs after a first one, in seconds."""
    action()
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        action()
        spent.append(time.process_time() - start)
    return min(spent)


def all_options(ticks: np.ndarray) -> object:
    """Ticks on all options: one randomizer, one shuffle of all messages, one estimate."""
    randomizer = sdp.TickColumns(epsilon0=EPSILON0, num_options=OPTIONS, at_most=OPTIONS)
    analyzer = sdp.TickAnalyzer()
    return analyzer.estimate(analyzer.summarize(sdp.UniformShuffler().shuffle(randomizer.randomize(ticks))))


def single_columns(columns: list[np.ndarray]) -> object:
    """Each option as a column of its own."""
    randomizer = sdp.KaryRandomizedResponse(epsilon0=EPSILON0, domain_size=2)
    analyzer, shuffler = sdp.FrequencyAnalyzer(), sdp.UniformShuffler()
    return [analyzer.estimate(analyzer.summarize(shuffler.shuffle(randomizer.randomize(each)))) for each in columns]


def words() -> object:
    """Reports on a million texts of a Zipf law, ready to be decoded."""
    code = sdp.TextCode("letters", 16)
    randomizer = sdp.MaskedPrefixes(epsilon0=11.0, num_bits=code.num_bits, prefix_bits=16)
    rank = np.minimum(np.random.default_rng(1).zipf(1.2, PEOPLE), 100_000)
    letters = np.array(list("abcdefghijklmnopqrst"))
    names = ["".join(letters[[each % 20, each // 20 % 20, each // 400 % 20, each // 8000 % 20]]) for each in rank]
    reports = randomizer.randomize(randomizer.coded(names, code))
    analyzer = sdp.WordAnalyzer(code=code)
    return analyzer.summarize(sdp.UniformShuffler().shuffle(reports)), analyzer


if __name__ == "__main__":
    given = np.random.default_rng(1).random((PEOPLE, OPTIONS)) < np.linspace(0.05, 0.5, OPTIONS)
    together = least_processor_time(lambda: all_options(given))
    apart = least_processor_time(lambda: single_columns([each.astype(np.int64) for each in given.T]))
    print(f"ticks {together:.2f} s, single columns {apart:.2f} s: {together / apart:.2f} times as long")
    summary, decoder = words()
    begun = time.process_time()
    found = decoder.estimate(summary)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(found.target) - 1} words decoded in {time.process_time() - begun:.1f} s; {peak:.0f} MiB at most")
