"""Addresses of parties that every device may trust: https, or http on the machine itself."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid

_ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*")
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_HOST = 253


def check_address(**named: str) -> None:
    """Refuse an address that devices could not trust or not find."""
    ((name, url),) = named.items()
    if not _ADDRESS.fullmatch(url):
        raise InvalidParameterError(
            f"{name} must be an address such as https://shuffler.example.org, without names, passwords, '?', '#' or a "
            "'/' at the end; got another text."
        )
    if not _is_possible(url):
        raise InvalidParameterError(f"{name} must be an address with a valid host and port; got another text.")
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise invalid("an https address, unless it is on this machine", **named)


def _is_possible(url: str) -> bool:
    """Whether a URL has a possible host (RFC 1123, section 2.1) and port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if ":" in host or host.rpartition(".")[2].isdecimal():
            ip_address(host)
    except ValueError:
        return False
    return port != 0 and len(host) <= _LONGEST_HOST and (":" in host or bool(_HOST.fullmatch(host)))


def is_loopback(host: str | None) -> bool:
    """Whether a host is the caller's own machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def same_host(url: str, other: str) -> bool:
    """Whether two addresses have the same host; the port, letter case and a final dot do not matter.

    Example:
        >>> same_host("https://VPS.example.org", "https://vps.example.org.:8444/reports")
        True
    """
    one, two = host_of(url), host_of(other)
    return one == two or (is_loopback(one) and is_loopback(two))


def host_of(url: str) -> str:
    """The host of an address in one spelling."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return ip_address(host).compressed
    except ValueError:
        return host
