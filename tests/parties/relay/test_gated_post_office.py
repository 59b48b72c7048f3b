"""Members behind a gate, and a post office: who is late, who is gone for good, and whose letters a server drops."""

import asyncio
import time

import numpy as np
import pytest

from parties.relay.members import Circle
from parties.relay.test_post_office import Office, in_office
from shuffledp.accounting import account
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.relay.mailboxes import Mailboxes
from shuffledp.parties.relay.post_office import PostOffice
from shuffledp.parties.relay.relay_release import gather_hand_ins, view_of
from shuffledp.parties.relay.rounds import HandInRefusedError
from shuffledp.parties.relay.sealed_hand_ins import sealed_hand_in
from shuffledp.parties.relay.terms import ANALYST, in_slots
from shuffledp.randomizers import KaryRandomizedResponse

ROUNDS, PEOPLE, DELTA = 8, 6, 0.05
AGES = 1e6  # seconds: in which any stage ends
COIN = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def circle(gate=0.9):
    return Circle(overlay={"groups": [2, 3]}, rounds=ROUNDS, gate=gate, delta=DELTA)


class Slow:
    """A transport that sends nothing in some stages before they have ended; or stops for good."""

    def __init__(self, office, *, late=(), gone=ROUNDS + 9):
        self.transport, self.late, self.gone = office.transport(), late, gone
        self.record, self.fetch = self.transport.record, self.transport.fetch

    async def post(self, stage, person, letters):
        if stage >= self.gone:
            raise RemoteProtocolError("killed")
        if stage in self.late:
            await self.record(stage)
        await self.transport.post(stage, person, letters)


def in_step(tmp_path, work, absent, *, gate=0.9):
    """Work in a post office where it is late as soon as all have sent their letters but those absent from a stage."""
    began = time.time()

    async def working(office):
        post = office.office
        everybody = set(range(PEOPLE))
        office.clock = lambda: began + AGES * (post.stage + (post._came >= everybody - absent(post.stage)))
        post._began = office.clock()
        await work(office)

    in_office(tmp_path, working, circle=circle(gate))


async def taking_part(office, **unlike):
    """Everybody's part, by place; ``unlike`` has the transports of some: None where it ended well."""
    given = {int(name[1:]): transport for name, transport in unlike.items()}
    ends = (office.member(person, given.get(person)) for person in range(PEOPLE))
    return await asyncio.gather(*ends, return_exceptions=True)


async def released(office):
    """The record, the view, and what is stated of it."""
    keys = [office.circle.analyst]
    found = await gather_hand_ins(office.terms, office.transport(), keys)
    view, _ = view_of(office.terms, found, keys)
    stated = account(ProtocolModel(local=COIN.model, shuffle=view.shuffle), delta=DELTA)
    assert stated.guarantee.epsilon == 0.9
    return found.attendance, view


def test_members_who_are_late_are_away_then_and_there_again_afterwards(tmp_path):
    async def work(office):
        ends = await taking_part(office, _2=Slow(office, late=(2, 5)), _4=Slow(office, late=(3,)))
        assert ends == [None] * PEOPLE
        attendance, view = await released(office)
        away = {(stage, person) for stage, person in zip(*np.nonzero(~attendance.online), strict=True)}
        assert away == {(2, 2), (5, 2), (3, 4)}
        assert sorted(view.reports["value"].tolist()) == [0, 0, 0, 1, 1, 1]  # nothing is lost

    in_step(tmp_path, work, lambda stage: {2} if stage in (2, 5) else {4} if stage == 3 else set())


@pytest.mark.parametrize("since", [0, 1, 4])
def test_where_a_member_is_gone_for_good_the_others_hand_in_what_they_hold(tmp_path, since):
    async def work(office):
        ends = await taking_part(office, _3=Slow(office, gone=since))
        assert [type(end) for end in ends] == [*[type(None)] * 3, RemoteProtocolError, *[type(None)] * 2]
        attendance, view = await released(office)
        assert attendance.num_away == 1
        assert attendance.online[since:, 3].sum() == 0
        assert 3 not in view.labels.tolist()
        assert len(view) == 5 or since
        assert 1 <= len(view) <= 6

    in_step(tmp_path, work, lambda stage: {3} if stage >= since else set())


def test_what_somebody_hands_in_who_was_away_in_the_last_round_is_left_out(tmp_path):
    """Whoever does so all the same, and whatever the server lets through."""

    async def work(office):
        last, reports = (
            office.terms.hand_in_stage,
            in_slots((office.reports[3],), office.terms.most_handed_in, office.terms.report_bytes),
        )
        letter = sealed_hand_in(office.terms, office.circle.keys[3], 3, reports)

        class WithAnother(Slow):
            async def post(self, stage, person, letters):
                if stage == last:
                    assert await office.office.take(last, 3, {ANALYST: letter})
                await super().post(stage, person, letters)

        ends = await taking_part(office, _3=Slow(office, gone=ROUNDS), _5=WithAnother(office))
        assert isinstance(ends[3], RemoteProtocolError)
        assert 3 in await office.store.senders(last)
        attendance, view = await released(office)
        assert attendance.num_away == 1
        assert 3 not in view.labels.tolist()

    in_step(tmp_path, work, lambda stage: {3} if stage >= ROUNDS else set())


def test_a_gate_that_stays_shut_is_refused_by_everybody_and_by_the_analyst(tmp_path):
    async def work(office):
        ends = await taking_part(office, _1=Slow(office, gone=1), _3=Slow(office, gone=1), _5=Slow(office, gone=1))
        refused = [end for end in ends if isinstance(end, HandInRefusedError)]
        assert len(refused) == 3
        assert len({str(each) for each in refused}) == 1
        with pytest.raises(HandInRefusedError, match=r"it is shut: 3 of 6 members were away"):
            await gather_hand_ins(office.terms, office.transport(), [office.circle.analyst])
        assert await office.store.senders(office.terms.hand_in_stage) == set()

    in_step(tmp_path, work, lambda stage: {1, 3, 5} if stage else set(), gate=0.8)


def test_a_server_that_drops_a_members_letters_is_noticed_agreed_on_and_counted_as_offline(tmp_path):
    """It can always do this: the member sees it, and the others cannot tell it from a machine that stopped."""

    async def work(office):
        taken = office.office.take

        async def dropping(stage, sender, letters):
            return True if (stage >= 3 and sender == 4) else await taken(stage, sender, letters)

        office.office.take = dropping
        *others, dropped, last = await taking_part(office)
        assert [*others, last] == [None] * 5
        assert isinstance(dropped, HandInRefusedError)
        assert "a member must be there in the last round" in str(dropped)
        attendance, view = await released(office)
        assert attendance.online[:, 4].tolist() == [True] * 3 + [False] * (ROUNDS - 2)
        assert 4 not in view.labels.tolist()

    in_step(tmp_path, work, lambda stage: {4} if stage >= 3 else set())


def test_a_server_that_says_a_letter_was_sent_and_withholds_it_loses_its_recipient(tmp_path):
    """The recipient stops, and is away from then on; what it held is never handed in."""

    async def work(office):
        mail = office.office.mail

        async def withholding(stage, recipient):
            return (await mail(stage, recipient))[:-9] if (stage, recipient) == (3, 2) else await mail(stage, recipient)

        office.office.mail = withholding
        ends = await taking_part(office)
        assert isinstance(ends[2], RemoteProtocolError)
        assert "must hand out" in str(ends[2])
        assert [end for person, end in enumerate(ends) if person != 2] == [None] * 5
        attendance, view = await released(office)
        assert attendance.online[:, 2].tolist() == [True] * 4 + [False] * (ROUNDS - 3)
        assert 2 not in view.labels.tolist()

    in_step(tmp_path, work, lambda stage: {2} if stage >= 4 else set())


def test_who_was_away_a_round_before_is_waited_for_less_long(tmp_path):
    office, some, everybody = Office(tmp_path, circle()), {0, 1, 2}, set(range(PEOPLE))

    async def standing_still():
        store = Mailboxes(tmp_path / "office")
        post = PostOffice(office.terms, store, patience=600.0, log=EventLog(office.lines.append))
        post._began = time.time()
        for stage in range(office.terms.hand_in_stage + 1):
            post._expected, post._records, waits = some if stage else everybody, [b""] * stage, []
            for post._came in ({0, 1}, some, everybody):
                waits.append(post._waits())
            if stage in (0, office.terms.hand_in_stage):  # until the collection closes
                assert waits[0] > 3600
                assert waits[1:] == ([0.0, 0.0] if stage else [waits[0], 0.0])
            else:
                assert waits == [600.0, 60.0, 0.0]
        await store.close()

    asyncio.run(standing_still())
