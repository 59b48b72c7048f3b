"""Files larger than memory: with little memory allowed, every stage gives what it gives at once, and no trace."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_answers, write_csv
from files.whole import read_reports, read_view
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.files import parquet, randomizing, reading, shuffling, stages
from shuffledp.files.reading import open_parquet, parquet_batches
from shuffledp.files.shuffling import ReportSpool
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Task
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

CATEGORIES = [f"c{i:02d}" for i in range(60)]
ANSWERS = [CATEGORIES[i * i % 60] for i in range(600)]


def task_of(**changes) -> Task:
    return Task.from_dict(task_with(randomizer={"epsilon0": 25.0, "categories": CATEGORIES}, **changes))


TASK = task_of()


@pytest.fixture
def little_memory(monkeypatch):
    """Batches of a few rows, buckets from the second batch on, row groups of at most ten rows."""
    monkeypatch.setattr(shuffling, "_IN_MEMORY", 300)
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 400)
    monkeypatch.setattr(reading, "_ROWS_AT_A_TIME", 50)
    monkeypatch.setattr(parquet, "_ROWS_OF_GROUP", 10)
    monkeypatch.setattr(randomizing, "_BYTES_OF_REPORTS_AT_A_TIME", 30)


@pytest.fixture
def made_buckets(monkeypatch):
    """The number of times that buckets were made."""
    made = []

    class Counted(shuffling._Buckets):
        def __init__(self, *arguments):
            made.append(1)
            super().__init__(*arguments)

    monkeypatch.setattr(shuffling, "_Buckets", Counted)
    return made


def folder_of(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    return folder


def values(path):
    return pq.read_table(path).column("value").to_pylist()


# ---- what comes out is what comes out at once ------------------------------------------------------------------------


@pytest.mark.usefixtures("little_memory")
def test_a_run_over_buckets_releases_the_same_multiset_in_another_order(tmp_path, made_buckets):
    folder = folder_of(tmp_path, "out")
    outcome = stages.run(TASK, write_answers(tmp_path, ANSWERS), folder)
    assert made_buckets == [1]
    released = values(folder / "release.parquet")
    assert Counter(released) == Counter(ANSWERS)
    # In a random order, an answer is followed by the one that followed it in the input about once in 60 times.
    assert sum(a == b for a, b in zip(released, ANSWERS, strict=True)) < 100
    assert released != sorted(released)
    counts = outcome.column.release.estimate.estimate * 600
    assert counts == pytest.approx([ANSWERS.count(name) for name in CATEGORIES], abs=1e-6)
    assert outcome.column.release.view is None
    assert outcome.column.release.num_reports == outcome.column.flow.released == outcome.column.model.num_users == 600
    assert pq.read_metadata(folder / "release.parquet").num_row_groups > 60
    assert {path.name for path in folder.iterdir()} == {"release.parquet", "estimates.csv", "statement.json"}


@pytest.mark.usefixtures("little_memory")
def test_the_stages_over_buckets_release_the_same_multiset_in_another_order(tmp_path, made_buckets):
    folder, out = folder_of(tmp_path, "stages"), folder_of(tmp_path, "out")
    stages.randomize(TASK, write_answers(tmp_path, ANSWERS), folder / "reports.parquet")
    assert values(folder / "reports.parquet") == ANSWERS
    shuffled = stages.shuffle(TASK, folder / "reports.parquet", folder / "view.parquet")
    assert made_buckets == [1]
    outcome = stages.analyze(TASK, folder / "view.parquet", out)
    assert shuffled.column.num_reports == outcome.column.release.num_reports == 600
    for path in (folder / "view.parquet", out / "release.parquet"):
        assert Counter(values(path)) == Counter(ANSWERS)
        assert sum(a == b for a, b in zip(values(path), ANSWERS, strict=True)) < 100
    assert {path.name for path in folder.iterdir()} == {"reports.parquet", "view.parquet"}


@pytest.mark.usefixtures("little_memory")
def test_files_of_several_row_groups_are_read_back_whole(tmp_path):
    folder = folder_of(tmp_path, "files")
    stages.randomize(TASK, write_answers(tmp_path, ANSWERS), folder / "reports.parquet")
    stages.shuffle(TASK, folder / "reports.parquet", folder / "view.parquet")
    assert pq.read_metadata(folder / "reports.parquet").num_row_groups >= 60
    reports, _, _ = read_reports(folder / "reports.parquet", TASK)
    assert reports["value"].tolist() == [CATEGORIES.index(answer) for answer in ANSWERS]
    parts, facts = parquet.read_view(folder / "view.parquet", TASK.column)
    views = list(parts)
    assert len(views) > 1
    assert {view.shuffle for view in views} == {facts.shuffle} == {TASK.column.model(600).shuffle}
    assert len(read_view(folder / "view.parquet", TASK)[0]) == 600


@pytest.mark.usefixtures("little_memory")
def test_public_columns_stay_beside_their_reports_over_many_batches(tmp_path):
    task, folder = task_of(public=["other"], shuffler={"kind": "none"}, missing="drop"), folder_of(tmp_path, "files")
    rows = [[f"x{i}", answer if i % 7 else ""] for i, answer in enumerate(ANSWERS)]
    file = write_csv(tmp_path / "a.csv", ["other", "cheated"], rows)
    stages.randomize(task, file, folder / "reports.parquet")
    stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet")
    stages.analyze(task, folder / "view.parquet", folder_of(tmp_path, "out"))
    stages.run(task, file, folder_of(tmp_path, "run"))
    expected = [tuple(row) for row in rows if row[1]]
    for path in (folder / "view.parquet", tmp_path / "out" / "release.parquet", tmp_path / "run" / "release.parquet"):
        beside = pq.read_table(path.with_name(f"{path.stem}.labels.parquet")).column("other").to_pylist()
        assert list(zip(beside, values(path), strict=True)) == expected


@pytest.mark.usefixtures("little_memory")
def test_a_seed_repeats_a_run_over_buckets(tmp_path):
    file = write_answers(tmp_path, ANSWERS)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        stages.run(TASK, file, folder_of(tmp_path, name), source=SeededSource(seed))
    first, again, other = (values(tmp_path / name / "release.parquet") for name in "abc")
    assert first == again != other


@pytest.mark.parametrize("in_memory", [0, 10**9], ids=["on disk", "in memory"])
def test_every_order_of_a_run_is_equally_likely(tmp_path, monkeypatch, in_memory):
    monkeypatch.setattr(shuffling, "_IN_MEMORY", in_memory)
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", 1 << 16)
    folder, kinds, size = folder_of(tmp_path, "out"), CATEGORIES[:3], 12_000
    file = write_answers(tmp_path, [kind for kind in kinds for _ in range(size)])
    stages.run(TASK, file, folder, source=SeededSource(11))
    released = values(folder / "release.parquet")
    # Given that three neighbors differ, their six orders are equally likely, and independent of those of others.
    triples = Counter(zip(*[iter(released)] * 3, strict=True))
    near = [triples[order] for order in itertools.permutations(kinds)]
    assert_fits(near, [1 / 6] * 6)
    assert_rejects(near, [1 / 3] + [2 / 15] * 5)
    # Each third of the release holds as much of each third of the input (the counts vary less than independent ones).
    far = [released[start : start + size].count(kind) for start in range(0, 3 * size, size) for kind in kinds]
    assert_fits(far, [1 / 9] * 9)
    assert_rejects(far, [1 / 7 if place % 4 == 0 else 2 / 21 for place in range(9)])


# ---- wide rows -------------------------------------------------------------------------------------------------------


def test_wide_reports_go_through_buckets_row_by_row(tmp_path):
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=20.0, domain_size=1000)
    numbers = np.arange(1000)

    class Wide(Reports):
        def __init__(self, columns, model, *, seeded=False):
            super(Reports, self).__init__(columns)
            object.__setattr__(self, "model", model)
            object.__setattr__(self, "seeded", seeded)

    with ReportSpool(tmp_path, in_memory=0) as held:
        for part in np.split(numbers, 10):
            held.add(Wide({"seed": part, "bits": np.repeat(part[:, None], 125, axis=1).astype(np.float32)}, model))
        read = list(held._buckets.read())
    rows = np.concatenate([columns["bits"] for columns in read])
    seeds = np.concatenate([columns["seed"] for columns in read])
    assert sorted(seeds.tolist()) == numbers.tolist()
    assert rows.shape == (1000, 125)
    assert (rows == seeds[:, None]).all()


def test_wide_rows_are_read_fewer_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_BYTES_OF_ROWS_AT_A_TIME", 100_000)
    width, rows = 400, 500
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(width * rows)), width)
    table = pa.table({"narrow": np.arange(rows), "wide": lists, "wide.r": np.arange(rows)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    file = open_parquet(tmp_path / "a.parquet")

    def most(columns):
        batches = list(parquet_batches(file, columns))
        read = pa.Table.from_batches(batches)
        assert read.equals(table.select(read.column_names))
        return max(batch.num_rows for batch in batches)

    assert most(["narrow"]) == most(["wide.r"]) == 300
    assert most(None) <= most(["wide"]) <= 100_000 // (8 * width)


def test_row_groups_that_were_read_are_not_kept(tmp_path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.random.default_rng(0).random(4_000_000)), 200)
    pq.write_table(pa.table({"wide": lists}), tmp_path / "a.parquet", row_group_size=1000)
    del lists
    file, before = open_parquet(tmp_path / "a.parquet"), pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in parquet_batches(file)]
    assert len(held) == 20
    assert held[-1] < 2 * held[0]


def test_a_row_group_of_lists_is_read_in_pieces(tmp_path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.random.default_rng(0).random(8_000_000)), 200)
    pq.write_table(pa.table({"wide": lists}), tmp_path / "a.parquet", row_group_size=len(lists))
    size = lists.nbytes
    del lists
    file, before = open_parquet(tmp_path / "a.parquet"), pa.total_allocated_bytes()
    assert file.metadata.num_row_groups == 1
    held = [pa.total_allocated_bytes() - before for _ in parquet_batches(file)]
    assert len(held) > 5
    assert max(held) < size / 2


# ---- failures --------------------------------------------------------------------------------------------------------


def left(folder):
    return [path.name for path in folder.iterdir()]


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("stage", [stages.randomize, stages.run])
def test_a_wrong_answer_in_the_last_row_leaves_nothing_behind(tmp_path, made_buckets, stage):
    out = folder_of(tmp_path, "out")
    file = write_answers(tmp_path, [*ANSWERS, "SECRET"])
    with pytest.raises(InputDataError, match="1 of 601") as caught:
        stage(TASK, file, out / "reports.parquet" if stage is stages.randomize else out)
    assert "SECRET" not in str(caught.value)
    assert len(made_buckets) == (stage is stages.run)
    assert left(out) == []


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("where", ["first", "last"])
@pytest.mark.parametrize("stage", [stages.shuffle, stages.analyze])
def test_a_damaged_row_group_leaves_nothing_behind(tmp_path, stage, where):
    folder, out = folder_of(tmp_path, "files"), folder_of(tmp_path, "out")
    stages.randomize(TASK, write_answers(tmp_path, ANSWERS), folder / "reports.parquet")
    stages.shuffle(TASK, folder / "reports.parquet", folder / "view.parquet")
    name, output = {stages.shuffle: ("reports.parquet", out / "view.parquet"), stages.analyze: ("view.parquet", out)}[
        stage
    ]
    content = bytearray((folder / name).read_bytes())
    described = pq.read_metadata(folder / name)
    column = described.row_group(0 if where == "first" else described.num_row_groups - 1).column(0)
    content[column.dictionary_page_offset + column.total_compressed_size - 1] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(InputDataError, match="cannot be read"):
        stage(TASK, folder / name, output)
    assert left(out) == []


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("stage", [stages.run, stages.shuffle])
def test_too_small_a_batch_is_refused_before_anything_is_written(tmp_path, made_buckets, stage):
    task, out = task_of(release={"minimum_batch": 601}), folder_of(tmp_path, "out")
    file = write_answers(tmp_path, ANSWERS)
    if stage is stages.shuffle:
        stages.randomize(task, file, tmp_path / "reports.parquet")
        file = tmp_path / "reports.parquet"
    with pytest.raises(BatchTooSmallError, match="got 600"):
        stage(task, file, out / "view.parquet" if stage is stages.shuffle else out)
    assert made_buckets == [1]
    assert left(out) == []


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("place", ["accounting", "bucket", "view"])
def test_a_run_that_fails_half_way_leaves_nothing_behind(tmp_path, monkeypatch, place):
    def fail(*_, **__):
        raise OSError(28, "No space left on device") if place != "accounting" else UnsupportedModelError("unknown")

    target = {
        "accounting": "shuffledp.pipeline.account_all",
        "bucket": "shuffledp.files.shuffling._Buckets.write",
        "view": "shuffledp.files.parquet.ViewWriter.write",
    }[place]
    monkeypatch.setattr(target, fail)
    out = folder_of(tmp_path, "out")
    with pytest.raises((OSError, UnsupportedModelError)):
        stages.run(TASK, write_answers(tmp_path, ANSWERS), out)
    assert left(out) == []


def test_a_failure_leaves_an_earlier_file_as_it_was(tmp_path):
    (tmp_path / "reports.parquet").write_text("earlier")
    with pytest.raises(InputDataError):
        stages.randomize(TASK, write_answers(tmp_path, [*ANSWERS, "SECRET"]), tmp_path / "reports.parquet")
    assert (tmp_path / "reports.parquet").read_text() == "earlier"


def test_reports_that_cannot_be_shared_out_among_users_are_refused(tmp_path):
    class TwoEach(KaryRandomizedResponseModel):
        num_messages = 2

    model = TwoEach.from_epsilon0(epsilon0=1.0, domain_size=4)
    with ReportSpool(tmp_path) as held:
        assert held.num_users == 0
        held.add(Reports({"value": [0, 1]}, model))
        assert held.num_users == 1
        held.add(Reports({"value": [2]}, model))
        with pytest.raises(InvalidParameterError, match="num_messages=2 per user; got 3 reports"):
            UniformShuffleModel(num_users=held.num_users)


pytestmark = pytest.mark.deep
