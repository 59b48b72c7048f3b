"""Reports and views as Parquet files, with the models that made them in the file's metadata."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp._described import Described
from shuffledp._version import __version__
from shuffledp.errors import InputDataError, InvalidParameterError
from shuffledp.flow import Reports, View
from shuffledp.models import LocalModel, ShuffleModel
from shuffledp.statements import Trust
from shuffledp.table import Table
from shuffledp.tables.reading import guarded, open_parquet
from shuffledp.tasks import DataFlow, Task

__all__ = ["FileFacts", "read_facts", "read_reports", "read_view", "write_reports", "write_view"]

_KEY = b"shuffledp"
_PUBLIC = "public:"  # public columns cannot clash with those of a report
_MAKERS = {"reports": "shuffledp randomize", "view": "shuffledp shuffle", "labels": "shuffledp shuffle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts(Described):
    """What a file of reports or of a view says about itself.

    Args:
        content: "reports", "view", or "labels" (the label table beside a view).
        task_sha256: digest of the task that it belongs to.
        seeded: whether its randomness can be replayed.
        flow: counts so far.
        local: the randomizer's model.
        shuffle: the shuffler's model, for a view.
        trust: whom people must trust besides, for how it was made.
        library_version: the version that wrote it.
    """

    content: str
    task_sha256: str
    seeded: bool
    flow: DataFlow
    local: LocalModel
    shuffle: ShuffleModel | None = None
    trust: tuple[Trust, ...] = ()
    library_version: str = __version__


def write_reports(path: Path, task: Task, reports: Reports, public: Table | None, facts: FileFacts) -> tuple[str, ...]:
    """Reports in the order of the people, with the public columns that the shuffler keeps: what the shuffler receives.

    Returns:
        The names of the files written.
    """
    table = task.randomizer.named(reports.to_arrow())
    if public is not None:
        for name, column in zip(public, public.to_arrow().columns, strict=True):
            table = table.append_column(_PUBLIC + name, column)
    _write(path, table, facts)
    return (path.name,)


def read_reports(path: Path, task: Task) -> tuple[Reports, Table | None, FileFacts]:
    """What `write_reports` wrote.

    Raises:
        InputDataError: if the file is not one of reports, belongs to another task, or is damaged.
    """
    table, facts = _read(path, task, "reports")
    attached = [name for name in table.column_names if name.startswith(_PUBLIC)]
    reports = _reports(path, task, table.drop_columns(attached), facts)
    if [name.removeprefix(_PUBLIC) for name in attached] != (list(task.public) if task.shuffler.keeps_public else []):
        raise _does_not_fit(path, "its public columns are not those of the task")
    if facts.flow.received is not None and facts.flow.received - facts.flow.missing != reports.num_users:
        raise _does_not_fit(path, "it counts another number of people than it holds")
    if not attached:
        return reports, None, facts
    public = guarded(path, lambda: Table.from_arrow(table.select(attached).rename_columns(list(task.public))))
    return reports, public, facts


def write_view(path: Path, task: Task, view: View, facts: FileFacts) -> tuple[str, ...]:
    """A view, exactly: its reports, its labels if it has any, and its label table in a file beside it.

    Returns:
        The names of the files written: for ``view.parquet`` perhaps also ``view.labels.parquet``.
    """
    table = task.randomizer.named(view.reports.to_arrow())
    if view.labels is not None:
        table = table.add_column(0, "label", pa.array(view.labels))
    _write(path, table, facts)
    if view.label_table is None:
        return (path.name,)
    beside = _labels_beside(path)
    _write(beside, view.label_table.to_arrow(), replace(facts, content="labels"))
    return (path.name, beside.name)


def read_view(path: Path, task: Task) -> tuple[View, FileFacts]:
    """What `write_view` wrote.

    Raises:
        InputDataError: if the file is not a view, belongs to another task, does not fit it, or is damaged.
    """
    table, facts = _read(path, task, "view")
    if facts.shuffle is None:
        raise _does_not_fit(path, "it does not say how it was shuffled")
    labels = None
    if "label" in table.column_names:
        labels = guarded(path, lambda: np.asarray(table.column("label")))
        table = table.drop_columns(["label"])
    label_table = None
    if task.public and task.shuffler.keeps_public:
        beside = _labels_beside(path)
        label_table = guarded(beside, lambda: Table.from_arrow(_read(beside, task, "labels")[0]))
    reports = _reports(path, task, table, facts)
    problem = "it describes another shuffle than the task's, or another number of reports than it holds"
    try:
        view = View(reports=reports, labels=labels, label_table=label_table, shuffle=facts.shuffle)
        if not task.shuffler.could_have_made(view) or facts.flow.released != len(view):
            raise _does_not_fit(path, problem)
        return view, facts
    except InvalidParameterError:
        raise _does_not_fit(path, problem) from None


def read_facts(path: Path) -> FileFacts | None:
    """What a file of this library says about itself; None for any other file.

    Raises:
        InvalidParameterError: if there is no such file, or it may not be read.
        InputDataError: if it is not a whole Parquet file.
    """
    written = (open_parquet(path).schema_arrow.metadata or {}).get(_KEY)
    if written is None:
        return None
    try:
        return FileFacts.from_dict(json.loads(written))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None  # somebody else's, or no longer what was written


def _labels_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}.labels.parquet")


def _write(path: Path, table: pa.Table, facts: FileFacts) -> None:
    metadata = {_KEY: json.dumps(facts.to_dict(), allow_nan=False).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path, write_page_checksum=True)


def _read(path: Path, task: Task, content: str) -> tuple[pa.Table, FileFacts]:
    facts = read_facts(path)
    if facts is None or facts.content != content:
        raise InputDataError(f"{path} must be a file written by `{_MAKERS[content]}`; it is not.")
    if facts.task_sha256 != task.sha256:
        raise InputDataError(
            f"{path} must belong to the task {task.sha256[:12]}...; it belongs to {facts.task_sha256[:12]}..."
        )
    if facts.local != task.randomizer.randomizer().model:
        raise _does_not_fit(path, "it describes another randomizer than the task's")
    return guarded(path, lambda: open_parquet(path).read()), facts


def _reports(path: Path, task: Task, table: pa.Table, facts: FileFacts) -> Reports:
    """The table as reports; an error about them is one about the file."""
    try:
        numbered = guarded(path, lambda: Table.from_arrow(task.randomizer.numbered(table)))
        return Reports.from_table(numbered, facts.local)
    except InvalidParameterError:
        raise _does_not_fit(path, "it holds something else than reports of the task's randomizer") from None


def _does_not_fit(path: Path, problem: str) -> InputDataError:
    return InputDataError(f"{path} must fit the task that it names; {problem}.")
