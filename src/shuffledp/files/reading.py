"""Inputs (files, a table in memory, CSV from a pipe) and their columns, read in batches.

No error shows a row's content.
"""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from shuffledp.core.errors import InputDataError, InvalidParameterError, ShuffleDPError
from shuffledp.core.flow import Progress
from shuffledp.files.named_columns import check_columns
from shuffledp.files.numerals import of_csv
from shuffledp.files.row_problems import is_text

Result = TypeVar("Result")
Part = TypeVar("Part")

_MOST_HELD = 1 << 30  # bytes
_ROWS_AT_A_TIME = 1 << 19
_BYTES_AT_A_TIME = 1 << 24
_BYTES_OF_ROWS_AT_A_TIME = 1 << 23
_BYTES_OF_VALUE = 8
_BYTES_READ_AHEAD = 1 << 20  # per column; otherwise a whole row group of a column is in memory before it is decoded
_LETTERS_OF_HEADER = 1 << 20
HEADER_HINT = " (its first line must name the columns, separated by commas, semicolons or tabs)"
_DELIMITERS = (",", ";", "\t")
_PARQUET_MAGIC = b"PAR1"
_GZIP_MAGIC = b"\x1f\x8b"
_LINE_OF_EXCEL = re.compile("sep=.?", re.IGNORECASE)  # tells Excel the separator, and nobody else


@dataclass(frozen=True, slots=True)
class TableInMemory:
    """Table in memory as input; messages show nothing of its content."""

    columns: pa.Table

    def __str__(self) -> str:
        return "the table"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class CsvInMemory:
    """CSV table from a pipe as input, held in memory only; messages show nothing of its content."""

    content: bytes

    @classmethod
    def of(cls, stream: BinaryIO) -> "CsvInMemory":
        """CSV table from the whole content of a stream; refused if it is too large for memory."""
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


class ProgressListener:
    """Listener to a stage's progress, and to counts that no output may contain.

    This base class does nothing.
    """

    def progress(self, step: str, done: int, total: int | None) -> None:
        """Report the number of rows or reports that are done, and the total if it is known."""

    def clipped(self, column: str, count: int, received: int, clipping: str) -> None:
        """Report the number of answers outside a column's range; ``clipping`` describes their treatment.

        The number depends on people's answers and is protected by nothing: it is for the operator's eyes only.
        """

    def decimals(self, column: str, commas: int, points: int) -> None:
        """Report how many numbers of a column have a decimal comma, and how many a decimal point.

        Points are counted where commas may be decimal.

        Of a whole table one of the two is 0; of shares of it, each by itself.
        """


NOBODY = ProgressListener()


def counted(
    parts: Iterable[Part],
    watch: ProgressListener,
    step: str,
    total: int | None = None,
    *,
    size: Callable[[Any], int] = len,
) -> Iterator[Part]:
    """Parts, passed on unchanged, with progress reported to ``watch`` after each part."""
    done = 0
    for part in parts:
        yield part
        done += size(part)
        watch.progress(step, done, total)


def read_batches(
    path: OneInput,
    columns: Sequence[str],
    *,
    encoded: Sequence[str] = (),
    present: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of the named columns in row order, with at most about half a million rows each.

    They have fewer rows if rows are wide.

    CSV (also compressed: ``.csv.gz``) needs a header line, and is separated by commas, or by semicolons or tabs where
    only they leave all columns in the header; its columns come as text, an empty field as null, and batches say whether
    commas may be decimal. A blank line is skipped, but in a file of a single column it is an empty field. Parquet
    columns come in their own types.

    Args:
        path: the file, or a table in memory, whose columns come in their own types too.
        columns: what to read.
        encoded: those of them whose texts repeat, and are dictionary-encoded where that saves reading them.
        present: further columns that must be there; they are not read.
        progress: told after each batch.

    Raises:
        InvalidParameterError: if there is no such file, or it may not be read.
        InputDataError: if the file is empty, damaged, or lacks or repeats a column.
    """
    total, batches = open_batches(path, columns, encoded=encoded, present=present)
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if progress is not None:
            progress(done, total)
    if done == 0:
        raise InputDataError(f"{path} is empty: it has no rows.")


def open_batches(
    path: OneInput, columns: Sequence[str], *, encoded: Sequence[str] = (), present: Sequence[str] = ()
) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """Number of rows, if known, and batches as in `read_batches`; some batches may be empty."""
    total, batches = _batches(path, columns, encoded, present)
    return total, iter(lambda: guarded(path, lambda: next(batches, None)), None)


def _batches(
    path: OneInput, columns: Sequence[str], encoded: Sequence[str], present: Sequence[str]
) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """Number of rows of an input, if known, and its named columns in batches."""
    if isinstance(path, TableInMemory):
        check_columns(path, path.columns.column_names, [*columns, *present])
        read = path.columns.select(list(dict.fromkeys(columns)))
        return read.num_rows, iter(read.to_batches(max_chunksize=_ROWS_AT_A_TIME))
    if isinstance(path, CsvInMemory):
        if path.content.startswith(_PARQUET_MAGIC):
            raise InputDataError(f"{path} must be CSV text; it is a Parquet file, which must be given by its name.")
    elif is_parquet(path):
        return _parquet_batches(path, columns, encoded, present)
    return None, _csv_batches(path, columns, present)


def is_parquet(path: Path) -> bool:
    """Whether a nonempty file is Parquet, by its beginning or its name; else it is CSV."""
    beginning = _first_bytes(path)
    if not beginning:
        raise InputDataError(f"{path} is empty.")
    return beginning == _PARQUET_MAGIC or path.suffix in (".parquet", ".pq")


def guarded(path: object, step: Callable[[], Result]) -> Result:
    """Result of a step that reads a file; errors of the step are replaced, since they may quote a row.

    What the step raises is replaced by an `InputDataError` without its text, raised after the old one is gone, so that
    nothing that prints or records errors finds that attached to it.
    """
    try:
        return step()
    except ShuffleDPError:
        raise
    except Exception as error:
        reason = _harmless(error)
    raise _unread(path, reason)


def _unread(path: object, reason: str) -> InputDataError:
    return InputDataError(f"{path} cannot be read: {reason}.")


def open_parquet(path: Path, *, as_dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """Open Parquet file, with texts in columns ``as_dictionaries`` dictionary-encoded; refused if damaged."""
    _first_bytes(path)
    return guarded(
        path,
        lambda: pq.ParquetFile(
            path,
            read_dictionary=list(as_dictionaries) or None,
            page_checksum_verification=True,
            buffer_size=_BYTES_READ_AHEAD,
            pre_buffer=False,  # otherwise whole row groups are fetched before their first row
        ),
    )


def parquet_batches(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Batches of bounded size from a Parquet file, of the given columns or of all.

    One row group after the other: an iterator over several keeps what it has read of columns of lists.
    """
    rows, wanted = rows_at_a_time(file, columns), None if columns is None else list(columns)
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=rows, row_groups=[group], columns=wanted)


def rows_at_a_time(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> int:
    """Number of rows to read at once: half a million, or fewer to bound memory.

    It is for the given columns, or for all.

    A row of a column of lists is as wide as its lists are long on average.
    """
    size: int = 0
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            path = column.path_in_schema
            if columns is None or any(path == name or path.startswith(f"{name}.") for name in columns):
                size += max(column.total_uncompressed_size, _BYTES_OF_VALUE * column.num_values)
    width: int = size // max(file.metadata.num_rows, 1) + 1
    return max(1, min(_ROWS_AT_A_TIME, _BYTES_OF_ROWS_AT_A_TIME // width))


def _first_bytes(path: Path) -> bytes:
    """The first bytes of a file; refused if it cannot be read."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_PARQUET_MAGIC))
        problem = "there is no such file" if not path.exists() else "it is not a file"
    except OSError as error:
        problem = error.strerror or type(error).__name__
    raise InvalidParameterError(f"input must be a file that can be read; got input={str(path)!r}: {problem}.")


def _parquet_batches(
    path: Path, columns: Sequence[str], encoded: Sequence[str], present: Sequence[str]
) -> tuple[int, Iterator[pa.RecordBatch]]:
    schema = open_parquet(path).schema_arrow
    check_columns(path, schema.names, [*columns, *present])
    file = open_parquet(path, as_dictionaries=[name for name in encoded if is_text(schema.field(name).type)])
    return file.metadata.num_rows, parquet_batches(file, columns)


def _csv_stream(path: Path | CsvInMemory) -> pa.NativeFile:
    """The bytes of a CSV table, decompressed."""
    if isinstance(path, CsvInMemory):
        return pa.BufferReader(path.content)
    return pa.input_stream(str(path), compression="detect")


def _csv_batches(path: Path | CsvInMemory, columns: Sequence[str], present: Sequence[str]) -> Iterator[pa.RecordBatch]:
    header, delimiter = csv_header(path, {*columns, *present})
    if not header:
        return
    check_columns(path, header, [*columns, *present], HEADER_HINT, sure=False)
    with _csv_stream(path) as file:
        source = _CsvSource(file)
        batches = pyarrow.csv.open_csv(
            source,
            # One thread: otherwise errors do not have the row number, and more threads are not faster.
            read_options=pyarrow.csv.ReadOptions(block_size=_BYTES_AT_A_TIME, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        yield from map(partial(of_csv, commas=delimiter != ","), batches)
    if source.quotes % 2:
        # The rest of the file, from the quotation mark on, has been read as one field.
        raise _unread(path, "a quotation mark in it is never closed")


def csv_header(path: Path | CsvInMemory, wanted: set[str]) -> tuple[list[str], str]:
    """Fields of the first nonblank line, and the separator that yields most of the wanted names.

    Commas are taken before semicolons, and these before tabs; if nothing is there that is wanted, whatever makes the
    most fields.

    Raises:
        InputDataError: if the table is compressed but not called so, or its first line holds zero bytes or is Excel's.
    """
    with _csv_stream(path) as file:
        beginning = file.read(len(_GZIP_MAGIC))
        if beginning == _GZIP_MAGIC:
            raise _unread(path, "it is compressed by gzip; decompress it, or give it a name that ends in .gz")
    headers = [(_first_row(path, delimiter), delimiter) for delimiter in _DELIMITERS]
    header, delimiter = max(headers, key=lambda found: (len(wanted.intersection(found[0])), len(found[0])))
    if any("\0" in name for name in header):
        encoding = "UTF-16BE" if beginning.startswith(b"\0") else "UTF-16LE"
        advice = f"save it as CSV in UTF-8, or convert it, such as by iconv -f {encoding} -t UTF-8"
        raise _unread(path, f"its first line holds zero bytes, as text in UTF-16 does; {advice}")
    if not wanted.intersection(header) and _LINE_OF_EXCEL.fullmatch(delimiter.join(header)):
        raise _unread(path, "its first line is the 'sep=' of Excel, and not the names of the columns; delete that line")
    return header, delimiter


def _first_row(path: Path | CsvInMemory, delimiter: str) -> list[str]:
    with _csv_stream(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        lines = iter(lambda: text.readline(_LETTERS_OF_HEADER), "")
        return next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])


class _CsvSource(io.RawIOBase):
    """CSV file that returns few rows per read, so that batches are bounded, and counts quotation marks."""

    def __init__(self, file: pa.NativeFile) -> None:
        super().__init__()
        self._file = file
        self._rest = b""
        self.quotes = 0

    def readable(self) -> bool:
        """Whether the file can be read, which is always true."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Next bytes: ``size`` of them, or fewer where lines are short."""
        content: bytes = self._rest or self._file.read(size)
        line_end, stop = max(b"\n", b"\r", key=content.count), len(content)
        while content.count(line_end, 0, stop) > _ROWS_AT_A_TIME:
            stop //= 2
        content, self._rest = content[:stop], content[stop:]
        self.quotes += content.count(b'"')
        return content


def _harmless(error: Exception) -> str:
    """Reason for the error in words that quote nothing from the file."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is, or is damaged"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    message = str(error)
    ragged = re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
    if ragged:
        row, expected, got = ragged.groups()
        where = f"row {int(row) - 1} (counted from 1, without the header)" if row else "a row"
        return f"{where} has {got} fields instead of {expected}"
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in message:
        return (
            "it holds bytes that are not UTF-8 text; save it as CSV in UTF-8, or convert it, such as by iconv -f "
            "WINDOWS-1252 -t UTF-8, or -f UTF-16"
        )
    if "Empty CSV file" in message:
        return "it is empty"
    if "Truncated compressed stream" in message or "zlib" in message:
        return "it is not a whole compressed file (truncated or damaged)"
    if "Parquet" in message or "parquet" in message:
        return "it is not a whole Parquet file (truncated or damaged)"
    return "it is damaged, or not in the format that its name says"
