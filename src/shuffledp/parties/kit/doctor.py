"""Examination of a party's machine from outside, or of a kit and all its parties, with advice.

No report is sent here: a sealed request asks for a collection that does not exist, and the shuffler's sealed answer
says so. That goes the way of people's reports to the shuffler, and nothing is counted. `trial_report` goes all of it.
"""

import hashlib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.core.instants import instant
from shuffledp.parties.http.certificates import trusted
from shuffledp.parties.kit.folders import missing_keys, parties_of
from shuffledp.parties.kit.party_roles import COLLECTION, Parties, role_of
from shuffledp.parties.kit.proxy_files import flaws_of
from shuffledp.parties.service.client import new_client
from shuffledp.parties.service.served_collections import MOST_BYTES
from shuffledp.parties.wire.grammar import UPLOAD_TYPE
from shuffledp.survey import Collection
from shuffledp.survey.parties import host_role

_SECONDS = 10.0
_CERTIFICATE_LEFT = timedelta(days=14)  # or a sixth of its life, if that is less
_CLOCK = timedelta(seconds=60)
_SECONDS_OF_HEAD = 2.0  # in which a proxy refuses a length that it does not take
_PROXIES = ("Caddyfile", "nginx.conf")  # in the folder of each party
_FILES_ALONE = ("relay", "second-relay", "second_relay")  # which nginx or Caddy may be without a service
# By which networks that speak TLS for others are known.
_OF_NETWORKS = ("cf-ray", "x-served-by", "x-amz-cf-id", "x-azure-ref", "x-varnish", "x-cache", "x-vercel-id")
_NO_COLLECTION = "/collections/none/reports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check: the observation, and the change to make if something is wrong."""

    party: str
    seen: str
    change: str = ""

    @property
    def is_well(self) -> bool:
        """Whether the check found nothing to change."""
        return not self.change


def examine_address(url: str, *, role: str = "service", ca: Path | None = None) -> Iterator[Finding]:
    """Findings about a service at an address: its name, certificate, readiness, counts, clock and headers."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        socket.getaddrinfo(host, port)
    except OSError:
        yield Finding(party=role, seen=f"{host} has no address", change="the name's A or AAAA record")
        return
    if parts.scheme == "https":
        found, is_taken = _certificate(role, host, port, ca)
        yield found
        if not is_taken:
            return
    with httpx.Client(verify=trusted(ca, name="--ca"), timeout=_SECONDS, trust_env=False) as client:
        yield from _answers(role, f"{parts.scheme}://{parts.netloc}", client)


def examine_url(url: str, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about the service, relay or page at an address, recognized by the address's path."""
    path = urlsplit(url).path
    if path in ("", "/"):
        yield from examine_address(url, ca=ca)
    elif path.endswith(".html"):
        yield from examine_address(url, role="page", ca=ca)
        yield from examine_page(url, ca=ca)
    else:
        yield from examine_address(url, role="relay", ca=ca)
        yield from examine_relay(url, ca=ca)


def _certificate(role: str, host: str, port: int, ca: Path | None) -> tuple[Finding, bool]:
    """Finding about a certificate, and whether clients accept the certificate."""
    context = trusted(ca, name="--ca")
    try:
        with (
            socket.create_connection((host, port), timeout=_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            shown, version = secured.getpeercert() or {}, secured.version()
    except ssl.SSLCertVerificationError as error:
        seen = f"the certificate is not trusted: {error.verify_message}"
        change = "ssl_certificate in nginx.conf (the whole chain), or let Caddy get one"
    except ssl.SSLError as error:
        seen, change = f"no TLS at {host}:{port}: {error.reason}", "listen ... ssl and ssl_protocols in nginx.conf"
    except OSError as error:
        seen = f"nobody answers at {host}:{port}: {error.strerror or 'no answer in time'}"
        change = "start the proxy, and let the port through the firewall"
    else:
        since, until = (
            datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown[name])), UTC)
            for name in ("notBefore", "notAfter")
        )
        seen, left = f"{version}, a certificate until {until:%Y-%m-%d}", min(_CERTIFICATE_LEFT, (until - since) / 6)
        ends = until - datetime.now(UTC) < left
        change = "renew the certificate, and see why nothing has renewed it" if ends else ""
        return Finding(party=role, seen=seen, change=change), True
    return Finding(party=role, seen=seen, change=change), False


def _answers(role: str, url: str, client: httpx.Client) -> Iterator[Finding]:
    try:
        ready = client.get(f"{url}/readyz")
    except httpx.HTTPError:
        yield Finding(party=role, seen="no answer to /readyz", change="start the proxy and the service")
        return
    is_file = role in _FILES_ALONE and ready.status_code == httpx.codes.NOT_FOUND
    if role == "page" or is_file:
        yield Finding(party=role, seen=f"the host of the {role.replace('_', ' ').replace('-', ' ')} answers")
    elif ready.status_code == httpx.codes.OK and ready.text == "ok\n":
        yield Finding(party=role, seen="/readyz says ok")
    else:
        words = {
            502: "the service does not run, or proxy_pass names another port",
            503: "the disk is full or read-only",
        }
        change = words.get(ready.status_code, "location / in nginx.conf, or reverse_proxy in the Caddyfile")
        yield Finding(party=role, seen=f"/readyz says {ready.status_code}", change=change)
    if client.get(f"{url}/metrics").status_code == httpx.codes.OK:
        yield Finding(
            party=role,
            seen="/metrics is reached from outside, and tells when people answer",
            change="location = /metrics { return 404; } in nginx.conf, or respond /metrics 404 in the Caddyfile",
        )
    yield from _of_headers(role, ready)


def _of_headers(role: str, answer: httpx.Response) -> Iterator[Finding]:
    if "date" in answer.headers:
        try:
            away = abs(parsedate_to_datetime(answer.headers["date"]) - datetime.now(UTC))
        except ValueError:
            away = timedelta()
        if away > _CLOCK:
            yield Finding(
                party=role,
                seen=f"its clock and this one differ by {away.total_seconds():.0f} seconds",
                change="let both follow a time server",
            )
    if any(each.isdigit() for each in answer.headers.get("server", "")):
        yield Finding(
            party=role, seen="answers tell the version of the proxy", change="server_tokens off; in nginx.conf"
        )
    if "set-cookie" in answer.headers:
        yield Finding(party=role, seen="answers set a cookie", change="take out what sets it, before the service")
    if others := [name for name in _OF_NETWORKS if name in answer.headers]:
        yield Finding(
            party=role,
            seen=f"answers come through another proxy (by {', '.join(others)}), which sees what yours sees",
            change="let the name lead to the machine itself",
        )


def examine_bodies(role: str, url: str, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings on whether a proxy before a service refuses bodies of the greatest length at once.

    Only the head of a request is sent, for a collection that does not exist.
    """
    parts = urlsplit(url)
    secured = parts.scheme == "https"
    head = (
        f"POST {_NO_COLLECTION} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: {UPLOAD_TYPE}\r\n"
        f"Content-Length: {MOST_BYTES}\r\n\r\n"
    )
    try:
        with socket.create_connection(
            (parts.hostname or "", parts.port or (443 if secured else 80)), _SECONDS
        ) as plain:
            context = trusted(ca, name="--ca")
            sending = context.wrap_socket(plain, server_hostname=parts.hostname) if secured else plain
            sending.settimeout(_SECONDS_OF_HEAD)
            sending.sendall(head.encode())
            answer = sending.recv(64)
    except TimeoutError:
        yield Finding(party=role, seen="a body as long as the service takes is waited for")
        return
    except OSError:
        return  # which the other checks tell
    if b" 413 " in answer:
        yield Finding(
            party=role,
            seen=f"a body of {MOST_BYTES:,} bytes, which the service takes, is refused before it",
            change="client_max_body_size 16m; in nginx.conf, or max_size 16MiB in the Caddyfile",
        )
    else:
        yield Finding(party=role, seen="bodies are passed on as they come, and the service cuts slow ones")


def examine_file(file: Path) -> Iterator[Finding]:
    """Findings about a configuration file of nginx or Caddy on the machine, with the line to change.

    Raises:
        InvalidParameterError: if it is of neither.
    """
    flaws = flaws_of(file)
    for each in flaws:
        place = f"{file}:{each.line}" if each.line else str(file)
        yield Finding(party=place, seen=each.seen, change=each.change)
    if not flaws:
        yield Finding(party=str(file), seen="it writes nothing about who sends, and passes nothing of it on")


def examine_relay(url: str, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about a relay's answer to a browser's request for permission to send."""
    host = urlsplit(url).netloc
    asked = {"origin": "https://page.example", "access-control-request-method": "POST"}
    with httpx.Client(verify=trusted(ca, name="--ca"), timeout=_SECONDS, trust_env=False) as client:
        try:
            answer = client.options(url, headers=asked | {"access-control-request-headers": "content-type"})
        except httpx.HTTPError:
            return  # which the other checks tell
    heard, fields = answer.headers.get("access-control-allow-origin"), answer.headers
    is_heard = heard in ("*", asked["origin"]) and answer.is_success
    if is_heard and "content-type" in fields.get("access-control-allow-headers", "").lower():
        yield Finding(party="relay", seen=f"pages may send through {host}")
    else:
        yield Finding(
            party="relay",
            seen=f"OPTIONS is answered by {answer.status_code}, and pages may not send through {host}",
            change="the lines about OPTIONS and Access-Control-Allow-Headers in its nginx.conf or Caddyfile",
        )


def examine_way(collection: Collection, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about the route of reports to the shuffler: direct, through each relay, or to each host."""
    if collection.further_shufflers:
        for host in collection.hosts:
            yield _at_host(collection, host.url, ca)
    elif not collection.is_oblivious:
        yield _way(collection, "", ca)
    for url in collection.relays:
        yield _way(replace(collection, relay=url, second_relay=None), f" through the relay {urlsplit(url).netloc}", ca)


def _at_host(collection: Collection, url: str, ca: Path | None) -> Finding:
    """Finding about the route to one of several hosts, and whether the host has this collection file."""
    party, name = "way of a report", urlsplit(url).netloc
    try:
        with new_client(certificates=ca) as client:
            status = client.get(f"{url}{collection.path}").status_code
    except httpx.HTTPError:
        return Finding(party=party, seen=f"no answer came back from the host {name}", change="its proxy and service")
    if status == httpx.codes.OK:
        return Finding(party=party, seen=f"the host {name} answers, and has this collection file")
    if status == httpx.codes.NOT_FOUND:
        return Finding(
            party=party,
            seen=f"the host {name} does not know the collection, and without it nothing is released",
            change="give it this collection file, byte for byte, under collections in its shuffler.toml",
        )
    return Finding(party=party, seen=f"the host {name} answers by {status}", change="its proxy, or its disk")


def _way(collection: Collection, through: str, ca: Path | None) -> Finding:
    try:
        with new_client(certificates=ca, to=collection) as client:
            if collection.is_oblivious:
                answer = client.post(
                    f"{collection.shuffler.url}{_NO_COLLECTION}", content=b"test", headers={"Content-Type": UPLOAD_TYPE}
                )
                is_sealed = "content-type" in answer.headers  # an answer that came unsealed is given without its fields
                is_well = is_sealed and answer.status_code == httpx.codes.NOT_FOUND
            else:
                answer = client.get(f"{collection.shuffler.url}{collection.path}")
                is_well = answer.status_code == httpx.codes.OK
    except (httpx.HTTPError, RemoteProtocolError, MalformedMessageError):
        seen, change = "no answer came back", "the shuffler's proxy"
        if through:
            seen, change = "no sealed answer came back", "the gateway's address in the relay's file, and its firewall"
        return Finding(party="way of a report", seen=f"{seen}{through}", change=change)
    if is_well:
        return Finding(party="way of a report", seen=f"the shuffler answers{through}")
    change = "the address of the gateway in the relay's file; gateway_keys and collections in shuffler.toml"
    if through and answer.status_code in (httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT):
        change = (
            "the relay does not reach the gateway: its address, and of nginx proxy_ssl_protocols TLSv1.2 TLSv1.3; "
            "and proxy_ssl_trusted_certificate"
        )
    seen = f"the way to the shuffler{through} ends with {answer.status_code}"
    return Finding(party="way of a report", seen=seen, change=change)


def examine_kit(folder: Path, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about a kit: its keys and collection, and each of its parties from outside."""
    parties = parties_of(folder)
    for role in missing_keys(folder):
        yield Finding(party=role, seen="its public key is missing", change=f"kit add {folder} {role}.key.pub")
    for role, host in parties.hosts.items():
        if host:
            yield from examine_address(f"https://{host}", role=role, ca=ca)
            for file in (folder / role / name for name in _PROXIES):
                yield from (each for each in examine_file(file) if not each.is_well)
        if role in ("shuffler", "mix") and host:
            yield from examine_bodies(role, f"https://{host}", ca=ca)
    for url in parties.relays:
        yield from examine_relay(url, ca=ca)
    yield from _of_collection(folder, parties, ca)


def examine_parties(collection: Collection, *, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about the parties of a collection at its addresses, and about the route of reports."""
    for role, url in collection.addresses.items():
        if url:
            yield from examine_address(url, role=role, ca=ca)
    for url in collection.relays:
        yield from examine_relay(url, ca=ca)
    yield from _of_way(collection, ca)


def collection_of(folder: Path) -> Collection:
    """Collection of a kit.

    Raises:
        InvalidParameterError: if it has none yet.
    """
    return Collection.read(next(iter(_places(folder, parties_of(folder))), folder / COLLECTION))


def _places(folder: Path, parties: Parties) -> list[Path]:
    """Paths of the collection file in a kit.

    A mix is given collections by whoever asks, by `survey new --kit`.
    """
    if parties.main == "mix":
        return [folder / COLLECTION]
    return [folder / name / COLLECTION for name in parties.hosts if role_of(name).has_collection]


def _of_collection(folder: Path, parties: Parties, ca: Path | None) -> Iterator[Finding]:
    given = _places(folder, parties)
    if parties.main == "mix" and not given[0].exists():
        return
    if missing := [each for each in given if not each.exists()]:
        yield Finding(
            party="collection", seen=f"{missing[0]} is missing", change=f"kit add {folder} the collection file"
        )
        return
    if len({each.read_bytes() for each in given}) > 1:
        yield Finding(party="collection", seen="two folders have different ones", change="kit add the right one again")
        return
    yield from _of_way(Collection.read(given[0]), ca)


def _of_way(collection: Collection, ca: Path | None) -> Iterator[Finding]:
    """Findings about the keys and the page of a collection, and the route of its reports."""
    further = {host_role(number): each.key for number, each in enumerate(collection.further_shufflers, 1)}
    for role, key in (*collection.keys.items(), *further.items()):
        if key.expires is not None and instant(expires=key.expires) < datetime.now(UTC) and not key.successors:
            yield Finding(party=role, seen=f"its key has expired at {key.expires}", change="a new collection")
    yield from examine_way(collection, ca=ca)
    if collection.page is not None:
        yield from examine_page(collection.page.url, sha256=collection.page.sha256, ca=ca)


def examine_page(url: str, *, sha256: str | None = None, ca: Path | None = None) -> Iterator[Finding]:
    """Findings about a page: whether it is at its address, with the right digest if one is given."""
    try:
        with new_client(certificates=ca) as client:
            answer = client.get(url)
    except httpx.HTTPError:
        yield Finding(party="page", seen="no answer", change="the proxy of the page's host")
        return
    if sha256 is not None and hashlib.sha256(answer.content).hexdigest() == sha256:
        yield Finding(party="page", seen="it is the page that the link names")
    elif answer.status_code != httpx.codes.OK or sha256 is not None:
        another = ", and another page than the link names" if answer.status_code == httpx.codes.OK else ""
        yield Finding(
            party="page",
            seen=f"{url} is answered by {answer.status_code}{another}",
            change="the page beside the collection file, byte for byte, at that address",
        )
    else:
        yield Finding(party="page", seen="there is a page; the collection file tells whether it is the one")
