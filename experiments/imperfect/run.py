"""``python -m experiments.imperfect NAME``: compute or remember, print a table, write rows and a picture, compare."""

from collections.abc import Sequence
from pathlib import Path

from experiments.imperfect import bits, buffers, errors, federated, messages, traffic, traitors, transformation, vectors
from experiments.running import Family

FAMILY = Family(
    folder=Path(__file__).parent,
    experiments={
        "errors": errors,
        "messages": messages,
        "bits": bits,
        "traffic": traffic,
        "transformation": transformation,
        "buffers": buffers,
        "traitors": traitors,
        "vectors": vectors,
        "federated": federated,
    },
    files=federated.files,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    FAMILY.start(arguments, __doc__ or "")
