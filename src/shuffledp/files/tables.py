"""Tasks on tables in memory, from pandas, polars, Arrow or plain Python, in place of files."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files import stages
from shuffledp.files.named_columns import check_columns
from shuffledp.files.reading import TableInMemory
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import Column, Outcome, Task


def run(task: Task, answers: Any, *, source: RandomSource | None, earlier: Sequence[Path], beside: Path) -> Outcome:
    """Outcome of all stages of a task on a table in memory, as in `Task.run`.

    What a stage would hand on in files lies in a private folder, which is gone in the end.
    """
    table = _as_table(answers, dict.fromkeys(name for column in task.columns for name in _named(column)))
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        outcome = stages.run(task, table, Path(folder), source=source, earlier=earlier, beside=beside)
    columns = {name: replace(column, files={}) for name, column in outcome.columns.items()}
    return replace(outcome, columns=columns, files={})


def _named(column: Column) -> Iterable[str]:
    """The input columns that a private column needs."""
    return [*column.read_from, *column.public, *column.labeled, *filter(None, [column.people.id])]


def _as_table(answers: Any, wanted: Iterable[str]) -> TableInMemory:
    """Table with the columns that a task names, from any table type; errors show nothing of their content."""
    if isinstance(answers, pa.Table | pa.RecordBatch):
        names = answers.column_names
    elif isinstance(answers, Mapping) or hasattr(answers, "columns"):
        names = list(answers if isinstance(answers, Mapping) else answers.columns)
    else:
        raise InvalidParameterError(
            "answers must be a table: a pandas or polars data frame, an Arrow table, or a dictionary of columns; got "
            f"one of type {type(answers).__name__}."
        )
    check_columns("the table", names, list(wanted))
    columns = {name: _as_arrow(name, answers[name]) for name in wanted}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise InputDataError("the table must have columns of one length.")
    return TableInMemory(pa.table(columns))


def _as_arrow(name: str, column: Any) -> pa.ChunkedArray:
    """A column as an Arrow array."""
    try:
        if hasattr(column, "__arrow_c_stream__"):
            return pa.chunked_array(column)
        return pa.chunked_array([pa.array(column, from_pandas=True)])
    except Exception:  # noqa: S110 (its text may quote an answer)
        pass
    raise InputDataError(f"column {name!r} of the table must hold values of one type, or be missing in some rows.")
