"""Estimates as a table for people and spreadsheets, and which place each slot is in."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shuffledp.tasks import Outcome

__all__ = ["write_estimates", "write_places"]

_ESTIMATE_COLUMNS = ("statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error")
_PLACE_COLUMNS = ("unshuffled_error", "where")
_FORMULA = re.compile(r"[=@+-](?![0-9.]+$)")  # how a formula begins, and no number does


def write_estimates(path: Path, outcome: Outcome) -> None:
    """Write one row per target, all texts in quotation marks.

    The columns ``unshuffled_error`` and ``where`` are there only where there are estimates by place,
    and ``seeded`` only where it is true.

    A name that a spreadsheet would take for a formula gets an apostrophe before it; ``statement.json`` has it as it is.
    """
    mark = {"seeded": "true"} if outcome.seeded else {}
    columns = (*_ESTIMATE_COLUMNS, *(_PLACE_COLUMNS if outcome.regional else []), *mark)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns, quoting=csv.QUOTE_NONNUMERIC, extrasaction="ignore")
        writer.writeheader()
        for row in outcome.rows():
            texts = {"target": _harmless(row["target"]), "where": _place(row.get("where", {}))}
            writer.writerow(row | texts | mark)


def write_places(outcome: Outcome, folder: Path) -> tuple[str, ...]:
    """Write which place each person's slot is in, where no public column at the slot tells; the names written."""
    regional = outcome.regional
    if regional is None or regional.of_slot is None:
        return ()
    names = [_place(where) for where in (regional.estimate.where or ())[:: len(outcome.task.targets)]]
    with (folder / "places.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["person", "where"])
        writer.writerows([person, names[place]] for person, place in enumerate(regional.of_slot.tolist()))
    return ("places.csv",)


def _place(where: Mapping[str, Any]) -> str:
    """A region as it is named in files, in one text."""
    return _harmless("; ".join(f"{key}: {value}" for key, value in where.items()))


def _harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text
