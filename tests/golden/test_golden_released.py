"""Files of released versions stay readable: open collections go on to their releases, with this version's code.

Each folder of ``released`` was written by the version that it is called after (`record_released.py`).
"""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from packaging.version import Version

from golden.record_released import EVERY, LEFT, RELEASED, opened, upload
from shuffledp import __version__
from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.issuer.invitations import digest_of
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.journal import Journal
from shuffledp.parties.relay.mailboxes import Mailboxes, PostedLetters
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.relay_release import gather_hand_ins, view_of
from shuffledp.parties.relay.rounds import finish, prepare
from shuffledp.parties.relay.terms import EVERYBODY, RelayTerms
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.device_memory import DeviceMemory
from shuffledp.parties.service.forwarder import body_of
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.grammar import UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import Role, from_pem
from shuffledp.parties.wire.tokens import PendingToken, TokenResponse
from shuffledp.survey import Collection, EarlierRelease, Task

VERSIONS = sorted(path.name for path in RELEASED.iterdir())


@pytest.fixture(params=VERSIONS)
def left(request, tmp_path):
    """A copy of what a version left, with files for their owner alone, as git does not keep them."""
    folder = shutil.copytree(RELEASED / request.param, tmp_path / "left")
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.fixture
def survey(left):
    return Survey(left / "survey")


class Survey:
    """A collection of two columns in batches, in the state in which it was left."""

    def __init__(self, folder):
        self.folder, self.expected = folder, json.loads((folder / "expected.json").read_text())
        self.collection = Collection.read(folder / "collection.json")
        self.keys = {role: from_pem((folder / f"{role}.key").read_text(), role) for role in Role if self.has(role)}

    def has(self, role):
        return (self.folder / f"{role}.key").exists()

    def token(self):
        """A token for somebody who has not asked for one before."""
        challenge, key = self.collection.challenge, self.keys[Role.ISSUER]
        pending = PendingToken.new(challenge, key.public)
        signed = TokenResponse(blind_sign(key.private_key, pending.request.blinded_msg))
        return pending.finalize(challenge, key.public, signed).shown()

    async def to_its_end(self):
        """Everything that was left to do: outcomes of the uploads by what was sent, and counts at the end."""
        stored, shuffler, analyzer = self.expected["stored"], self.keys[Role.SHUFFLER], self.keys[Role.ANALYZER]
        mixing, held, analyzing = opened(self.folder, self.collection, shuffler, [analyzer])
        sent = {
            "the same again": (bytes.fromhex(stored["body"]), stored["token"]),
            "a spent token": (upload(self.collection, analyzer.config), stored["token"]),
            "what a device had not sent": (DeviceMemory(self.collection.id, self.folder / "device").pending(), None),
        }
        refused = {}
        for name, (body, token) in sent.items():
            answer = UploadResponse.decode(await mixing.upload(body, authorization=token or self.expected["token"]))
            refused[name] = [each.error.name for each in answer.refused]
        await mixing.stop_intake()
        await mixing.advance()
        counts = await mixing.counts()
        for batch in await mixing.outgoing():
            await analyzing.take(body_of(mixing, batch))
            await mixing.delivered(batch)
        await analyzing.release()
        await mixing.close()
        held.close()
        return refused, counts


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def dumped(path):
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


# ---- what was left goes on ------------------------------------------------------------------------------------------


def test_no_version_is_recorded_that_is_still_to_come():
    assert VERSIONS
    assert all(Version(each) <= Version(__version__) for each in VERSIONS)


def test_task_and_collection_keep_their_digests(survey):
    task = Task.from_dict(json.loads((survey.folder / "task.json").read_text()))
    assert task.sha256 == survey.collection.task.sha256 == survey.expected["task"]
    assert survey.collection.id.hex() == survey.expected["collection"]


def test_a_release_of_it_counts_as_an_earlier_one(survey):
    release = EarlierRelease.read(survey.folder / "release" / "batch-1" / "statement.json")
    assert release.task_sha256 == survey.expected["task"]
    assert release.headline.guarantee.delta <= survey.collection.task.release.delta


def test_an_open_collection_goes_on_to_its_release(survey, monkeypatch):
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)  # pages
    before = (survey.folder / "release" / "batch-1" / "statement.json").read_bytes()
    refused, counts = asyncio.run(survey.to_its_end())
    assert refused == {
        "the same again": [],
        "a spent token": ["TOKEN_SPENT"],
        "what a device had not sent": [],
    }
    assert counts[Count.STORED] == 2 * EVERY + LEFT + 1
    assert counts[Count.DUPLICATE] == 1
    release = survey.folder / "release"
    assert (release / "batch-1" / "statement.json").read_bytes() == before
    numbers = {
        place.name: json.loads((place / "smokes" / "statement.json").read_text())["num_reports"]
        for place in release.iterdir()
    }
    assert numbers == {
        "batch-1": EVERY,
        "batch-2": EVERY,
        "batch-3": LEFT + 1,
        "together": 2 * EVERY + LEFT + 1,
    }


def test_an_issuer_knows_which_invitations_were_used_for_what(survey):
    digests = [digest_of(bytes.fromhex(code)) for code in survey.expected["codes"]]
    store = IssuerStore(survey.folder / "issuer")
    try:
        first, second, _ = ((survey.collection.id, digest) for digest in digests)
        assert store.use(*first, b"request of the first")
        assert not store.use(*first, b"another request")
        assert store.use(*second, b"another request")
    finally:
        store.close()


def test_a_device_keeps_its_sealed_request(survey):
    body = DeviceMemory(survey.collection.id, survey.folder / "device").pending()
    assert len(UploadRequest.decode(body, num_columns=2).submissions) == 1


class Office:
    """A post office without a server: a transport for the analyst, on the letters of a folder."""

    def __init__(self, terms, boxes):
        self.terms, self.boxes = terms, boxes

    async def record(self, stage):
        return (await self.boxes.records())[stage]

    async def fetch(self, stage, recipient):
        return await self.record(stage), dict(await self.boxes.mail(stage, recipient))


async def walked_to_its_end(folder):
    """The view of the analyst, after all members went on from their journals."""
    directory, boxes = Directory.read(folder / "directory.json"), Mailboxes(folder / "office")
    terms = RelayTerms(collection=Collection.read(folder / "collection.json"), directory=directory)
    keys = [MemberKey.read(folder / f"member-{person}.key") for person in range(terms.num_users)]
    journals = [Journal(terms, person, folder / "members") for person in range(terms.num_users)]
    states = [journal.read() for journal in journals]
    stage = states[0].stage
    everybody = (await boxes.records())[0]
    assert stage == len(await boxes.records()) == 2
    while stage <= terms.hand_in_stage:
        states = [
            state if state.letters else prepare(terms, key, state) for key, state in zip(keys, states, strict=True)
        ]
        for state in states:
            assert await boxes.put(PostedLetters(stage, state.person, state.letters))
        await boxes.end(stage, everybody)
        if stage < terms.hand_in_stage:
            to = [EVERYBODY if stage == terms.vote_stage else person for person in range(terms.num_users)]
            mail = [dict(await boxes.mail(stage, each)) for each in to]
            states = [
                finish(terms, key, state, everybody, letters)
                for key, state, letters in zip(keys, states, mail, strict=True)
            ]
        stage += 1
    analyst = [from_pem((folder / "analyzer.key").read_text(), Role.ANALYZER)]
    found = view_of(terms, await gather_hand_ins(terms, Office(terms, boxes), analyst), analyst)
    await boxes.close()
    for journal in journals:
        journal.close()
    return found


def test_members_of_a_relay_go_on_from_their_journals_and_hand_in_every_report(left):
    view, collected = asyncio.run(walked_to_its_end(left / "relay"))
    assert sorted(view.reports.columns["value"].tolist()) == [0, 1, 1, 1]
    assert (collected.duplicates, collected.malformed, collected.undecryptable) == (0, 0, 0)


# ---- what another version changed is refused ------------------------------------------------------------------------

STORES = {
    "shuffler": ("reports", lambda folder: ReportStore(folder, pools=[1, 1], remembers=True)),
    "analyzer": ("batches", BatchStore),
    "issuer": ("invited", IssuerStore),
}


@pytest.mark.parametrize("party", STORES)
@pytest.mark.parametrize("change", ["ADD COLUMN weight REAL", "RENAME COLUMN {second} TO other"])
def test_a_store_whose_table_has_other_columns_is_refused_in_one_line(survey, party, change):
    table, store = STORES[party]
    (file,) = (survey.folder / party).glob("*.sqlite")
    second = {"reports": "digest", "batches": "number", "invited": "code"}[table]
    changed(file, f"ALTER TABLE {table} {change.format(second=second)}")
    with pytest.raises(LocalProtocolError) as raised:
        store(survey.folder / party)
    assert (
        str(raised.value) == f"{file.name} must be of this version of shuffledp; its table {table} has other columns."
    )


@pytest.mark.parametrize("party", STORES)
def test_going_back_to_a_version_that_does_not_know_a_table_is_refused_and_changes_nothing(survey, party):
    _, store = STORES[party]
    (file,) = (survey.folder / party).glob("*.sqlite")
    changed(file, "CREATE TABLE later(what BLOB)", "DROP TABLE IF EXISTS spent")
    before = dumped(file)
    for _ in range(2):
        with pytest.raises(LocalProtocolError, match=r"its table later is of another. Take the later one again"):
            store(survey.folder / party)
    assert dumped(file) == before
    changed(file, "DROP TABLE later")  # as the later version, which goes on
    store(survey.folder / party).close()


def test_letters_whose_table_has_other_columns_are_refused(left):
    changed(left / "relay" / "office" / "letters.sqlite", "ALTER TABLE records RENAME COLUMN online TO there")
    with pytest.raises(LocalProtocolError, match=r"letters.sqlite must be of this version .* its table records has"):
        Mailboxes(left / "relay" / "office")


def test_a_journal_without_one_of_its_fields_is_refused(left):
    folder = left / "relay"
    directory = Directory.read(folder / "directory.json")
    terms = RelayTerms(collection=Collection.read(folder / "collection.json"), directory=directory)
    (path,) = (folder / "members").glob("*-0.member")
    data = json.loads(path.read_text())
    for name in data:
        path.write_text(json.dumps({key: value for key, value in data.items() if key != name}))
        journal = Journal(terms, 0, folder / "members")
        with pytest.raises(LocalProtocolError, match="is damaged"):
            journal.read()
        journal.close()
