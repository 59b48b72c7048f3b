"""Outcomes to draw: real pipelines on made-up answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp.documents import page
from shuffledp.documents.release_document import RELEASE_PAGE, column_document
from shuffledp.survey import Column, ColumnOutcome, DataFlow
from shuffledp.testing import SeededSource


def write_page(outcome: ColumnOutcome, folder: Path, **options: bool) -> tuple[str, ...]:
    """Write the page of a release of one column."""
    return page.write_page(column_document(outcome), folder, RELEASE_PAGE, **options)


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
) -> ColumnOutcome:
    """The outcome of a column; ``numbers`` fixes the estimates without withdrawing the statements."""
    response = {"kind": "k-rr", "epsilon0": epsilon0, "categories": list(categories)}
    described = Column.from_dict(
        {
            "name": "risk survey",
            "value": "cheated",
            **({} if "protocol" in task else {"randomizer": response}),
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
    return ColumnOutcome(column=described, flow=DataFlow(**counts), release=release, files=files)
