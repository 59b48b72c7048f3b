"""How tight and how fast the accountants of a randomizer's own law are: ratios of upper to lower bound, and seconds.

python -m benchmarks.accounting_by_law           # Markdown tables
python -m benchmarks.accounting_by_law lattice   # the same laws by a Fourier transform on a lattice, for comparison
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import THEOREMS
from shuffledp.accounting.evaluators.inversion import mean_positive_part
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.randomizers import (
    KaryRandomizedResponseModel,
    LaplaceModel,
    OptimizedUnaryEncodingModel,
    SymmetricUnaryEncodingModel,
)
from shuffledp.shufflers import UniformShuffleModel

NAMED = {theorem.id: theorem for theorem in THEOREMS}
Item = TypeVar("Item")
DELTA, ROUNDS = 1e-6, 5


def bracket(local: LocalModel, users: int, upper: str, lower: tuple[str, ...]) -> tuple[float, float, float, float]:
    """Both ends, and median seconds of each."""
    model = ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))
    ends, seconds = [], []
    for names in ((upper,), lower):
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            found = [NAMED[name].epsilon(model, delta=DELTA) for name in names]
            times.append(time.perf_counter() - start)
        ends.append(max(found))
        seconds.append(statistics.median(times))
    return ends[0], ends[1], seconds[0], seconds[1]


def main() -> None:
    """Print a table of brackets."""
    response = ("blanket-two-level", ("two-level-third-value", "two-level-others-equal"))
    laplace = ("blanket-laplace", ("homogeneous-laplace",))
    print("| randomizer | epsilon0 | people | upper | lower | upper / lower | seconds, upper | seconds, lower |")
    print("|---|---|---|---|---|---|---|---|")
    for epsilon0 in (1.0, 4.0):
        rows: list[tuple[str, LocalModel, tuple[str, tuple[str, ...]]]] = [
            (
                f"k-RR, k = {size}",
                KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=size),
                response,
            )
            for size in (3, 10, 100)
        ]
        unary = (OptimizedUnaryEncodingModel, SymmetricUnaryEncodingModel)
        rows += [(m.kind, m.from_epsilon0(epsilon0=epsilon0, domain_size=100), response) for m in unary]
        rows.append(("Laplace", LaplaceModel(epsilon0=epsilon0), laplace))
        for name, local, theorems in rows:
            for users in (10**3, 10**4, 10**6, 10**8):
                upper, lower, slow, fast = bracket(local, users, *theorems)
                print(
                    f"| {name} | {epsilon0:g} | 10^{round(math.log10(users))} | {upper:.6g} | {lower:.6g} | "
                    f"{upper / lower:.6f} | {slow:.3f} | {fast:.3f} |"
                )


def lattice(values: NDArray[np.float64], masses: NDArray[np.float64], users: int) -> float:
    """E[(G_1 + ... + G_n)_+] / n by the n-th power of a transform on a lattice of 40 points for a standard deviation.

    The usual way, tilted to the mean 0; atoms go to the two nearest points, the mean kept. No bounds on its errors.
    """
    zero = 1 - masses.sum()
    deviation = math.sqrt(masses @ values**2 - (masses @ values) ** 2)
    step = deviation / 40
    low = np.floor(values / step).astype(int)
    share = values / step - low
    places = np.concatenate([low, low + 1, [0]])
    weights = np.concatenate([masses * (1 - share), masses * share, [zero]])
    left, right = 0.0, 50 / values.max()
    for _ in range(60):
        tilt = (left + right) / 2
        tilted = weights * np.exp(tilt * step * places)
        left, right = (left, tilt) if tilted @ places > 0 else (tilt, right)
    size = 1 << math.ceil(math.log2(22 * 40 * math.sqrt(users)))
    law = np.bincount(places % size, weights=tilted / tilted.sum(), minlength=size)
    total = np.fft.irfft(np.exp(users * np.log(np.fft.rfft(law))), n=size)[: size // 2]
    sums = step * np.arange(size // 2)
    return float(math.exp(users * math.log(tilted.sum())) * (total @ (sums * np.exp(-tilt * sums))) / users)


def duel() -> None:
    """Print one evaluation of delta by either way."""
    print("| people | ours: lower, upper | seconds | lattice | seconds |")
    print("|---|---|---|---|---|")
    ratio, size = math.e, 10
    lie = 1 / (ratio + size - 1)
    for users, epsilon in ((10**3, 0.0801611), (10**4, 0.0232533), (10**5, 0.0066385), (10**6, 0.0018544)):
        factor = math.exp(epsilon)
        values, masses = np.array([ratio - factor, 1 - ratio * factor, 1 - factor]), lie * np.array([1, 1, size - 2.0])
        (lower, upper), ours = timed(partial(mean_positive_part, values, masses, users))
        found, usual = timed(partial(lattice, values, masses, users))
        print(f"| {users} | {lower:.6e}, {upper:.6e} | {ours:.4f} | {found:.6e} | {usual:.4f} |")


def timed(evaluate: Callable[[], Item]) -> tuple[Item, float]:
    """A result, and the median of the seconds that it took."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        found = evaluate()
        times.append(time.perf_counter() - start)
    return found, statistics.median(times)


if __name__ == "__main__":
    duel() if sys.argv[1:] == ["lattice"] else main()
