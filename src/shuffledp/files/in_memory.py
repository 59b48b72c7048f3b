"""Inputs other than one file of answers: a table in memory, CSV from a pipe, or several files of one table.

The first two are never on a disk.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from shuffledp.core.errors import InputDataError

_MOST_HELD = 1 << 30  # bytes


@dataclass(frozen=True, slots=True)
class TableInMemory:
    """A table in memory as input; messages show nothing of its content."""

    columns: pa.Table

    def __str__(self) -> str:
        return "the table"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class CsvInMemory:
    """A CSV table from a pipe as input, held in memory only; messages show nothing of its content."""

    content: bytes

    @classmethod
    def of(cls, stream: BinaryIO) -> "CsvInMemory":
        """The whole content of a stream; refused if it is too large for memory."""
        content = stream.read(_MOST_HELD + 1)
        if len(content) > _MOST_HELD:
            raise InputDataError(
                f"standard input must be at most {_MOST_HELD >> 20:,} MiB, since all of it is held in memory; give a "
                "file in place of it."
            )
        return cls(content)

    def __str__(self) -> str:
        return "standard input"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Several files of one table as input; their rows follow in the order of ``paths``."""

    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return f"the input of {len(self.paths)} files"


OneInput = Path | TableInMemory | CsvInMemory
Input = OneInput | TableFiles
