"""What stands in the place of one file of answers: a table in memory, CSV from a pipe, or several files of one table.

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
    """Table in memory, in the place of a file; no message shows more of it than that it is one."""

    columns: pa.Table

    def __str__(self) -> str:
        return "the table"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class CsvInMemory:
    """CSV table that came through a pipe, in the place of a file; it is in memory alone, and shown by no message."""

    content: bytes

    @classmethod
    def of(cls, stream: BinaryIO) -> "CsvInMemory":
        """All that comes; refused if it is too much to hold."""
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
    """Files of one table, whose rows follow one another in the order of the ``paths``."""

    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return f"the input of {len(self.paths)} files"


OneInput = Path | TableInMemory | CsvInMemory
Input = OneInput | TableFiles
