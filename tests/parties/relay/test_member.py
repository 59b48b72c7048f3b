"""Members at work: what they write down before they send it, and what they do when they start again."""

import asyncio
import errno
import json
import os
import stat
from collections import Counter

import pytest

from parties.relay.members import Circle
from parties.relay.together import sealed_reports, terms_of
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.parties.relay import member as member_module
from shuffledp.parties.relay.folder_transport import FolderTransport
from shuffledp.parties.relay.journal import Journal
from shuffledp.parties.relay.member import take_part
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in
from shuffledp.parties.relay.terms import ANALYST


class KilledError(Exception):
    """The end of a process, at a place that a test chooses."""


class Fragile:
    """A transport during which a member is killed: before or after the letters of a stage, or its mail."""

    def __init__(self, transport, stage, moment):
        self.transport, self.stage, self.moment = transport, stage, moment
        self.posted = []

    async def post(self, stage, person, letters):
        self.posted.append((stage, dict(letters)))
        self.die(stage, "before the post")
        await self.transport.post(stage, person, letters)
        self.die(stage, "after the post")

    async def fetch(self, stage, recipient):
        found = await self.transport.fetch(stage, recipient)
        self.die(stage, "after the mail")
        return found

    def die(self, stage, moment):
        if (stage, moment) == (self.stage, self.moment):
            raise KilledError


class Folder:
    """Members whose letters are files, each with a journal."""

    def __init__(self, tmp_path, circle=None, patience=5.0):
        self.circle = circle or Circle()
        self.terms, self.tmp_path = terms_of(self.circle), tmp_path
        self.reports = sealed_reports(self.terms, [0, 1] * 3)
        (tmp_path / "shared").mkdir(exist_ok=True)
        self.transport = FolderTransport(self.terms, tmp_path / "shared", patience=patience)

    async def member(self, person, transport=None):
        journal = Journal(self.terms, person, self.tmp_path / str(person))
        try:
            key = self.circle.keys[person]
            await take_part(self.terms, key, lambda: self.reports[person], journal, transport or self.transport)
        finally:
            journal.close()

    def handed_in(self):
        _, mail = asyncio.run(self.transport.fetch(self.terms.hand_in_stage, ANALYST))
        opened = (opened_hand_in(self.terms, [self.circle.analyst], *each) for each in mail.items())
        return Counter(each.encode() for found in opened for each in found)


def test_members_who_share_a_folder_hand_in_every_report_once(tmp_path):
    folder = Folder(tmp_path)

    async def everybody():
        await asyncio.gather(*(folder.member(person) for person in range(6)))

    asyncio.run(everybody())
    assert folder.handed_in() == Counter(folder.reports)
    left = [path for person in range(6) for path in (tmp_path / str(person)).iterdir()]
    assert {path.suffix for path in left} == {".done", ".lock"}
    assert all(path.stat().st_size == 0 for path in left)


MOMENTS = ("before the post", "after the post", "after the mail")
PHASES = [(stage, moment) for stage in range(5) for moment in MOMENTS][:-1]  # nothing is fetched after the hand-in


@pytest.mark.parametrize(("stage", "moment"), PHASES)
def test_a_member_killed_in_any_phase_goes_on_from_the_journal_with_the_same_bytes(tmp_path, stage, moment):
    folder = Folder(tmp_path)
    first, again = Fragile(folder.transport, stage, moment), Fragile(folder.transport, None, None)

    async def killed():
        with pytest.raises(KilledError):
            await folder.member(2, first)
        await folder.member(2, again)

    async def everybody():
        others = (folder.member(person) for person in range(6) if person != 2)
        await asyncio.gather(killed(), *others)

    asyncio.run(everybody())
    assert folder.handed_in() == Counter(folder.reports)
    posted = dict(first.posted)
    assert all(letters == posted[number] for number, letters in again.posted if number in posted)


class Rubbish:
    """A transport on which the first letter of a stage has a bit changed."""

    def __init__(self, transport, stage):
        self.transport, self.stage, self.changed = transport, stage, {}

    async def post(self, stage, person, letters):
        await self.transport.post(stage, person, letters)

    async def fetch(self, stage, recipient):
        record, letters = await self.transport.fetch(stage, recipient)
        if stage == self.stage:
            sender, letter = min(letters.items())
            self.changed = {sender: letter[:-1] + bytes([letter[-1] ^ 1])}
        return record, letters | self.changed if stage == self.stage else letters


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_whoever_sends_rubbish_is_named_each_time_and_the_letter_is_kept_as_it_came(tmp_path, stage):
    folder = Folder(tmp_path, patience=0.5)
    rubbish = Rubbish(folder.transport, stage)

    async def everybody():
        others = (folder.member(person) for person in range(6) if person != 2)
        return (await asyncio.gather(folder.member(2, rubbish), *others, return_exceptions=True))[0]

    for attempt in (everybody, lambda: folder.member(2, rubbish)):
        try:
            said = str(asyncio.run(attempt()))
        except RemoteProtocolError as error:
            said = str(error)
        ((sender, letter),) = rubbish.changed.items()
        name = folder.terms.directory.entries[sender].name
        (kept,) = (tmp_path / "2").glob("*.letter")
        assert f"It came from member {name}, or was changed on its way. Nothing is handed in." in said
        assert f"The letter is kept in {kept}." in said
        assert said.endswith(f"shuffledp relay directory --without {name}.")
        own = folder.terms.directory.entries[2].name
        found = json.loads(kept.read_text())
        assert bytes.fromhex(found.pop("letter")) == letter
        assert found == {"collection": folder.terms.collection_id.hex(), "stage": stage, "from": name, "to": own}
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert name not in {each.name for each in folder.circle.directory.without([name])}


def test_a_member_takes_part_once_and_in_one_process(tmp_path):
    folder = Folder(tmp_path)

    async def everybody():
        await asyncio.gather(*(folder.member(person) for person in range(6)))

    asyncio.run(everybody())
    with pytest.raises(LocalProtocolError, match="has taken part in the collection already"):
        asyncio.run(folder.member(0))
    held = Journal(folder.terms, 1, tmp_path / "1")
    with pytest.raises(LocalProtocolError, match="another one is at work here"):
        Journal(folder.terms, 1, tmp_path / "1")
    held.close()


def test_a_state_of_another_collection_or_a_damaged_one_is_refused(tmp_path):
    folder, other = Folder(tmp_path, patience=0.0), Folder(tmp_path, patience=0.0)
    with pytest.raises(
        RemoteProtocolError,
        match=r"5 of 6 have not: member-\d(, member-\d){4}\. Start again to wait on; nothing is lost",
    ):
        asyncio.run(folder.member(0))
    (state,) = (tmp_path / "0").glob("*.member")
    theirs = state.with_name(f"{other.terms.collection.id.hex()}-0.member")
    theirs.write_bytes(state.read_bytes())
    with pytest.raises(LocalProtocolError, match=r"must be of this collection; .* is of another"):
        asyncio.run(other.member(0))
    whole = state.read_bytes()
    for damaged in (b"{", b"[]", b"1", b"{}", whole.replace(b'"held"', b'"hold"'), b"[" * 100_000):
        state.write_bytes(damaged)
        with pytest.raises(LocalProtocolError, match="is damaged"):
            asyncio.run(folder.member(0))


def test_letters_are_written_down_so_that_no_loss_of_power_brings_back_what_was_there_before(tmp_path, monkeypatch):
    """Else other letters might be sealed by the same keys: the name of the file must be on the disk, too."""
    folder, done = Folder(tmp_path, patience=0.0), []
    sync = lambda handle: done.append(stat.S_ISDIR(os.fstat(handle).st_mode))  # noqa: E731
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(folder.transport, "post", lambda *_: done.append("sent") or asyncio.sleep(0))
    with pytest.raises(RemoteProtocolError, match="have not"):
        asyncio.run(folder.member(0))
    assert done == [False, True] * 2 + ["sent"]


def test_a_shared_folder_must_be_there_and_letters_in_it_are_sent_once(tmp_path):
    folder = Folder(tmp_path, patience=0.0)
    with pytest.raises(InvalidParameterError, match="folder must be one that all members share"):
        FolderTransport(folder.terms, tmp_path / "absent", patience=1.0)
    asyncio.run(folder.transport.post(1, 0, {1: b"letter"}))
    asyncio.run(folder.transport.post(1, 0, {1: b"letter"}))
    with pytest.raises(RemoteProtocolError, match="of this member is in the folder"):
        asyncio.run(folder.transport.post(1, 0, {1: b"other"}))
    (left,) = (tmp_path / "shared").rglob("*/1/*")
    assert (left.name, left.read_bytes()) == ("0-1", b"letter")


@pytest.mark.parametrize("gone", ["link", "replace"])
def test_a_shared_folder_may_be_on_a_disk_without_links_and_one_that_takes_nothing_keeps_nothing(
    tmp_path, monkeypatch, gone
):
    folder = Folder(tmp_path, patience=0.0)

    def refused(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, gone, refused)
    if gone == "replace":
        with pytest.raises(RemoteProtocolError, match="must take a letter; it does not: Operation not permitted"):
            asyncio.run(folder.transport.post(1, 0, {1: b"letter"}))
    else:
        asyncio.run(folder.transport.post(1, 0, {1: b"letter"}))
    left = [file.name for file in (tmp_path / "shared").rglob("*/1/*")]
    assert left == (["0-1"] if gone == "link" else [])


class Clock:
    """A time that passes only where somebody waits for it, or is said to work."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


class Timed:
    """A transport that writes down when letters leave, and after how long a wait for mail."""

    def __init__(self, transport, clock):
        self.transport, self.clock, self.began, self.left = transport, clock, clock.now, []

    async def post(self, stage, person, letters):
        self.left.append(self.clock.now - self.began)
        await self.transport.post(stage, person, letters)

    async def fetch(self, stage, recipient):
        self.clock.now += 17.3  # while others send theirs
        self.began = self.clock.now
        return await self.transport.fetch(stage, recipient)


@pytest.mark.parametrize(("pace", "left"), [(2.0, [2.0, 4.0, 2.0, 2.0, 2.0]), (0.0, [0.5, 3.5, 1.25, 0.25, 1.0])])
def test_with_a_pace_letters_leave_at_times_that_do_not_tell_how_much_there_was_to_do(
    tmp_path, monkeypatch, pace, left
):
    """What takes longer than the pace leaves at the next multiple of it."""
    folder, clock, work = Folder(tmp_path), Clock(), iter([0.5, 3.5, 1.25, 0.25, 1.0])
    timed = Timed(folder.transport, clock)

    async def everybody():
        await asyncio.gather(*(folder.member(person) for person in range(1, 6)), paced())

    async def paced():
        prepare = member_module.prepare

        def working(terms, key, state, **given):
            if state.person == 0:
                clock.now += next(work)
            return prepare(terms, key, state, **given)

        monkeypatch.setattr(member_module, "prepare", working)
        monkeypatch.setattr(member_module, "sleep", clock.sleep)
        monkeypatch.setattr(member_module, "monotonic", clock.monotonic)
        journal = Journal(folder.terms, 0, tmp_path / "0")
        await take_part(folder.terms, folder.circle.keys[0], lambda: folder.reports[0], journal, timed, pace=pace)
        journal.close()

    asyncio.run(everybody())
    assert timed.left == pytest.approx(left)


def test_a_pace_below_zero_is_refused(tmp_path):
    folder = Folder(tmp_path)
    with pytest.raises(InvalidParameterError, match="pace must be"):
        asyncio.run(take_part(folder.terms, folder.circle.keys[0], bytes, None, folder.transport, pace=-1.0))
