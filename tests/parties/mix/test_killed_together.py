"""A mix and the machine that fetches from it, killed together at every step between the close and the end."""

import asyncio
import functools
import inspect
import multiprocessing
import os
import select
import signal
import time

import pytest

from parties.mix.mixing import Survey
from parties.mix.test_mix_collections import answers
from parties.mix.test_mix_processes import Place, send
from parties.service.processes import Process, until
from shuffledp.parties.mix.mix_config import MixConfig
from shuffledp.parties.mix.mix_folder import MixFolder, StoredRegistration
from shuffledp.parties.mix.run_mix import terms_by
from shuffledp.parties.service.client import new_client
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.parties.service.report_store import ReportStore

PEOPLE = 20
STEPS = [
    *((ReportStore, name) for name in ("enter", "release", "end", "delivered", "destroy_batches", "clean")),
    *((StoredRegistration, name) for name in ("write_ended", "forget")),
    *((CollectionAtAnalyzer, name) for name in ("take", "release")),
]
pytestmark = pytest.mark.usefixtures("without_a_page")


class Halts:
    """A halt before or after one of the steps, counted over both processes, which stays there until it is killed."""

    def __init__(self, at):
        self._at, self._crossed = at, multiprocessing.Value("i")
        self.reached, self._reaching = os.pipe()

    def watch(self, monkeypatch):
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, step):
        if inspect.iscoroutinefunction(step):

            @functools.wraps(step)
            async def watched(*given, **further):
                self._cross()
                found = await step(*given, **further)
                self._cross()
                return found
        else:

            @functools.wraps(step)
            def watched(*given, **further):
                self._cross()
                found = step(*given, **further)
                self._cross()
                return found

        return watched

    def _cross(self):
        with self._crossed.get_lock():
            self._crossed.value += 1
            is_here = self._crossed.value == self._at
        if is_here:
            os.write(self._reaching, b"x")
            time.sleep(60.0)

    def is_reached(self):
        return bool(select.select([self.reached], [], [], 0)[0])


class Both(Place):
    """A mix with one collection in which people have answered, and its organizer."""

    def __init__(self, folder):
        folder.mkdir()
        super().__init__(folder)
        state = MixFolder(folder / "state")
        self.survey = Survey(terms_by(MixConfig.read(self.file), state), page=None)
        self.registered = state.register(self.survey.collection, "code", page=b"", promised=(), key=None)

    async def finish(self, _, *, log, ready):  # noqa: ARG002  as a service
        """What `survey finish` does: closes the collection, and fetches its batch until it has ended."""
        ready("")
        with new_client() as http:
            await asyncio.to_thread(self.client(http).close, self.survey.collection, self.survey.key)
        await self.fetch()

    async def fetch(self):
        return await fetch_release(self.survey.collection, [self.survey.key], self.folder / "office")

    def has_retired(self):
        return self.registered.ended() is not None and not self.registered.reports.exists()

    def killed_at(self, halts):
        """Whether both were killed at the halt; without it they come to the end."""
        organizer = Process(self.finish, None, self.log)
        try:
            until(lambda: halts.is_reached() or (organizer.has_ended() and self.has_retired()))
            return halts.is_reached()
        finally:
            self.kill()
            organizer.end(signal.SIGKILL)


def killed_together(folder, at):
    """Whether there is so late a halt; what is acknowledged is released once, and its result can be read."""
    both, halts = Both(folder), Halts(at)
    try:
        with pytest.MonkeyPatch.context() as patched:
            halts.watch(patched)
            both.start()
            with new_client() as http:
                assert send(http, both.survey.collection, answers(both.survey.collection, PEOPLE))
            is_there = both.killed_at(halts)
        both.start()
        until(Process(both.finish, None, both.log).has_ended)
        found = asyncio.run(both.fetch())
        (told,) = found.releases.values()
        assert told["columns"][0]["num_reports"] == PEOPLE, at
        assert told["columns"][0]["flow"]["collected"]["undecryptable"] == 0
        assert (found.has_ended, found.missing) == (True, 0)
        until(both.has_retired)
        with new_client() as http:
            mix = both.client(http)
            mix.publish(both.survey.collection, both.survey.key, told)
            assert [each.statement for each in mix.results(both.survey.collection)] == [told]
        return is_there
    finally:
        both.kill()


@pytest.mark.parametrize("at", [7])
def test_killed_together_in_the_middle_both_go_on_where_they_were(tmp_path, at):
    assert killed_together(tmp_path / "both", at)


@pytest.mark.deep
def test_whatever_step_mix_and_organizer_are_killed_at_together_what_is_acknowledged_is_released_once(tmp_path):
    at = 1
    while killed_together(tmp_path / str(at), at):
        at += 1
    assert at > 2 * len(STEPS)  # nearly each step is made, most of them once
