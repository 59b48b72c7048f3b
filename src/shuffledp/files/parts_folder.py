"""Folder of parts: reports or a view in several files, with a file of facts about the whole.

The parts are called so that their order is that of the rows. Whoever reads such folders leaves out files whose names
begin with _, so that any reader of Parquet takes the folder for one table.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InputDataError
from shuffledp.core.validate import invalid
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.reading import guarded, open_parquet, parquet_batches
from shuffledp.survey.section import require_sha256

_MARK = "_parts.json"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of reports or of a view, from one or more files, read as tables of bounded size."""

    columns: list[str]
    count: int
    tables: Callable[[], Iterator[pa.Table]]

    @classmethod
    def of_file(cls, path: Path, file: pq.ParquetFile) -> Self:
        """The rows of a Parquet file."""

        def tables() -> Iterator[pa.Table]:
            batches = parquet_batches(file)
            while (batch := guarded(path, lambda: next(batches, None))) is not None:
                yield pa.Table.from_batches([batch])

        return cls(file.schema_arrow.names, file.metadata.num_rows, tables)

    def read(self) -> pa.Table:
        """All rows as one table."""
        return pa.concat_tables(self.tables())


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Described):
    """One file of a folder of parts: its name, number of rows and digest."""

    name: str
    rows: int
    sha256: str

    def __post_init__(self) -> None:
        validate.integer_at_least(0, rows=self.rows)
        require_sha256(sha256=self.sha256)
        if Path(self.name).name != self.name:
            raise invalid("the name of a file in the folder", name=self.name)

    def open(self, folder: Path) -> Rows:
        """Rows of a part's file, which must have the listed digest and number of rows.

        Raises:
            InputDataError: if it is another one, or there is none.
        """
        path = folder / self.name
        file = open_parquet(path)
        with path.open("rb") as content:
            self.require(folder, hashlib.file_digest(content, "sha256").hexdigest(), file.metadata.num_rows)
        return Rows.of_file(path, file)

    def require(self, folder: Path, sha256: str, rows: int) -> None:
        """Refuse a file unless its digest and its number of rows are as listed."""
        if (sha256, rows) != (self.sha256, self.rows):
            raise InputDataError(
                f"{folder / self.name} must be the part that {folder / _MARK} lists; it is another file."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsFolder(Described):
    """Description of a folder of parts: facts about the whole, and one or more parts in order."""

    facts: FileFacts
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise invalid("one part or more", parts=0)

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether a path is a folder of parts."""
        return (path / _MARK).is_file()

    @classmethod
    def is_all_of(cls, path: Path) -> bool:
        """Whether a path is a folder of parts without any other files."""
        try:
            ours = {_MARK, *(part.name for part in cls.read(path).parts)}
        except InputDataError:
            return False
        return all(entry.name in ours and entry.is_file() for entry in path.iterdir())

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The facts of a folder of parts, as written by `write`.

        Raises:
            InputDataError: if it is not there, or no longer what was written.
        """
        try:
            return cls.from_dict(json.loads((folder / _MARK).read_text(encoding="utf-8")))
        except (ArithmeticError, LookupError, OSError, RecursionError, TypeError, ValueError):
            pass
        raise InputDataError(
            f"{folder} must be a folder of parts with its {_MARK}, as --engine spark writes it; it is not."
        )

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write the facts beside the parts, and return the names of all files."""
        content = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / _MARK).write_text(content + "\n", encoding="utf-8")
        return (*(part.name for part in self.parts), _MARK)

    def rows(self, folder: Path) -> Rows:
        """Rows of all parts, in sequence; each part's digest is checked when the part is opened."""

        def tables() -> Iterator[pa.Table]:
            for part in self.parts:
                yield from part.open(folder).tables()

        return Rows(self.parts[0].open(folder).columns, sum(part.rows for part in self.parts), tables)
