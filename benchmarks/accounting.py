"""Times of a bracket for any randomizer, beside a plain sum over all clones: python -m benchmarks.accounting."""

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import binom

import shuffledp as sdp
from shuffledp.shufflers import UniformShuffleModel


def plain(epsilon0: float, users: int) -> float:
    """Thirty bisections of a sum over all likely numbers of clones."""
    ratio, chance = math.exp(epsilon0), 2 / (math.exp(epsilon0) + 1)
    spread = 8 * math.sqrt(users * chance)
    clones = np.arange(max(int(users * chance - spread), 0), int(users * chance + spread))
    weights, low, high = binom.pmf(clones, users - 1, chance), 0.0, epsilon0
    for _ in range(30):
        factor = math.exp((low + high) / 2)
        first = np.ceil((clones + 1) * (ratio * factor - 1) / ((ratio - 1) * (factor + 1)))
        gain = (ratio - factor) / (ratio + 1) * binom.pmf(first - 1, clones, 0.5)
        delta = weights @ (gain - (factor - 1) * binom.sf(first - 1, clones, 0.5))
        low, high = ((low + high) / 2, high) if delta > 1e-6 else (low, (low + high) / 2)
    return high


def best_of(call: Callable[[], object], repeats: int) -> float:
    """Milliseconds of the fastest call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times) * 1e3


if __name__ == "__main__":
    print("| n | epsilon0 | upper, ms | bracket, ms | plain sum, ms |\n|---|---|---|---|---|")
    for users in (10**4, 10**6, 10**8):
        for epsilon0 in (1.0, 4.0):
            model = sdp.ProtocolModel(
                local=sdp.LdpModel(epsilon0=epsilon0), shuffle=UniformShuffleModel(num_users=users)
            )
            upper = best_of(partial(sdp.account, model, delta=1e-6), 10)
            both = best_of(partial(sdp.bracket, model, delta=1e-6), 10)
            baseline = best_of(partial(plain, epsilon0, users), 2)
            print(f"| {users:.0e} | {epsilon0:g} | {upper:.1f} | {both:.1f} | {baseline:.1f} |")
