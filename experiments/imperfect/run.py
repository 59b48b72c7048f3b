"""``python -m experiments.imperfect NAME``: compute or remember, print a table, write rows and a picture, compare."""

from collections.abc import Sequence
from pathlib import Path

from experiments.imperfect import bits, errors, messages, traffic, transformation
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "errors": errors,
        "messages": messages,
        "bits": bits,
        "traffic": traffic,
        "transformation": transformation,
    },
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
