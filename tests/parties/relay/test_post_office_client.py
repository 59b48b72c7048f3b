"""What a member's client makes of answers, and of none: by connections told what to say, and real ones."""

import asyncio
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from parties.relay.members import Circle
from parties.relay.together import terms_of
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.relay.attendance import record_of
from shuffledp.parties.relay.http_transport import SharedHttpTransport
from shuffledp.parties.relay.post_office_client import HttpConnection, PostOfficeClient
from shuffledp.parties.service.client import LONGEST_WAIT

PEOPLE = 6


class Told:
    """A connection with one answer after the other; the last one again and again."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def answer(self, method, path, _):
        self.asked.append((method, path.rpartition("/stages/")[2]))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def client_of(*answers, patience=5.0, patience_of_stage=5.0):
    terms, told = terms_of(Circle(people=PEOPLE)), Told(*answers)
    sign = lambda *_: bytes(64)  # noqa: E731
    return terms, told, PostOfficeClient(terms, told, sign, patience=patience, patience_of_stage=patience_of_stage)


def test_a_request_is_sent_again_until_it_is_answered():
    _, told, client = client_of(ConnectionError("gone"), (503, b""), (200, b""))
    client.post(0, 2, {1: b"letter"})
    assert told.asked == [("POST", "0/letters/2")] * 3


def test_a_refusal_is_said_at_once_in_the_words_of_the_post_office():
    _, told, client = client_of((409, b'{"type": "urn:shuffledp:error:otherLetters", "status": 409}'))
    with pytest.raises(RemoteProtocolError, match=r"must answer; got: 409 otherLetters. What is held is kept"):
        client.post(0, 2, {1: b"letter"})
    assert len(told.asked) == 1


def test_letters_that_come_late_are_no_error():
    client_of((410, b""))[2].post(0, 2, {1: b"letter"})


def test_record_and_mail_are_one_answer_that_is_asked_for_until_the_stage_has_ended():
    terms, told, client = client_of((202, b""), (200, b""))
    first, *others = terms.contacts(2, 1)
    record, length = record_of({0, 1, 2, 3, 4, 5} - {first}, PEOPLE), terms.envelope_bytes(1)
    letters = {sender: bytes([sender]) * length for sender in others}
    told.answers[-1] = (200, record + b"".join(letters.values()))
    assert client.fetch(1, 2) == (record, letters)
    assert told.asked == [("GET", "1/mail/2")] * 2


@pytest.mark.parametrize("content", [b"\xfc", b"\xfcletter"], ids=["no mail", "other lengths"])
def test_mail_of_another_length_is_refused(content):
    with pytest.raises(RemoteProtocolError, match=r"must hand out . letters of .* bytes in stage 1"):
        client_of((200, content))[2].fetch(1, 2)


def test_a_post_office_that_is_away_is_asked_again_for_as_long_as_members_are_patient(monkeypatch):
    now, pauses = [0.0], []

    def sleep(seconds):
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("shuffledp.parties.relay.post_office_client.time.monotonic", lambda: now[0])
    monkeypatch.setattr("shuffledp.parties.relay.post_office_client.time.sleep", sleep)
    _, told, client = client_of(ConnectionError("gone"), patience=3600.0)
    with pytest.raises(RemoteProtocolError, match="must answer; got: no answer"):
        client.post(0, 2, {1: b"letter"})
    assert 3600 - 1.5 * LONGEST_WAIT <= now[0] <= 3600
    assert max(pauses) <= 1.5 * LONGEST_WAIT
    assert len(told.asked) > 500


def test_a_stage_that_does_not_end_is_given_up():
    with pytest.raises(RemoteProtocolError, match=r"stage 3 of . must end in patience=0 seconds: letters of"):
        client_of((202, b""), patience_of_stage=0.0)[2].record(3)


def test_members_of_one_process_wait_once_for_a_stage_and_fetch_votes_once():
    terms, told, client = client_of((200, b"\xfc" + bytes(64 * PEOPLE)))
    stage = terms.vote_stage
    told.answers[:0] = [(200, b"\xfc")]
    transport = SharedHttpTransport(lambda: client, connections=2)

    async def everybody():
        return await asyncio.gather(*(transport.fetch(stage, -1) for _ in range(PEOPLE)))

    assert len({record for record, _ in asyncio.run(everybody())}) == 1
    assert told.asked == [("GET", f"{stage}/record"), ("GET", f"{stage}/mail/all")]


def test_what_failed_for_all_is_asked_anew():
    _, told, client = client_of((400, b""), (200, b"\xfc"))
    transport = SharedHttpTransport(lambda: client, connections=2)

    async def twice():
        with pytest.raises(RemoteProtocolError):
            await transport.record(0)
        return await transport.record(0)

    assert asyncio.run(twice()) == b"\xfc"
    assert len(told.asked) == 2


@contextmanager
def serving(answer):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

    Handler.do_GET = Handler.do_POST = answer
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/prefix"
    finally:
        server.shutdown()
        server.server_close()


def test_a_connection_opens_again_after_it_broke():
    paths = []

    def answer(handler):
        paths.append((handler.path, handler.client_address))
        if len(paths) == 3:
            handler.close_connection = True
            return
        handler.send_response(200)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"ok")

    with serving(answer) as url:
        connection = HttpConnection(url)
        assert [connection.answer("GET", "path", b"") for _ in range(2)] == [(200, b"ok")] * 2
        with pytest.raises(OSError, match="without response"):
            connection.answer("GET", "path", b"")
        assert connection.answer("POST", "path", b"letter") == (200, b"ok")
        connection.close()
    assert {path for path, _ in paths} == {"/prefix/path"}
    assert len({address for _, address in paths[:3]}) == 1
    assert paths[2][1] != paths[3][1]


def test_an_answer_that_is_none_counts_as_no_answer():
    def answer(handler):
        handler.wfile.write(b"nonsense\r\n\r\n")
        handler.close_connection = True

    with serving(answer) as url, pytest.raises(ConnectionError):
        HttpConnection(url).answer("GET", "path", b"")
