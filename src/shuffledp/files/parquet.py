"""Reports and views as Parquet files, with the models of their protocol in the file's metadata."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Table
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parts_folder import PartsFolder, Rows
from shuffledp.files.reading import guarded, open_parquet
from shuffledp.survey import Column

ReportPart = tuple[Reports, pa.Table | None]  # reports, and a table of public columns with a row for each

_KEY = b"shuffledp"
_PUBLIC = "public:"  # public columns cannot clash with those of a report
_ROWS_OF_GROUP = 1 << 20
_BYTES_OF_GROUP = 1 << 23
_ANOTHER_SHUFFLE = "it describes another shuffle than the task's, or another number of reports than it holds"
_MAKERS = {"reports": "shuffledp randomize", "view": "shuffledp shuffle", "labels": "shuffledp shuffle"}


class ReportsWriter:
    """Writer of reports in parts, in the order of the people, with the public columns for the shuffler.

    A context manager; the file is there only after `finish`. Where reports hide nothing before they are shuffled, only
    its owner may read it.
    """

    def __init__(self, path: Path, column: Column) -> None:
        self._path, self._column = path, column
        self._file = PartFile(path, secret=column.randomizer.randomizer().model.guarantee.is_trivial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.discard()

    def write(self, reports: Reports, public: pa.Table | None) -> None:
        """Add a part of the reports; ``public`` has one row for each report."""
        table = self._column.randomizer.named(reports.to_arrow())
        if public is not None:
            for name in public.column_names:
                table = table.append_column(_PUBLIC + name, public.column(name))
        self._file.write(table)

    def finish(self, facts: FileFacts) -> tuple[str, ...]:
        """Close the file, and return the names of the written files."""
        self._file.close(facts)
        self._file.publish()
        return (self._path.name,)


def read_reports(path: Path, column: Column) -> tuple[Iterator[ReportPart], FileFacts]:
    """Reports written by `ReportsWriter`, in small parts with their public columns, and the file's facts.

    Refuses files of other tasks, and damaged ones; what is wrong within a part is found when it is read.
    """
    rows, facts = _open(path, column, "reports")
    attached = [name for name in rows.columns if name.startswith(_PUBLIC)]
    if tuple(name.removeprefix(_PUBLIC) for name in attached) != column.attached:
        raise _does_not_fit(path, "its public columns are not those of the task")
    received = facts.flow.received
    if received is not None and received - facts.flow.missing != _users(path, rows, facts):
        raise _does_not_fit(path, "it counts another number of people than it holds")

    def parts() -> Iterator[ReportPart]:
        for table in rows.tables():
            reports = reports_of(path, column, table.drop_columns(attached), facts)
            yield reports, table.select(attached).rename_columns(list(column.attached)) if attached else None

    return parts(), facts


class ViewWriter:
    """Writer of a view in parts: its reports, any labels, and the label table in a second file.

    A context manager; the files are there only after `finish`: ``view.parquet`` and perhaps ``view.labels.parquet``.

    Guarantees:
        1. How the file is divided into row groups tells nothing of who sent what: it follows from the sizes of the
           parts, and a part of a uniform shuffle is as large as its bucket, which was filled by lot.
    """

    def __init__(self, path: Path, column: Column) -> None:
        self._path, self._column = path, column
        self._file = PartFile(path)
        self._beside = PartFile(_labels_beside(path))
        self._label_table: Table | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.discard()
        self._beside.discard()

    def write(self, view: View) -> View:
        """Add a part of the view, and return this part."""
        table = self._column.randomizer.named(view.reports.to_arrow())
        if view.labels is not None:
            table = table.add_column(0, "label", pa.array(view.labels))
        self._label_table = view.label_table
        self._file.write(table)
        return view

    def finish(self, facts: FileFacts) -> tuple[str, ...]:
        """Close the files, and return the names of the written files."""
        files = {self._path.name: self._file}
        if self._label_table is not None:
            files[_labels_beside(self._path).name] = self._beside
            self._beside.write(self._label_table.to_arrow())
            self._beside.close(replace(facts, content="labels"))
            facts = replace(facts, labels_sha256=self._beside.sha256())
        self._file.close(facts)
        for file in files.values():
            file.publish()
        return tuple(files)


def read_view(path: Path, column: Column) -> tuple[Iterator[View], FileFacts]:
    """View written by `ViewWriter`, and the file's facts.

    It comes in small parts after a uniform shuffle, else whole.

    Refuses files as `read_reports` does.
    """
    rows, facts = _open(path, column, "view")
    shuffle = facts.shuffle
    if shuffle is None:
        raise _does_not_fit(path, "it does not say how it was shuffled")
    if facts.flow.released != rows.count:
        raise _does_not_fit(path, _ANOTHER_SHUFFLE)
    if not column.shuffler.is_uniform:
        return _whole_view(path, column, rows, facts), facts
    try:
        made_so = column.shuffler.shuffler().model(_users(path, rows, facts)) == shuffle
    except InvalidParameterError:
        made_so = False
    if not made_so:
        raise _does_not_fit(path, _ANOTHER_SHUFFLE)

    def parts() -> Iterator[View]:
        for table in rows.tables():
            yield View(reports=reports_of(path, column, table, facts), shuffle=shuffle)

    return parts(), facts


def _whole_view(path: Path, column: Column, rows: Rows, facts: FileFacts) -> Iterator[View]:
    """View as one part, since its labels are checked together."""
    table = guarded(path, rows.read)
    labels = None
    if "label" in table.column_names:
        labels = guarded(path, lambda: np.asarray(table.column("label")))
        table = table.drop_columns(["label"])
    label_table = None
    if column.labeled:
        beside = _labels_beside(path)
        label_table = guarded(beside, lambda: Table.from_arrow(_open(beside, column, "labels")[0].read()))
        if facts.labels_sha256 != _sha256(beside):
            raise InputDataError(f"{beside} must hold the labels of the run that made {path}; they are of another run.")
    reports = reports_of(path, column, table, facts)
    try:
        view = View(reports=reports, labels=labels, label_table=label_table, shuffle=cast(ShuffleModel, facts.shuffle))
        if not column.shuffler.could_have_made(view):
            raise _does_not_fit(path, _ANOTHER_SHUFFLE)
    except InvalidParameterError:
        raise _does_not_fit(path, _ANOTHER_SHUFFLE) from None
    yield view


def read_labeled_parts(path: Path, column: Column) -> Iterator[View]:
    """Small parts of a view with labels, without the label table.

    Refuses files as `read_view` does, but for what only the whole tells.
    """
    rows, facts = _open(path, column, "view")
    for table in rows.tables():
        labels, reports = (
            np.asarray(table.column("label")),
            reports_of(path, column, table.drop_columns("label"), facts),
        )
        yield View(reports=reports, labels=labels, shuffle=cast(ShuffleModel, facts.shuffle))


def write_labels(path: Path, label_table: Table, facts: FileFacts) -> tuple[str, FileFacts]:
    """Write the label table beside a view in parts; return its file name, and the facts with its digest."""
    beside = PartFile(_labels_beside(path))
    try:
        beside.write(label_table.to_arrow())
        beside.close(replace(facts, content="labels"))
        facts = replace(facts, labels_sha256=beside.sha256())
        beside.publish()
    finally:
        beside.discard()
    return _labels_beside(path).name, facts


def read_facts(path: Path) -> FileFacts | None:
    """The facts in a whole Parquet file of this library; None for any other file."""
    return _facts_of(open_parquet(path))


def _facts_of(file: pq.ParquetFile) -> FileFacts | None:
    written = (file.metadata.metadata or {}).get(_KEY)
    if written is None:
        return None
    try:
        return FileFacts.from_dict(json.loads(written))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None  # a file of another program, or changed since it was written


def _labels_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}.labels.parquet")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class PartFile:
    """Parquet file written in parts; at the end it gets its metadata, and only then its name.

    A part is written in another thread while the next one is made; what goes wrong there is raised with that one.
    """

    def __init__(self, path: Path, *, secret: bool = False) -> None:
        self._path, self._secret = path, secret
        self._partial = path.with_name(f".{path.name}.partial")
        self._writer: pq.ParquetWriter | None = None
        self._thread = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def write(self, table: pa.Table) -> None:
        """Add rows, in row groups of bounded size."""
        self._wait()
        if self._writer is None:
            plain = table.schema.remove_metadata()
            if self._secret:
                self._partial.touch(mode=0o600)
                self._partial.chmod(0o600)
            self._writer = pq.ParquetWriter(self._partial, plain, write_page_checksum=True)
        width = table.nbytes // max(len(table), 1) + 1
        rows = max(1, min(_ROWS_OF_GROUP, _BYTES_OF_GROUP // width))
        plain_table = table.replace_schema_metadata(None)
        self._writing = self._thread.submit(self._writer.write_table, plain_table, row_group_size=rows)

    def _wait(self) -> None:
        """Wait until the last part is written."""
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def close(self, facts: FileFacts | None) -> None:
        """Close the file, with these facts as metadata; ``facts`` is None if another file holds them.

        One part or more was written before.
        """
        self._wait()
        writer = cast(pq.ParquetWriter, self._writer)
        if facts is not None:
            writer.add_key_value_metadata({_KEY.decode(): json.dumps(facts.to_dict(), allow_nan=False)})
        writer.close()

    def sha256(self) -> str:
        """SHA-256 of the closed file, before it gets its name."""
        return _sha256(self._partial)

    def publish(self) -> None:
        """Give the closed file its name."""
        self._partial.replace(self._path)

    def discard(self) -> None:
        """Delete a file that was not published."""
        self._thread.shutdown()
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.close()
            self._partial.unlink(missing_ok=True)


def _open(path: Path, column: Column, content: str) -> tuple[Rows, FileFacts]:
    """The rows and the facts of a file or of a folder of parts."""
    facts: FileFacts | None
    if PartsFolder.is_at(path):
        folder = PartsFolder.read(path)
        rows, facts = folder.rows(path), folder.facts
    else:
        file = open_parquet(path)
        rows, facts = Rows.of_file(path, file), _facts_of(file)
    if facts is None or facts.content != content:
        raise InputDataError(f"{path} must be a file written by `{_MAKERS[content]}`; it is not.")
    if facts.task_sha256 != column.sha256:
        raise InputDataError(
            f"{path} must belong to the task {column.sha256[:12]}...; it belongs to {facts.task_sha256[:12]}..."
        )
    if facts.local != column.randomizer.randomizer().model:
        raise _does_not_fit(path, "it describes another randomizer than the task's")
    return rows, facts


def _users(path: Path, rows: Rows, facts: FileFacts) -> int:
    """Number of people behind the reports, by the model's number of messages for each person."""
    try:
        return facts.local.num_users_of(rows.count)
    except InvalidParameterError:
        raise _does_not_fit(path, "it does not hold the same number of reports from everybody") from None


def reports_of(path: Path, column: Column, table: pa.Table, facts: FileFacts) -> Reports:
    """Reports from rows of a file of reports or of a view; errors name the file."""
    try:
        numbered = guarded(path, lambda: Table.from_arrow(column.randomizer.numbered(table)))
        return Reports.from_table(numbered, facts.local, seeded=facts.seeded)
    except InvalidParameterError as error:
        reason = str(error).removesuffix(".")
    what = f": {reason}" if reason.isprintable() else ""
    raise _does_not_fit(path, f"it holds something else than reports of the task's randomizer{what}")


def _does_not_fit(path: Path, problem: str) -> InputDataError:
    return InputDataError(f"{path} must fit the task that it names; {problem}.")
