"""The doctor finds faults that were put in on purpose, one by one, and finds none where there is none."""

import re
import socket
import ssl
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from parties.agreement.summing import Sum
from parties.http.floods import certified
from parties.kit.test_kit import KEYS, add_key, collection, key_file, kit
from parties.service.given import Parties
from parties.service.processes import Process, free_port, place
from shuffledp.parties.kit import doctor
from shuffledp.parties.kit.doctor import (
    Finding,
    examine_address,
    examine_bodies,
    examine_kit,
    examine_parties,
    examine_relay,
    examine_url,
    examine_way,
)
from shuffledp.parties.service.oblivious_relay import RelayConfig, run_oblivious_relay

WELL = {"/readyz": (200, "ok\n"), "/metrics": (404, ""), "/survey": (204, "")}
HEARD = {"access-control-allow-origin": "*", "access-control-allow-headers": "content-type"}


@contextmanager
def serving(*, certificate=None, answers=(), fields=()):
    """A server of these answers, by path, with these fields in each."""
    known, added = WELL | dict(answers), dict(fields)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, text = known.get(self.path, (404, ""))
            self.send_response_only(status)
            for name, value in added.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_OPTIONS(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def wrong(findings):
    """What was seen, and what to change, of all that is not well."""
    return [f"{each.seen} -> {each.change}" for each in findings if not each.is_well]


def test_nothing_is_wrong_with_a_good_service_and_a_good_relay():
    with serving(fields=HEARD) as url:
        assert wrong(examine_address(url)) == wrong(examine_relay(f"{url}/survey")) == []


@pytest.mark.parametrize(
    ("answers", "fields", "found"),
    [
        ({"/readyz": (502, "")}, {}, "/readyz says 502 -> the service does not run"),
        ({"/readyz": (503, "")}, {}, "/readyz says 503 -> the disk is full"),
        ({"/readyz": (200, "<p>another site")}, {}, "/readyz says 200 -> location / in nginx.conf"),
        ({"/readyz": (404, "")}, {}, "/readyz says 404 -> location / in nginx.conf"),
        ({"/metrics": (200, "counts")}, {}, "/metrics is reached from outside"),
        ({}, {"server": "nginx/1.22.1"}, "tell the version of the proxy -> server_tokens off"),
        ({}, {"set-cookie": "a=b"}, "answers set a cookie"),
        ({}, {"cf-ray": "7", "x-cache": "MISS"}, "another proxy (by cf-ray, x-cache), which sees what yours sees"),
        ({}, {"date": format_datetime(datetime.now(UTC) - timedelta(days=1))}, "its clock and this one differ by"),
    ],
)
def test_each_fault_of_a_service_is_found_alone(answers, fields, found):
    with serving(answers=answers, fields=fields) as url:
        (said,) = wrong(examine_address(url))
        assert found in said


def test_an_authority_that_the_system_knows_is_trusted(tmp_path, monkeypatch):
    certified(tmp_path)
    with serving(certificate=(tmp_path / "tls.pem", tmp_path / "tls.key")) as url:
        assert wrong(examine_address(url))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))
        assert wrong(examine_address(url)) == []


def test_an_address_with_a_path_is_of_a_relay_or_a_page():
    with serving(answers={"/readyz": (404, ""), "/survey.html": (200, "a page")}, fields=HEARD) as url:
        assert wrong(examine_url(f"{url}/survey")) == wrong(examine_url(f"{url}/survey.html")) == []
        (service,) = wrong(examine_url(url))
        (page,) = wrong(examine_url(f"{url}/other.html"))
        assert "/readyz says 404" in service
        assert "is answered by 404 -> the page beside the collection file" in page


def test_a_relay_or_a_page_of_a_proxy_alone_has_no_readyz_and_is_well():
    with serving(answers={"/readyz": (404, "")}) as url:
        for role in ("relay", "second_relay", "page"):
            assert wrong(examine_address(url, role=role)) == []


def test_faults_of_names_ports_and_certificates_are_found(tmp_path):
    certified(tmp_path)
    pair = tmp_path / "tls.pem", tmp_path / "tls.key"
    assert wrong(examine_address("https://none.invalid")) == [
        "none.invalid has no address -> the name's A or AAAA record"
    ]
    (said,) = wrong(examine_address(f"https://127.0.0.1:{free_port()}"))
    assert "nobody answers" in said
    with serving() as url:
        (said,) = wrong(examine_address(url.replace("http:", "https:")))
        assert "no TLS at" in said
    with serving(certificate=pair) as url:
        (said,) = wrong(examine_address(url))
        assert "the certificate is not trusted" in said
        assert wrong(examine_address(url, ca=tmp_path / "tls.pem")) == []  # of one day, which has just begun
    certified(tmp_path, age=timedelta(days=30))
    with serving(certificate=pair, fields={"set-cookie": "a=b"}) as url:
        ends, cookie = wrong(examine_address(url, ca=tmp_path / "tls.pem"))
        assert "TLSv1.3, a certificate until" in ends
        assert "renew the certificate" in ends
        assert "cookie" in cookie


def test_a_proxy_that_refuses_long_bodies_at_once_is_found_and_one_that_waits_is_well(monkeypatch):
    monkeypatch.setattr(doctor, "_SECONDS_OF_HEAD", 0.2)

    def said(status):
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def answer():
                connection, _ = listening.accept()
                with connection:
                    assert b"Content-Length: 16777216" in connection.recv(1 << 12)
                    if status:
                        connection.sendall(f"HTTP/1.1 {status} x\r\n\r\n".encode())
                    connection.recv(1)

            threading.Thread(target=answer, daemon=True).start()
            (found,) = examine_bodies("shuffler", f"http://127.0.0.1:{listening.getsockname()[1]}")
            return found

    refused, waits, passed = said(413), said(None), said(404)
    assert (refused.is_well, waits.is_well, passed.is_well) == (False, True, True)
    assert "client_max_body_size 16m" in refused.change
    assert "is waited for" in waits.seen
    assert "passed on as they come" in passed.seen


@pytest.mark.parametrize("name", HEARD)
def test_a_relay_that_pages_may_not_use_is_found(name):
    with serving(fields={each: value for each, value in HEARD.items() if each != name}) as url:
        (said,) = wrong(examine_relay(f"{url}/survey"))
        assert "pages may not send" in said


@contextmanager
def relayed(folder, gateway, asked=None, *, kind=Parties):
    """A shuffler behind a relay that leads to this path of it."""
    port = free_port()
    with place(folder, asked, kind=kind, relay=f"http://127.0.0.1:{port}/survey") as where:
        target = f"http://127.0.0.1:{where.ports['shuffler']}/{gateway}"
        (folder / "relay.toml").write_text(f'listen = "127.0.0.1:{port}"\n[targets]\n"/survey" = "{target}"\n')
        relay = Process(run_oblivious_relay, RelayConfig.read(folder / "relay.toml"), folder / "relay.log")
        try:
            yield where
        finally:
            relay.end()


def test_the_way_through_the_relay_is_tried_and_no_report_is_counted(tmp_path):
    with relayed(tmp_path, "gateway") as where:
        (away,) = examine_way(where.parties.collection)
        where.start("shuffler")
        (there,) = examine_way(where.parties.collection)
        assert (away.is_well, there.is_well) == (False, True)
        assert there.seen.startswith("the shuffler answers through the relay 127.0.0.1:")


def test_both_of_two_relays_that_are_away_are_named():
    parties = Parties.with_relay(relay="https://one.invalid/survey", second_relay="https://two.invalid/survey")
    first, second = wrong(examine_way(parties.collection))
    assert "through the relay one.invalid" in first
    assert "through the relay two.invalid" in second


def test_of_several_hosts_the_one_at_fault_is_named(monkeypatch):
    given = Sum.new()
    faults = {"host1.example": 404, "host2.example": None}

    def answer(request):
        status = faults.get(request.url.host, 200)
        if status is None:
            raise httpx.ConnectError("nobody is there")
        return httpx.Response(status)

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(doctor, "new_client", lambda **_: httpx.Client(transport=transport))
    found = list(examine_way(given.collection))
    assert [each.is_well for each in found] == [True, False, False]
    assert "the host host0.example answers, and has this collection file" in found[0].seen
    assert "the host host1.example does not know the collection" in found[1].seen
    assert "no answer came back from the host host2.example" in found[2].seen
    monkeypatch.setattr(doctor, "examine_address", lambda url, **_: [Finding(party=url, seen="looked at")])
    second = given.collection.further_shufflers[0]
    expired = replace(
        second, key=replace(second.key, expires="2020-01-01T00:00:00Z", active_from="2019-01-01T00:00:00Z")
    )
    several = (expired, given.collection.further_shufflers[1])
    found = list(examine_parties(replace(given.collection, further_shufflers=several)))
    assert [each.party for each in found[:3]] == [each.url for each in given.collection.hosts]
    assert [each.party for each in found if "key has expired" in each.seen] == ["shuffler_2"]


@pytest.mark.deep
def test_each_of_two_relays_is_tried(tmp_path):
    with relayed(tmp_path, "gateway") as where:
        where.start("shuffler")
        both = replace(where.parties.collection, second_relay=f"http://localhost:{free_port()}/survey")
        found = list(examine_way(both))
        assert [each.is_well for each in found] == [True, False]
        assert "no sealed answer came back through the relay localhost:" in found[1].seen


def test_a_relay_that_leads_elsewhere_is_found(tmp_path):
    with relayed(tmp_path, "other") as where:
        where.start("shuffler")
        (found,) = examine_way(where.parties.collection)
        assert re.search("the way to the shuffler through the relay .* ends with 404", found.seen)
        assert "gateway" in found.change


def test_a_kit_without_keys_or_with_two_collections_is_found(tmp_path):
    made, keys = kit(tmp_path, shuffler="shuffler.invalid", analyzer="", issuer=None, relay=None), {}
    assert "its public key is missing" in "".join(wrong(examine_kit(made)))
    for role in KEYS:
        keys[role] = key_file(tmp_path, role)
    for role in ("shuffler", "analyzer"):
        add_key(made, keys[role])
    said = wrong(examine_kit(made))
    assert len(said) == 2
    assert "shuffler.invalid has no address" in said[0]
    assert "survey.collection is missing" in said[1]
    for role in ("shuffler", "analyzer"):
        (made / role / "survey.collection").write_bytes(collection(keys).canonical)
    assert "two folders have different ones" in wrong(examine_kit(made))[1]
