"""Views near an order and inside strata, by what workers do: word for word those of one machine, whatever the parts."""

import itertools
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from distributed.tables import filled_here, job_on, key_file, placed_here, sent_here, task_with, write_table
from shuffledp.core.errors import BatchTooSmallError, EngineError, InputDataError
from shuffledp.core.flow import Reports, View
from shuffledp.core.table import Table
from shuffledp.distributed import job_key, placements, shares
from shuffledp.files.randomizing import RandomizedReports
from shuffledp.files.reading import ProgressListener
from shuffledp.files.shuffling import shuffler_for
from shuffledp.laws import mallows_law
from shuffledp.survey import Column

SECRET = bytes(range(100, 132))
NEAR = {"shuffler": {"kind": "mallows", "alpha": 4.0}, "groups": {"columns": ["number"], "radius": 2.0}}
KINDS = [
    NEAR,
    {"shuffler": {"kind": "mallows", "alpha": 4.0, "distance": "cayley"}, "groups": {"column": "place"}},
    {"shuffler": {"kind": "noisy-sort", "alpha": 4.0}, "groups": {"columns": ["number"], "radius": 2.0}},
    {"shuffler": {"kind": "auto", "alpha": 1.0}, "groups": {"column": "place"}},
    {"by": "place"},
    {"by": "place", "weight": "weight", "weight_classes": 3, "public": ["place", "weight"]},
]


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 60)
    monkeypatch.setattr(job_key, "_fresh_key", lambda: SECRET)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "answers")


@pytest.fixture
def key(tmp_path):
    with key_file(tmp_path) as path:
        yield path


def task_near(**changes):
    """A task whose shuffle is not uniform."""
    return task_with(**({"public": ["number", "place"]} | changes))


def content_of(job, parts) -> dict[str, list]:
    """The columns of all parts, one after the other."""
    tables = [pq.read_table(job.folder / part.name) for part in parts]
    return pa.concat_tables(tables).to_pydict()


def of_one_machine(job) -> View:
    """The view that the shuffler of one machine makes of the same reports, in the order of the input."""
    column, made, public = Column.from_dict(job.column), [], []
    for number, share in enumerate(job.shares):
        source = job.source("randomize", number)
        for reports, beside in RandomizedReports(column, share, source, ProgressListener(), read=shares.read_share):
            made.append(reports)
            public.append(beside)
    people = Table.from_arrow(pa.concat_tables(public))
    reports = Reports.concat(made)
    shuffler = shuffler_for(column, people, len(reports), job.work)
    return shuffler.shuffle(reports, public=people, source=job.source("shuffle", 0))


# ---- the words of one machine ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", KINDS)
@pytest.mark.parametrize("num_parts", [1, 4])
def test_the_view_is_that_of_one_machine_word_for_word_in_any_number_of_parts(tmp_path, table, key, changes, num_parts):
    job = job_on(tmp_path, task_near(**changes), table, key, num_parts=num_parts)
    with placed_here(job) as where:
        found = content_of(job, filled_here(where.job))
    view = of_one_machine(job)
    assert found["label"] == view.labels.tolist()
    named = Column.from_dict(job.column).randomizer.named(view.reports.to_arrow())
    assert found["value"] == named["value"].to_pylist()
    assert where.view.shuffle == view.shuffle
    assert where.view.label_table == view.label_table


def test_a_task_that_runs_twice_makes_the_same_bytes_however_blocks_arrive(tmp_path, table, key):
    job = job_on(tmp_path, task_near(**NEAR), table, key)
    with placed_here(job) as where:
        first, blocks = filled_here(where.job), sent_here(where.job)
        again = [
            placements.fill(where.job.placement, where.job, part, blocks[part][::-1]) for part in sorted(blocks)[::-1]
        ]
    with placed_here(job) as where:
        anew = filled_here(where.job)
    assert [each.sha256 for each in again][::-1] == [each.sha256 for each in first] == [each.sha256 for each in anew]


@pytest.mark.parametrize("num_parts", [300, 400])
def test_parts_of_one_row_and_parts_without_any_hold_everybody_once(tmp_path, table, key, num_parts):
    with placed_here(job_on(tmp_path, task_near(**NEAR), table, key, num_parts=num_parts)) as where:
        blocks = sent_here(where.job)
    assert sorted(blocks) == list(range(300))


def test_people_who_did_not_answer_have_no_slot(tmp_path, table, key):
    answers = pq.read_table(table / "p0.parquet").set_column(0, "answer", [[None] * 30 + ["No"] * 70])
    pq.write_table(answers, table / "p0.parquet")
    with placed_here(job_on(tmp_path, task_near(missing="drop", **NEAR), table, key)) as where:
        found = content_of(where.job, filled_here(where.job))
    assert found["label"] == list(range(270))
    assert where.view.label_table["number"].tolist() == list(range(30, 300))


# ---- the law over parts ----------------------------------------------------------------------------------------------

MEMBERS, GROUPS = 4, 2000
LETTERS = list("abcd")


@pytest.fixture
def letters(tmp_path):
    """Groups of four people, each in another share, who answer differently, and truthfully but for one in 10^10."""
    folder = tmp_path / "letters"
    folder.mkdir()
    places = [f"p{group:04d}" for group in range(GROUPS)]
    for member, letter in enumerate(LETTERS):
        table = pa.table({"answer": [letter] * GROUPS, "place": places})
        pq.write_table(table, folder / f"p{member}.parquet")
    return folder


@pytest.fixture
def p_value(letters, tmp_path):
    """That the orders of groups, whose slots are in four parts, have the law of a Mallows shuffle."""
    randomizer = {"kind": "k-rr", "epsilon0": 25.0, "categories": LETTERS}
    shuffler = {"kind": "mallows", "concentration": 0.6}
    task = task_with(randomizer=randomizer, shuffler=shuffler, groups={"column": "place"}, public=["place"])

    def found() -> float:
        with key_file(tmp_path, 5) as key, placed_here(job_on(tmp_path, task, letters, key, num_parts=4)) as where:
            parts = filled_here(where.job)
            assert [each.num_reports for each in parts] == [GROUPS] * MEMBERS
            said = np.searchsorted(LETTERS, content_of(where.job, parts)["value"]).reshape(MEMBERS, GROUPS)
        counts, law = Counter(map(tuple, said.T.tolist())), mallows_law(MEMBERS, 0.6)
        orders = list(itertools.permutations(range(MEMBERS)))
        assert sum(counts[order] for order in orders) == GROUPS
        return chisquare([counts[each] for each in orders], [GROUPS * float(law[each]) for each in orders]).pvalue

    return found


def test_the_law_of_orders_over_parts_is_that_of_the_shuffler(p_value):
    assert p_value() > 1e-3


def test_orders_that_are_drawn_in_windows_would_be_seen(p_value, monkeypatch):
    whole = placements.Placement.rows_of

    def inside(placement, share):
        return share * GROUPS + np.argsort(np.argsort(whole(placement, share)))

    monkeypatch.setattr(placements.Placement, "rows_of", inside)
    assert p_value() < 1e-12


def test_a_uniform_order_in_its_place_would_be_seen(p_value, monkeypatch):
    monkeypatch.setattr("shuffledp.protocols.d_sigma.shufflers.mallows.mallows_parts", uniform_blocks)
    assert p_value() < 1e-12


def uniform_blocks(sizes, concentrations, distance, source):
    del concentrations, distance
    words = source.words(int(np.sum(sizes)))
    yield np.lexsort((words, np.repeat(np.arange(len(sizes)), sizes)))


# ---- what is refused, and what is left -------------------------------------------------------------------------------


def test_reports_that_are_lost_or_come_twice_are_refused(tmp_path, table, key):
    with placed_here(job_on(tmp_path, task_near(**NEAR), table, key)) as where:
        blocks, placement = sent_here(where.job)[1], where.job.placement
        for wrong in (blocks[1:], [*blocks, replace(blocks[0], origin=999)]):
            with pytest.raises(EngineError, match="each report once; some were lost or came twice"):
                placements.fill(placement, where.job, 1, wrong)
        short = replace(placement, firsts=(0, 100, 150, 300))
        with pytest.raises(EngineError, match="each report once"):
            list(placements.send(short, where.job, 1))


def test_where_reports_went_is_in_a_private_file_that_is_gone_in_the_end(tmp_path, table, key):
    job = job_on(tmp_path, task_near(**NEAR), table, key)
    with placed_here(job) as where:
        rows = where.job.placement.rows
        assert rows.stat().st_mode & 0o777 == 0o600
        assert sorted(np.fromfile(rows, np.int64).tolist()) == list(range(300))
        told = pickle.dumps(where.job)
        assert len(told) < 10_000  # of 300 people, each of whom a row of 8 bytes would be
        assert not any(np.fromfile(rows, np.int64)[at : at + 3].tobytes() in told for at in range(298))
        assert SECRET not in told
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["key"]


def test_strata_of_too_few_people_and_an_empty_input_are_refused(tmp_path, table, key):
    release = {"delta": 1e-6, "minimum_batch": 100}
    with (
        pytest.raises(BatchTooSmallError, match="in each stratum"),
        placed_here(job_on(tmp_path, task_near(by="place", release=release), table, key)),
    ):
        pass
    with (
        pytest.raises(BatchTooSmallError, match="got 300"),
        placed_here(job_on(tmp_path, task_near(release=release | {"minimum_batch": 301}, **NEAR), table, key)),
    ):
        pass
    for file in table.iterdir():
        pq.write_table(pq.read_table(file).slice(0, 0), file)
    with pytest.raises(InputDataError, match="has no rows"), placed_here(job_on(tmp_path, task_near(), table, key)):
        pass


def test_a_public_value_that_is_missing_is_refused(tmp_path, table, key):
    numbers = pq.read_table(table / "p1.parquet")
    pq.write_table(numbers.set_column(1, "number", [[None, *range(99)]]), table / "p1.parquet")
    with pytest.raises(InputDataError, match="public column 'number' must hold a finite number in every row"):
        placements.read_people(job_on(tmp_path, task_near(**NEAR), table, key), 1)
