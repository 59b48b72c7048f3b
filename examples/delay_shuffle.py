"""A broadcast hour and no shuffle: devices send at Laplace offsets, a buffer keeps the order. The clock is a number."""

from dataclasses import dataclass, field, replace

import numpy as np

import shuffledp as sdp
from shuffledp.protocols.shares import LaplaceDelays, ObliviousShuffleModel
from shuffledp.randomness.permutations import random_permutation
from shuffledp.testing import SeededSource

SECOND, HOUR, PEOPLE = 1_000, 43_200_000, 30  # ticks are milliseconds, and the hour is noon
PROMISE = LaplaceDelays(skew=1 * SECOND, scale=100 * SECOND, longest=1_000 * SECOND)
OPENS, CLOSES = HOUR - PROMISE.longest, HOUR + PROMISE.skew + PROMISE.longest
RANDOMIZER, SOURCE = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2), SeededSource(1)  # a real run has no seed


@dataclass
class Buffer:
    """Reports with the ticks in which they came, and nothing of where from; in memory alone."""

    waiting: list[tuple[int, int]] = field(default_factory=list)
    refused: int = 0

    def take(self, now: int, report: int) -> None:
        """Keep a report that comes while all can come who keep their promise."""
        if OPENS <= now <= CLOSES:
            self.waiting.append((now, report))
        else:
            self.refused += 1

    def release(self, now: int) -> list[int]:
        """All reports in the order in which they came, ties by lot, without times; none before all can have come."""
        by_lot = [self.waiting[row] for row in random_permutation(len(self.waiting), source=SOURCE)]
        return [report for _, report in sorted(by_lot, key=lambda each: each[0])] if now > CLOSES else []


def told(story: str, *, last_late: int = 0, stops: int = 0, truth: LaplaceDelays = PROMISE) -> None:
    """One line of what came of it; at last the epsilon that is stated, and the one that holds."""
    late = np.append(np.random.default_rng(1).integers(0, PROMISE.skew + 1, PEOPLE - 1), last_late)
    reports = RANDOMIZER.randomize(np.arange(PEOPLE) % 2, source=SOURCE)["value"]
    buffer = Buffer()
    for now, report in sorted(zip(HOUR + late + PROMISE.draw(PEOPLE, source=SOURCE), reports, strict=True)):
        buffer.take(now, report)
        if now >= stops:  # what it held is gone: an order on a disk would be a record of who came when
            buffer.waiting = [each for each in buffer.waiting if each[0] >= stops]
    out = len(buffer.release(CLOSES + 1))
    orders = [ObliviousShuffleModel(num_users=out, epsilon=x.imperfection, delta=x.remainder) for x in (PROMISE, truth)]
    models = [sdp.ProtocolModel(local=RANDOMIZER.model, shuffle=each) for each in orders]
    guarantees = [sdp.account(model, delta=1e-3).guarantee for model in models]
    stated, holds = (each.epsilon for each in guarantees if isinstance(each, sdp.CentralDP))
    print(f"{story:<28}{out:>8}{buffer.refused:>9}{PEOPLE - out - buffer.refused:>6}{stated:>9.3f}{holds:>8.3f}")


print(f"gamma = {PROMISE.imperfection:.2g} by the promised skew, apart from delta = {PROMISE.remainder:.1e}")
print(f"{'':<28}{'let out':>8}{'refused':>9}{'lost':>6}{'stated':>9}{'holds':>8}")
told("all keep their promise")
told("a clock is 10 seconds late", last_late=10 * SECOND, truth=replace(PROMISE, skew=10 * SECOND))
told("a device is an hour late", last_late=3_600 * SECOND)
told("the buffer stops at noon", stops=HOUR)
