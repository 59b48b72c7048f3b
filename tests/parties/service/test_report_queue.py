"""Many requests, one write: who is acknowledged, when, and what becomes of those whose disk is full."""

import asyncio
import threading

import pytest

from parties.service.sealed import rows
from shuffledp.parties.service import report_queue
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_queue import ReportQueue
from shuffledp.parties.store import group_commit
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.store.group_commit import StoreThread
from shuffledp.parties.wire.grammar import ReportError


class Memory:
    """A store that remembers which groups came, and holds back as long as it is told to."""

    def __init__(self):
        self.groups, self.counted, self.waiting, self.fails = [], {}, 0, None
        self.thread = StoreThread(1)
        self.go_on, self.tidied = threading.Event(), threading.Event()
        self.go_on.set()

    def commit(self, submissions):
        self.go_on.wait(5)
        if self.fails is not None:
            raise self.fails
        self.groups.append(list(submissions))
        self.waiting += len(submissions)
        return [Count.STORED] * len(submissions)

    def count(self, further):
        self.counted.update(further)

    def tidy(self):
        self.tidied.set()

    def close(self):
        pass


def run(test, **given):
    """A test with a group commit on a store in memory; what was told after each group comes last."""
    memory, told = Memory(), []

    async def main():
        commit = ReportQueue(memory, stored=told.append, **given)
        try:
            return await test(commit, memory)
        finally:
            memory.go_on.set()
            await commit.close()

    return asyncio.run(main()), told


def test_what_arrives_while_a_group_is_stored_is_the_next_group():
    async def test(commit, memory):
        memory.go_on.clear()
        first = asyncio.create_task(commit.store([rows()]))
        await asyncio.sleep(0)
        others = [asyncio.create_task(commit.store([rows(), rows()])) for _ in range(5)]
        await asyncio.sleep(0)
        memory.go_on.set()
        return await asyncio.gather(first, *others), [len(group) for group in memory.groups]

    (results, groups), told = run(test)
    assert results == [[Count.STORED], *[[Count.STORED] * 2] * 5]
    assert groups == [1, 10]
    assert told == [1, 11]


def test_nothing_is_acknowledged_before_it_is_stored():
    async def test(commit, memory):
        memory.go_on.clear()
        waiting = asyncio.create_task(commit.store([rows()]))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done
        memory.go_on.set()
        return await waiting

    assert run(test)[0] == [Count.STORED]


def test_a_group_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(group_commit, "_MOST_TOGETHER", 3)

    async def test(commit, memory):
        requests = [[rows()], [rows(), rows()], [rows()] * 5, [rows()]]
        await asyncio.gather(*map(commit.store, requests))
        return [len(group) for group in memory.groups]

    assert run(test)[0] == [3, 5, 1]


def test_whoever_leaves_does_not_keep_others_from_their_answer():
    async def test(commit, memory):
        memory.go_on.clear()
        leaving, staying = (asyncio.create_task(commit.store([rows()])) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        memory.go_on.set()
        return await staying

    assert run(test)[0] == [Count.STORED]


def test_a_full_disk_is_told_to_everybody_in_the_group_and_the_next_group_is_stored():
    async def test(commit, memory):
        memory.fails = StorageError("full")
        failed = await asyncio.gather(commit.store([rows()]), commit.store([rows()]), return_exceptions=True)
        memory.fails = None
        return failed, await commit.store([rows()]), memory.counted

    (failed, stored, counted), _ = run(test)
    assert [type(each) for each in failed] == [StorageError, StorageError]
    assert stored == [Count.STORED]
    assert counted == {Count.NOT_STORED: 2}


def test_after_draining_began_everything_is_late_and_what_was_taken_is_stored():
    async def test(commit, memory):
        memory.go_on.clear()
        taken = asyncio.create_task(commit.store([rows()]))
        await asyncio.sleep(0)
        drained = asyncio.create_task(commit.drain())
        await asyncio.sleep(0)
        late = await commit.store([rows(), rows()])
        memory.go_on.set()
        await drained
        await commit.do(lambda: None)
        return taken.done(), await taken, late, memory.counted

    (was_done, taken, late, counted), _ = run(test)
    assert was_done
    assert taken == [Count.STORED]
    assert late == [ReportError.TASK_EXPIRED] * 2
    assert counted == {Count.LATE: 2}


@pytest.mark.parametrize("goes_on", [False, True])
def test_the_order_in_which_things_came_is_soon_taken_off_the_disk_also_if_more_come_all_the_time(monkeypatch, goes_on):
    monkeypatch.setattr(report_queue, "_UNTIDY_SECONDS", 0.1)

    async def test(commit, memory):
        await commit.store([rows()])
        for _ in range(500):
            if memory.tidied.is_set():
                break
            await asyncio.sleep(0.01)
            if goes_on:
                await commit.store([rows()])
        return memory.tidied.is_set()

    assert run(test)[0]


def test_other_work_on_the_store_waits_its_turn_and_fails_where_it_was_asked_for():
    async def test(commit, memory):
        def fail():
            raise StorageError("full")

        with pytest.raises(StorageError):
            await commit.do(fail)
        return await commit.do(lambda: 7)

    assert run(test)[0] == 7
