"""The parties of a collection: addresses, keys and names, and which parties share an address."""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, ClassVar

from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid, one_line
from shuffledp.parties.wire.keys import Role
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey.addresses import LOCAL, check_address, host_of, same_host

_LONGEST_NAME = 80
_SECONDS_TO_LOOK_UP = 2.0  # limit for all names together


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Described):
    """One of the two parties, as devices and the other party find it.

    Args:
        url: where its service is: https, or http on the machine itself or, of a collection that is `local`, at an
            address of the local network; without a path's last slash. "" for an analyzer
            without a service, which fetches its batches.
        key: the key that it uses, with the successors that may follow it; without ``url``, one with a ``request_key``.
    """

    title: ClassVar[str] = "a party"
    url: str = ""
    key: PublishedKey

    def __post_init__(self) -> None:
        if self.url:
            check_address(True, url=self.url)  # the collection refuses it where it is not local
        elif self.key.role is not Role.ANALYZER:
            raise invalid("an address", url=self.url)
        elif self.key.request_key is None:
            raise InvalidParameterError(
                "the analyzer's key must have a request_key where the analyzer has no address and fetches its batches; "
                "it has none. Make another by `shuffledp keys new --role analyzer`."
            )

    @property
    def fetches(self) -> bool:
        """Whether the party is an analyzer that fetches its batches from the shuffler."""
        return not self.url

    def to_dict(self) -> dict[str, Any]:
        """Keys of the file; an address that is not there is left out."""
        return without_none(super(Service, self).to_dict() | {"url": self.url or None}, "url")

    @property
    def is_local(self) -> bool:
        """Whether the service is on the caller's own machine."""
        return bool(self.url) and host_of(self.url) == LOCAL

    @property
    def words(self) -> str:
        """The party in words: its address, if it has one, and the fingerprint of its key."""
        return f"{self.url}, key {self.key.fingerprint}" if self.url else f"key {self.key.fingerprint}"


@dataclass(frozen=True, slots=True)
class PartyNames(Described):
    """Names of the parties, given by the maker of a collection: unchecked claims, so in quotation marks.

    Guarantees:
        1. A name is never shown without the address beside it, and cannot end its own quotation marks.

    Args:
        shuffler, analyzer, relay, issuer, page: each one line of at most 80 letters, without quotation marks; None for
            a party that is known by its address alone.

    Raises:
        InvalidParameterError: for other text.
    """

    title: ClassVar[str] = "the names of parties"
    shuffler: str | None = None
    analyzer: str | None = None
    relay: str | None = None
    issuer: str | None = None
    page: str | None = None

    def __post_init__(self) -> None:
        for role, name in self.to_dict().items():
            one_line(**{f"{role}_name": name})
            if '"' in name or len(name) > _LONGEST_NAME:
                raise invalid(f"at most {_LONGEST_NAME} letters without quotation marks", **{f"{role}_name": name})

    def to_dict(self) -> dict[str, Any]:
        """The given names, by role."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {role: name for role, name in given.items() if name is not None}

    def beside(self, role: str, address: str) -> str:
        """An address, or what else identifies a party, after the party's name if it has one.

        Example:
            >>> PartyNames(shuffler="University of X").beside("shuffler", "https://mixer.example.org")
            '"University of X", https://mixer.example.org'
        """
        name = getattr(self, role)
        return address if name is None else f'"{name}", {address}'


def check_behind_relays(shuffler: Service, addresses: Mapping[str, str | None]) -> None:
    """Refuse hosts that would show senders to the shuffler in spite of relays, and two relays of one host.

    Args:
        shuffler: the shuffler; on the caller's own machine nothing can be apart.
        addresses: addresses by role, with a ``relay``, and perhaps a ``second_relay``.
    """
    given = {role: url for role, url in addresses.items() if url and role not in ("shuffler", "analyzer")}
    relays = {role: url for role, url in given.items() if role in ("relay", "second_relay")}
    for url in relays.values():
        check_address(relay=url)
    if shuffler.is_local:
        return
    for role, url in given.items():
        if same_host(url, shuffler.url):
            named = "relay" if role in relays else role
            raise invalid("of another host than the shuffler, whom a relay hides senders from", **{named: url})
    if len(relays) == 2 and same_host(*relays.values()):
        raise invalid("of different hosts, where there are two", relay=relays["second_relay"])


def on_one_host(addresses: Mapping[str, str]) -> tuple[str, ...]:
    """Roles whose address has the host of another role, in their order.

    Example:
        >>> parties = {"shuffler": "https://a.example", "analyzer": "https://A.example:8444"}
        >>> on_one_host(parties | {"relay": "https://b.example"})
        ('shuffler', 'analyzer')
    """
    return tuple(
        role
        for role, url in addresses.items()
        if any(same_host(url, other) for beside, other in addresses.items() if beside != role)
    )


def at_one_address(urls: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of differently named hosts that lead to the same network address.

    None of what cannot be looked up, or not within two seconds: without a network that is no failure. Nothing is asked
    about the machine itself, nor where there is only one other host.
    """
    hosts = [host for host in dict.fromkeys(map(host_of, urls)) if host != LOCAL]
    found: dict[str, set[str]] = {}
    threads = [threading.Thread(target=_look_up, args=(each, found), daemon=True) for each in hosts if len(hosts) > 1]
    until = time.monotonic() + _SECONDS_TO_LOOK_UP
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))
    known = dict(found)
    return [pair for pair in combinations(hosts, 2) if known.get(pair[0], set()) & known.get(pair[1], set())]


def _look_up(host: str, found: dict[str, set[str]]) -> None:
    """Add the network addresses of a host, if there are any."""
    with suppress(OSError, UnicodeError):
        found[host] = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
