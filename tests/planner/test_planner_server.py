"""The page over HTTP: who is served, what is read of a question, and how the command starts and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import anyio
import httpx
import pytest

from cli.running import refused
from shuffledp.core.errors import LocalProtocolError
from shuffledp.planner import planner_server
from shuffledp.planner.planner_server import LONGER, MOST_BYTES, MOST_WAITING, SECONDS, asking, planner_app

TOKEN, PORT = "t0ken", 8123
HOME = f"http://127.0.0.1:{PORT}/{TOKEN}"


async def echo(question):
    return {"asked": question}


def call(method="GET", path="", *, home=HOME, **more):
    """One request to the app."""

    async def send():
        transport = httpx.ASGITransport(app=planner_app(echo, token=TOKEN, port=PORT))
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.request(method, f"{home}/{path}", **more)

    return anyio.run(send)


def test_the_page_its_style_and_its_program_are_there():
    for path, kind, piece in (
        ("", "text/html", "What would shuffling buy?"),
        ("planner.css", "text/css", "prefers-color-scheme"),
        ("planner.js", "text/javascript", 'fetch("ask"'),
    ):
        found = call(path=path)
        assert found.status_code == 200
        assert found.headers["content-type"].startswith(kind)
        assert piece in found.text
        assert found.headers["cache-control"] == "no-store"
        assert "default-src 'none'; script-src 'self'" in found.headers["content-security-policy"]


def test_the_page_loads_nothing_from_elsewhere():
    text = "".join(call(path=path).text for path in ("", "planner.css", "planner.js"))
    assert "https:" not in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("http:") == 0


def test_a_question_is_answered():
    found = call("POST", "ask", json={"people": 3}, headers={"Origin": f"http://127.0.0.1:{PORT}"})
    assert found.json() == {"asked": {"people": 3}}
    assert call("POST", "ask", json={}, home=f"http://localhost:{PORT}/{TOKEN}").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": f"attacker.example:{PORT}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": f"127.0.0.1:{PORT + 1}"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://localhost:{PORT}"}, 403),
    ],
)
def test_other_hosts_and_other_origins_are_refused(headers, status):
    for method, path in (("GET", ""), ("POST", "ask")):
        found = call(method, path, headers=headers)
        assert found.status_code == status
        assert "asked" not in found.text


@pytest.mark.parametrize("token", ["", "T0ken", "t0ke", "t0ken2", "t0k%C3%A9n", "planner.js"])
def test_without_the_token_nothing_is_found(token):
    for path in ("", "ask", "planner.js"):
        found = call(path=path, home=f"http://127.0.0.1:{PORT}/{token}")
        assert (found.status_code, found.text) == (404, "Not found")


@pytest.mark.parametrize("body", [b"", b"[]", b"3", b"{", b"\xff", b"[" * 3000])
def test_what_is_no_json_object_is_refused(body):
    found = call("POST", "ask", content=body)
    assert found.status_code == 400
    assert found.json() == {"refused": "the question must be a JSON object."}


def test_long_questions_are_not_read():
    assert call("POST", "ask", content=b" " * MOST_BYTES + b"{}").status_code == 413
    assert call("POST", "ask", content=b" " * (MOST_BYTES - 2) + b"{}").status_code == 200


class Instead:
    """In place of a process."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def ask(self, question, seconds):
        self.asked.append((question, seconds))
        return self.answer()


def fail(error):
    def answer():
        raise error

    return answer


def test_what_comes_too_late_or_fails_is_an_answer_too():
    assert anyio.run(asking(Instead(fail(LocalProtocolError("a bug.")))), {"people": 3}) == {"refused": "a bug."}
    late = anyio.run(asking(Instead(fail(TimeoutError()))), {"shuffler": "network"})
    assert late["refused"].startswith("Not answered within 5 s.")
    assert late["commands"][0] == "shuffledp plan task.toml"


def test_a_question_that_took_too_long_has_more_time_when_it_is_asked_again():
    slow, question = Instead(fail(TimeoutError())), {"shuffler": "mallows"}

    async def twice():
        ask = asking(slow)
        return [await ask(each) for each in (question, question, {"shuffler": "network"})]

    first, second, other = anyio.run(twice)
    assert [seconds for _, seconds in slow.asked] == [SECONDS, LONGER * SECONDS, SECONDS]
    assert first["too_late"] is second["too_late"] is True
    assert second["refused"].startswith(f"Not answered within {LONGER * SECONDS:g} s.")
    assert other["refused"] == first["refused"]


def test_no_more_than_some_questions_wait():
    quick = Instead(lambda: time.sleep(0.05) or {"late": False})

    async def many():
        found, ask = [], asking(quick)

        async def one():
            found.append(await ask({}))

        async with anyio.create_task_group() as group:
            for _ in range(MOST_WAITING + 3):
                group.start_soon(one)
        return found

    found = anyio.run(many)
    assert sum("questions wait" in each.get("refused", "") for each in found) == 3


def test_a_port_that_cannot_be_had_is_refused_in_a_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port must be free, and from 0 to 65535; got {port}." in refused(2, "planner", "--port", port)
    assert "got 70000" in refused(2, "planner", "--port", 70_000)


def test_the_command_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert 'the page needs uvicorn, which must be installed: pip install "shuffledp[cli,planner]"' in refused(
        2, "planner"
    )


def test_the_command_serves_the_page_until_it_is_interrupted():
    # A shell that runs the tests in the background has SIGINT ignored, which children inherit.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "import sys; sys.argv = ['shuffledp', 'planner', '--no-browser']; from shuffledp.cli import main; main()"
    command = [sys.executable, "-c", start]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        line = process.stdout.readline()
        address = line.split()[4]
        assert line == f"The planner is at {address} until you press Ctrl-C.\n"
        assert len(address.split("/")[3]) == 32
        with urllib.request.urlopen(address, timeout=60) as page:  # noqa: S310
            assert b"What would shuffling buy?" in page.read()
        asked = urllib.request.Request(f"{address}ask", data=b'{"about": "choices"}')  # noqa: S310
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
            assert b'"about":"choices"' in answer.read()
        waiting = socket.create_connection(("127.0.0.1", int(address.split("/")[2].split(":")[1])))
        slow = json.dumps({"about": "promise", "shuffler": "network", "people": 100_000})
        head = f"POST {asked.selector} HTTP/1.1\r\nHost: {asked.host}\r\nContent-Length: {len(slow)}\r\n\r\n"
        waiting.sendall(f"{head}{slow}".encode())
        time.sleep(0.3)  # the question is being answered when all ends
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    waiting.close()
    assert (process.returncode, out, err) == (128 + signal.SIGINT, "", "")


def test_the_browser_is_shown_the_page(monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    monkeypatch.setattr(planner_server, "serve", lambda *, port, ready: ready(f"http://127.0.0.1:{port}/x/"))
    from cli.running import shuffledp

    assert shuffledp("planner", "--port", 5).out == "The planner is at http://127.0.0.1:5/x/ until you press Ctrl-C.\n"
    assert shown == ["http://127.0.0.1:5/x/"]
