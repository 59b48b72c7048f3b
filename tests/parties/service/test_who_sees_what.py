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

from parties.issuer.issuing import WithTokens
from parties.service.at_work import sealed
from parties.service.given import Parties, task
from parties.service.processes import place, until
from parties.service.relay import Relay
from parties.service.test_weak_links import closed, phase
from shuffledp.files.parquet import read_view
from shuffledp.parties.http.oblivious_transport import ObliviousTransport
from shuffledp.parties.issuer import invitations
from shuffledp.parties.service import client as sending
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.wire.binary_http import BinaryRequest
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.keys import in_text
from shuffledp.parties.wire.oblivious_http import Gateway
from shuffledp.parties.wire.report_bytes import ReportLayout

pytestmark = pytest.mark.deep

TRANSPORTS = {
    "direct": (Parties, False),
    "token": (WithTokens, False),
    "oblivious": (Parties, True),
    "both": (WithTokens, True),
}
BY_INVITATION, THROUGH_RELAY = ["token", "both"], ["oblivious", "both"]
PEOPLE, LOOKED_FOR = 100, 10  # of whom so many are looked for in memories
SECRET = ("code", "nonce", "authenticator", "ciphertext", "id", "report")
CATEGORIES = [str(number) for number in range(200)]  # of which a report is 25 bytes long, and found where it is


@dataclass
class Trace:
    """What could be left of one person."""

    address: bytes
    report: bytes = b""
    code: bytes = b""
    nonce: bytes = b""
    authenticator: bytes = b""
    ciphertext: bytes = b""
    id: bytes = b""
    lengths: list = field(default_factory=list)  # of requests and answers, with whom they are exchanged


@dataclass
class Session:
    """A collection from beginning to end, and what each party had at the end of intake."""

    parties: object
    traces: list
    relay: list
    held: dict = field(default_factory=dict)  # by party: what its memory held while people were there
    left: dict = field(default_factory=dict)  # by party: log and disk, while people were there and afterwards
    view: list = None
    trust: set = None
    epsilon: object = None

    def all(self, name):
        return {getattr(trace, name) for trace in self.traces} - {b""}


def few(found, name):
    """Of some people, whose traces are looked for in memories: the beginnings of what could be there."""
    return {getattr(trace, name)[:24] for trace in found.traces[:LOOKED_FOR]} - {b""}


def of_disk(where, role):
    """A party's log and all files of its state."""
    files = [where.log(role), *(where.folder / role).rglob("*")]
    return b"".join(file.read_bytes() for file in files if file.is_file())


def watched(address, trace):
    """A client at an address of its own, whose requests and answers are measured as somebody on the way sees them."""

    def measure(answer):
        asked, said = answer.request, len(answer.read())
        both = [sum(map(len, sum(each.headers.raw, ()))) for each in (asked, answer)]
        trace.lengths.append((asked.url.port, len(asked.content) + both[0], said + both[1]))

    way = httpx.HTTPTransport(local_address=address, verify=False)  # which would read all it trusts
    return httpx.Client(transport=way, event_hooks={"response": [measure]})


def answer(where, relay, number, octet, folder):
    """One person answers, from an address of their own; the connection stays open."""
    collection, model = where.parties.collection, where.parties.collection.task.column.randomizer.randomizer().model
    address = f"127.{octet}.{number // 250}.{number % 250 + 1}"
    trace = Trace(address.encode())
    own = watched(address, trace)
    token = ""
    if collection.issuer is not None:
        folder.mkdir()
        path = where.folder / "invitations" / f"{number + 1:03}.invitation"
        invitation = invitations.Invitation.read(path, collection)
        made = DeviceToken(collection, folder).get(invitation, own, patience=5.0)
        trace.code, trace.nonce, trace.authenticator = invitation.code.encode(), made.nonce, made.authenticator
        token = made.shown()
    randomized = model.randomizer().randomize([number % len(CATEGORIES)])
    (submission,) = sealed(collection, [randomized], config=where.parties.analyzer_key.config)
    (trace.report,) = ReportLayout.of(model).encode(randomized)
    trace.ciphertext, trace.id = submission.reports[0].ciphertext.payload, submission.id
    client = httpx.Client(transport=ObliviousTransport(collection, own)) if relay else own
    body = UploadRequest((submission,)).encode()
    assert sending.upload(collection, body, client, patience=5.0, token=token).refused == ()
    return trace, own


def session(folder, transport, people=PEOPLE):
    """What happens, and who had what."""
    kind, through_relay = TRANSPORTS[transport]
    asked = task(randomizer={"kind": "oue", "epsilon0": 1.0, "categories": CATEGORIES})
    with ExitStack() as stack:
        relay = stack.enter_context(Relay().running()) if through_relay else None
        where = stack.enter_context(place(folder, asked, kind=kind, **({"relay": relay.url} if relay else {})))
        collection = where.parties.collection
        if relay:
            relay.gateway = f"{where.url}/gateway"
        for role in ("shuffler", "analyzer"):
            where.start(role)
        if collection.issuer is not None:  # only now, so that no other process is a copy of one that knew the codes
            rows = [["name"], *([f"person {number}"] for number in range(people))]
            made, listed = invitations.new_invitations(collection, people)
            (folder / "invitations").mkdir()
            invitations.write_all(folder / "invitations", rows, made, listed)
            (folder / "invitations" / "invited.json").rename(folder / "invited.json")
            where.start("issuer")
        octet = 60 + secrets.randbelow(120)
        came = [answer(where, relay, number, octet, folder / f"device-{number}") for number in range(people)]
        traces = [trace for trace, _ in came]
        found = Session(where.parties, traces, list(relay.seen) if relay else [])
        wanted = [part for name in ("address", *SECRET) for part in few(found, name)]
        roles = [role for role in ("shuffler", "analyzer", "issuer") if role in where.running]
        for role in roles:
            found.held[role] = where.running[role].holds(*wanted)
            found.left[role] = of_disk(where, role)
        for _, client in came:
            client.close()
        assert closed(where)
        until(lambda: phase(where) == "released" and (where.release / "statement.json").exists())
        view, _ = read_view(where.release / "release.parquet", collection.task.columns[0])
        found.view = [row.tobytes() for part in view for row in part.reports["bits"]]
        statement = json.loads((where.release / "statement.json").read_text())["statements"][0]
        found.trust, found.epsilon = set(statement["trust"]), statement["guarantee"]
        for role in roles:
            where.running[role].end()
            found.left[role] += of_disk(where, role)
        return found


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)
        return {name: session(tmp_path_factory.mktemp(name), name) for name in TRANSPORTS}


def test_the_view_is_what_was_sent_in_another_order_and_the_numbers_are_the_same_whichever_way_it_came(sessions):
    for found in sessions.values():
        came = [trace.report for trace in found.traces]
        assert len(set(came)) == PEOPLE
        assert Counter(found.view) == Counter(came)
        assert found.view not in (came, came[::-1])
        assert found.epsilon == sessions["direct"].epsilon
    trust = {name: found.trust for name, found in sessions.items()}
    assert trust["direct"] - trust["token"] == trust["oblivious"] - trust["both"] == {"one-answer"}
    assert trust["token"] - trust["direct"] == trust["both"] - trust["oblivious"] == {"issuer"}
    assert trust["oblivious"] - trust["direct"] == trust["both"] - trust["token"] == {"relay-apart"}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_on_the_way_all_requests_and_all_answers_are_of_one_length(sessions, transport):
    found = sessions[transport]
    lengths = {tuple(trace.lengths) for trace in found.traces}
    assert len(lengths) == 1
    assert len(lengths.pop()) == (2 if transport in BY_INVITATION else 1)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_no_log_and_no_disk_holds_an_address_a_code_a_token_or_what_was_sealed(sessions, transport):
    found = sessions[transport]
    traces = [part for name in ("address", "code", "nonce", "authenticator", "report") for part in found.all(name)]
    assert len(traces) == PEOPLE * (5 if transport in BY_INVITATION else 2)
    for role, left in found.left.items():
        assert not any(trace in left for trace in traces), role
    assert all(trace in found.left["shuffler"] for trace in found.all("ciphertext"))  # else nothing would be found


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_shuffler_sees_addresses_unless_there_is_a_relay_and_never_an_answer_or_who_was_invited(
    sessions, transport
):
    found = sessions[transport]
    held = found.held["shuffler"]
    assert bool(held & few(found, "address")) == (transport not in THROUGH_RELAY)
    assert held & few(found, "ciphertext")
    assert not held & (few(found, "code") | few(found, "report"))


@pytest.mark.parametrize("transport", BY_INVITATION)
def test_the_issuer_sees_who_takes_part_and_nothing_of_tokens_or_reports(sessions, transport):
    found = sessions[transport]
    held = found.held["issuer"]
    assert held & (few(found, "code") | few(found, "address"))
    for name in SECRET[1:]:
        assert not held & few(found, name), name


@pytest.mark.parametrize("transport", BY_INVITATION)
def test_shuffler_and_issuer_hold_nothing_in_common_but_addresses_and_behind_a_relay_not_even_these(
    sessions, transport
):
    found = sessions[transport]
    common = found.held["shuffler"] & found.held["issuer"]
    assert common <= (set() if transport in THROUGH_RELAY else few(found, "address"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_analyzer_sees_neither_addresses_nor_invitations_nor_tokens(sessions, transport):
    found = sessions[transport]
    for name in ("address", "code", "nonce", "authenticator", "id"):
        assert not found.held["analyzer"] & few(found, name), name


@pytest.mark.parametrize("transport", THROUGH_RELAY)
def test_the_relay_sees_who_sends_and_when_and_nothing_of_what(sessions, transport):
    found = sessions[transport]
    assert [sender.encode() for sender, _, _ in found.relay] == [trace.address for trace in found.traces]
    assert len({(len(body), len(answer)) for _, body, answer in found.relay}) == 1
    passed = b"".join(body + answer for _, body, answer in found.relay)
    secret = [part for name in SECRET for part in found.all(name)]
    assert len(secret) == PEOPLE * (6 if transport in BY_INVITATION else 3)
    id_ = found.parties.collection.id
    for trace in (*secret, id_, in_text(id_).encode(), b"PrivateToken"):
        assert trace not in passed


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_shuffler_and_analyzer_together_read_each_report_and_need_the_relay_to_name_senders(sessions, transport):
    found = sessions[transport]
    opener = Opener.by([found.parties.analyzer_key], collection_id=found.parties.collection.id, column=0)
    if transport in THROUGH_RELAY:
        gateway = Gateway.by([found.parties.gateway_key])
        uploads = [BinaryRequest.decode(gateway.open(body)[0]).content for _, body, _ in found.relay]
        reports = [UploadRequest.decode(each, num_columns=1).submissions[0].reports[0] for each in uploads]
        opened = [
            (sender.encode(), opener.open(each.ciphertext))
            for (sender, _, _), each in zip(found.relay, reports, strict=True)
        ]
        assert opened == [(trace.address, trace.report) for trace in found.traces]
        assert not found.held["shuffler"] & few(found, "address")
    else:
        assert found.held["shuffler"] & few(found, "address")
