"""``python -m experiments.qif NAME``: compute or remember, print a table, write rows and a picture, compare."""

from collections.abc import Sequence
from pathlib import Path

from experiments.qif import (
    chances,
    constant,
    crowd,
    crowd_and_values,
    limits,
    relations,
    strong,
    tables,
    values,
)
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "fig-2": crowd,
        "fig-3": strong,
        "fig-4": crowd,
        "fig-5": crowd_and_values,
        "fig-6": limits,
        "fig-7": limits,
        **{f"table-{number}": tables for number in range(1, 6)},
        "relations": relations,  # Fig. 1, 8 and 9
        "values": values,  # these three are ours
        "chances": chances,
        "constant": constant,
    },
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
