"""What workers do, without an engine: exactly uniform orders, the same bytes twice, no key in what they are told."""

import dataclasses
import itertools
import math
import os
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from distributed.tables import ANSWERS, done_here, job_on, key_file, task_with, write_table
from shuffledp.core.errors import EngineError, InputDataError
from shuffledp.core.flow import Reports
from shuffledp.distributed import job_key, kernels, shares
from shuffledp.distributed.job_key import source_of
from shuffledp.files import stages
from shuffledp.randomness.replayable import SeededSource

SECRET = bytes(range(100, 132))
PEOPLE, PARTS, TRIALS = 4, 3, 800


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "answers")


@pytest.fixture
def job(tmp_path, table, monkeypatch):
    monkeypatch.setattr(shares, "_ROWS_OF_SHARE", 60)  # rows: 50 in a row group, so two of them in a share
    monkeypatch.setattr(job_key, "_fresh_key", lambda: SECRET)
    with key_file(tmp_path) as key:
        yield job_on(tmp_path, task_with(), table, key)


def view_of(job, parts) -> list[str]:
    return [each for part in parts for each in pq.read_table(job.folder / part.name)["value"].to_pylist()]


# ---- uniform --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "parts"), [(3, 2), (4, 3), (5, 2)])
def test_scattering_and_permuting_parts_makes_all_orders_equally_likely_exactly(people, parts):
    found: Counter = Counter()
    for chosen in itertools.product(range(parts), repeat=people):
        inside = [[each for each in range(people) if chosen[each] == part] for part in range(parts)]
        share = Fraction(1, parts**people * math.prod(math.factorial(len(each)) for each in inside))
        for orders in itertools.product(*(itertools.permutations(each) for each in inside)):
            found[tuple(itertools.chain(*orders))] += share
    assert set(found.values()) == {Fraction(1, math.factorial(people))}
    assert len(found) == math.factorial(people)


def orders(pipeline, *, scatter=kernels.scattered, gather=kernels.gathered) -> float:
    """The p-value of all orders of four people in three parts being equally likely."""
    source = SeededSource(5)
    reports = Reports({"value": np.arange(PEOPLE, dtype=np.uint8)}, pipeline.randomizer.model)
    found: Counter = Counter()
    for _ in range(TRIALS):
        blocks = sorted(scatter(reports, PARTS, 0, source), key=lambda block: block.part)
        parts = [list(each) for _, each in itertools.groupby(blocks, key=lambda block: block.part)]
        found[tuple(v for part in parts for v in gather(pipeline, part, source).reports["value"].tolist())] += 1
    return chisquare([found[order] for order in itertools.permutations(range(PEOPLE))]).pvalue


@pytest.fixture
def pipeline():
    randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": list("abcd")}
    return task_with(randomizer=randomizer).column.pipeline()


def test_the_kernels_make_all_orders_equally_likely_over_parts(pipeline):
    assert orders(pipeline) > 1e-3


def test_without_a_permutation_inside_parts_that_would_be_seen(pipeline, monkeypatch):
    monkeypatch.setattr("shuffledp.core.flow.random_permutation", lambda count, **_: np.arange(count))
    assert orders(pipeline) < 1e-12


def test_with_parts_that_take_turns_that_would_be_seen(pipeline, monkeypatch):
    monkeypatch.setattr(kernels, "uniform_integers", lambda bound, count, **_: np.arange(count) % bound)
    assert orders(pipeline) < 1e-12


# ---- each report once, and the same words twice ---------------------------------------------------------------------


def test_everybody_is_counted_once_and_every_report_is_in_one_part(job):
    facts, parts = done_here(job)
    assert [each.share for each in facts] == [0, 1, 2]
    assert [each.flow.received for each in facts] == [100, 100, 100]
    assert sum(each.num_reports for each in facts) == sum(each.num_reports for each in parts) == 300
    assert len(view_of(job, parts)) == 300


def test_a_task_that_runs_twice_makes_the_same_bytes_however_blocks_arrive(job):
    _, parts = done_here(job)
    blocks = [each for share in (2, 0, 1) for each in kernels.scatter(job, share) if isinstance(each, kernels.Block)]
    again = [kernels.permute(job, part, [each for each in blocks if each.part == part]) for part in range(3)]
    assert [each.sha256 for each in again] == [each.sha256 for each in parts]
    assert len({each.sha256 for each in parts}) == 3


@pytest.mark.parametrize("num_parts", [1, 2, 400])
def test_one_part_and_parts_that_stay_empty_hold_everybody_once(job, num_parts):
    _, parts = done_here(dataclasses.replace(job, num_parts=num_parts))
    assert sum(each.num_reports for each in parts) == len(view_of(job, parts)) == 300
    assert 0 < len(parts) <= min(num_parts, 300)
    assert (len(parts) == num_parts) == (num_parts < 300)


def test_shares_of_very_different_sizes_are_counted_once(tmp_path, table, job):
    pq.write_table(pq.read_table(table / "p0.parquet").slice(0, 1), table / "p0.parquet")
    pq.write_table(pq.read_table(table / "p1.parquet").slice(0, 0), table / "p1.parquet")
    facts, parts = done_here(job_on(tmp_path, task_with(), table, job.key))
    assert sum(each.flow.received for each in facts) == sum(each.num_reports for each in parts) == 101


def test_a_block_that_comes_twice_is_refused(job):
    block = next(each for each in kernels.scatter(job, 0) if isinstance(each, kernels.Block))
    with pytest.raises(EngineError, match="a block came twice"):
        kernels.permute(job, block.part, [block, block])


def test_no_two_tasks_of_a_job_draw_the_same_words(job):
    labels = itertools.product((0, 1), ("randomize", "scatter", "permute"), (0, 1))
    words = [source_of(job.key, *label).words(2).tobytes() for label in labels]
    assert len(set(words)) == 12


def test_the_reports_of_a_share_are_those_of_one_machine_word_for_word(job, tmp_path, table):
    _, parts = done_here(job)
    made = Counter()
    for share in range(len(job.shares)):
        output = tmp_path / f"reports{share}.parquet"
        source = source_of(job.key, 0, "randomize", share)
        stages.randomize(task_with(), table / f"p{share}.parquet", output, source=source)
        made += Counter(pq.read_table(output)["value"].to_pylist())
    assert Counter(view_of(job, parts)) == made


def test_people_who_did_not_answer_are_counted(job, tmp_path, table):
    pq.write_table(
        pq.read_table(table / "p0.parquet").set_column(0, "answer", [[None] * 30 + ["No"] * 70]), table / "p0.parquet"
    )
    dropping = job_on(tmp_path, task_with(missing="drop"), table, job.key)
    flow = done_here(dropping)[0][0].flow
    assert (flow.received, flow.missing) == (100, 30)


def names_in(job) -> tuple[int, int]:
    blocks = [each for share in range(len(job.shares)) for each in kernels.scatter(job, share)]
    parts = range(job.num_parts + 1, 2 * job.num_parts + 1)
    facts = [kernels.count_names([b for b in blocks if isinstance(b, kernels.Block) and b.part == p]) for p in parts]
    return sum(each.names for each in facts), sum(each.distinct for each in facts)


def test_people_who_answer_twice_are_counted_wherever_they_are_and_not_named(tmp_path, table, job):
    task = task_with(people={"id": "number"})
    assert names_in(job_on(tmp_path, task, table, job.key)) == (300, 300)
    again = pq.read_table(table / "p2.parquet").set_column(1, "number", [list(range(95, 195))])
    pq.write_table(again, table / "p2.parquet", row_group_size=50)
    repeating = job_on(tmp_path, task, table, job.key)
    assert names_in(repeating) == (300, 200)
    blocks = [each for each in kernels.scatter(repeating, 0) if isinstance(each, kernels.Block)]
    named = [each.content for each in blocks if each.part > job.num_parts]
    assert named
    assert not any(np.int64(n).tobytes() in content for content in named for n in range(60, 100))


# ---- what is told ---------------------------------------------------------------------------------------------------


def test_a_job_does_not_hold_its_key_which_is_gone_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(job_key, "_fresh_key", lambda: SECRET)
    with key_file(tmp_path) as key:
        job = job_on(tmp_path, task_with(), write_table(tmp_path / "answers"), key)
        assert key.stat().st_mode & 0o777 == 0o600
        assert SECRET in key.read_bytes()
        for told in (pickle.dumps(job), repr(job).encode()):
            assert SECRET not in told
            assert SECRET.hex().encode() not in told
    assert not key.exists()
    with pytest.raises(EngineError, match="a worker found no key") as caught:
        list(kernels.scatter(job, 0))
    assert SECRET.hex() not in str(caught.value)


def test_the_zeros_in_place_of_a_key_are_on_the_disk_before_its_name_is_gone(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.pread(handle, 100, 0), key.exists())))
    with key_file(tmp_path) as key:
        length = key.stat().st_size
    assert synced == [(bytes(length), True)]


def test_parts_say_nothing_but_the_reports(job):
    _, parts = done_here(job)
    for part in parts:
        file = pq.ParquetFile(job.folder / part.name)
        assert file.schema_arrow.names == ["value"]
        assert set(file.metadata.metadata) == {b"ARROW:schema"}


def test_an_answer_that_does_not_fit_is_refused_without_it(tmp_path, table, job):
    changed = pq.read_table(table / "p1.parquet").set_column(0, "answer", [["SECRET"] + ["No"] * 99])
    pq.write_table(changed, table / "p1.parquet", row_group_size=50)
    with pytest.raises(InputDataError, match=r"1 of 100 answers are something else: row 1 ") as caught:
        list(kernels.scatter(job, 1))
    assert "SECRET" not in str(caught.value)


def test_a_seed_is_told_from_a_key(tmp_path):
    with key_file(tmp_path, 7) as key:
        assert source_of(key, 0, "randomize", 3).reproducible
        expected = SeededSource(7).substream(0, "randomize", 3).words(4)
        assert (source_of(key, 0, "randomize", 3).words(4) == expected).all()


def test_tables_are_as_the_tests_take_them(table):
    assert set(pq.read_table(table)["answer"].to_pylist()) <= set(ANSWERS)
