"""``python -m experiments.d_sigma fig-7``: compute or remember case by case, print a table, write files, compare."""

from collections.abc import Sequence
from pathlib import Path

from experiments.d_sigma import (
    accuracy,
    displacement,
    frontier,
    geography,
    granularity,
    letters,
    preservation,
    protocols,
    rho_and_lambda,
    widths,
)
from experiments.d_sigma.data import files_of
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "fig-1": granularity,
        "fig-4-twitch": rho_and_lambda,
        "fig-4-acs": rho_and_lambda,
        "fig-4-acs-whole": rho_and_lambda,
        "fig-5": accuracy,
        "fig-7": preservation,
        "fig-8": rho_and_lambda,
        "fig-8-whole": rho_and_lambda,
        "fig-8-displacement": displacement,
        "fig-9": widths,
        "fig-10": widths,
        "letters": letters,
        "rho": protocols,
        "frontier-syn": rho_and_lambda,
        "frontier": frontier,
        "geography": geography,
    },
    several={"fig-4": ("fig-4-twitch", "fig-4-acs"), "fig-11": ("fig-4-twitch", "fig-8")},
    files=lambda settings: files_of(settings.get("data"), *settings.get("sets", ())),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
