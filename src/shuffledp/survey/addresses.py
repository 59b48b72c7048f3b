"""Addresses of parties that every device may trust: https, or http on the machine itself.

A collection inside one local network alone may also have http at an address that the internet does not reach.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid

_ADDRESS = re.compile(
    r"https?://(?:(?P<name>[A-Za-z0-9.-]+)|\[(?P<ipv6>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?(?:/[A-Za-z0-9._~-]+)*"
)
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_HOST = 253
_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[^.]*)")  # what browsers read as an IPv4 address
_LAST_PORT = 65535
LOCAL = "localhost"  # one spelling for all names of the caller's own machine


def check_address(in_network: bool = False, /, **named: str) -> None:
    """Refuse an address that devices cannot trust or cannot find.

    Args:
        in_network: take http at an address of a local network, too.
        named: the address under the name that an error calls it.
    """
    ((name, url),) = named.items()
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise InvalidParameterError(
            f"{name} must be an address such as https://shuffler.example.org, without names, passwords, '?', '#' or a "
            "'/' at the end; got another text."
        )
    host = (found["name"] or found["ipv6"]).lower()
    if not 0 < int(found["port"] or 443) <= _LAST_PORT:
        raise invalid(f"an address whose port is from 1 to {_LAST_PORT}", **named)
    if host.endswith("."):
        raise invalid("an address whose host has no dot at its end", **named)
    if (found["ipv6"] or _NUMBER.fullmatch(host)) and _ip(host) is None:
        raise invalid("an address whose host is a name, or an IP address in the usual form of 203.0.113.7", **named)
    if found["name"] and (len(host) > _LONGEST_HOST or not _HOST.fullmatch(host)):  # RFC 1123, section 2.1
        raise invalid(
            f"an address whose host has at most {_LONGEST_HOST} letters, and between its dots 1 to 63 letters, digits "
            "and inner hyphens",
            **named,
        )
    if url.startswith("http:") and not _is_loopback(host) and not (in_network and _is_in_network(host)):
        raise invalid("an https address, unless it is on this machine", **named)


def _ip(host: str) -> IPv4Address | IPv6Address | None:
    """IP address of a host, with an IPv4 address unpacked from IPv6; None for a name."""
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _is_loopback(host: str) -> bool:
    """Whether requests to a host surely stay on this machine.

    Other names of this machine depend on who looks them up.
    """
    found = _ip(host)
    return host == LOCAL if found is None else found.is_loopback


def _is_in_network(host: str) -> bool:
    """Whether a host is an IP address that the internet does not reach; False for a name."""
    found = _ip(host)
    return found is not None and found.is_private and not found.is_unspecified


def same_host(url: str, other: str) -> bool:
    """Whether two addresses have the same host; the port, letter case and a final dot do not matter.

    Example:
        >>> same_host("https://VPS.example.org", "https://vps.example.org.:8444/reports")
        True
    """
    return host_of(url) == host_of(other)


def is_below(url: str, other: str) -> bool:
    """Whether an address has the other address's host, or a name below that host; ports do not matter.

    Example:
        >>> is_below("https://ab12.mix.example.org/", "https://mix.example.org")
        True
    """
    return same_host(url, other) or host_of(url).endswith(f".{host_of(other)}")


def host_of(url: str) -> str:
    """Host of an address in one spelling; `LOCAL` for every name of the caller's own machine."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    found = _ip(host)
    if found is None:
        return LOCAL if host.endswith(f".{LOCAL}") else host
    return LOCAL if found.is_loopback or found.is_unspecified else found.compressed
