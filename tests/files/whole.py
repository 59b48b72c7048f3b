"""Files of reports and of views, read part after part and put together again, or changed."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.core.flow import Reports, View
from shuffledp.core.table import Table
from shuffledp.files import parquet
from shuffledp.files.file_facts import FileFacts
from shuffledp.survey import Task


def read_reports(path: Path, task: Task) -> tuple[Reports, Table | None, FileFacts]:
    parts, facts = parquet.read_reports(path, task.column)
    reports, public = zip(*parts, strict=True)
    table = None if public[0] is None else Table.from_arrow(pa.concat_tables(public))
    return Reports.concat(reports), table, facts


def read_view(path: Path, task: Task) -> tuple[View, FileFacts]:
    parts, facts = parquet.read_view(path, task.column)
    views = list(parts)
    labels = None if views[0].labels is None else np.concatenate([view.labels for view in views])
    reports = Reports.concat([view.reports for view in views])
    first = views[0]
    return View(reports=reports, labels=labels, label_table=first.label_table, shuffle=first.shuffle), facts


def rewrite(path, table=None, **facts) -> None:
    """The same file with another table, or with other entries in what it says about itself; None takes one away."""
    old = pq.read_table(path)
    said = json.loads(pq.read_metadata(path).metadata[b"shuffledp"])
    for name, value in facts.items():
        *outer, last = name.split("__")
        place = said
        for key in outer:
            place = place[key]
        place[last] = value
    table = (old if table is None else table).replace_schema_metadata({"shuffledp": json.dumps(said)})
    pq.write_table(table, path)
