"""Examination of an nginx or Caddy file on the machine: what it logs, passes on, writes and refuses.

From outside none of this can be seen, but for the limit of bodies; so whoever runs the machine looks here.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.service.served_collections import MOST_BYTES

_OF_NGINX = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_OF_CADDY = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_SENDER = re.compile(r"X-Forwarded-\S+|X-Real-IP|Forwarded|\$remote_addr|\{remote_\w+\}", re.IGNORECASE)
_OLD_TLS = re.compile(r"\b(?:SSLv\d|TLSv1(?:\.1)?)(?=\s|;|$)")


@dataclass(frozen=True, slots=True)
class Flaw:
    """Flaw of a proxy's configuration file.

    Args:
        line: number of the line from 1; 0 where a line is missing.
        seen: what is there, or is not.
        change: what to write.
    """

    line: int
    seen: str
    change: str


class _Lines:
    """Lines of a file without their comments, by number."""

    def __init__(self, text: str) -> None:
        self._lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1)]

    def of(self, name: str) -> Iterator[tuple[int, str]]:
        """Number and values of each line of a directive."""
        for number, line in self._lines:
            if line.split(" ")[0].rstrip(";") == name:
                yield number, line.removeprefix(name).strip().rstrip(";").strip()

    def with_sender(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line that names data of the sender."""
        return ((number, line) for number, line in self._lines if _SENDER.search(line))


def flaws_of(file: Path) -> list[Flaw]:
    """Flaws of a configuration file of nginx or Caddy, in the order of lines; empty if none is found.

    Raises:
        InvalidParameterError: if it cannot be read, or is neither.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidParameterError(f"the file of a proxy must be readable; {file} is not.") from None
    if re.search(r"^\s*server\s*\{", text, re.MULTILINE):
        rules = _NGINX
    elif re.search(r"^\s*(reverse_proxy|file_server)\b", text, re.MULTILINE):
        rules = _CADDY
    else:
        raise InvalidParameterError(f"the file must be of nginx or Caddy, with a server; {file} has none.")
    lines = _Lines(text)
    return sorted((flaw for rule in rules for flaw in rule(lines)), key=lambda flaw: flaw.line)


# ---- nginx ----------------------------------------------------------------------------------------------------------


def _no_log(lines: _Lines) -> Iterator[Flaw]:
    for name, wanted in (("access_log", "off"), ("error_log", "/dev/null crit")):
        found = list(lines.of(name))
        for number, value in found:
            if not value.startswith(wanted.split(" ")[0]):
                yield Flaw(number, f"{name} {value}: it would hold addresses and times", f"{name} {wanted};")
        if not found:
            yield Flaw(0, f"no {name}: what nginx writes without one holds addresses", f"{name} {wanted};")


def _no_sender(lines: _Lines) -> Iterator[Flaw]:
    for number, line in lines.with_sender():
        yield Flaw(number, f"{line}: the service behind would learn who sends", "take the line out")


def _new_tls(lines: _Lines) -> Iterator[Flaw]:
    for number, value in lines.of("ssl_protocols"):
        if _OLD_TLS.search(value):
            yield Flaw(number, f"ssl_protocols {value}", "ssl_protocols TLSv1.3;")
    outwards = list(lines.of("proxy_ssl_protocols"))
    wanted = "proxy_ssl_protocols TLSv1.2 TLSv1.3;"
    for number, value in outwards:
        if "TLSv1.3" not in value.split():
            yield Flaw(number, f"proxy_ssl_protocols {value}: a gateway may take TLS 1.3 alone", wanted)
    if not outwards and any("https:" in value for _, value in lines.of("proxy_pass")):
        yield Flaw(0, "no proxy_ssl_protocols: as a client some versions of nginx speak TLS 1.2 at most", wanted)


def _bodies(lines: _Lines) -> Iterator[Flaw]:
    """Flaws in the handling of request bodies.

    Bodies wait in memory until they are whole; an analyzer's batches, without limit, pass as they come.
    """
    if not list(lines.of("proxy_pass")):
        return
    limits = [(number, _size(value)) for number, value in lines.of("client_max_body_size")]
    to_service = any("127.0.0.1" in value for _, value in lines.of("proxy_pass"))
    if not limits:
        yield Flaw(0, "no client_max_body_size: nginx refuses bodies above 1 MB", "client_max_body_size 16m;")
    for number, most in limits:
        if to_service and 0 < most < MOST_BYTES:
            yield Flaw(number, "client_max_body_size is below that of the service", "client_max_body_size 16m;")
    if any(most == 0 for _, most in limits):
        return
    for number, value in lines.of("proxy_request_buffering"):
        if value == "off":
            yield Flaw(
                number,
                "proxy_request_buffering off: slow senders would hold places of the service",
                "proxy_request_buffering on;",
            )
    places = list(lines.of("client_body_temp_path"))
    for number, value in places:
        if not value.startswith("/run/"):
            yield Flaw(
                number,
                f"client_body_temp_path {value}: bodies are written to a disk",
                "client_body_temp_path /run/...;",
            )
    if not places:
        yield Flaw(
            0, "no client_body_temp_path: long bodies are written to the disk", "client_body_temp_path /run/...;"
        )


# ---- Caddy ----------------------------------------------------------------------------------------------------------


def _no_log_of_caddy(lines: _Lines) -> Iterator[Flaw]:
    logs, excluded = list(lines.of("log")), any("http" in value.split() for _, value in lines.of("exclude"))
    for number, _ in logs[1 if excluded else 0 :]:
        yield Flaw(number, "log: it would hold addresses and times", "take the block out")
    if not excluded and not logs:
        yield Flaw(
            0, "no log { exclude http }: errors of requests hold addresses", "the first block of a kit's Caddyfile"
        )


def _no_sender_by_caddy(lines: _Lines) -> Iterator[Flaw]:
    removed = [value for _, value in lines.of("header_up") if value.startswith("-X-Forwarded-")]
    for number, _ in lines.of("reverse_proxy"):
        if not removed:
            yield Flaw(number, "reverse_proxy adds X-Forwarded-For with the address", "header_up -X-Forwarded-*")
    for number, line in lines.with_sender():
        if not line.startswith("header_up -"):
            yield Flaw(number, f"{line}: the service behind would learn who sends", "take the line out")


def _bodies_of_caddy(lines: _Lines) -> Iterator[Flaw]:
    to_service = any("127.0.0.1" in value for _, value in lines.of("reverse_proxy"))
    for number, value in lines.of("max_size"):
        if to_service and _size(value) < MOST_BYTES:
            yield Flaw(number, "max_size is below that of the service", "max_size 16MiB")


def _size(text: str) -> int:
    """Bytes of a size such as 16m."""
    found = _SIZE.match(text)
    return 0 if found is None else int(found[1]) * (_OF_NGINX | _OF_CADDY).get(found[2].lower(), 1)


_Rule = Callable[[_Lines], Iterator[Flaw]]
_NGINX: tuple[_Rule, ...] = (_no_log, _no_sender, _new_tls, _bodies)
_CADDY: tuple[_Rule, ...] = (_no_log_of_caddy, _no_sender_by_caddy, _bodies_of_caddy)
