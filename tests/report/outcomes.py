"""Outcomes to draw: real pipelines on made-up answers."""

from dataclasses import replace
from typing import Any

from shuffledp.tasks import DataFlow, Outcome, Task
from shuffledp.testing import SeededSource


def make_outcome(
    values: Any,
    *,
    epsilon0: float = 2.0,
    categories: tuple[str, ...] = ("No", "Yes"),
    shuffler: str = "uniform",
    flow: dict[str, Any] | None = None,
    source: SeededSource | None = None,
    numbers: SeededSource | None = None,
    **task: Any,
) -> Outcome:
    """The outcome of a task; ``numbers`` fixes the estimates without withdrawing the statements."""
    described = Task.from_dict(
        {
            "name": "risk survey",
            "value": "cheated",
            "randomizer": {"kind": "k-rr", "epsilon0": epsilon0, "categories": list(categories)},
            "shuffler": {"kind": shuffler},
            "release": {"delta": 1e-6},
            **task,
        }
    )
    pipeline = described.pipeline()
    release = pipeline.run(values, delta=described.release.delta, source=source)
    if numbers is not None:
        fixed = pipeline.run(values, delta=described.release.delta, source=numbers)
        release = replace(release, estimate=fixed.estimate)
    release = replace(release, estimate=release.estimate.with_targets(described.targets))
    counts = {"received": len(release.view), "missing": 0, "released": len(release.view)} | (flow or {})
    files = {"release.parquet": "4f" * 32, "estimates.csv": "0a" * 32}
    return Outcome(task=described, flow=DataFlow(**counts), release=release, files=files)
