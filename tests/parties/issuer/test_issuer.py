"""The issuer: one signature for each invitation, whatever happens on the way, and nothing of a token is ever seen."""

import asyncio
import json
import stat
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import pytest

from parties.issuer.issuing import WithTokens, issuer_key
from parties.service.at_work import Logged, run
from parties.service.given import Parties
from parties.service.test_shuffler_app import problem
from shuffledp.core.errors import InputDataError, InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.files.key_files import write_key
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.issuer import invitations, issuer_app
from shuffledp.parties.issuer.invitations import Invitation, Invited, digest_of
from shuffledp.parties.issuer.invited_lists import Lists
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.service import client as sending
from shuffledp.parties.service.config import IssuerConfig
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.service.run_services import run_issuer
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.keys import ShufflerKey, from_text, in_text
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, ISSUANCE_RESPONSE, PendingToken, TokenCheck, TokenResponse
from shuffledp.survey import WebPage


class Issuing:
    """An issuer at work, in this process."""

    def __init__(self, parties, at_issuer, client, made, logged):
        self.parties, self.at_issuer, self.client, self.made, self.logged = parties, at_issuer, client, made, logged
        self.challenge, self.public = parties.collection.challenge, parties.issuer_key.public

    def pending(self):
        return PendingToken.new(self.challenge, self.public)

    async def ask(self, code, body, *, path=None):
        path = path or f"{self.parties.collection.path}/token-request"
        headers = {"content-type": ISSUANCE_REQUEST} | ({"authorization": f"Bearer {code}"} if code else {})
        return await self.client.post(path, content=body, headers=headers)


def listed(told):
    """What an issuer makes of a list."""
    codes, cancelled = ({from_text(each, name="code") for each in several} for several in (told.codes, told.cancelled))
    return Lists(frozenset(codes), frozenset(cancelled))


@asynccontextmanager
async def issuing(folder, parties=None, people=3, *, made=None, now=None):
    parties, logged = parties or WithTokens(), Logged()
    made = made or invitations.new_invitations(parties.collection, people)
    store = IssuerStore(folder / "issuer")
    clock, log = {} if now is None else {"now": lambda: now[0]}, EventLog(logged.write)
    at_issuer = CollectionAtIssuer(parties.collection, parties.issuer_key, store, log=log, **clock)
    app = issuer_app.issuer_app([at_issuer], log=log)
    try:
        await at_issuer.take(listed(made[1]))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://issuer") as client:
            yield Issuing(parties, at_issuer, client, made, logged)
    finally:
        store.close()


def test_an_invitation_is_good_for_one_token_however_often_it_is_asked_for(tmp_path):
    async def test():
        async with issuing(tmp_path) as here:
            (first, *_), _ = here.made
            pending, other = here.pending(), here.pending()
            answers = [await here.ask(first.code, pending.request.encode()) for _ in range(2)]
            refused = await here.ask(first.code, other.request.encode())
        async with issuing(tmp_path, here.parties, made=here.made) as again:  # after a crash
            answers.append(await again.ask(first.code, pending.request.encode()))
            return here, pending, answers, refused, await again.ask(first.code, other.request.encode())

    here, pending, answers, *refused = run(test)
    assert [each.headers["content-type"] for each in answers] == [ISSUANCE_RESPONSE] * 3
    assert len({each.content for each in answers}) == 1
    token = pending.finalize(here.challenge, here.public, TokenResponse.decode(answers[0].content))
    TokenCheck(here.challenge, [here.public])(token)
    assert [problem(each) for each in refused] == [(403, "invitationUsed")] * 2
    assert here.logged.lines == []


def test_of_many_requests_at_once_with_one_invitation_one_is_signed(tmp_path):
    async def test():
        async with issuing(tmp_path) as here:
            code = here.made[0][0].code
            bodies = [here.pending().request.encode() for _ in range(8)]
            return await asyncio.gather(*(here.ask(code, body) for body in bodies))

    assert sorted(each.status_code for each in run(test)) == [200, *[403] * 7]


def test_whoever_is_not_invited_gets_no_token(tmp_path):
    async def test():
        async with issuing(tmp_path) as here:
            body = here.pending().request.encode()
            stranger = invitations.new_invitations(here.parties.collection, 1)[0][0].code
            code = here.made[0][0].code
            return {
                "stranger": await here.ask(stranger, body),
                "nobody": await here.ask("", body),
                "no code": await here.ask("x" * 22, body),
                "long": await here.ask(code + "A", body),
                "digest": await here.ask(in_text(digest_of(from_text(code, name="code"))), body),
                "cut off": await here.ask(code, body[:-1]),
                "other type": await here.ask(code, b"\0\1" + body[2:]),
                "other key": await here.ask(code, body[:2] + bytes((body[2] ^ 1,)) + body[3:]),
                "too large": await here.ask(code, body[:3] + b"\xff" * 256),
                "elsewhere": await here.ask(code, body, path="/collections/x/token-request"),
            }, await here.ask(here.made[0][1].code, body)

    answers, good = run(test)
    assert {name: problem(answer) for name, answer in answers.items()} == {
        "stranger": (403, "unauthorizedRequest"),
        "nobody": (403, "unauthorizedRequest"),
        "no code": (403, "unauthorizedRequest"),
        "long": (403, "unauthorizedRequest"),
        "digest": (403, "unauthorizedRequest"),
        "cut off": (400, "invalidMessage"),
        "other type": (422, "unprocessableToken"),
        "other key": (422, "unprocessableToken"),
        "too large": (400, "invalidMessage"),
        "elsewhere": (404, "unrecognizedCollection"),
    }
    assert good.status_code == 200


def test_after_the_close_no_token_is_signed_and_what_was_remembered_goes(tmp_path):
    parties = WithTokens()
    now = [parties.now]

    async def test():
        async with issuing(tmp_path, parties, now=now) as here:
            body = here.pending().request.encode()
            code = here.made[0][0].code
            first = await here.ask(code, body)
            assert not here.at_issuer.has_ended
            now[0] = parties.now + timedelta(days=2)
            late = await here.ask(code, body)
            digest = digest_of(from_text(code, name="code"))
            kept = on_disk(tmp_path, digest)
            await here.at_issuer.forget()
            return first, late, kept, on_disk(tmp_path, digest)

    first, late, kept, left = run(test)
    assert first.status_code == 200
    assert problem(late) == (403, "unauthorizedRequest")
    assert (kept, left) == (True, False)


def on_disk(folder, what):
    """Whether any file of an issuer that is at work holds this."""
    return any(what in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_full_disk_signs_nothing(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise StorageError("full")

    async def test():
        async with issuing(tmp_path) as here:
            monkeypatch.setattr(here.at_issuer._store, "use", fails)
            return await here.ask(here.made[0][0].code, here.pending().request.encode())

    assert problem(run(test)) == (503, "unavailable")


def test_an_issuers_folder_belongs_to_one_process(tmp_path):
    store = IssuerStore(tmp_path)
    with pytest.raises(LocalProtocolError, match="must belong to one process"):
        IssuerStore(tmp_path)
    store.close()


# ---- the device's part ----------------------------------------------------------------------------------------------


class Answering(httpx.MockTransport):
    """An issuer that signs, and may lose its answer on the way."""

    def __init__(self, parties, *, losing=0):
        super().__init__(self._answer)
        self.parties, self.losing, self.bodies, self.seen = parties, losing, [], []

    def _answer(self, request):
        from shuffledp.parties.wire.blind_rsa import blind_sign
        from shuffledp.parties.wire.tokens import TokenRequest

        self.bodies.append(request.content)
        self.seen.append((str(request.url), request.headers["authorization"]))
        signature = blind_sign(self.parties.issuer_key.private_key, TokenRequest.decode(request.content).blinded_msg)
        if len(self.bodies) <= self.losing:
            raise httpx.ReadError("")
        return httpx.Response(200, content=TokenResponse(signature).encode())


def test_a_device_asks_in_the_same_words_until_it_has_its_token_and_asks_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.001)
    parties = WithTokens()
    ((invitation,), _), issuer = invitations.new_invitations(parties.collection, 1), Answering(parties, losing=3)
    with httpx.Client(transport=issuer) as client:
        with pytest.raises(RemoteProtocolError, match=r"issuer\.example must answer; got: no answer"):
            DeviceToken(parties.collection, tmp_path).get(invitation, client, patience=0.0)
        first = DeviceToken(parties.collection, tmp_path).get(invitation, client, patience=5.0)
        own = DeviceToken(parties.collection, tmp_path)
        assert own.get(None, client, patience=0.0) == first
    TokenCheck(parties.collection.challenge, [parties.issuer_key.public])(first)
    assert len(issuer.bodies) == 4
    assert len(set(issuer.bodies)) == 1
    url = f"https://issuer.example{parties.collection.path}/token-request"
    assert set(issuer.seen) == {(url, f"Bearer {invitation.code}")}
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]
    own.spent()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LocalProtocolError, match="--invitation must be given"):
        own.get(None, httpx.Client(transport=issuer), patience=0.0)


def test_an_issuer_that_signs_with_another_key_is_found_out(tmp_path):
    key, other = sorted((issuer_key(), issuer_key(1)), key=lambda each: each.public[-5 - 256 : -5])  # by the modulus
    parties, issuer = WithTokens(key=key), Answering(WithTokens(key=other))
    (invitation,), _ = invitations.new_invitations(parties.collection, 1)
    with httpx.Client(transport=issuer) as client, pytest.raises(RemoteProtocolError, match="must sign what it was"):
        DeviceToken(parties.collection, tmp_path).get(invitation, client, patience=0.0)


# ---- invitations ----------------------------------------------------------------------------------------------------


def test_the_issuer_is_told_digests_in_no_order_and_each_person_a_code_of_their_own(tmp_path):
    parties = WithTokens()
    people = [["name", "mail"], *([f"person {number}", f"p{number}@example.org"] for number in range(12))]
    made, listed = invitations.new_invitations(parties.collection, 12)
    invitations.write_all(tmp_path, people, made, listed)
    codes = [Invitation.read(tmp_path / f"{number:02}.invitation", parties.collection).code for number in range(1, 13)]
    told = Invited.read(tmp_path / "invited.json")
    assert len(set(codes)) == 12
    assert list(told.codes) == sorted(in_text(digest_of(from_text(code, name="code"))) for code in codes)
    assert not any(word in (tmp_path / "invited.json").read_text() for word in (*codes, "person", "example.org"))
    rows = (tmp_path / "people.csv").read_text().splitlines()
    assert rows[0] == "name,mail,invitation"
    assert rows[3] == "person 2,p2@example.org,03.invitation"
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert codes[0] not in repr(made[0])


@pytest.mark.parametrize("ready_made", [False, True])
def test_where_people_answer_on_a_page_a_link_stands_beside_each(tmp_path, ready_made):
    parties = WithTokens(ready_made=ready_made, page=WebPage(url="https://ask.example/x", sha256="5" * 64))
    if ready_made:
        made, listed = invitations.ready_made_invitations(parties.collection, 1, parties.issuer_key), None
    else:
        made, listed = invitations.new_invitations(parties.collection, 1)
    invitations.write_all(tmp_path, [["name"], ["Ada"]], made, listed, links=[made[0].link(parties.collection.page)])
    secret = made[0].token if ready_made else made[0].code
    assert (tmp_path / "people.csv").read_text().splitlines() == [
        "name,invitation,link",
        f"Ada,1.invitation,https://ask.example/x#page={'5' * 64}&invitation={secret}",
    ]


def test_a_ready_made_token_is_good_and_taken_only_where_the_collection_says_so(tmp_path):
    named, blind = WithTokens(ready_made=True), WithTokens()
    (made,) = invitations.ready_made_invitations(named.collection, 1, named.issuer_key)
    path = tmp_path / "a.invitation"
    path.write_text(made.written())
    token = Invitation.read(path, named.collection).ready_token()
    TokenCheck(named.collection.challenge, [named.issuer_key.public])(token)
    for collection in (blind.collection, Parties().collection):
        with pytest.raises(InvalidParameterError, match="must be one to this collection"):
            Invitation.read(path, collection)
    path.write_text(json.dumps({"collection": in_text(blind.collection.id), "token": made.token}))
    with pytest.raises(InvalidParameterError, match="by which its maker could name you"):
        Invitation.read(path, blind.collection)
    with pytest.raises(InvalidParameterError, match="must be the issuer's that the collection names"):
        invitations.ready_made_invitations(named.collection, 1, issuer_key(1))
    with pytest.raises(InvalidParameterError, match="must say that its tokens are ready-made"):
        invitations.ready_made_invitations(blind.collection, 1, blind.issuer_key)
    with pytest.raises(InvalidParameterError, match="an issuer that signs blindly"):
        invitations.new_invitations(named.collection, 1)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"collection": "x"}', '{"collection": "x", "code": "AA"}'])
def test_what_is_no_invitation_is_refused_and_not_quoted(tmp_path, text):
    path = tmp_path / "a.invitation"
    path.write_text(text)
    with pytest.raises(InvalidParameterError, match="invitation must be a file that `tokens issue` wrote"):
        Invitation.read(path, WithTokens().collection)
    with pytest.raises(InvalidParameterError, match="invited must be a file that `tokens issue` wrote"):
        Invited.read(path)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b"name\n", InvalidParameterError, "a header line, and a row for each person"),
        (b"", InvalidParameterError, "a header line"),
        (b"name,mail\nx\n", InputDataError, "as many fields in each row"),
        (b"name\n\xff\n", InvalidParameterError, "a CSV file in UTF-8"),
    ],
)
def test_a_list_of_people_is_a_table(tmp_path, content, error, words):
    (tmp_path / "list.csv").write_bytes(content)
    with pytest.raises(error, match=words):
        invitations.read_people(tmp_path / "list.csv")


# ---- the service ----------------------------------------------------------------------------------------------------


def issuer_config(folder, *collections, keys=("issuer.key",)):
    """The configuration of an issuer of these collections, with what it names."""
    for number, parties in enumerate(collections):
        (folder / f"{number}.collection").write_bytes(parties.collection.canonical)
    if not (folder / "issuer.key").exists():
        write_key(folder / "issuer.key", issuer_key(), collections[0].published(issuer_key()))
        write_key(folder / "other.key", ShufflerKey.generate(), collections[0].published(ShufflerKey.generate()))
    path = folder / "issuer.toml"
    listed = {"collections": [f"{number}.collection" for number in range(len(collections))], "keys": list(keys)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in {**listed, "invited": []}.items()]
    path.write_text("\n".join(['listen = "127.0.0.1:0"', 'state = "state"', *lines]))
    return IssuerConfig.read(path)


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([WithTokens, WithTokens], "keys must each be of one collection: of two, tokens of one fit the other"),
        ([Parties], "collections must have an issuer that signs blindly; one has none"),
    ],
)
def test_a_key_is_for_one_collection_and_a_collection_needs_one(tmp_path, kinds, words):
    config = issuer_config(tmp_path, *(kind() for kind in kinds))
    with pytest.raises(InvalidParameterError, match=words):
        run(run_issuer, config, log=EventLog(print), ready=print)


def test_an_issuer_signs_by_keys_of_its_role_alone(tmp_path):
    config = issuer_config(tmp_path, WithTokens(), keys=["issuer.key", "other.key"])
    with pytest.raises(InvalidParameterError, match="keys must be one or more of an issuer"):
        config.read_keys()
