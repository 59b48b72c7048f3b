"""Several files as one table: order of files, agreement of columns, and sequence of rows.

Whatever holds the rows, the next of them are read in another thread while the last ones are worked on.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import pyarrow as pa

from shuffledp.core.errors import InputDataError
from shuffledp.core.flow import Progress
from shuffledp.core.validate import invalid
from shuffledp.files.named_columns import check_columns
from shuffledp.files.reading import (
    HEADER_HINT,
    Input,
    TableFiles,
    csv_header,
    guarded,
    is_parquet,
    open_batches,
    open_parquet,
)

_ASIDE = (".", "_")  # first letters of files in a folder that are not part of its table, such as _SUCCESS


def table_files(paths: Sequence[Path]) -> Path | TableFiles:
    """Files of one table, sorted by name; in a folder, names beginning with . or _ are skipped.

    Raises:
        InvalidParameterError: if there is no file, a folder holds folders, or a file is named twice.
    """
    found = sorted(file for path in paths for file in (_files_in(path) if path.is_dir() else [path]))
    seen: set[tuple[int, int]] = set()
    for info in (file.stat() for file in found if file.exists()):  # absent files are refused when they are opened
        if (info.st_dev, info.st_ino) in seen:
            raise invalid("files that are all different", input=", ".join(map(str, paths)))
        seen.add((info.st_dev, info.st_ino))
    return found[0] if len(found) == 1 else TableFiles(tuple(found))


def _files_in(folder: Path) -> list[Path]:
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(_ASIDE)]
    if not entries:
        raise invalid("a folder that holds a file or more", input=str(folder))
    for entry in sorted(entries):
        if entry.is_dir():
            advice = "name each such folder by itself to take them all"
            raise invalid(f"a folder of files alone (it holds the folder {entry.name!r}; {advice})", input=str(folder))
    return entries


def read_table(
    answers: Input,
    columns: Sequence[str],
    *,
    encoded: Sequence[str] = (),
    present: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches as in `shuffledp.files.reading.read_batches`, from one or more files, even empty files.

    Raises:
        InvalidParameterError: if there is no such file, or it may not be read.
        InputDataError: if a file is damaged, lacks or repeats a column, or has others than the first; or if there are
            no rows in any.
    """
    names = {"encoded": encoded, "present": present}
    total: int | None
    batches: Iterator[pa.RecordBatch]
    if isinstance(answers, TableFiles):
        total = rows_of(answers.paths, [*columns, *present])
        # One file at a time: the process may not have all of them open.
        batches = chain.from_iterable(open_batches(file, columns, **names)[1] for file in answers.paths)
    else:
        total, batches = open_batches(answers, columns, **names)
    done = 0
    for batch in _read_ahead(batches):
        yield batch
        done += batch.num_rows
        if progress is not None:
            progress(done, total)
    if done == 0:
        raise InputDataError(f"{answers} is empty: it has no rows.")


def _read_ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches, passed on unchanged, each read in advance while the previous batch is in use."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


@dataclass(frozen=True, slots=True)
class _Layout:
    """Format and columns of a file; for Parquet also types of named columns and number of rows."""

    kind: str
    columns: list[str]
    types: dict[str, pa.DataType]
    rows: int | None

    @classmethod
    def of(cls, file: Path, named: Sequence[str]) -> Self:
        if not is_parquet(file):
            header, _ = guarded(file, lambda: csv_header(file, set(named)))
            check_columns(file, header, named, HEADER_HINT, sure=False)
            return cls("CSV", sorted(header), {}, None)
        opened = open_parquet(file)
        schema = opened.schema_arrow
        check_columns(file, schema.names, named)
        kinds = {name: schema.field(name).type for name in named}
        plain = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
        return cls("Parquet", sorted(schema.names), plain, opened.metadata.num_rows)


def rows_of(files: Sequence[Path], named: Sequence[str]) -> int | None:
    """Number of rows in all files, if known; refused if formats, columns or types of named columns differ.

    Of the columns, only those that the task names are named: without a header line, names would be answers.
    """
    first, rows = _Layout.of(files[0], named), 0
    for file in files:
        layout = _Layout.of(file, named)
        changed = [
            f"{name!r} is {layout.types.get(name)}, not {kind}"
            for name, kind in first.types.items()
            if layout.types.get(name) != kind
        ]
        for differs, what in (
            (layout.kind != first.kind, f"it is {layout.kind}, not {first.kind}"),
            (bool(changed), f"the type of column {', '.join(changed)}"),
            (layout.columns != first.columns, "its columns are others"),
        ):
            if differs:
                raise InputDataError(f"{file} must be as {files[0]} is, both being of one table; {what}.")
        rows += layout.rows or 0
    return rows if first.rows is not None else None
