"""Sums from shares modulo q: split, shuffle and decode a million values; and how far off the sums are."""

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp
from benchmarks.timing import compare
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffler
from shuffledp.protocols.shares.theorems.share_mixing import mixing_bound

PEOPLE, SHARES = 1_000_000, 8
RUNS = 6000  # sums of which the mean absolute error is taken: it is known to 1.5%


def bare_numpy(values: NDArray[np.float64], modulus: int, precision: int) -> Callable[[], object]:
    """The same sum with a statistical generator and no checks: floats rounded, shares, a permutation of each round."""

    def run() -> object:
        draw = np.random.default_rng()
        steps = np.floor(values * precision + draw.random(len(values))).astype(np.int64)
        ratio, shape = np.exp(-1 / precision), 1 / len(values)
        steps += draw.negative_binomial(shape, 1 - ratio, len(values))
        steps -= draw.negative_binomial(shape, 1 - ratio, len(values))
        shares = draw.integers(0, modulus, (SHARES - 1, len(values)), dtype=np.int64)
        rounds = [*shares, (steps - shares.sum(axis=0)) % modulus]
        return sum(int(draw.permutation(each).sum()) for each in rounds) % modulus

    return run


def published_script(values: NDArray[np.float64], modulus: int, precision: int) -> Callable[[], object]:
    """Person by person and message by message in plain Python, as scripts for split and mix are written."""
    import random

    def run() -> object:
        rounds: list[list[int]] = [[] for _ in range(SHARES)]
        for value in values.tolist():
            rest = int(value * precision + random.random())  # noqa: S311
            for number in range(SHARES - 1):
                share = random.randrange(modulus)  # noqa: S311
                rounds[number].append(share)
                rest -= share
            rounds[-1].append(rest % modulus)
        for each in rounds:
            random.shuffle(each)
        return sum(map(sum, rounds)) % modulus

    return run


def ours(randomizer: sdp.SplitAndMix, values: NDArray[np.float64]) -> Callable[[], object]:
    """Cryptographic randomness, exact laws, checked input, standard errors and intervals."""
    shuffler, analyzer = sdp.ParallelShuffler(sdp.UniformShuffler(), SHARES), sdp.SumAnalyzer()

    def run() -> object:
        view = shuffler.shuffle(randomizer.randomize(values))
        return analyzer.estimate(analyzer.summarize(view))

    return run


def mean_absolute_error(people: int, epsilon: float, precision: int) -> float:
    """Of the decoded sum of values that lie evenly in the range.

    Sums are computed from what people hold before it is split, which the shares add up to in any case.
    """
    randomizer = sdp.SplitAndMix(num_users=people, epsilon=epsilon, lower=0, upper=1, num_shares=2, precision=precision)
    model, values = randomizer.model, np.linspace(0, 1, people)
    errors = np.empty(RUNS)
    for run in range(RUNS):
        residues = randomizer.randomize(values)["residue"]
        errors[run] = model.decode((int(residues.sum(dtype=np.int64)) % model.modulus,), people)[0] - values.sum()
    return float(np.abs(errors).mean())


def certificates() -> None:
    """How many messages are certified, and how long it takes to know: the first time, before anything is remembered."""
    print("| people | imperfection | messages | one certificate, seconds | calibration, seconds |")
    print("|---|---|---|---|---|")
    mixing_bound(300, 8, 0.25, 10_000)  # what is compiled is compiled
    for people in (1_000, 10_000, 100_000, 1_000_000):
        for gamma in (0.0, 0.5, 1.0, 3.0):
            start = time.perf_counter()
            found = sdp.calibrate.split_and_mix(
                num_users=people, epsilon=1.0, delta=1e-6, imperfection=gamma, lower=0, upper=1
            )
            calibration = time.perf_counter() - start
            start = time.perf_counter()
            mixing_bound(people, found.num_messages + 7, gamma, found.modulus)
            one = time.perf_counter() - start
            print(f"| {people:,} | {gamma:g} | {found.num_messages} | {one:.3f} | {calibration:.3f} |")


def errors() -> None:
    """Mean absolute errors beside those of the central mechanism."""
    print("| people | epsilon | precision | mean absolute error | of the central mechanism | ratio |")
    print("|---|---|---|---|---|---|")
    for people, root in ((1_000, 32), (10_000, 100)):
        for epsilon in (0.1, 0.5, 1.0):
            for precision in (root, 2 * root):
                found = mean_absolute_error(people, epsilon, precision)
                print(
                    f"| {people:,} | {epsilon} | {precision} | {found:.3f} | {1 / epsilon:g} | {found * epsilon:.3f} |"
                )


def speed() -> None:
    """A million values, beside numpy and beside plain Python."""
    values = np.random.default_rng(0).random(PEOPLE)
    randomizer = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=SHARES)
    reports, analyzer = randomizer.randomize(values), sdp.SumAnalyzer()
    view = sdp.UniformShuffler().shuffle(reports)
    print(f"{PEOPLE:,} values, {SHARES} messages each: split, shuffle every round, decode\n")
    medians = compare(
        {
            "bare numpy": bare_numpy(values, randomizer.modulus, randomizer.precision),
            "split and mix": ours(randomizer, values),
            "devices alone": lambda: randomizer.randomize(values),
            "decoding alone": lambda: analyzer.estimate(analyzer.summarize(view)),
        },
        floor="bare numpy",
    )
    few = values[: PEOPLE // 20]
    print("\na twentieth of them, beside plain Python\n")
    turn = compare(
        {
            "split and mix": ours(randomizer, few),
            "plain Python": published_script(few, randomizer.modulus, randomizer.precision),
        },
        floor="split and mix",
        rounds=3,
    )
    scaled = 20 * turn["plain Python"]
    print(f"\nscaled to a million: {scaled:.1f} s, {scaled / medians['split and mix']:.0f} times ours")
    held = sum(column.nbytes for column in reports.columns.values()) / len(reports)
    print(f"\nbytes for a message in memory: {held:g}, on the wire {randomizer.model.report_bits} bits")


def shuffles() -> None:
    """The rounds alone, by the shuffler of a round."""
    values = np.random.default_rng(0).random(PEOPLE)
    reports = sdp.SplitAndMix(num_users=PEOPLE, epsilon=1.0, lower=0, upper=1, num_shares=SHARES).randomize(values)
    kinds: dict[str, sdp.UniformShuffler | ImperfectShuffler] = {
        "uniform": sdp.UniformShuffler(),
        "cayley, gamma = 0.5": sdp.imperfect_shuffler(imperfection=0.5),
        "delay, gamma = 0.5": sdp.imperfect_shuffler(imperfection=0.5, construction="delay"),
    }
    rounds = {name: sdp.ParallelShuffler(shuffler, SHARES) for name, shuffler in kinds.items()}
    compare(
        {name: partial(each.shuffle, reports) for name, each in rounds.items()},
        floor="uniform",
        rounds=3,
    )


PARTS = {"speed": speed, "shuffles": shuffles, "certificates": certificates, "errors": errors}


def main() -> None:
    """All parts, or those that are named."""
    for name in sys.argv[1:] or PARTS:
        print(f"\n{name}\n")
        PARTS[name]()


if __name__ == "__main__":
    main()
