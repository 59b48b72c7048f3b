"""``python -m experiments.imperfect NAME``: compute or remember, print a table, write the rows and the picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.imperfect import bits, errors, messages, traffic, transformation
from experiments.running import settings_from, start

HERE = Path(__file__).parent
EXPERIMENTS: Mapping[str, ModuleType] = {
    "errors": errors,
    "messages": messages,
    "bits": bits,
    "traffic": traffic,
    "transformation": transformation,
}


def settings_of(name: str, *, tiny: bool = False) -> dict[str, Any]:
    """What the configuration says of one experiment."""
    return settings_from(HERE, name, tiny=tiny)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    start(HERE, EXPERIMENTS, arguments, __doc__ or "")
