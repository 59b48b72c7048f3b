"""``python -m experiments.qif NAME``: compute or remember, print a table, write rows and a picture, compare."""

from collections.abc import Sequence
from pathlib import Path

from experiments.qif import chances, crowd, crowd_and_values, limit, strong, tables, values
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "fig-2": crowd,
        "fig-3": values,
        "fig-4": chances,
        "fig-5": crowd_and_values,
        "fig-6": strong,
        "fig-7": limit,
        **{f"table-{number}": tables for number in range(1, 6)},
    },
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
