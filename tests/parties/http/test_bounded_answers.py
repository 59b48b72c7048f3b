"""Answers of hosts that drip or never end: a command that asks goes on in time, and says that the host is away."""

import socket
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread

import httpx
import pytest

from shuffledp.core.errors import UnreachableError
from shuffledp.parties.http import bounded_answers
from shuffledp.parties.http.bounded_answers import whole_answer
from shuffledp.parties.service.client import answer_to, new_client

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@contextmanager
def host(*sends, pause=0.02):
    """Address of a host that answers everybody with these bytes, and then with the last of them again and again."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def talk(connection):
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                for each in sends:
                    connection.sendall(each)
                while not over.wait(pause):
                    connection.sendall(sends[-1])

        def serve():
            with suppress(OSError):
                while True:
                    Thread(target=talk, args=(listening.accept()[0],), daemon=True).start()

        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        over.set()


@pytest.mark.parametrize("sends", [(HEAD, b"X"), (CHUNKED, b"1\r\n \r\n")], ids=["head", "body"])
def test_a_host_that_drips_its_answer_is_away_after_the_time(sends, monkeypatch):
    monkeypatch.setattr(bounded_answers, "_SECONDS", 0.3)
    began = time.monotonic()
    with (
        host(*sends) as url,
        new_client() as client,
        pytest.raises(UnreachableError, match="must answer; got: no answer"),
    ):
        answer_to(client, "GET", url, 0.0)
    assert 0.2 < time.monotonic() - began < 20


def test_an_answer_without_end_is_left_at_its_greatest_length(monkeypatch):
    monkeypatch.setattr(bounded_answers, "_LONGEST", 1 << 16)
    chunk = b"400\r\n" + bytes(1 << 10) + b"\r\n"
    with host(CHUNKED, chunk, pause=0.0) as url, new_client() as client, pytest.raises(httpx.RemoteProtocolError):
        whole_answer(client, client.build_request("GET", url))


def test_an_answer_that_ends_comes_whole():
    content = bytes(range(256)) * 1_000
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(201, content=content))) as client:
        answer = whole_answer(client, client.build_request("POST", "https://mix.example", content=b"request"))
    assert (answer.status_code, answer.content) == (201, content)


def test_a_long_request_has_the_time_of_a_slow_line_besides(monkeypatch):
    monkeypatch.setattr(bounded_answers, "_SECONDS", 0.0)

    def later(_):
        time.sleep(0.1)
        return httpx.Response(200)

    with httpx.Client(transport=httpx.MockTransport(later)) as client:
        assert whole_answer(
            client, client.build_request("POST", "https://mix.example", content=bytes(1 << 20))
        ).is_success
        with pytest.raises(httpx.ReadTimeout):
            whole_answer(client, client.build_request("POST", "https://mix.example", content=b"short"))
