"""What comes through a relay: taken in like what comes directly, answered in one length, and told nothing to others."""

import json
import random
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from parties.service.at_work import looks_sealed, reports_of, run, sealed, shuffler
from parties.service.given import Parties, task, task_near_an_order
from parties.service.processes import place, until
from parties.service.relay import Relay
from parties.service.test_shuffler_app import one_test, problem
from parties.service.test_traces import mutated
from parties.service.test_weak_links import closed, phase
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.instants import written
from shuffledp.core.statement_terms import Trust
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.oblivious_transport import ObliviousTransport
from shuffledp.parties.service import client as sending
from shuffledp.parties.service import gateway
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import GatewayKey, in_text
from shuffledp.parties.wire.oblivious_http import (
    OHTTP_KEYS,
    OHTTP_REQUEST,
    Gateway,
    encapsulate,
    encode_keys,
    padded_length,
)

KEY_PROBLEM = (400, "//iana.org/assignments/http-problem-types#ohttp-key")


KIND = (b"content-type", UPLOAD_TYPE.encode())


def request_of(collection, *submissions, path=None, method=b"POST", fields=(KIND,)):
    """An upload as it is inside, before it is sealed."""
    path = f"{collection.path}/reports" if path is None else path
    content = UploadRequest(submissions).encode() if submissions else b""
    return BinaryRequest(method, b"https", b"mixer.example", path.encode(), fields, content)


async def through(here, request, *, config=None):
    """The answer inside, and that around it, to a request that is sealed here."""
    encoded = request if isinstance(request, bytes) else request.encode(length=padded_length(len(request.encode())))
    body, exchange = encapsulate(config or here.parties.gateway_key.config, encoded)
    answer = await here.post(body, path="/gateway", media_type=OHTTP_REQUEST)
    inside = exchange.open(answer.content) if answer.status_code == 200 else None
    return inside and BinaryResponse.decode(inside), answer


def told(response):
    """Status and kind of a problem inside an answer."""
    assert dict(response.fields) == {b"content-type": b"application/problem+json"}
    return response.status, json.loads(response.content)["type"].rpartition(":")[2]


def with_relay(tmp_path, parties=None):
    return one_test(tmp_path, parties=parties or Parties.with_relay())


# ---- one handler, two ways ------------------------------------------------------------------------------------------


def test_what_comes_through_the_gateway_is_stored_and_answered_as_what_comes_directly(tmp_path):
    @with_relay(tmp_path)
    async def result(here):
        submission = looks_sealed(here.parties.collection)
        request = request_of(here.parties.collection, submission)
        answers = [(await through(here, request))[0] for _ in range(2)]
        return answers, await here.at_shuffler.counts(), here.logged.lines

    answers, counts, lines = result
    assert [each.status for each in answers] == [200, 200]
    assert {UploadResponse.decode(each.content).refused for each in answers} == {()}
    assert counts == {Count.STORED: 1, Count.DUPLICATE: 1}
    assert lines == []


def test_each_collection_has_one_way(tmp_path):
    @with_relay(tmp_path)
    async def closed_to_direct(here):
        return await here.post(UploadRequest((looks_sealed(here.parties.collection),)).encode())

    assert problem(closed_to_direct) == (404, "unrecognizedCollection")

    async def test():
        key = GatewayKey.generate()
        async with shuffler(tmp_path / "direct", gateway_keys=[key]) as here:
            parties = here.parties
            request = request_of(parties.collection, looks_sealed(parties.collection))
            return (await through(here, request, config=key.config))[1]

    assert problem(run(test)) == KEY_PROBLEM  # no collection names the key


def test_what_is_wrong_inside_is_told_inside(tmp_path):
    @with_relay(tmp_path)
    async def result(here):
        collection = here.parties.collection
        good = looks_sealed(collection)
        requests = {
            "nowhere": request_of(collection, good, path="/collections/x/reports"),
            "get": request_of(collection, good, method=b"GET"),
            "type": request_of(collection, good, fields=((b"content-type", b"text/plain"),)),
            "types": request_of(collection, good, fields=(KIND, KIND)),
            "expects": request_of(collection, good, fields=(KIND, (b"Expect", b"100-continue"))),
            "zipped": request_of(collection, good, fields=(KIND, (b"content-encoding", b"gzip"))),
            "empty": request_of(collection),
            "trailers": replace(request_of(collection, good), trailers=((b"a", b"b"),)),
            "response": BinaryResponse(200).encode(),
            "garbage": b"\xff" * 2000,
        }
        return {
            name: await through(here, request) for name, request in requests.items()
        }, await here.at_shuffler.counts()

    answers, counts = result
    assert {name: told(inside) for name, (inside, _) in answers.items()} == {
        "nowhere": (404, "unrecognizedCollection"),
        "get": (405, "methodNotAllowed"),
        "type": (415, "wrongType"),
        "types": (415, "wrongType"),
        "expects": (415, "wrongType"),
        "zipped": (415, "wrongType"),
        "empty": (400, "invalidMessage"),
        "trailers": (400, "invalidMessage"),
        "response": (400, "invalidMessage"),
        "garbage": (400, "invalidMessage"),
    }
    assert len({len(outside.content) for _, outside in answers.values()}) == 1
    assert counts == {Count.MALFORMED: 1}


def test_what_cannot_be_opened_is_told_outside(tmp_path):
    @with_relay(tmp_path)
    async def result(here):
        collection, key = here.parties.collection, here.parties.gateway_key
        body, _ = encapsulate(key.config, request_of(collection, looks_sealed(collection)).encode())
        other = GatewayKey.generate(other_than=[key.config.id])
        unknown, _ = encapsulate(other.config, b"x")
        same_id, _ = encapsulate(replace(other.config, id=key.config.id), b"x")
        post = {"path": "/gateway", "media_type": OHTTP_REQUEST}
        return {
            "other key": await here.post(unknown, **post),
            "same id": await here.post(same_id, **post),
            "cut off": await here.post(body[:-1], **post),
            "too short": await here.post(body[:50], **post),
            "empty": await here.post(b"", **post),
            "long": await here.post(body + bytes(1 << 25), **post),
            "type": await here.post(body, path="/gateway", media_type="message/bhttp"),
            "get": await here.client.get("/gateway"),
        }, await here.at_shuffler.counts()

    answers, counts = result
    assert {name: problem(answer) for name, answer in answers.items()} == {
        "other key": KEY_PROBLEM,
        "same id": KEY_PROBLEM,
        "cut off": KEY_PROBLEM,
        "too short": (400, "invalidMessage"),
        "empty": (400, "invalidMessage"),
        "long": (413, "tooLarge"),
        "type": (415, "wrongType"),
        "get": (405, "methodNotAllowed"),
    }
    assert counts == {}


def test_to_the_relay_all_requests_look_alike_and_so_do_all_answers(tmp_path):
    lengths = set()
    for number, asked in enumerate((task(), task_near_an_order())):
        parties = Parties.with_relay(asked)

        @one_test(tmp_path / str(number), parties=parties)
        async def found(here, collection=parties.collection):
            first = request_of(collection, looks_sealed(collection))
            for request in (first, first, request_of(collection, path="/")):
                body, _ = encapsulate(here.parties.gateway_key.config, request.encode(length=1024))
                answer = await here.post(body, path="/gateway", media_type=OHTTP_REQUEST)
                lengths.add((len(body), answer.status_code, len(answer.content), tuple(answer.headers)))

        assert found is None
    assert len(lengths) == 1


# ---- keys that follow each other ------------------------------------------------------------------------------------


def rotating():
    """Parties whose gateway's key expires in half a day; and its successor."""
    old = GatewayKey.generate()
    new = GatewayKey.generate(other_than=[old.config.id])
    now = Parties().now
    until_then = {"expires": written(now + timedelta(hours=12)), "successors": (in_text(new.public),)}
    return Parties.with_relay(gateway_key=old, gateway_until=until_then), old, new


def test_a_key_that_had_its_time_gives_way_to_the_successor_that_the_collection_names(tmp_path, monkeypatch):
    parties, old, new = rotating()
    stranger = GatewayKey.generate(other_than=[old.config.id, new.config.id])
    clock = [parties.now]
    monkeypatch.setattr(gateway, "now_in_utc", lambda: clock[0])

    @one_test(tmp_path, parties=parties, gateway_keys=[old, new, stranger])
    async def result(here):
        found = []
        for hours in (0, 12.9, 13.1):
            clock[0] = parties.now + timedelta(hours=hours)
            for key in (old, new, stranger):
                request = request_of(parties.collection, looks_sealed(parties.collection))
                found.append((await through(here, request, config=key.config))[1])
            found.append(await here.client.get("/ohttp-keys"))
        return found, await here.at_shuffler.counts()

    found, counts = result
    both, last = encode_keys([old.config, new.config]), encode_keys([new.config])
    for keys, expected in zip(found[3::4], (both, both, last), strict=True):
        assert (keys.headers["content-type"], keys.content) == (OHTTP_KEYS, expected)
    assert [each.status_code for each in found] == [200, 200, 400, 200] * 2 + [400, 200, 400, 200]
    assert problem(found[8]) == KEY_PROBLEM
    assert counts == {Count.STORED: 5}


def test_a_request_about_one_collection_comes_by_no_key_of_another(tmp_path):
    mine = Parties.with_relay()
    other = GatewayKey.generate(other_than=[mine.gateway_key.config.id])
    theirs = Parties.with_relay(gateway_key=other)

    async def test():
        async with shuffler(tmp_path / "mine", mine) as first, shuffler(tmp_path / "theirs", theirs) as second:
            log, keys = EventLog(print), [mine.gateway_key, other]
            app = shuffler_app([first.at_shuffler, second.at_shuffler], log=log, gateway_keys=keys)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://a") as client:
                both = replace(first, client=client)
                found = []
                for parties in (mine, theirs):
                    request = request_of(parties.collection, looks_sealed(parties.collection))
                    found += [(await through(both, request, config=key.config))[0] for key in keys]
                return found

    good, wrong, also_wrong, also_good = run(test)
    assert (good.status, also_good.status) == (200, 200)
    assert told(wrong) == told(also_wrong) == KEY_PROBLEM


class Answering(httpx.MockTransport):
    """A relay and a gateway that answer as they are told, and open what they can."""

    def __init__(self, *keys, change=lambda content: content, **headers):
        super().__init__(self._answer)
        self.gateway, self.inside, self.outside, self.change = Gateway.by(keys), [], [], change
        self.headers = {"content-type": "message/ohttp-res"} | headers

    def _answer(self, request):
        self.outside.append(request)
        try:
            inside, exchange, _ = self.gateway.open(request.content)
        except RemoteProtocolError:
            kind = "https://iana.org/assignments/http-problem-types#ohttp-key"
            return httpx.Response(400, json={"type": kind, "status": 400})
        self.inside.append(BinaryRequest.decode(inside))
        upload = UploadRequest.decode(self.inside[-1].content, num_columns=1)
        response = BinaryResponse(200, ((b"content-type", b"x/y"),), UploadResponse.to(upload, ()).encode())
        return httpx.Response(200, content=self.change(exchange.seal(response.encode())), headers=self.headers)

    def client_for(self, parties, **further):
        return httpx.Client(transport=ObliviousTransport(parties.collection, httpx.Client(transport=self), **further))


def send_to(relay, parties, **further):
    body = UploadRequest((looks_sealed(parties.collection),)).encode()
    with relay.client_for(parties, **further) as client:
        return body, sending.upload(parties.collection, body, client, patience=0.0)


def test_a_device_sends_to_the_relay_alone_and_says_nothing_there(tmp_path):
    parties = Parties.with_relay(shuffler="https://mixer.example/prefix")
    relay = Answering(parties.gateway_key)
    body, answer = send_to(relay, parties)
    (outside,), (inside,) = relay.outside, relay.inside
    assert answer.refused == ()
    assert str(outside.url) == "https://relay.example"
    assert "mixer" not in str(outside.headers)
    assert (inside.content, inside.authority) == (body, b"mixer.example")
    assert inside.path == f"{parties.collection.path}/reports".encode()
    assert inside.fields == ((b"content-type", UPLOAD_TYPE.encode()),)


def test_a_device_whose_key_had_its_time_seals_the_same_to_the_next_that_is_named_and_to_no_other():
    parties, old, new = rotating()
    relay = Answering(new)
    body, _ = send_to(relay, parties)
    assert [request.content[0] for request in relay.outside] == [old.config.id, new.config.id]
    assert relay.inside[0].content == body
    stranger = Answering(GatewayKey.generate(other_than=[old.config.id, new.config.id]))
    with pytest.raises(RemoteProtocolError, match=r"must answer; got: 400"):
        send_to(stranger, parties)
    assert len(stranger.outside) == 2
    after = parties.now + timedelta(hours=13)
    later = Answering(new)
    send_to(later, parties, clock=lambda: after)
    assert len(later.outside) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"change": lambda content: content[:-1]}, "must be the gateway's to this request"),
        ({"change": lambda _: b""}, "must be the gateway's to this request"),
        ({"content-type": "text/html"}, "a relay must pass on what the gateway answers"),
    ],
)
def test_a_device_takes_no_answer_that_is_not_the_gateways_to_its_request(changed, words):
    parties = Parties.with_relay()
    with pytest.raises(RemoteProtocolError, match=words):
        send_to(Answering(parties.gateway_key, **changed), parties)


@pytest.mark.parametrize("first", [None, 404, 502, 200])
def test_of_two_relays_either_will_do_and_both_get_the_same_upload_sealed_anew(first):
    parties = Parties.with_relay(second_relay="https://second.example/survey")
    relay, asked = Answering(parties.gateway_key), []

    def either(request):
        asked.append(request.url.host)
        if first is None and len(asked) == 1:
            raise httpx.ConnectError("away")
        if first is not None and len(asked) == 1:
            return httpx.Response(first, content=b"not a relay")
        return relay.handler(request)

    outer = httpx.Client(transport=httpx.MockTransport(either))
    body = UploadRequest((looks_sealed(parties.collection),)).encode()
    with httpx.Client(transport=ObliviousTransport(parties.collection, outer)) as client:
        assert sending.upload(parties.collection, body, client, patience=0.0).refused == ()
    assert asked == ["relay.example", "second.example"]
    assert [each.content for each in relay.inside] == [body]


def test_a_sealed_refusal_is_the_shufflers_and_is_not_asked_for_at_the_second_relay():
    parties, asked = Parties.with_relay(second_relay="https://second.example/survey"), []

    def refusing(request):
        asked.append(request.url.host)
        _, exchange, _ = Gateway.by([parties.gateway_key]).open(request.content)
        sealed = exchange.seal(BinaryResponse(404, (), b"").encode())
        return httpx.Response(200, content=sealed, headers={"content-type": "message/ohttp-res"})

    outer = httpx.Client(transport=httpx.MockTransport(refusing))
    with httpx.Client(transport=ObliviousTransport(parties.collection, outer)) as client:
        assert client.post(f"{parties.collection.shuffler.url}/x").status_code == 404
    assert asked == ["relay.example"]


def test_each_attempt_is_sealed_anew_around_the_same_report(monkeypatch):
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.001)
    parties, answers = Parties.with_relay(), []
    relay = Answering(parties.gateway_key)

    def sometimes(request):
        answers.append(relay.handler(request))
        return httpx.Response(502) if len(answers) < 3 else answers[-1]

    body = UploadRequest((looks_sealed(parties.collection),)).encode()
    outer = httpx.Client(transport=httpx.MockTransport(sometimes))
    with httpx.Client(transport=ObliviousTransport(parties.collection, outer)) as client:
        sending.upload(parties.collection, body, client, patience=5.0)
    assert {each.content for each in relay.inside} == {body}
    assert len({each.content for each in relay.outside}) == len(relay.outside) == 3


# ---- mutated requests -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.parametrize("count", [1000, pytest.param(50_000, marks=pytest.mark.deep)])
def test_mutated_requests_store_nothing_whether_they_are_changed_outside_or_inside(tmp_path, where, count):
    parties, chance = Parties.with_relay(), random.Random(11)

    async def test():
        async with shuffler(tmp_path, parties) as here:
            request = request_of(parties.collection, looks_sealed(parties.collection))
            assert (await through(here, request))[0].status == 200
            whole, found = request.encode(length=1024 * (where == "outside")), set()
            body, _ = encapsulate(parties.gateway_key.config, whole)
            for _ in range(count):
                if where == "inside":
                    inside, answer = await through(here, mutated(whole, chance))
                elif (changed := mutated(body, chance)) != body:
                    inside, answer = None, await here.post(changed, path="/gateway", media_type=OHTTP_REQUEST)
                found.add((answer.status_code, inside and inside.status, len(answer.content)))
            return found, here.at_shuffler._store.waiting, here.logged.lines

    found, waiting, lines = run(test, seconds=1800)
    if where == "outside":
        assert found == {(400, None, 128)}
    else:
        length = padded_length(1) + 32
        assert found <= {
            (200, status, length) for status in (200, 400, 404, 405, 415)
        }  # 200: stored before, or refused
        assert {(200, 400, length), (200, 404, length)} <= found
    assert waiting == 1
    assert lines == []


# ---- from the device to the release ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_a_page")
def test_through_a_relay_a_collection_ends_in_the_release_of_a_direct_one(tmp_path):
    statements = {}
    with Relay().running() as relay:
        for name, given in {"direct": {}, "oblivious": {"relay": relay.url}}.items():
            (tmp_path / name).mkdir()
            with place(tmp_path / name, **given) as where:
                relay.gateway = f"{where.url}/gateway"
                collection = where.parties.collection
                for role in ("shuffler", "analyzer"):
                    where.start(role)
                config = where.parties.analyzer_key.config
                with sending.new_client(to=collection) as client:
                    for each in sealed(collection, reports_of(collection.task, [0, 1] * 10), config=config):
                        assert not sending.upload(
                            collection, UploadRequest((each,)).encode(), client, patience=5.0
                        ).refused
                assert closed(where)
                until(lambda where=where: phase(where) == "released" and (where.release / "statement.json").exists())
                statements[name] = json.loads((where.release / "statement.json").read_text())
    first, second = (statements[name]["statements"][0] for name in ("direct", "oblivious"))
    assert set(second["trust"]) - set(first["trust"]) == {Trust.RELAY_APART}
    assert [each["name"] for each in second["parties"]][-1] == relay.url
    assert first["guarantee"] == second["guarantee"]
    assert statements["direct"]["num_reports"] == statements["oblivious"]["num_reports"] == 20
    assert len(relay.seen) == 20
    assert len({(len(body), len(answer)) for _, body, answer in relay.seen}) == 1
