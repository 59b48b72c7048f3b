"""What a relay passes on, and what it does not: nginx and Caddy with the files of the kit, and `serve relay`."""

import re
import shutil
import signal
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from deploy.examples import HERE
from deploy.nginx_files import without_tls
from parties.service.processes import Process, free_port, until
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.service.oblivious_relay import RelayConfig, run_oblivious_relay
from shuffledp.parties.wire.oblivious_http import OHTTP_REQUEST, OHTTP_RESPONSE

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
CADDY = shutil.which("caddy")
OF_A_SENDER = {
    "Origin": "https://page.example",
    "Referer": "https://page.example/sender",
    "User-Agent": "sender",
    "Cookie": "who=sender",
    "X-Forwarded-For": "192.0.2.77",
    "X-Forwarded-Host": "sender",
    "X-Real-IP": "192.0.2.77",
    "Forwarded": "for=192.0.2.77",
    "Accept-Language": "sender",
    "Authorization": "sender",
    "Sec-Fetch-Site": "sender",
    "DNT": "1",
}
NEEDED = {"host", "content-type", "content-length", "connection", "accept-encoding"}


class Gateway:
    """A server that remembers requests, and gives the answers that it is told to."""

    def __init__(self):
        self.seen, self.answer, gateway = [], (200, OHTTP_RESPONSE, b"sealed answer"), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                gateway.seen.append((self.path, dict(self.headers.items()), body))
                status, kind, content = gateway.answer
                self._say(status, kind, content)

            def do_GET(self):
                self._say(200, "text/plain", b"ok\n")

            def _say(self, status, kind, content):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.send_header("access-control-allow-origin", "https://elsewhere.example")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/gateway"


@pytest.fixture(scope="module")
def gateway():
    found = Gateway()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


@contextmanager
def by_nginx(folder, port, gateway):
    """nginx alone, with the example."""
    text = without_tls((HERE / "nginx" / "relay.conf").read_text(), folder, port=port, gateway=gateway)
    whole = f"pid {folder}/pid; error_log {folder}/errors; events {{}}\nhttp {{ {text} }}\n"
    (folder / "nginx.conf").write_text(f"daemon off; master_process off; {whole}")
    with started([NGINX, "-c", folder / "nginx.conf"], folder, port):
        yield


@contextmanager
def by_caddy(folder, port, gateway):
    """Caddy alone, with the example."""
    text = (HERE / "caddy" / "relay.Caddyfile").read_text()
    text = text.replace("relay.example.edu {", f"http://127.0.0.1:{port} {{").replace(
        "{\n\tlog", "{\n\tadmin off\n\tlog", 1
    )
    text = re.sub(r"https://shuffler\S+", gateway.removesuffix("/gateway"), text)
    (folder / "Caddyfile").write_text(text)
    with started([CADDY, "run", "--config", folder / "Caddyfile"], folder, port):
        yield


@contextmanager
def by_service(folder, port, gateway):
    """The relay of this library."""
    (folder / "relay.toml").write_text(f'listen = "127.0.0.1:{port}"\n[targets]\n"/survey" = "{gateway}"\n')
    process = Process(run_oblivious_relay, RelayConfig.read(folder / "relay.toml"), folder / "log")
    yield
    process.end()
    assert (folder / "log").read_text().splitlines() == [
        '{"event": "started", "count": 1}',
        '{"event": "stopped", "count": 1}',
    ]


@contextmanager
def started(command, folder, port, scheme="http"):
    """A program that answers at a port."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={"HOME": str(folder)})
    try:
        until(lambda: answers(port, scheme), 20)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def answers(port, scheme):
    """Whether something answers there."""
    try:
        found = httpx.get(f"{scheme}://127.0.0.1:{port}/none", trust_env=False, verify=False)  # noqa: S501  of this test
        return found.status_code == 404
    except httpx.TransportError:
        return False


WAYS = {"nginx": (by_nginx, NGINX), "caddy": (by_caddy, CADDY), "serve relay": (by_service, True)}


@pytest.fixture(params=WAYS)
def relay(request, tmp_path, gateway):
    way, installed = WAYS[request.param]
    if not installed:
        pytest.skip(f"there is no {request.param} here")
    gateway.seen.clear()
    gateway.answer = 200, OHTTP_RESPONSE, b"sealed answer"
    port = free_port()
    with way(tmp_path, port, gateway.url):
        yield f"http://127.0.0.1:{port}"


def test_a_relay_passes_the_body_on_and_nothing_of_its_sender(relay, gateway):
    sealed = bytes(range(256)) * 8
    with httpx.Client(trust_env=False) as client:
        given = client.post(
            f"{relay}/survey?who=sender", content=sealed, headers=OF_A_SENDER | {"content-type": OHTTP_REQUEST}
        )
        assert (given.status_code, given.headers["content-type"], given.content) == (
            200,
            OHTTP_RESPONSE,
            b"sealed answer",
        )
        assert given.headers.get_list("access-control-allow-origin") == ["*"]
        ((path, fields, body),) = gateway.seen
        assert (path.partition("?")[0], body) == ("/gateway", sealed)
        assert {name.lower() for name in fields} - {"user-agent"} <= NEEDED  # Caddy adds that of its library
        assert not [
            each for each in (path, *fields.values()) if "sender" in each or "192.0.2" in each or "page." in each
        ]
        assert {name.lower(): each for name, each in fields.items()}["content-type"] == OHTTP_REQUEST

        before = client.options(f"{relay}/survey", headers={"origin": "https://page.example"})
        assert before.status_code == 204
        assert before.headers["access-control-allow-origin"] == "*"
        assert before.headers["access-control-allow-headers"] == "content-type"

        refused = [
            client.post(f"{relay}/elsewhere", content=sealed),
            client.get(f"{relay}/survey"),
            client.get(f"{relay}/gateway"),
        ]
        assert all(400 <= each.status_code < 500 for each in refused)
        assert len(gateway.seen) == 1


def test_a_relay_passes_on_what_the_gateway_refuses(relay, gateway):
    gateway.answer = (
        400,
        "application/problem+json",
        b'{"type": "https://iana.org/assignments/http-problem-types#ohttp-key"}',
    )
    given = httpx.post(f"{relay}/survey", content=b"x", headers={"content-type": OHTTP_REQUEST}, trust_env=False)
    assert given.status_code == 400
    assert given.content == gateway.answer[2]
    assert given.headers["access-control-allow-origin"] == "*"


@pytest.fixture
def service(tmp_path, gateway):
    gateway.answer = 200, OHTTP_RESPONSE, b"sealed answer"
    port = free_port()
    with by_service(tmp_path, port, gateway.url):
        yield f"http://127.0.0.1:{port}"


def test_a_relay_takes_sealed_requests_of_a_largest_length_alone(service, gateway):
    gateway.seen.clear()
    sealed = {"content-type": OHTTP_REQUEST}
    with httpx.Client(trust_env=False) as client:
        assert client.post(f"{service}/survey", content=b"x", headers={"content-type": "text/plain"}).status_code == 415
        assert client.post(f"{service}/survey", content=bytes((1 << 20) + 1), headers=sealed).status_code == 413
        assert not gateway.seen
        assert client.get(f"{service}/readyz").text == "ok\n"


@pytest.mark.parametrize(
    "answer", [(200, "text/html", b"<p>"), (302, "text/plain", b""), (200, OHTTP_RESPONSE, bytes(2 << 20))]
)
def test_what_is_no_answer_of_a_gateway_is_not_passed_on(tmp_path, gateway, answer):
    gateway.answer = answer
    (tmp_path / "relay.toml").write_text(
        f'listen = "127.0.0.1:{(port := free_port())}"\n[targets]\n"/survey" = "{gateway.url}"\n'
    )
    process = Process(run_oblivious_relay, RelayConfig.read(tmp_path / "relay.toml"), tmp_path / "log")
    given = httpx.post(
        f"http://127.0.0.1:{port}/survey", content=b"x", headers={"content-type": OHTTP_REQUEST}, trust_env=False
    )
    process.end()
    assert (given.status_code, given.json()["type"]) == (503, "urn:shuffledp:error:unavailable")
    assert '{"event": "delivery-failed", "count": 1}' in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("targets", "wrong"),
    [
        ("", "targets must be one or more paths"),
        ('"survey" = "https://a.example/gateway"', "targets must be paths such as"),
        ('"/readyz" = "https://a.example/gateway"', "targets must be paths such as"),
        ('"/a" = "https://a.example"', "targets must be addresses of gateways"),
        ('"/a" = "http://a.example/gateway"', "targets must be an https address"),
    ],
)
def test_a_relay_without_targets_or_with_wrong_ones_is_refused(tmp_path, targets, wrong):
    (tmp_path / "relay.toml").write_text(f'listen = "127.0.0.1:1"\n[targets]\n{targets}\n')
    with pytest.raises(InvalidParameterError, match=wrong):
        RelayConfig.read(tmp_path / "relay.toml")
