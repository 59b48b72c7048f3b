"""``python -m experiments.network NAME``: the tables and figures of the paper, and one picture for users."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.network import fig_4, fig_5, fig_6, fig_7, fig_8, fig_9, rounds, table_1, table_3, table_4
from experiments.running import settings_from, start

HERE = Path(__file__).parent
EXPERIMENTS: Mapping[str, ModuleType] = {
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
}


def settings_of(name: str, *, tiny: bool = False) -> dict[str, Any]:
    """What the configuration says of one experiment."""
    return settings_from(HERE, name, tiny=tiny)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    start(HERE, EXPERIMENTS, arguments, __doc__ or "")
