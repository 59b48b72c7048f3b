"""Pools of several messages of each person, over the services: stored, shuffled and counted as one."""

from contextlib import closing

import numpy as np
import pytest

from parties.service.given import Parties, task
from parties.service.sealed import rows
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import LocalModel
from shuffledp.parties.service.batch_opening import OpenedBatch
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.message_joining import joined_messages
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.randomizers import BlanketedResponseModel
from shuffledp.survey import Task
from shuffledp.survey.pools import Pool

BITS = {"kind": "counted-bits", "epsilon": 1.0, "lower": 0.0, "upper": 10.0}
SHARES = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0.0, "upper": 10.0}


def asked(*blocks):
    value = [{"column": f"wage-{number}", "protocol": block} for number, block in enumerate(blocks)]
    release = {"delta": 1e-3, "minimum_batch": 20}
    return Task.from_dict({"name": "survey", "value": value, "people": {"expected": 100}, "release": release})


def test_bits_of_a_person_are_one_pool_and_shares_have_one_each_or_one_for_each_host():
    found = asked(BITS, SHARES, SHARES | {"buffers": "host"})
    bits, shares, poured = (each.randomizer.randomizer().model.num_messages for each in found.columns)
    assert [pool.messages for pool in found.pools] == [bits, *[1] * shares, poured]
    assert [pool.number for pool in found.pools] == list(range(2 + shares))
    assert [found.columns.index(pool.column) for pool in found.pools] == [0, *[1] * shares, 2]
    assert {pool.host for pool in found.pools} == {0}
    assert len(found.messages) == bits + shares + poured
    assert found.messages[bits - 1] == found.pools[0] != found.messages[bits] == found.pools[1]
    assert task().pools == (Pool(number=0, column=task().column),)


def test_all_messages_of_a_pool_are_waiting_together_and_people_are_counted(tmp_path):
    drawn, given = [], []

    def draw(pool, count, size, _):
        drawn.append((pool, count, size))
        order = np.random.default_rng(1).permutation(count)[:size]
        return order, order

    with closing(ReportStore(tmp_path, pools=[1, 3], remembers=False)) as store:
        people = [rows(4) for _ in range(20)]
        assert store.commit(people[:19]) == [Count.STORED] * 19
        assert store.commit([people[19], people[0]]) == [Count.STORED, Count.DUPLICATE]
        mixed = (*people[0][:3], rows()[0])
        assert store.commit([mixed]) == [ReportError.REPORT_REPLAYED]
        assert store.waiting == 20
        store.release(20, draw, lambda made: given.append(made) or b"")
        assert (drawn, store.waiting) == ([(0, 20, 20), (1, 60, 60)], 0)
        assert [(made.column, made.num_reports) for made in given] == [(0, 20), (1, 60)]
        bodies = [store.part(each, 0) for each in store.outgoing()]
    assert all(row.ciphertext in bodies[pool > 0] for each in people for pool, row in enumerate(each))


def test_a_store_opened_again_counts_the_people_and_not_their_messages(tmp_path):
    for _ in range(2):
        with closing(ReportStore(tmp_path, pools=[5], remembers=False)) as store:
            store.commit([rows(5)])
    with closing(ReportStore(tmp_path, pools=[5], remembers=False)) as store:
        assert store.waiting == 2


MODEL = BlanketedResponseModel.from_epsilon0(epsilon0=2.0, domain_size=4, blanket_messages=2)


def batch(reports: Reports, **further) -> OpenedBatch:
    counts = dict.fromkeys(("undecryptable", "malformed", "duplicates"), 0) | further
    return OpenedBatch(reports=reports, places=np.arange(len(reports)), extensions=((),) * len(reports), **counts)


def test_messages_of_one_pool_are_put_together_at_random_and_a_rest_is_left_out():
    reports = Reports({"value": np.repeat(np.arange(4), 30)}, MODEL)
    joined = joined_messages([batch(reports.take(np.arange(118)), undecryptable=2)])
    assert (joined.reports.num_users, joined.malformed, joined.undecryptable) == (39, 1, 2)
    assert not np.array_equal(np.sort(joined.reports["value"]), joined.reports["value"])


def test_batches_that_leave_as_they_fill_are_refused_where_a_person_has_several_messages_in_a_pool(monkeypatch):
    monkeypatch.setattr(LocalModel, "messages_per_round", 2)
    monkeypatch.setattr(LocalModel, "num_messages", 2)
    with pytest.raises(InvalidParameterError, match=r"^every must be absent with a \[protocol\] or a blanket"):
        Parties(task(), every=20)
