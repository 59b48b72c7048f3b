"""The post office over HTTP, without sockets: what it takes, what it refuses, when a stage ends, and what it keeps."""

import asyncio
import time
from contextlib import asynccontextmanager

import httpx
import pytest

from parties.relay.members import Circle
from parties.relay.together import Together, sealed_reports, terms_of
from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.http_transport import SharedHttpTransport
from shuffledp.parties.relay.journal import Journal
from shuffledp.parties.relay.mailboxes import Mailboxes, PostedLetters
from shuffledp.parties.relay.member import take_part
from shuffledp.parties.relay.post_office import AFTER_RESTART, LONGEST_ANSWER, PostOffice, signed_letters
from shuffledp.parties.relay.post_office_app import LETTERS_TYPE, post_office_app
from shuffledp.parties.relay.post_office_client import PostOfficeClient
from shuffledp.parties.relay.relay_release import gather_hand_ins, view_of
from shuffledp.parties.relay.rounds import HandInRefusedError
from shuffledp.parties.service.client import LONGEST_WAIT


class Inside:
    """A connection to an application in this process, for threads beside its event loop."""

    def __init__(self, client, loop):
        self.client, self.loop = client, loop

    def answer(self, method, path, body):
        asked = self.client.request(
            method, f"http://inside/{path}", content=body, headers={"content-type": LETTERS_TYPE}
        )
        found = asyncio.run_coroutine_threadsafe(asked, self.loop).result(60)
        return found.status_code, found.content


class Nobody:
    """A connection on which nobody answers."""

    def answer(self, *_):
        raise ConnectionError


class Office:
    """A post office at work in this process, and clients of it."""

    def __init__(self, tmp_path, circle=None, *, patience=600.0):
        self.circle, self.tmp_path, self.patience = circle or Circle(), tmp_path, patience
        self.terms, self.lines = terms_of(self.circle), []
        self.reports = sealed_reports(self.terms, [0, 1, 1, 0, 1, 0])
        self.clock = time.time

    @asynccontextmanager
    async def open(self):
        """Until the block ends; then opened again, it goes on."""
        self.store = Mailboxes(self.tmp_path / "office")
        log = EventLog(self.lines.append)
        self.office = PostOffice(self.terms, self.store, patience=self.patience, log=log, clock=self.now)
        await self.office.open()
        running = asyncio.create_task(self.office.run())
        app = httpx.ASGITransport(post_office_app([self.office], log=log))
        async with httpx.AsyncClient(transport=app) as self.client:
            try:
                yield self
            finally:
                running.cancel()
                await asyncio.wait([running])
                await self.store.close()

    def now(self):
        return self.clock()

    def transport(self, connection=None):
        loop = asyncio.get_running_loop()

        def new_client():
            to = connection or Inside(self.client, loop)
            sign = lambda person, said: self.circle.keys[person].signature(said)  # noqa: E731
            return PostOfficeClient(self.terms, to, sign, patience=0.0 if connection else 5.0)

        return SharedHttpTransport(new_client, connections=2)

    async def member(self, person, transport=None):
        journal = Journal(self.terms, person, self.tmp_path / "members")
        try:
            key = self.circle.keys[person]
            await take_part(self.terms, key, lambda: self.reports[person], journal, transport or self.transport())
        finally:
            journal.close()

    async def post(self, body, *, stage=0, sender=0, kind=LETTERS_TYPE):
        url = f"{self.terms.collection.shuffler.url}{self.terms.collection.path}/stages/{stage}/letters/{sender}"
        return await self.client.post(url, content=body, headers={"content-type": kind})

    def signed(self, letters, *, stage=0, sender=0, by=None):
        sign = self.circle.keys[sender if by is None else by].signature
        return signed_letters(self.terms, sign, PostedLetters(stage, sender, letters))


def in_office(tmp_path, work, **given):
    office = Office(tmp_path, **given)

    async def running():
        async with office.open():
            await work(office)

    asyncio.run(running())
    return office


async def without(office, *gone):
    """Time jumps whenever the letters of all but these have come, and else it stands still."""
    others, jumped = set(range(6)) - set(gone), 0.0
    began = time.time()
    office.clock = lambda: began + jumped
    while True:
        if office.office._came >= others:
            jumped += office.patience
        await asyncio.sleep(0.01)


async def everybody(office, people=range(6)):
    return await asyncio.gather(*(office.member(person) for person in people), return_exceptions=True)


def test_all_reports_come_to_the_analyst_and_the_view_is_that_of_the_simulated_walk(tmp_path):
    async def work(office):
        assert await everybody(office) == [None] * 6
        keys = [office.circle.analyst]
        found = await gather_hand_ins(office.terms, office.transport(), keys)
        view, collected = view_of(office.terms, found, keys)
        assert sorted(view.reports.columns["value"].tolist()) == [0, 0, 0, 1, 1, 1]
        assert view.shuffle.kind == "network"
        assert set(collected.refused.values()) == {0}
        with pytest.raises(LocalProtocolError, match="must be sent by a member"):
            PostOfficeClient(office.terms, Nobody(), None, patience=1.0).post(0, 0, {})

    office = in_office(tmp_path, work)
    assert [line.split('"')[3] for line in office.lines] == ["stage-ended"] * 5


def test_letters_are_taken_from_their_sender_in_the_length_of_the_stage_and_once(tmp_path):
    async def work(office):
        together = Together(office.circle, [0] * 6)
        together.send()
        letters = together.states[0].letters
        good = office.signed(letters)
        assert (await office.post(good[:-1])).status_code == 400
        assert (await office.post(good + b"x")).status_code == 413
        assert (await office.post(good, kind="text/plain")).status_code == 415
        assert (await office.post(office.signed(letters, by=1))).status_code == 400
        assert (await office.post(good, stage=1)).status_code == 403
        assert (await office.post(good, stage=99)).status_code == 400
        assert (await office.post(good, sender=6)).status_code == 403
        assert (await office.post(good)).status_code == 200
        assert (await office.post(good)).status_code == 200
        together = Together(office.circle, [0] * 6)
        together.send()
        assert (await office.post(office.signed(together.states[0].letters))).status_code == 409
        base = f"{office.terms.collection.shuffler.url}{office.terms.collection.path}"
        assert (await office.client.get(f"{base}/stages/0/mail/nobody")).status_code == 400
        assert (await office.client.get(f"{base}x/stages/0/mail/1")).status_code == 404
        assert (await office.client.get(f"{base}/directory")).content == office.circle.directory.canonical

    in_office(tmp_path, work)


def test_a_post_office_that_starts_again_goes_on_where_it_was(tmp_path):
    office = Office(tmp_path)

    async def running():
        async with office.open():
            members = [asyncio.create_task(office.member(person)) for person in range(5)]
            while len(await office.store.senders(0)) < 5:
                await asyncio.sleep(0.01)
            for each in members:
                each.cancel()
            await asyncio.wait(members)
        async with office.open():
            assert await everybody(office) == [None] * 6
        async with office.open():  # if need be, the last stage ends now: all have handed in
            assert await office.office.record(office.terms.hand_in_stage) is not None
            assert len(await office.store.records()) == 5

    asyncio.run(running())


def test_after_a_restart_members_are_waited_for_who_ask_again_with_long_pauses(tmp_path):
    """A member who is still patient has asked again by then; afterwards stages are waited for as before."""
    office = Office(tmp_path, patience=30.0)
    letters = Together(office.circle, [0] * 6)
    letters.send()

    async def running():
        async with office.open():
            for person in range(6):
                await office.office.take(0, person, letters.states[person].letters)
            assert await office.office.record(0) == record_of(range(6), 6)
        began = time.time()
        office.clock = lambda: began
        async with office.open():
            await asyncio.sleep(0.01)  # for it to begin
            for later, stage in ((AFTER_RESTART - 1, 1), (AFTER_RESTART + 1, 2), (AFTER_RESTART + 30, 3)):
                office.clock = lambda later=later: began + later
                await asyncio.sleep(0.5)
                assert office.office.stage == stage

    asyncio.run(running())
    assert AFTER_RESTART > LONGEST_ANSWER + 1.5 * LONGEST_WAIT


def test_whoever_came_late_for_the_set_up_stays_out_also_after_a_restart(tmp_path):
    """Their letters may be on the disk: they came while the record was written, which does not have them."""
    office = Office(tmp_path)
    letters = Together(office.circle, [0] * 6)
    letters.send()
    letters = letters.states[5].letters

    async def running():
        async with office.open():
            await office.store.put(PostedLetters(0, 5, letters))
            await office.store.end(0, record_of(range(5), 6))
        async with office.open():
            assert not office.office.waits_for(1, 5)
            assert office.office.waits_for(1, 4)

    asyncio.run(running())


def test_where_a_member_is_gone_for_good_the_others_refuse_to_hand_in(tmp_path):
    class Gone:
        def __init__(self, transport):
            self.transport = transport

        async def post(self, stage, person, letters):
            if stage == 2:
                raise RemoteProtocolError("killed")
            await self.transport.post(stage, person, letters)

        async def fetch(self, stage, recipient):
            return await self.transport.fetch(stage, recipient)

    async def work(office):
        jumps = asyncio.create_task(without(office, 3))
        dead = office.member(3, Gone(office.transport()))
        others = [office.member(person) for person in range(6) if person != 3]
        _, *ends = await asyncio.gather(dead, *others, return_exceptions=True)
        assert {type(end) for end in ends} == {HandInRefusedError}
        assert {str(end) for end in ends} == {str(ends[0])}
        assert "1 of 6 members were" in str(ends[0])
        with pytest.raises(HandInRefusedError, match=r"1 of 6 members were"):
            await gather_hand_ins(office.terms, office.transport(), [office.circle.analyst])
        jumps.cancel()

    in_office(tmp_path, work)


def test_a_server_that_drops_a_members_letters_is_noticed_and_nothing_is_handed_in(tmp_path):
    """It can always do this, to anybody: then nothing is released."""

    async def work(office):
        taken = office.office.take

        async def dropping(stage, sender, letters):
            return True if (stage, sender) == (1, 4) else await taken(stage, sender, letters)

        office.office.take = dropping
        jumps = asyncio.create_task(without(office, 4))
        ends = await everybody(office)
        assert {type(end) for end in ends} == {HandInRefusedError}
        jumps.cancel()

    in_office(tmp_path, work)


def test_late_letters_go_nowhere(tmp_path):
    async def work(office):
        for person in range(6):
            together = Together(office.circle, [0] * 6)
            together.send()
            if person:
                await office.office.take(0, person, together.states[person].letters)
        await office.office._end()
        assert (await office.post(office.signed(together.states[0].letters))).status_code == 410
        assert await office.office.record(0) == record_of(range(1, 6), 6)
        with pytest.raises(HandInRefusedError, match=r"goes on without you. Nothing of your answer was sent"):
            await office.member(0)

    in_office(tmp_path, work)


def test_a_post_office_that_does_not_answer_is_named_and_nothing_is_lost(tmp_path):
    async def work(office):
        with pytest.raises(RemoteProtocolError, match=r"must answer; got: no answer. What is held is kept"):
            await office.member(0, office.transport(Nobody()))
        assert await everybody(office) == [None] * 6

    in_office(tmp_path, work)


def test_one_process_has_the_letters(tmp_path):
    async def work(office):
        with pytest.raises(LocalProtocolError, match="another one has them open"):
            Mailboxes(office.tmp_path / "office")

    in_office(tmp_path, work)
