"""An application on its address: uvicorn, with the limits that keep a service up while some connections misbehave.

A connection has a few seconds to bring the head of a request, and again after each answer. Above a number of
connections, those that wait for one longest give way to whoever comes.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid

_FILES_BESIDE = 64  # that a process has open besides its connections
_SECONDS_TO_END = 5
_SWEEPS = 4  # in the time that a connection may be idle
_ENDINGS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An application, where it is served, and how.

    Args:
        app: the application.
        listening: a socket that listens.
        certificate: file of a TLS certificate, with that of its key; None is plain HTTP.
        most_connections: at once.
        seconds_idle: that a connection may be without a request.
    """

    app: ASGIApp
    listening: socket.socket
    certificate: tuple[str, str] | None = None
    most_connections: int = 4096
    seconds_idle: float = 10.0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, most_connections=self.most_connections)
        validate.positive(seconds_idle=self.seconds_idle)


def listen(address: str) -> socket.socket:
    """A socket that listens at ``host:port``; port 0 is any that is free.

    Raises:
        InvalidParameterError: if that is no address, or cannot be had.
    """
    host, port = host_and_port(address)
    with suppress(OSError, OverflowError):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer's body waits for its head
        return listening
    raise InvalidParameterError(f"listen must be an address that is free; got listen={address!r}.")


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of ``host:port``, or of ``[host]:port``."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not int(port) < 1 << 16 or not host.strip("[]"):
        raise invalid("host:port", listen=address)
    return host.strip("[]"), int(port)


async def serve_all(endpoints: Sequence[Endpoint], *, ready: Callable[[], None] | None = None) -> None:
    """Serve several applications until the process is asked to end; ``ready`` is called when all of them answer."""
    servers = [_Server(_config(each)) for each in endpoints]
    allow_files(sum(each.most_connections for each in endpoints) + _FILES_BESIDE)
    running = [
        asyncio.create_task(server.serve(sockets=[each.listening]))
        for server, each in zip(servers, endpoints, strict=True)
    ]
    asked = asyncio.Event()
    for each in _ENDINGS:
        asyncio.get_running_loop().add_signal_handler(each, asked.set)
    ending = asyncio.create_task(asked.wait())
    try:
        while not all(server.started for server in servers) and not any(task.done() for task in running):
            await asyncio.sleep(0.01)
        if ready is not None:
            ready()
        await asyncio.wait([*running, ending], return_when=asyncio.FIRST_COMPLETED)
    finally:
        ending.cancel()
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)


class _Server(uvicorn.Server):
    """A server that leaves signals alone: several of one process end together."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take none."""
        yield


def _config(endpoint: Endpoint) -> uvicorn.Config:
    certificate, key = endpoint.certificate or (None, None)
    return uvicorn.Config(
        endpoint.app,
        http=_limited(endpoint.most_connections, endpoint.seconds_idle),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


def _limited(most: int, seconds: float) -> type[H11Protocol]:
    """The protocol of connections of one server, which share what they know of each other."""
    waiting = _Waiting(seconds)

    class Limited(H11Protocol):
        """A connection that must bring a request in time."""

        def connection_made(self, transport: Any) -> None:
            """Wait for a request; above the limit, in the place of whoever waits longest."""
            super().connection_made(transport)
            if len(self.connections) > most:
                waiting.close_longest(or_else=self)
            waiting.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            """Nothing more to wait for."""
            waiting.remove(self)
            super().connection_lost(exc)

        def handle_events(self) -> None:
            """The wait ends when the head of a request is complete."""
            super().handle_events()
            if self.cycle is not None and not self.cycle.response_complete:
                waiting.remove(self)

        def on_response_complete(self) -> None:
            """Wait for the next request."""
            waiting.add(self)
            super().on_response_complete()

    return Limited


class _Waiting:
    """The connections of a server that have no request; none stays for longer than some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._is_sweeping = seconds, False
        self._since: dict[H11Protocol, float] = {}  # who waits longest is first

    def add(self, connection: H11Protocol) -> None:
        """A connection waits from now on."""
        self._since.pop(connection, None)
        self._since[connection] = connection.loop.time()
        if not self._is_sweeping:
            self._is_sweeping = True
            self._sweep(connection.loop)

    def remove(self, connection: H11Protocol) -> None:
        """A connection waits no longer."""
        self._since.pop(connection, None)

    def close_longest(self, *, or_else: H11Protocol) -> None:
        """Close the one that waits longest; if none waits, another."""
        connection = next(iter(self._since), or_else)
        self.remove(connection)
        connection.connections.discard(connection)
        connection.transport.abort()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close who has waited too long, now and again as long as anybody waits."""
        while self._since and loop.time() - next(iter(self._since.values())) >= self._seconds:
            first = next(iter(self._since))
            self.close_longest(or_else=first)
        self._is_sweeping = bool(self._since)
        if self._is_sweeping:
            loop.call_later(self._seconds / _SWEEPS, self._sweep, loop)


def allow_files(count: int) -> None:
    """Let the process have so many files open, as far as the system allows it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < count:
            most = count if hard == resource.RLIM_INFINITY else min(count, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, soft), hard))
