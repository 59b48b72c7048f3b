"""The table of docs/threat-model.md, cell by cell: what each party's memory, log and disk hold of people who answered.

People come from addresses of their own, which nobody knew before, by processes of their own, and each party is looked
through for what it must not have. What it may have is looked for too: else nothing would show that the search finds.
"""

import json
import secrets
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx
import pytest

from service.at_work import reports_of, sealed
from service.given import Parties
from service.issuing import WithTokens
from service.processes import place, until
from service.relay import Relay
from service.test_weak_links import closed, phase
from shuffledp.files.parquet import read_view
from shuffledp.service import client as sending
from shuffledp.service import invitations
from shuffledp.service.own_token import OwnToken
from shuffledp.service.relayed import ThroughRelay
from shuffledp.wire.grammar import UploadRequest
from shuffledp.wire.keys import in_text

TRANSPORTS = {
    "direct": (Parties, False),
    "token": (WithTokens, False),
    "oblivious": (WithTokens, True),
}
PEOPLE = 30
SEARCHED = ("address", "code", "nonce", "authenticator", "ciphertext", "id")


@dataclass
class Trace:
    """What could be left of one person."""

    address: bytes
    answer: int
    code: bytes = b""
    nonce: bytes = b""
    authenticator: bytes = b""
    ciphertext: bytes = b""
    id: bytes = b""


@dataclass
class Session:
    """A collection from beginning to end, and what each party had at the end of intake."""

    transport: str
    collection: object
    traces: list
    relay: list
    held: dict = field(default_factory=dict)  # by party: what its memory held while people were there
    left: dict = field(default_factory=dict)  # by party: log and disk, while people were there and afterwards
    values: Counter = None
    trust: set = None
    epsilon: object = None

    def all(self, name):
        return {getattr(trace, name) for trace in self.traces} - {b""}


def few(found, name):
    """Of two people, whose traces are looked for in memories: the beginnings of what could be there."""
    return {getattr(trace, name)[:24] for trace in found.traces[:2]} - {b""}


def of_disk(where, role):
    """A party's log and all files of its state."""
    files = [where.log(role), *(where.folder / role).rglob("*")]
    return b"".join(file.read_bytes() for file in files if file.is_file())


def answer(where, relay, number, octet, folder):
    """One person answers, from an address of their own; the connection stays open."""
    collection = where.parties.collection
    address = f"127.{octet}.{number // 250}.{number % 250 + 1}"
    trace = Trace(address.encode(), number % 2)
    own = httpx.Client(
        transport=httpx.HTTPTransport(local_address=address, verify=False)
    )  # which would read all it trusts
    token = ""
    if collection.issuer is not None:
        folder.mkdir()
        path = where.folder / "invitations" / f"{number + 1:02}.invitation"
        invitation = invitations.Invitation.read(path, collection)
        made = OwnToken(collection, folder).get(invitation, own, patience=5.0)
        trace.code, trace.nonce, trace.authenticator = invitation.code.encode(), made.nonce, made.authenticator
        token = made.shown()
    values = reports_of(collection.task, [trace.answer])
    (submission,) = sealed(collection, values, config=where.parties.analyzer_key.config)
    trace.ciphertext, trace.id = submission.reports[0].ciphertext.payload, submission.id
    client = httpx.Client(transport=ThroughRelay(collection, own)) if relay else own
    body = UploadRequest((submission,)).encode()
    assert sending.upload(collection, body, client, patience=5.0, token=token).refused == ()
    return trace, own


def session(folder, transport, people=PEOPLE):
    """What happens, and who had what."""
    kind, through_relay = TRANSPORTS[transport]
    with ExitStack() as stack:
        relay = stack.enter_context(Relay().running()) if through_relay else None
        where = stack.enter_context(place(folder, kind=kind, **({"relay": relay.url} if relay else {})))
        collection = where.parties.collection
        if relay:
            relay.gateway = f"{where.url}/gateway"
        for role in ("shuffler", "analyzer"):
            where.start(role)
        if collection.issuer is not None:  # only now, so that no other process is a copy of one that knew the codes
            rows = [["name"], *([f"person {number}"] for number in range(people))]
            made, listed = invitations.invited(collection, people)
            (folder / "invitations").mkdir()
            invitations.write_all(folder / "invitations", rows, made, listed)
            (folder / "invitations" / "invited.json").rename(folder / "invited.json")
            where.start("issuer")
        octet = 60 + secrets.randbelow(120)
        came = [answer(where, relay, number, octet, folder / f"device-{number}") for number in range(people)]
        traces = [trace for trace, _ in came]
        found = Session(transport, collection, traces, list(relay.seen) if relay else [])
        wanted = [part for name in SEARCHED for part in few(found, name)]
        roles = [role for role in ("shuffler", "analyzer", "issuer") if role in where.running]
        for role in roles:
            found.held[role] = where.running[role].holds(*wanted)
            found.left[role] = of_disk(where, role)
        for _, client in came:
            client.close()
        assert closed(where)
        until(lambda: phase(where) == "released" and (where.release / "statement.json").exists())
        view, _ = read_view(where.release / "release.parquet", collection.task.columns[0])
        found.values = Counter(value for part in view for value in part.reports["value"].tolist())
        statement = json.loads((where.release / "statement.json").read_text())["statements"][0]
        found.trust, found.epsilon = set(statement["trust"]), statement["guarantee"]
        for role in roles:
            where.running[role].end()
            found.left[role] += of_disk(where, role)
        return found


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shuffledp.service.releasing.write_release", lambda *_: None)
        return {name: session(tmp_path_factory.mktemp(name), name) for name in TRANSPORTS}


def test_the_view_and_the_numbers_are_the_same_whichever_way_reports_came(sessions):
    direct = sessions["direct"]
    assert direct.values == Counter({0: PEOPLE // 2, 1: PEOPLE // 2})
    for found in sessions.values():
        assert (found.values, found.epsilon) == (direct.values, direct.epsilon)
    assert sessions["direct"].trust - sessions["token"].trust == {"one-answer"}
    assert sessions["token"].trust - sessions["direct"].trust == {"issuer"}
    assert sessions["oblivious"].trust - sessions["token"].trust == {"relay-apart"}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_no_log_and_no_disk_holds_an_address_a_code_or_a_token(sessions, transport):
    found = sessions[transport]
    traces = [part for name in ("address", "code", "nonce", "authenticator") for part in found.all(name)]
    assert len(traces) == PEOPLE * (1 if transport == "direct" else 4)
    for role, left in found.left.items():
        assert not any(trace in left for trace in traces), role


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_shuffler_sees_addresses_unless_there_is_a_relay_and_never_who_was_invited(sessions, transport):
    found = sessions[transport]
    held = found.held["shuffler"]
    assert bool(held & few(found, "address")) == (transport != "oblivious")
    assert not held & few(found, "code")


@pytest.mark.parametrize("transport", ["token", "oblivious"])
def test_the_issuer_sees_who_takes_part_and_nothing_of_tokens_or_reports(sessions, transport):
    found = sessions[transport]
    held = found.held["issuer"]
    assert held & (few(found, "code") | few(found, "address"))
    for name in ("nonce", "authenticator", "ciphertext", "id"):
        assert not held & few(found, name), name


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_analyzer_sees_neither_addresses_nor_invitations_nor_tokens(sessions, transport):
    found = sessions[transport]
    for name in ("address", "code", "nonce", "authenticator", "id"):
        assert not found.held["analyzer"] & few(found, name), name


def test_the_relay_sees_who_sends_and_when_and_nothing_of_what(sessions):
    found = sessions["oblivious"]
    assert [sender.encode() for sender, _, _ in found.relay] == [trace.address for trace in found.traces]
    assert len({(len(body), len(answer)) for _, body, answer in found.relay}) == 1
    passed = b"".join(body + answer for _, body, answer in found.relay)
    secret = [part for name in ("ciphertext", "id", "nonce", "authenticator", "code") for part in found.all(name)]
    assert len(secret) == 5 * PEOPLE
    for trace in (*secret, found.collection.id, in_text(found.collection.id).encode(), b"PrivateToken"):
        assert trace not in passed
