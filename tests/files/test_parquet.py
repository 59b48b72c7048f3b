"""Files of reports and of views: they survive the way to the next party, and nothing else is taken for one."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_answers, write_csv
from files.whole import read_reports, read_view, rewrite
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files import stages
from shuffledp.files.parquet import read_facts
from shuffledp.survey import Task


def task_of(**changes) -> Task:
    return Task.from_dict(task_with(**changes))


@pytest.fixture
def files(tmp_path):
    """Makes reports.parquet and view.parquet of a task, in a folder of their own."""

    def files(task, answers=None, name="files"):
        folder = tmp_path / name
        folder.mkdir()
        answers = answers or write_answers(folder, ["No", "Yes"] * 100)
        stages.randomize(task, answers, folder / "reports.parquet")
        stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet")
        return folder

    return files


def refusal(read, path, task) -> str:
    with pytest.raises(InputDataError) as caught:
        read(path, task)
    assert caught.value.__cause__ is None
    return str(caught.value)


# ---- the way there and back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"missing": "category"},
        {"randomizer": {"categories": [0, 1]}},
        {"randomizer": {"categories": [False, True]}},
        {"public": ["other"], "shuffler": {"kind": "none"}},
        {"shuffler": {"kind": "none"}},
    ],
    ids=str,
)
def test_reports_and_views_survive_the_way_through_their_files(files, tmp_path, changes):
    task = task_of(**changes)
    rows = [[f"place {i % 3}", task.column.randomizer.targets[i % 2]] for i in range(60)]
    folder = files(task, write_csv(tmp_path / "a.csv", ["other", "cheated"], rows))
    reports, public, facts = read_reports(folder / "reports.parquet", task)
    assert len(reports) == facts.flow.received == 60
    assert reports.model == facts.local == task.column.pipeline().randomizer.model
    view, facts = read_view(folder / "view.parquet", task)
    assert facts.shuffle == view.shuffle == task.column.model(60).shuffle
    assert np.bincount(view.reports["value"]).tolist() == np.bincount(reports["value"]).tolist()
    keeps = changes.get("shuffler", {}).get("kind") == "none"
    assert (view.labels is not None) is keeps
    assert (public is not None) is (view.label_table is not None) is ("public" in changes)
    if public is not None:
        assert public["other"].tolist() == view.label_table["other"].tolist() == [row[0] for row in rows]


@pytest.mark.parametrize("size", [256, 257, 70_000])
def test_many_categories_survive_too(files, tmp_path, size):
    task = task_of(randomizer={"epsilon0": 25.0, "categories": [f"c{i}" for i in range(size)]})
    answers = ["c0", f"c{size - 1}", "c255"]
    folder = files(task, write_answers(tmp_path, answers))
    assert read_reports(folder / "reports.parquet", task)[0]["value"].tolist() == [0, size - 1, 255]
    assert sorted(read_view(folder / "view.parquet", task)[0].reports["value"].tolist()) == [0, 255, size - 1]


def test_public_columns_of_all_types_survive(files, tmp_path):
    task = task_of(public=["text", "gaps", "kinds", "number", "day"], shuffler={"kind": "none"})
    table = pa.table(
        {
            "text": ["Ulm", "Bonn"],
            "gaps": ["a", None],
            "kinds": pa.array([None, "b"]).dictionary_encode(),
            "number": [1, None],
            "day": pa.array([1, 2], pa.date32()),
            "cheated": ["No", "Yes"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    folder = files(task, tmp_path / "a.parquet")
    beside = pq.read_table(folder / "view.labels.parquet")
    assert beside.column("text").to_pylist() == ["Ulm", "Bonn"]
    assert beside.column("gaps").to_pylist() == ["a", None]
    assert beside.column("kinds").to_pylist() == [None, "b"]
    assert beside.column("day").to_pylist() == table.column("day").to_pylist()
    assert str(beside.column("number").to_pylist()) == "[1.0, nan]"


def test_a_reader_without_this_library_finds_names_of_categories(files):
    folder = files(task_of())
    for name in ("reports.parquet", "view.parquet"):
        column = pq.read_table(folder / name).column("value")
        assert set(column.to_pylist()) == {"No", "Yes"}


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_a_file_of_another_task_is_refused_with_both_hashes(files):
    task, other = task_of(), task_of(name="another")
    folder = files(task)
    for read, name in ((read_reports, "reports.parquet"), (read_view, "view.parquet")):
        text = refusal(read, folder / name, other)
        assert f"must belong to the task {other.sha256[:12]}...; it belongs to {task.sha256[:12]}..." in text


def test_reports_are_no_view_and_a_view_no_reports(files):
    task = task_of()
    folder = files(task)
    text = refusal(read_view, folder / "reports.parquet", task)
    assert text.endswith("must be a file written by `shuffledp shuffle`; it is not.")
    text = refusal(read_reports, folder / "view.parquet", task)
    assert text.endswith("must be a file written by `shuffledp randomize`; it is not.")


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"pandas": "{}"},
        {"shuffledp": ""},
        {"shuffledp": "not JSON"},
        {"shuffledp": "[]"},
        {"shuffledp": "{}"},
        {"shuffledp": '{"content": "view"}'},
        {"shuffledp": "[" * 100_000},
        {"shuffledp": b"\xff\xfe"},
    ],
)
def test_a_file_that_does_not_say_what_it_is_is_refused(files, metadata):
    task = task_of()
    path = files(task) / "view.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    assert "must be a file written by `shuffledp shuffle`" in refusal(read_view, path, task)
    assert read_facts(path) is None


def test_a_file_that_is_absent_or_no_parquet_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="there is no such file"):
        read_view(tmp_path / "absent.parquet", task_of())
    (tmp_path / "answers.csv").write_text("other,cheated\nSECRET,No\n")
    text = refusal(read_reports, tmp_path / "answers.csv", task_of())
    assert "it is not a whole Parquet file" in text
    assert "SECRET" not in text


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"local__share": 1}, "another randomizer"),
        ({"local__domain_size": 3}, "another randomizer"),
        ({"shuffle__num_users": 10**9}, "another shuffle"),
        ({"shuffle__num_users": 0}, "written by"),
        ({"shuffle": {"kind": "none", "num_users": 200}}, "another shuffle"),
        ({"shuffle": None}, "does not say how it was shuffled"),
        ({"flow__released": 199}, "another number of reports"),
        ({"flow__missing": -1}, "written by"),
        ({"flow__received": -1}, "written by"),
        ({"seeded": "no"}, "written by"),
        ({"trust": ["nobody"]}, "written by"),
    ],
    ids=str,
)
def test_a_view_that_describes_itself_better_than_the_task_allows_is_refused(files, facts, problem):
    task = task_of()
    path = files(task) / "view.parquet"
    read_view(path, task)
    rewrite(path, **facts)
    assert problem in refusal(read_view, path, task)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [({"local__share": 1}, "another randomizer"), ({"flow__received": 500}, "another number of people")],
)
def test_reports_that_describe_themselves_wrongly_are_refused(files, facts, problem):
    task = task_of()
    path = files(task) / "reports.parquet"
    rewrite(path, **facts)
    assert problem in refusal(read_reports, path, task)


def with_value(values) -> pa.Table:
    return pa.table({"value": values})


TABLES = [
    with_value(["No"] * 199 + ["SECRET"]),
    with_value(["No"] * 199 + [None]),
    with_value([0] * 200),
    with_value([[1]] * 200),
    with_value([b"\xff"] * 200),
    pa.table({"values": ["No"] * 200}),
    pa.table({"value": ["No"] * 200, "more": [1] * 200}),
    pa.table([["No"] * 200, ["No"] * 200], names=["value", "value"]),
    pa.table({"more": ["No"] * 200}),
    with_value(["No"] * 199),
    with_value(["No"] * 0),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.schema.names} {table.num_rows}")
@pytest.mark.parametrize(("read", "name"), [(read_reports, "reports.parquet"), (read_view, "view.parquet")])
def test_a_file_that_holds_something_else_than_reports_is_refused(files, table, read, name):
    task = task_of()
    path = files(task) / name
    rewrite(path, table)
    text = refusal(read, path, task)
    assert "must fit the task that it names" in text or "cannot be read" in text
    assert "SECRET" not in text


@pytest.mark.parametrize(
    "labels",
    [[0] * 200, list(range(1, 201)), list(range(-1, 199)), ["SECRET"] * 200, [0.5] * 200, [None] * 200, None],
    ids=lambda labels: str(labels)[:20],
)
def test_labels_that_name_nobody_or_somebody_twice_are_refused(files, labels):
    task = task_of(shuffler={"kind": "none"})
    path = files(task) / "view.parquet"
    table = pq.read_table(path).drop_columns("label")
    rewrite(path, table if labels is None else table.append_column("label", pa.array(labels)))
    text = refusal(read_view, path, task)
    assert "must fit the task that it names" in text
    assert "SECRET" not in text


def test_labels_beside_a_uniform_shuffle_are_refused(files):
    task = task_of()
    path = files(task) / "view.parquet"
    rewrite(path, pq.read_table(path).append_column("label", pa.array(range(200))))
    assert "must fit the task" in refusal(read_view, path, task)


def test_a_view_needs_its_label_table(files, tmp_path):
    task = task_of(public=["other"], shuffler={"kind": "none"})
    folder = files(task)
    beside = folder / "view.labels.parquet"
    whole = beside.read_bytes()
    short = files(task, write_answers(tmp_path, ["No"]), name="short") / "view.labels.parquet"
    beside.write_bytes(short.read_bytes())
    digest, other = (hashlib.sha256(content).hexdigest() for content in (whole, short.read_bytes()))
    rewrite(folder / "view.parquet", labels_sha256=other)
    assert "must fit the task" in refusal(read_view, folder / "view.parquet", task)
    rewrite(folder / "view.parquet", labels_sha256=digest)
    beside.write_bytes((folder / "view.parquet").read_bytes())
    assert "must be a file written by" in refusal(read_view, folder / "view.parquet", task)
    beside.write_bytes(whole[:-5])
    assert "not a whole Parquet file" in refusal(read_view, folder / "view.parquet", task)
    beside.unlink()
    with pytest.raises(InvalidParameterError, match=r"view\.labels\.parquet': there is no such file"):
        read_view(folder / "view.parquet", task)


@pytest.mark.parametrize("changed", ["view.parquet", "view.labels.parquet"])
def test_labels_of_one_run_are_not_taken_for_those_of_another(files, tmp_path, changed):
    task = task_of(public=["other"], shuffler={"kind": "none"})
    north, south = ["North", "No"], ["South", "Yes"]
    one, another = (
        files(task, write_csv(tmp_path / f"{name}.csv", ["other", "cheated"], rows), name=name)
        for name, rows in (("one", [north] * 9 + [south] * 9), ("another", [south] * 9 + [north] * 9))
    )
    (one / changed).write_bytes((another / changed).read_bytes())
    text = refusal(read_view, one / "view.parquet", task)
    assert f"{one / 'view.labels.parquet'} must hold the labels of the run that made {one / 'view.parquet'}" in text


def test_public_columns_that_are_not_those_of_the_task_are_refused(files):
    task = task_of(public=["other"], shuffler={"kind": "none"})
    path = files(task) / "reports.parquet"
    table = pq.read_table(path)
    for changed in (
        table.drop_columns("public:other"),
        table.append_column("public:more", table.column("public:other")),
        table.rename_columns(["value", "public:another"]),
    ):
        rewrite(path, changed)
        assert "its public columns are not those of the task" in refusal(read_reports, path, task)


def test_changed_bytes_are_found_by_their_checksum(files, tmp_path):
    task = task_of()
    path = files(task, write_answers(tmp_path, ["No", "Yes"] * 20_000)) / "view.parquet"
    whole = path.read_bytes()
    end_of_data = pq.ParquetFile(path).metadata.row_group(0).column(0).total_compressed_size
    for start in range(end_of_data // 10, end_of_data, end_of_data // 10):
        path.write_bytes(whole[:start] + bytes([whole[start] ^ 1]) + whole[start + 1 :])
        assert "cannot be read" in refusal(read_view, path, task)


@pytest.mark.parametrize("stage", ["shuffle", "analyze"])
def test_a_truncated_file_stops_its_stage_and_leaves_nothing(files, tmp_path, stage):
    task = task_of()
    folder = files(task)
    path = folder / {"shuffle": "reports.parquet", "analyze": "view.parquet"}[stage]
    path.write_bytes(path.read_bytes()[:-100])
    (tmp_path / "out").mkdir()
    run = {
        "shuffle": (stages.shuffle, tmp_path / "out" / "view.parquet"),
        "analyze": (stages.analyze, tmp_path / "out"),
    }
    command, output = run[stage]
    with pytest.raises(InputDataError, match="not a whole Parquet file"):
        command(task, path, output)
    assert not list((tmp_path / "out").iterdir())
