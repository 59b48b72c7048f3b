"""Connections of one server, with limits so that good clients are served while others misbehave.

A connection has some seconds to bring the head of a request, again after each answer, and as many to read answers that
no longer fit into the system's memory; the reader of a body limits its time. Above a number of connections,
of all or of one address, the one that has waited longest gives way to the next: its request is incomplete, its
answers are unread, or it has sent more before it was answered. Addresses are in memory alone, while they are connected.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any, ClassVar

from starlette.types import Scope

from shuffledp.core import validate
from shuffledp.survey.section import Section

_TRUSTED = "shuffledp.trusted"  # extension of a request, whose ``known`` keeps its connection
_SWEEPS = 4  # number of sweeps in the time that a connection may be idle
_BITS_OF_A_NETWORK = 64  # of IPv6: one person can have all addresses of such a network


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Section):
    """Limits that keep a service available while some connections misbehave.

    Args:
        most_connections: connections at once.
        connections_of_an_address: connections of one address or one IPv6 network at once; 0 is no limit. By default 64
            where the service speaks TLS itself, and no limit where it does not, since then all come from a proxy.
        seconds_idle: seconds for which a connection may lack the head of a request, or leave answers unread.
    """

    title: ClassVar[str] = "[limits]"
    most_connections: int = 4096
    connections_of_an_address: int | None = None
    seconds_idle: float = 10.0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, most_connections=self.most_connections)
        if self.connections_of_an_address is not None:
            validate.integer_at_least(0, connections_of_an_address=self.connections_of_an_address)
        validate.positive(seconds_idle=self.seconds_idle)


class Connection(asyncio.Protocol, ABC):
    """Connection with time limits for sending its requests and reading its answers.

    A subclass derives from one of the web server's protocols too, which depend on the parser of HTTP.
    """

    all: "Connections"  # connections of the same server
    transport: Any
    cycle: Any
    flow: Any
    connections: set[Any]
    loop: asyncio.AbstractEventLoop

    def begins(self) -> None:
        """Count this connection among all connections of the server."""
        self.has_head, self.address = False, ""
        self._accepting = asyncio.current_task()  # a task that ends with the TLS handshake
        self.all.add(self)
        if self._accepting is not None:
            self._accepting.add_done_callback(self._accepted)

    def _accepted(self, _: "asyncio.Task[Any]") -> None:
        """Forget the connection if its TLS handshake has failed."""
        self._accepting = None
        if self.transport is None:
            self.all.remove(self)

    def connection_made(self, transport: Any) -> None:
        """Count the connection under its address, unless it has been closed already."""
        super().connection_made(transport)
        if self in self.all:
            self.address = _network(transport.get_extra_info("peername"))
            self.all.has_address(self)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has ended."""
        self.all.remove(self)
        super().connection_lost(exc)

    def received(self) -> None:
        """End the wait if a request is complete; called after each received part."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._goes_on()

    def extensions(self) -> dict[str, Any]:
        """Extensions of a request's scope: a function to call once the sender is known to be a party."""
        return {_TRUSTED: {"known": partial(self.all.is_served, self)}}

    def pause_writing(self) -> None:
        """Note that the connection waits for its client to read the answer."""
        super().pause_writing()
        self.has_head = False
        self.all.waits(self)

    def resume_writing(self) -> None:
        """Continue with the current request, if there is one, after the client has read the answer."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._goes_on()

    def _goes_on(self) -> None:
        """End the wait for the client if its request is complete; without effect while an answer is unread."""
        if self.flow.write_paused:
            return
        self.has_head = True
        if not self.cycle.more_body and not self.is_ahead():
            self.all.is_served(self)

    @abstractmethod
    def is_ahead(self) -> bool:
        """Whether the next request began before the last answer.

        Otherwise one client could be served for ever.
        """

    def waits_for_next(self) -> None:
        """Wait for the next request, after an answer."""
        self.has_head = False
        self.all.waits(self, anew=not self.is_ahead())

    def end(self) -> None:
        """Close the connection at once, without an answer."""
        if self.transport is not None:
            self.connections.discard(self)
            self.transport.abort()
        elif self._accepting is not None:
            self._accepting.cancel()


class Connections:
    """All connections of a server, and since when each waiting connection has waited."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._is_sweeping = limits, False
        self._all: set[Connection] = set()
        self._since: dict[Connection, float] = {}  # longest wait first
        self._of_address: defaultdict[str, dict[Connection, None]] = defaultdict(dict)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._all

    def add(self, connection: Connection) -> None:
        """Add a connection; above the limit, the connection that has waited longest is closed."""
        self._all.add(connection)
        self.waits(connection)
        if len(self._all) > self._limits.most_connections:
            self._end(next(iter(self._since)))

    def has_address(self, connection: Connection) -> None:
        """Count a connection under its address; above the limit, close the longest waiting connection there."""
        theirs, most = self._of_address[connection.address], self._limits.connections_of_an_address
        theirs[connection] = None
        if most and len(theirs) > most:
            self._end(min(theirs, key=lambda each: self._since.get(each, float("inf"))))

    def waits(self, connection: Connection, *, anew: bool = True) -> None:
        """Note that a connection starts to wait for its client; unless ``anew``, an earlier start counts."""
        if connection not in self._all or (not anew and connection in self._since):
            return
        self._since.pop(connection, None)
        self._since[connection] = connection.loop.time()
        if not self._is_sweeping:
            self._is_sweeping = True
            self._sweep(connection.loop)

    def is_served(self, connection: Connection) -> None:
        """Note that a connection is served, so that no other connection can take its place."""
        self._since.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection; the last connection of an address also removes the address."""
        self._all.discard(connection)
        self._since.pop(connection, None)
        theirs = self._of_address.get(connection.address, {})
        theirs.pop(connection, None)
        if not theirs:
            self._of_address.pop(connection.address, None)

    def _end(self, connection: Connection) -> None:
        self.remove(connection)
        connection.end()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that wait too long for a head or a reader, repeatedly while any connection waits."""
        end = loop.time() - self._limits.seconds_idle
        for each in [each for each, since in self._since.items() if since <= end and not each.has_head]:
            self._end(each)
        self._is_sweeping = bool(self._since)
        if self._is_sweeping:
            loop.call_later(self._limits.seconds_idle / _SWEEPS, self._sweep, loop)


def when_trusted(scope: Scope) -> Callable[[], object]:
    """Function that keeps a request's connection, to be called once the sender is known to be a party."""
    known: Callable[[], object] = scope.get("extensions", {}).get(_TRUSTED, {}).get("known", lambda: None)
    return known


def _network(peer: Any) -> str:
    """Address of a client, or the network of an IPv6 address; empty without an address."""
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except (TypeError, IndexError, ValueError):
        return ""
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(int(address) >> _BITS_OF_A_NETWORK)
    return str(address)
