"""The connections of one server, so that others are served while some misbehave.

A connection has some seconds to bring the head of a request, again after each answer, and as many to read answers that
no longer fit into the system's memory; how long a body may take says whoever reads it. Above a number of connections,
of all or of one address, the one that has waited longest gives way to whoever comes: its request is incomplete, its
answers are unread, or it has sent more before it was answered. Addresses are in memory alone, while they are connected.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from shuffledp.core import validate

TRUSTED = (
    "shuffledp.trusted"  # extension of a request: its ``known`` is to be called when it is known to come from a party
)
_SWEEPS = 4  # in the time that a connection may be idle
_BITS_OF_A_NETWORK = 64  # of IPv6: one person has as many addresses as there are in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the connections of one server.

    Args:
        most: at once.
        of_one_address: the same of one address, or of one network of IPv6; None is no limit, as where all come from
            a proxy.
        seconds_idle: for which a connection may be without the head of a request, or leave answers unread.
    """

    most: int = 4096
    of_one_address: int | None = None
    seconds_idle: float = 10.0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, most=self.most)
        if self.of_one_address is not None:
            validate.integer_at_least(1, of_one_address=self.of_one_address)
        validate.positive(seconds_idle=self.seconds_idle)


class Connection(H11Protocol):
    """A connection that must bring its requests in time; one of ``all``."""

    all: "Connections"  # of one server

    def __init__(self, *given: Any, **further: Any) -> None:
        super().__init__(*given, **further)
        self.has_head, self.address = False, ""
        self._accepting = asyncio.current_task()  # which ends when a handshake of TLS does, and not before
        self.all.add(self)
        if self._accepting is not None:
            self._accepting.add_done_callback(self._accepted)

    def _accepted(self, _: "asyncio.Task[Any]") -> None:
        """Forget it, if its handshake came to nothing."""
        self._accepting = None
        if self.transport is None:
            self.all.remove(self)

    def connection_made(self, transport: Any) -> None:
        """Count it as one of its address; unless it has given way already."""
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

    def handle_events(self) -> None:
        """The wait ends when a request is there as a whole, or known to come from a party."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self.scope["extensions"] = {TRUSTED: {"known": partial(self.all.is_served, self)}}
            self._goes_on()

    def pause_writing(self) -> None:
        """Wait until the answer is read."""
        super().pause_writing()
        self.has_head = False
        self.all.waits(self)

    def resume_writing(self) -> None:
        """The answer is read: go on with the request, if there is one."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._goes_on()

    def _goes_on(self) -> None:
        """A request is being taken in or answered, unless the answer before it has not been read."""
        if self.flow.write_paused:
            return
        self.has_head = True
        if not self.cycle.more_body and not self._is_ahead:
            self.all.is_served(self)

    @property
    def _is_ahead(self) -> bool:
        """Whether the next request has begun before the last one is answered: so one client could be served always."""
        return bool(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.has_head = False
        self.all.waits(self, anew=not self._is_ahead)
        super().on_response_complete()

    def end(self) -> None:
        """Close it at once, without a word."""
        if self.transport is not None:
            self.connections.discard(self)
            self.transport.abort()
        elif self._accepting is not None:
            self._accepting.cancel()


class Connections:
    """All connections of a server, and since when those that wait for their client have waited."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._is_sweeping = limits, False
        self._all: set[Connection] = set()
        self._since: dict[Connection, float] = {}  # who has waited for longest is first
        self._of_address: defaultdict[str, dict[Connection, None]] = defaultdict(dict)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._all

    def add(self, connection: Connection) -> None:
        """Take in whoever comes; above the limit in the place of another."""
        self._all.add(connection)
        self.waits(connection)
        if len(self._all) > self._limits.most:
            self._end(next(iter(self._since)))

    def has_address(self, connection: Connection) -> None:
        """Count a connection as one of its address; above the share, in the place of another of the same address."""
        theirs, most = self._of_address[connection.address], self._limits.of_one_address
        theirs[connection] = None
        if most is not None and len(theirs) > most:
            self._end(min(theirs, key=lambda each: self._since.get(each, float("inf"))))

    def waits(self, connection: Connection, *, anew: bool = True) -> None:
        """From now on a connection waits for its client; unless ``anew``, since before if it waits already."""
        if connection not in self._all or (not anew and connection in self._since):
            return
        self._since.pop(connection, None)
        self._since[connection] = connection.loop.time()
        if not self._is_sweeping:
            self._is_sweeping = True
            self._sweep(connection.loop)

    def is_served(self, connection: Connection) -> None:
        """A request is there as a whole, or is taken in whatever it has: nobody comes in its place."""
        self._since.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """A connection is no more; nothing of its address is left with the last one."""
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
        """Close who has waited too long for a head or a reader, now and again as long as anybody waits."""
        end = loop.time() - self._limits.seconds_idle
        for each in [each for each, since in self._since.items() if since <= end and not each.has_head]:
            self._end(each)
        self._is_sweeping = bool(self._since)
        if self._is_sweeping:
            loop.call_later(self._limits.seconds_idle / _SWEEPS, self._sweep, loop)


def limited(limits: Limits) -> type[Connection]:
    """The protocol of the connections of one server."""

    class Limited(Connection):
        """The protocol of one server, with connections that no other server counts."""

        all = Connections(limits)

    return Limited


def _network(peer: Any) -> str:
    """Address of a client, or its network of IPv6; empty where there is none."""
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except (TypeError, IndexError, ValueError):
        return ""
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(int(address) >> _BITS_OF_A_NETWORK)
    return str(address)
