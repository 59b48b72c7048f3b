"""Graphs and groups of people, from public files and columns or drawn, and views of walks along such graphs."""

import gzip
import io
import math
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.flow import Progress, Shuffler, View
from shuffledp.core.table import Table
from shuffledp.files.numerals import numerals
from shuffledp.files.randomizing import PublicReader
from shuffledp.files.reading import guarded, open_parquet, read_batches
from shuffledp.files.row_problems import is_number, is_text, plain
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.public_points import rows_of
from shuffledp.protocols.d_sigma.survey.grouped_section import groups_of
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.protocols.network.people.overlays import Contacts
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.survey.network_section import NetworkSection, Walked
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.survey.stratified_section import StratifiedSection
from shuffledp.randomness.replayable import SeededSource
from shuffledp.survey import Column, Task

_FEW = 1 << 20  # people: a graph of this number takes little memory even if none of them has a neighbor
_MOST_PER_NAMED = 16  # people per named one; in published edge lists most people have a neighbor
_LARGEST = 2**53  # integers up to here are exact in a column that is read as floats
_COLUMNS = ("group", "person")
_Made = TypeVar("_Made")


def read_graph(path: Path, *, num_users: int | None = None) -> Graph:
    """The graph in a file of edges.

    A text file (also compressed: ``.gz``) has an edge a line: two node numbers from 0 and, if there is a third column,
    a weight, separated by commas, or by tabs and blanks. A first line without any number is a header; lines that begin
    with ``#`` are skipped. An ``.npz`` file of numpy has an array ``edges`` of shape (edges, 2) and, if there is one,
    an array ``weights``. A Parquet file has two columns of integers, and perhaps a third of weights, whatever their
    names.

    A text file without an edge is refused as damaged; a graph in which everybody is alone is an empty array ``edges``.

    Args:
        path: the file.
        num_users: number of people; None is one more than the largest number in the file.

    Raises:
        InputDataError: if there is no such file, it is no edge list, a number is negative, or far above how many
            people it names.
        InvalidParameterError: as `shuffledp.people.graphs.Graph.from_edges`.
    """
    if not path.is_file():
        problem = "it is not a file" if path.exists() else "there is no such file"
        raise InputDataError(f"{path} cannot be read: {problem}.")
    read = _from_text
    if path.suffix == ".npz" or zipfile.is_zipfile(path):
        read = _from_npz
    elif path.suffix in (".parquet", ".pq"):
        read = _from_parquet
    edges, weights = guarded(path, lambda: read(path))
    if np.issubdtype(edges.dtype, np.integer) and edges.size and (least := int(edges.min())) < 0:
        where = f"{_line_naming(path, least)} names" if read is _from_text else "one of its edges names"
        raise InputDataError(f"{path} must number people from 0 on; {where} {least}.")
    if num_users is None:
        _require_close_numbers(path, edges, is_text=read is _from_text)
    return Graph.from_edges(edges, weights=weights, num_users=num_users)


def _require_close_numbers(path: Path, edges: NDArray[Any], *, is_text: bool) -> None:
    """Refuse a node number far above the number of people, since every smaller number would take memory."""
    if not np.issubdtype(edges.dtype, np.integer) or (largest := int(edges.max(initial=0))) < _FEW:
        return
    named = np.unique(edges).size
    if largest >= _MOST_PER_NAMED * named:
        which = f"{_line_naming(path, largest)} has" if is_text else "one of them has"
        raise InputDataError(
            f"{path} must number people from 0 on, without large gaps: it names {named} different people, and {which} "
            f"the number {largest}. Number them anew. (In Python, num_users may say how many there are.)"
        )


def _from_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    if not zipfile.is_zipfile(path):
        raise InputDataError(f"{path} is no .npz file of numpy, or only the beginning of one.")
    with np.load(path, allow_pickle=False) as arrays:
        if "edges" not in arrays:
            raise InputDataError(f"{path} must hold an array named edges.")
        return arrays["edges"], arrays.get("weights")


def _from_parquet(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    table = open_parquet(path).read()
    if table.num_columns not in (2, 3):
        raise InputDataError(f"{path} must have two columns, or three with weights; it has {table.num_columns}.")
    if table.num_rows == 0:
        raise InputDataError(f"{path} has no edges.")
    for column in table.columns[:2]:
        if not pa.types.is_integer(column.type) or column.null_count:
            raise InputDataError(f"{path} must have integers in its first two columns, and none missing.")
    edges = np.column_stack([column.to_numpy() for column in table.columns[:2]])
    return edges, table.column(2).to_numpy() if table.num_columns == 3 else None


def _from_text(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    text = _text(path)
    first = next(_lines(text), None)
    if first is None:
        raise InputDataError(f"{path} has no edges.")
    delimiter = "," if "," in first[1] else None
    header = 0 if any(_is_number(field) for field in first[1].split(delimiter)) else first[0]
    if next(_lines(text, header), None) is None:
        raise InputDataError(
            f"{path} has no edges: its only line is no two numbers separated by a comma, a tab or blanks."
        )
    try:
        rows = np.loadtxt((line for _, line in _lines(text, header)), delimiter=delimiter, comments="#", ndmin=2)
    except ValueError:
        rows = None
    if rows is None or rows.shape[1] not in (2, 3) or not _are_nodes(rows[:, :2]).all():
        reason = _wrong(_lines(text, header), delimiter)
        raise InputDataError(f"{path} must have an edge a line, two node numbers from 0: {reason}.")
    return rows[:, :2].astype(np.int64), rows[:, 2] if rows.shape[1] == 3 else None


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")


def _line_naming(path: Path, number: int) -> str:
    """The first line of a text file that has this person's number, in words."""
    for place, line in _lines(_text(path)):
        fields = line.split("#")[0].split("," if "," in line else None)[:2]
        if any(_is_number(field) and float(field) == number for field in fields):
            return f"line {place}"
    return "one of its lines"


def _lines(text: str, header: int = 0) -> Iterator[tuple[int, str]]:
    """The lines below the header that are not empty, with their line numbers from 1."""
    for place, line in enumerate(io.StringIO(text, newline=None), start=1):
        if place > header and line.strip() and not line.startswith("#"):
            yield place, line


def _wrong(lines: Iterator[tuple[int, str]], delimiter: str | None) -> str:
    """The first line that is not an edge, and why, in words that show nothing of its content."""
    columns = None
    for place, line in lines:
        fields = line.split("#")[0].split(delimiter)
        columns = len(fields) if columns is None else columns
        if len(fields) not in (2, 3):
            return f"line {place} must have two columns, or three with weights; it has {len(fields)}"
        if len(fields) != columns:
            return f"line {place} has {len(fields)} columns, and the first one has {columns}"
        if not all(map(_is_number, fields)):
            return f"line {place} holds something else than numbers; people are numbered as the rows of the input are"
        if not _are_nodes(np.array([float(field) for field in fields[:2]])).all():
            return f"line {place} must have integers in its first two columns, of at most 2^53"
    return "it is damaged, or not in the format that its name says"


def _are_nodes(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of numbers that are whole and exact."""
    whole: NDArray[np.bool_] = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _LARGEST)
    return whole


def _is_number(field: str) -> bool:
    try:
        return not math.isnan(float(field))
    except ValueError:
        return False


def read_graphs(section: NetworkSection, num_users: int | None, folder: Path) -> Contacts:
    """The graphs of all rounds, from files beside the task file or drawn, or an overlay of the people.

    None people are as many as files name.

    Raises:
        InvalidParameterError: if a file is absent, or has another digest than the task says; or there is no such graph.
        InputDataError: if a file, or an overlay, does not fit the people.
    """
    if section.overlay is not None:
        return _of_people(section.overlay.of, num_users, "lay out", "laid out", "an overlay")
    if section.degree is not None:
        degree, source = section.degree, SeededSource(section.graph_seed or 0)
        drawn = partial(Graph.random_regular, degree, source=source)
        return (_of_people(drawn, num_users, "draw", "drawn", f"the graph {section.graph!r}"),)
    section.pinned(folder)
    found: list[Graph] = []
    for name in section.files:
        path = folder / name
        try:
            graph = read_graph(path, num_users=num_users)
            _require_neighbors(graph)
        except InvalidParameterError as error:
            reason = str(error)
        else:
            found.append(graph)
            num_users = graph.num_users
            continue
        people = "" if num_users is None else f" the {num_users} people of the input"
        raise InputDataError(f"{path} must fit{people or ' whoever walks along it'}: {reason}")
    return tuple(found)


def walking_shuffler(column: Column, num_users: int, folder: Path) -> RandomWalkShuffler:
    """The shuffler of a task with walks; its graph is read from the folder, or drawn."""
    section = cast(NetworkSection, column.shuffler)
    graphs = read_graphs(section, num_users, folder)
    return section.walking(graphs, column.randomizer.randomizer(), column.release.delta)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkedView:
    """A view after walks, with the analyst's own graphs and the shuffler that they determine."""

    column: Column
    view: View
    shuffler: RandomWalkShuffler
    graphs: Contacts

    @classmethod
    def of(cls, column: Column, view: View, shuffler: Shuffler | None, folder: Path) -> "WalkedView":
        """The view with the graph beside the task file; refused if its reports walked along another graph."""
        section, shuffle = column.shuffler, view.shuffle
        if not isinstance(section, NetworkSection) or not isinstance(shuffle, RandomWalkShuffleModel):
            raise InputDataError("the view must be one of a 'network' shuffle.")
        graphs = read_graphs(section, shuffle.num_users, folder)
        try:
            if not isinstance(shuffler, RandomWalkShuffler) or shuffle.schedule is not None:
                walk = section.along(graphs, column.randomizer.randomizer(), column.release.delta)
                planned = section.rounds if isinstance(section.rounds, int) else None
                shuffler = walk.shuffler(shuffle.num_rounds, shuffle.schedule, planned=planned)
            own = shuffler.model(shuffle.num_users)
        except InvalidParameterError as error:
            reason = str(error)
            raise InputDataError(f"the view must be one that the task's walks can have made: {reason}") from None
        if own.graph_digest != shuffle.graph_digest:
            raise InputDataError("the view must be one of walks along the task's graph; it is of another graph.")
        if own != shuffle:  # the view's numbers may be rounded, or wrong
            view = replace(view, shuffle=own)
        return cls(column=column, view=view, shuffler=shuffler, graphs=graphs)

    def walked(self, progress: Progress | None = None) -> Walked:
        """The result of the walks: reports handed in by each person, and the plan."""
        section = cast(NetworkSection, self.column.shuffler)
        planned = section.family_plan(self.column, self.graphs, self.shuffler, progress=progress)
        held = np.bincount(cast(Any, self.view.labels), minlength=self.view.shuffle.num_users)
        return Walked(plan=planned, held=tuple(np.bincount(held).tolist()))


def _of_people(make: Callable[[int], _Made], num_users: int | None, do: str, done: str, what: str) -> _Made:
    """A graph or overlay made for this number of people; refused if the number is unknown or does not fit."""
    if num_users is None:
        raise InvalidParameterError(
            f"num_users must be given (--users N), or expected in the task's table [people], to {do} {what}; "
            "got neither."
        )
    try:
        return make(num_users)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{what} cannot be {done} for {num_users} people: {reason}")


def _require_neighbors(graph: Graph) -> None:
    alone = np.flatnonzero(graph.degrees == 0)
    if alone.size:
        raise InputDataError(
            f"everybody must have a neighbor, or nothing would shuffle their reports; the person of row {alone[0]} "
            f"(counted from 0) has none, {alone.size} in all. Leave them out of the input and number the others anew."
        )


# ---- groups ----------------------------------------------------------------------------------------------------------


def grouping_of(section: GroupsSection, public: Table | None, num_users: int, folder: Path) -> Grouping:
    """The groups of people with these public columns, one row each; paths are relative to the task's folder.

    Raises:
        InvalidParameterError: if the file that the task names is absent, or has another digest than the task says.
        InputDataError: if the file or the columns do not fit the people.
    """
    if section.file is not None:
        return Grouping(_from_file(section, num_users, folder))
    columns = {} if public is None else public.columns
    try:
        if section.column is not None:
            return Grouping(Groups.from_labels(columns[section.column]))
        points = rows_of([columns[name] for name in section.columns])
        return Grouping(_from_points(section, points), points)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"groups cannot be made from {', '.join(section.public_columns)}: {reason}")


def read_grouping(task: Task, path: Path, folder: Path, progress: Progress | None = None) -> Grouping | Strata:
    """The groups or strata of the people in an input; only the columns behind them are read.

    Refuses missing public values; and as `grouping_of` does.
    """
    section, reader = groups_of(task.shuffler), PublicReader(task, needed_only=True)
    if section is None and not task.shuffler.needs_strata:
        raise InvalidParameterError("task must have a table [groups], by or weight; it has none.")
    counted = reader.names or [task.columns[0].value]
    parts, num_users = [], 0
    for batch in read_batches(path, counted, progress=progress):
        everybody = np.ones(batch.num_rows, dtype=bool)
        parts.append(guarded(path, partial(reader.read, batch, everybody)))
        num_users += batch.num_rows
    reader.finish()
    public = Table.from_arrow(pa.concat_tables(parts)) if reader.names else None
    if section is None or isinstance(task.shuffler, StratifiedSection):
        return cast(StratifiedSection, task.shuffler).strata(cast(Table, public))
    return grouping_of(section, public, num_users, folder)


def _from_points(section: GroupsSection, points: NDArray[np.float64]) -> Groups:
    metric = section.metric or "euclidean"
    if section.radius is not None:
        return Groups.from_radius(points, section.radius, metric)
    return Groups.from_neighbors(points, int(section.neighbors or 0), metric)


def _from_file(section: GroupsSection, num_users: int, folder: Path) -> Groups:
    """The groups from the task's file; refused if the file has another digest than the task says."""
    section.pinned(folder)
    path = folder / str(section.file)
    try:
        if section.lists is not None:
            return Groups.from_lists(list(read_named_lists(path).values()), num_users)
        graph = read_graph(path, num_users=num_users)
        return Groups.from_graph(graph, hops=section.hops, neighbors=section.neighbors)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{path} must fit the {num_users} people of the input: {reason}")


def read_named_lists(path: Path) -> dict[str, NDArray[np.int64]]:
    """The people of each named group; groups are in the order in which the file first names them.

    A CSV or Parquet file with the columns ``group`` (an integer or a text) and ``person`` (the number of a row in the
    input; the first is 0), in every row and nothing else. A row may be there twice, which changes nothing.
    """
    groups, people = [], []
    for batch in read_batches(path, _COLUMNS):
        groups.append(guarded(path, partial(_texts, path, batch.column("group"))))
        people.append(guarded(path, partial(_integers, path, batch.column("person"))))
    names = pa.chunked_array(groups).combine_chunks().dictionary_encode()
    codes = np.asarray(names.indices, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    members = np.concatenate(people)[order]
    parts = np.split(members, np.flatnonzero(np.diff(codes[order])) + 1)
    return dict(zip(names.dictionary.to_pylist(), parts, strict=True))


def _texts(path: Path, column: pa.Array) -> pa.Array:
    column = plain(column)
    if column.null_count:
        raise InputDataError(f"{path} must name a group in every row; {column.null_count} or more have none.")
    return column.cast(pa.large_string())


def _integers(path: Path, column: pa.Array) -> NDArray[np.int64]:
    numbers = numerals(column) if is_text(column.type) else column
    if not (is_text(column.type) or is_number(column.type)):
        raise InputDataError(f"{path} must have integers in its column 'person'.")
    found = numbers.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    if not ((found == np.floor(found)) & (np.abs(found) <= _LARGEST)).all():
        raise InputDataError(f"{path} must have integers in its column 'person'.")
    integers: NDArray[np.int64] = found.astype(np.int64)
    return integers
