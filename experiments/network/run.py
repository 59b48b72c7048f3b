"""``python -m experiments.network NAME``: the tables and figures of the paper, and one picture for users."""

from collections.abc import Sequence
from pathlib import Path

from experiments.network import fig_4, fig_5, fig_6, fig_7, fig_8, fig_9, rounds, table_1, table_3, table_4
from experiments.network.graphs import files_of
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "table-1": table_1,
        "table-3": table_3,
        "table-4": table_4,
        "fig-4": fig_4,
        "fig-5": fig_5,
        "fig-6": fig_6,
        "fig-7": fig_7,
        "fig-8": fig_8,
        "fig-9": fig_9,
        "rounds": rounds,
    },
    files=lambda settings: files_of(settings.get("graphs", [settings.get("graph", "")])),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
