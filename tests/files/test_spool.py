"""The external shuffle: exactly uniform whatever spills to disk, and nothing left behind."""

import itertools
import stat
from collections import Counter

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.core.flow import Reports
from shuffledp.files.shuffling import ReportSpool
from shuffledp.randomizers import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

MODEL = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=1000)
PERMUTATIONS = list(itertools.permutations(range(3)))


def numbered(start, stop):
    return Reports({"value": np.arange(start, stop, dtype=np.int64)}, MODEL)


def shuffled(folder, parts, *, in_memory, source=None):
    with ReportSpool(folder, in_memory=in_memory, source=source) as spool:
        for part in parts:
            spool.add(part)
        views = list(spool.views(UniformShuffleModel(num_users=spool.num_reports)))
    return [int(value) for view in views for value in view.reports["value"]]


@pytest.mark.parametrize("in_memory", [0, 10**9], ids=["on disk", "in memory"])
def test_every_order_is_equally_likely(tmp_path, in_memory):
    source, runs = SeededSource(5), 1200
    parts = [numbered(0, 2), numbered(2, 3)]
    seen = Counter(tuple(shuffled(tmp_path, parts, in_memory=in_memory, source=source)) for _ in range(runs))
    counts = [seen[order] for order in PERMUTATIONS]
    assert_fits(counts, [1 / 6] * 6)
    arrival_order_twice_as_often = [2 / 7] + [1 / 7] * 5
    assert_rejects(counts, arrival_order_twice_as_often)


def test_no_report_is_lost_or_doubled_over_many_spills(tmp_path):
    parts = [numbered(start, start + 37) for start in range(0, 999 - 36, 37)]
    values = shuffled(tmp_path, parts, in_memory=500)
    assert sorted(values) == list(range(len(parts) * 37))
    assert values != sorted(values)


def test_buckets_are_private_and_gone_afterwards(tmp_path):
    with ReportSpool(tmp_path, in_memory=0) as spool:
        spool.add(numbered(0, 500))
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(list(folder.iterdir())) > 100
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert list(tmp_path.iterdir()) == []


def fail_after_spilling(folder):
    with ReportSpool(folder, in_memory=0) as spool:
        spool.add(numbered(0, 500))
        spool.add(numbered(500, 1001))  # 1000 is outside the domain


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(InvalidParameterError, match="outside"):
        fail_after_spilling(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_spool_has_no_views_to_give(tmp_path):
    with ReportSpool(tmp_path) as spool, pytest.raises(LocalProtocolError, match="must be given reports"):
        next(spool.views(UniformShuffleModel(num_users=1)))


def test_the_same_seed_gives_the_same_order(tmp_path):
    parts = [numbered(0, 300), numbered(300, 600)]
    first = shuffled(tmp_path, parts, in_memory=0, source=SeededSource(1))
    assert first == shuffled(tmp_path, parts, in_memory=0, source=SeededSource(1))
    assert first != shuffled(tmp_path, parts, in_memory=0, source=SeededSource(2))


@pytest.mark.parametrize("in_memory", [None, 0])
def test_one_seeded_part_makes_every_view_seeded(tmp_path, in_memory):
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    plain, seeded = (randomizer.randomize([0, 1] * 300, source=source) for source in (None, SeededSource(1)))
    for parts, expected in (([plain, seeded], True), ([seeded, plain], True), ([plain, plain], False)):
        with ReportSpool(tmp_path, in_memory=in_memory) as spool:
            for part in parts:
                spool.add(part)
            assert {view.seeded for view in spool.views(UniformShuffleModel(num_users=1200))} == {expected}


def test_reports_are_in_random_order_within_each_of_all_buckets(tmp_path):
    many = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2**20)
    with ReportSpool(tmp_path, in_memory=0) as spool:
        for start in range(0, 100_000, 10_000):
            spool.add(Reports({"value": np.arange(start, start + 10_000, dtype=np.uint32)}, many))
        buckets = [view.reports["value"].astype(int) for view in spool.views(UniformShuffleModel(num_users=100_000))]
    assert len(buckets) == 256
    assert sorted(np.concatenate(buckets)) == list(range(100_000))
    rises = [(np.diff(bucket) > 0).mean() for bucket in buckets]  # 1 in the order in which they came
    assert max(rises) < 0.7
    assert min(rises) > 0.3
