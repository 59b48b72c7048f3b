"""Parties of a collection: addresses, keys, names, and rules on parties that must be apart."""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from shuffledp.core import validate
from shuffledp.core.described import Described, without_none
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import instant
from shuffledp.core.validate import invalid, one_line
from shuffledp.parties.wire.keys import Role
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey.addresses import LOCAL, check_address, host_of, same_host

if TYPE_CHECKING:
    from shuffledp.survey.collection import Collection

HOSTS = "hosts of the shuffles"  # role of several shufflers together, in statements
TRANSPORTS = ("direct", "token", "oblivious")
_LONGEST_NAME = 80
_SECONDS_TO_LOOK_UP = 2.0  # limit for all names together


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Described):
    """One party of a collection with its address and key, as devices and other parties find it.

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
        """Keys of the file, without an address that the party does not have."""
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
        """Address or other identifier of a party, after the party's given name if there is one.

        Example:
            >>> PartyNames(shuffler="University of X").beside("shuffler", "https://mixer.example.org")
            '"University of X", https://mixer.example.org'
        """
        name = getattr(self, role, None)  # further shufflers have no name
        return address if name is None else f'"{name}", {address}'


def host_role(number: int) -> str:
    """Role of a shuffler by its number from 0: ``shuffler``, ``shuffler_2``, ``shuffler_3`` and so on.

    Example:
        >>> host_role(0), host_role(2)
        ('shuffler', 'shuffler_3')
    """
    return "shuffler" if number == 0 else f"shuffler_{number + 1}"


def check_behind_relays(shuffler: Service, addresses: Mapping[str, str | None]) -> None:
    """Refuse parties on the shuffler's host that could undo a relay, and two relays on one host.

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
    """Roles that share a host with another role, in their order.

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
    """Add the network addresses of a host to ``found``; nothing is added if there are none."""
    with suppress(OSError, UnicodeError):
        found[host] = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}


# ---- checks of a collection's parties --------------------------------------------------------------------------------


def check_parties(collection: "Collection") -> None:
    """Refuse parties that are missing, not needed, or not apart from each other.

    Raises:
        InvalidParameterError: with the first fault.
    """
    _check_fetching(collection)
    _check_transport(collection)
    _check_local(collection)
    _check_hosts(collection)


def _check_hosts(collection: "Collection") -> None:
    """Refuse a wrong number of shufflers for the task, and shufflers that are not apart from each other."""
    wanted = {
        1 + max(pool.host for pool in collection.task.pools if pool.column is each) for each in collection.task.columns
    }
    if len(wanted) > 1:
        raise invalid("the same for all columns of a collection", hosts=sorted(wanted))
    if wanted != {len(collection.hosts)}:
        raise InvalidParameterError(
            f"shufflers must be as many as the hosts of the task, {max(wanted)}; got {len(collection.hosts)}."
        )
    if not collection.further_shufflers:
        return
    absent = {"directory": collection.directory is None, "every": collection.every is None}
    absent |= {"local": not collection.local}
    for name in (name for name, left_out in absent.items() if not left_out):
        raise InvalidParameterError(f"{name} must be left out with several shufflers: they agree once, at the close.")
    if collection.is_oblivious:
        raise InvalidParameterError(
            "relay must be left out with several shufflers: a relay leads to one gateway, that of the first, and a "
            "collection names the key of one. Tor, or a VPN that no host runs, hides an address from the hosts."
        )
    if collection.ready_made:
        raise invalid("left out with several shufflers, for each of which a device makes a token", ready_made=True)
    if not collection.analyzer.fetches:
        raise invalid(
            "left out with several shufflers: who fetches carries their agreement", analyzer=collection.analyzer.url
        )
    for each in collection.further_shufflers:
        if each.key.role is not Role.SHUFFLER:
            raise invalid("the shuffler's", shuffler_key=f"the {each.key.role}'s")
    for one, other in combinations(collection.hosts, 2):
        if set(one.key.several) & set(other.key.several):
            raise InvalidParameterError("the keys of several shufflers must be different; two are the same.")
        if one.url == other.url or (same_host(one.url, other.url) and not one.is_local):
            both = f"{one.url} and {other.url}"
            raise invalid("of different hosts, since two on one host are one operator", shufflers=both)


def _check_local(collection: "Collection") -> None:
    """Refuse plain http outside local collections, and local collections that need several operators."""
    for role, url in collection.addresses.items():
        if url:
            check_address(collection.local, **{role: url})
    if not collection.local:
        return
    if collection.transport != "direct" or not collection.analyzer.fetches:
        raise invalid("left out but for one operator: transport direct, and an analyzer without address", local=True)
    for column in collection.task.columns:
        if column.randomizer.needs_apart:
            raise invalid(
                f"left out for {column.randomizer.kind!r} reports: without a shuffler apart from the analyst they "
                "tell nearly everything",
                local=True,
            )
    if collection.page is not None and not same_host(collection.page.url, collection.shuffler.url):
        raise invalid("on the shuffler's host where one operator runs all in a local network", page=collection.page.url)


def _check_fetching(collection: "Collection") -> None:
    """Refuse an analyzer without an address in a walk, or without a date until which batches wait."""
    if collection.analyzer.fetches and collection.directory is not None:
        raise invalid("an address where members pass reports on", analyzer=collection.analyzer.url)
    if collection.analyzer.fetches == (collection.fetch_by is None):
        raise invalid("given for an analyzer without an address, and for no other", fetch_by=collection.fetch_by)
    if collection.fetch_by is not None and instant(fetch_by=collection.fetch_by) <= instant(closes=collection.closes):
        raise invalid(f"after closes={collection.closes}", fetch_by=collection.fetch_by)


def _check_transport(collection: "Collection") -> None:
    """Refuse a relay, gateway key or issuer that the transport lacks or does not need."""
    validate.one_of(TRANSPORTS, transport=collection.transport)
    if collection.directory is not None and collection.transport != "direct":
        raise invalid("direct where members pass reports on", transport=collection.transport)
    wanted = "given" if collection.is_oblivious else "absent"
    for name, given in (("relay", collection.relay), ("gateway_key", collection.gateway)):
        if (given is None) == collection.is_oblivious:
            raise InvalidParameterError(f"{name} must be {wanted} for transport={collection.transport!r}.")
    needed = {"direct": False, "token": True}.get(collection.transport, collection.issuer is not None)
    if needed != (collection.issuer is not None):
        wanted = "given" if needed else "absent"
        raise InvalidParameterError(f"issuer must be {wanted} for transport={collection.transport!r}.")
    if collection.ready_made and collection.issuer is None:
        raise invalid("left out without an issuer, who makes tokens", ready_made=collection.ready_made)
    if collection.reminders and (collection.issuer is None or collection.ready_made or collection.every is not None):
        raise invalid("left out but for one batch, and an issuer that signs blindly", reminders=collection.reminders)
    for name in ("relay", "issuer"):
        if getattr(collection.names, name) is not None and getattr(collection, name) is None:
            raise InvalidParameterError(f"{name}_name must be left out where there is no {name}.")
    if collection.second_relay is not None and collection.relay is None:
        raise invalid("absent without a relay", second_relay=collection.second_relay)
    if collection.relays:
        check_behind_relays(collection.shuffler, collection.addresses)
