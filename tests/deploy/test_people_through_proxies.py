"""People answer through nginx and Caddy with the files of a kit, over TLS, and the analyst fetches through them."""

import asyncio
import re
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import numpy as np
import pytest

from deploy.examples import HERE
from deploy.nginx_files import without_tls
from deploy.test_relays import started
from parties.http.floods import certified, flooded
from parties.service.processes import free_port, place
from parties.service.test_analyzer_app import submissions_of
from shuffledp.parties.http.certificates import trusted
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest, UploadResponse

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
CADDY = shutil.which("caddy")
PEOPLE, HELD = 30, 4_400
SECONDS = 20.0  # for one answer, on a busy machine


def nginx_file(folder, servers):
    """A whole file of nginx, with room for as many connections as a kit's README asks for."""
    events = "worker_rlimit_nofile 16384; events { worker_connections 16384; }"
    main = f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; {events}"
    (folder / "nginx.conf").write_text(f"{main}\nhttp {{ {servers} }}\n")
    return [NGINX, "-c", folder / "nginx.conf"]


def by_nginx(folder, port, behind):
    text = (HERE / "nginx" / "shuffler.conf").read_text()
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}").replace("    listen [::]:443 ssl;\n", "")
    text = re.sub(r"/etc/letsencrypt/\S+fullchain.pem", str(folder / "tls.pem"), text)
    text = re.sub(r"/etc/letsencrypt/\S+privkey.pem", str(folder / "tls.key"), text)
    return nginx_file(
        folder, text.replace("127.0.0.1:8443", behind).replace("/run/shuffledp-nginx", f"{folder}/bodies")
    )


def by_caddy(folder, port, behind):
    text = (HERE / "caddy" / "shuffler.Caddyfile").read_text()
    text = text.replace("{\n\tlog", "{\n\tadmin off\n\tauto_https disable_redirects\n\tlog", 1)
    pair = f"\n\ttls {folder}/tls.pem {folder}/tls.key"
    text = text.replace("shuffler.example.org {", f"https://127.0.0.1:{port} {{{pair}").replace(
        "127.0.0.1:8443", behind
    )
    (folder / "Caddyfile").write_text(text)
    return [CADDY, "run", "--config", folder / "Caddyfile"]


WAYS = {"nginx": (by_nginx, NGINX), "caddy": (by_caddy, CADDY)}


@contextmanager
def behind(folder, name, make, *, scheme="https"):
    """A shuffler behind a proxy, to which its collection leads."""
    port = free_port()
    with place(folder, fetches=True, proxy=f"{scheme}://127.0.0.1:{port}") as where:
        where.start("shuffler")
        with started(make(folder, port, f"127.0.0.1:{where.ports['shuffler']}"), folder, port, scheme):
            yield where, port


def answer(where, submission, verify):
    """Somebody answers, by a connection of their own."""
    body, url = UploadRequest((submission,)).encode(), f"{where.url}{where.parties.collection.path}/reports"
    given = httpx.post(
        url, content=body, headers={"content-type": UPLOAD_TYPE}, verify=verify, timeout=SECONDS, trust_env=False
    )
    return given.status_code == 200 and not UploadResponse.decode(given.content).refused


def released(where, certificates=None):
    """How many answers the analyst releases who fetches what was mixed, after the close."""
    collection = where.parties.collection
    body = CloseRequest.by(where.parties.shuffler_key, collection.id, datetime.now(UTC)).encode()
    closed = httpx.post(
        f"{where.url}{collection.path}/close",
        content=body,
        headers={"content-type": CLOSE_TYPE},
        verify=trusted(certificates, name="--ca"),
        trust_env=False,
    )
    assert closed.status_code == 200
    keys = [where.parties.analyzer_key]
    found = asyncio.run(fetch_release(collection, keys, where.folder / "office", certificates=certificates))
    return [told["num_reports"] for told in found.releases.values()]


@pytest.fixture(autouse=True)
def without_a_page(monkeypatch):
    """Releases without their page, which takes longest."""
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)


@pytest.mark.parametrize("name", WAYS)
def test_thirty_people_answer_through_a_proxy_of_the_kit_which_writes_nothing_about_them(tmp_path, name):
    make, installed = WAYS[name]
    if not installed:
        pytest.skip(f"there is no {name} here")
    certified(tmp_path)
    ca = tmp_path / "tls.pem"
    with behind(tmp_path, name, make) as (where, _):
        verify = trusted(ca, name="--ca")
        people = submissions_of(where.parties, np.arange(PEOPLE) % 2)
        assert [answer(where, each, verify) for each in people] == [True] * PEOPLE
        assert httpx.get(f"{where.url}/metrics", verify=verify, trust_env=False).status_code == 404
        longer = httpx.post(
            f"{where.url}{where.parties.collection.path}/reports",
            content=bytes(17 << 20),
            headers={"content-type": UPLOAD_TYPE},
            verify=verify,
            trust_env=False,
        )
        assert longer.status_code in (413, 502)  # Caddy cannot say which, when the service ends the connection first
        assert released(where, ca) == [PEOPLE]
    said = (tmp_path / "said").read_text()
    assert (tmp_path / "errors").read_text() == "" if name == "nginx" else "remote" not in said
    assert "/reports" not in said


@pytest.mark.deep
def test_everybody_is_served_while_somebody_holds_bodies_in_front_of_nginx(tmp_path):
    """Each held request has begun its body, and waits in nginx: none takes a place of the service behind."""
    if not NGINX:
        pytest.skip("there is no nginx here")

    def plain(folder, port, behind_it):
        text = without_tls((HERE / "nginx" / "shuffler.conf").read_text(), folder, port=port)
        return nginx_file(folder, text.replace("127.0.0.1:8443", behind_it))

    with behind(tmp_path, "nginx", plain, scheme="http") as (where, port):
        path = f"{where.parties.collection.path}/reports"
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {UPLOAD_TYPE}\r\nContent-Length: 60000\r\n\r\n"
        people = submissions_of(where.parties, np.arange(PEOPLE) % 2)
        with flooded(port, HELD, sending=head.encode() + bytes(100)) as floods:
            assert sum(each.opened for each in floods) >= HELD
            assert [answer(where, each, True) for each in people] == [True] * PEOPLE
            assert connections_to(where.ports["shuffler"]) < 100
        assert released(where) == [PEOPLE]


def connections_to(port):
    """How many connections of this machine are open to a port of it."""
    with open("/proc/net/tcp") as lines:
        return sum(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)
