"""Shares of a table in files, for workers: whole row groups of Parquet, or whole CSV files.

A share has the same rows in the same order at every reading, so that a repeated task reads the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from shuffledp.core.flow import Progress
from shuffledp.files.reading import TableFiles, guarded, is_parquet, open_batches, open_parquet, rows_at_a_time
from shuffledp.files.row_problems import is_text
from shuffledp.files.table_files import rows_of

_ROWS_OF_SHARE = 1 << 20
_BYTES_OF_SHARE = 1 << 25
_LEAST_BYTES_OF_ROW = 3  # CSV: an answer and the end of the line
_COMPRESSION = 10  # compressed text files are larger by at least this factor when read


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a file: a Parquet row group with the number of its first row, or a whole CSV file."""

    path: Path
    group: int | None = None
    first_row: int = 0

    def __str__(self) -> str:
        return f"{self.path} from row {self.first_row + 1} on" if self.first_row else str(self.path)


@dataclass(frozen=True, slots=True)
class Share:
    """Rows that one task reads: the rows of its pieces in sequence."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        more = f", and {len(self.pieces) - 1} more" if len(self.pieces) > 1 else ""
        return f"{self.pieces[0]}{more}"


def divide(answers: Path | TableFiles, named: Sequence[str]) -> tuple[tuple[Share, ...], int]:
    """Shares of a table in the order of its rows, and the number of rows (for CSV, an upper bound).

    A small rest is no share of its own: Spark logs the number of parts that a share sends reports to, and which parts
    took more blocks; for a share of few people this would tell where in the view they are.

    Raises:
        InvalidParameterError: if a file is missing, or may not be read.
        InputDataError: as in `shuffledp.files.table_files.read_table`.
    """
    files = answers.paths if isinstance(answers, TableFiles) else (answers,)
    rows = rows_of(files, named)
    shares: list[Share] = []
    pieces: list[Piece] = []
    held = 0.0
    for piece, size in _pieces(files):
        pieces.append(piece)
        held += size
        if held >= 1:
            shares.append(Share(tuple(pieces)))
            pieces, held = [], 0.0
    if pieces:
        before = shares.pop().pieces if shares else ()
        shares.append(Share((*before, *pieces)))
    return tuple(shares), rows if rows is not None else sum(map(_most_rows, files))


def _pieces(files: Sequence[Path]) -> Iterator[tuple[Piece, float]]:
    """Smallest pieces of the files, each with its size as a fraction of a share."""
    for file in (each.absolute() for each in files):
        if not is_parquet(file):
            yield Piece(file), file.stat().st_size / _BYTES_OF_SHARE
            continue
        metadata, first_row = open_parquet(file).metadata, 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            yield (
                Piece(file, number, first_row),
                max(group.num_rows / _ROWS_OF_SHARE, group.total_byte_size / _BYTES_OF_SHARE),
            )
            first_row += group.num_rows


def read_share(
    share: Share,
    columns: Sequence[str],
    *,
    encoded: Sequence[str] = (),
    present: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of a share's rows, as `shuffledp.files.table_files.read_table` reads them; possibly no batch."""
    del progress  # progress over all shares is unknown here
    for piece in share.pieces:
        if piece.group is None:
            yield from open_batches(piece.path, columns, encoded=encoded, present=present)[1]
            continue
        schema = open_parquet(piece.path).schema_arrow
        texts = [name for name in encoded if is_text(schema.field(name).type)]
        file = open_parquet(piece.path, as_dictionaries=texts)
        rows = rows_at_a_time(file, columns)
        batches = file.iter_batches(batch_size=rows, row_groups=[piece.group], columns=list(dict.fromkeys(columns)))
        yield from iter(partial(guarded, piece.path, partial(next, batches, None)), None)


def _most_rows(file: Path) -> int:
    """Upper bound on the rows of a CSV file without blank lines."""
    return file.stat().st_size * (1 if file.suffix == ".csv" else _COMPRESSION) // _LEAST_BYTES_OF_ROW + 1
