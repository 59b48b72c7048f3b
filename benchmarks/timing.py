"""Contestants take turns, round after round; medians and ratios are printed as a Markdown table."""

import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["compare"]


def compare(contestants: Mapping[str, Callable[[], object]], *, rounds: int = 7, floor: str) -> dict[str, float]:
    """Time every contestant once a round.

    Args:
        contestants: name to function; each is called once before the rounds begin.
        rounds: counted rounds.
        floor: the contestant that the others are divided by.

    Returns:
        Median seconds by name.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for function in contestants.values():
        function()
    for _ in range(rounds):
        for name, function in contestants.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    print("| contestant | median seconds | min to max | ratio to floor |")
    print("|---|---|---|---|")
    for name, median in medians.items():
        spread = f"{min(seconds[name]):.4f} to {max(seconds[name]):.4f}"
        print(f"| {name} | {median:.4f} | {spread} | {median / medians[floor]:.2f} |")
    return medians
