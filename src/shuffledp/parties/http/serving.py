"""Serving of applications at their addresses by uvicorn, with limits on connections and open files."""

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

from shuffledp.core.validate import invalid
from shuffledp.parties.http.certificates import follow_pair
from shuffledp.parties.http.connections import Limits
from shuffledp.parties.http.http_parsers import limited

_FILES_BESIDE = 64  # open files of a process besides its connections
_SECONDS_TO_END = 5
_QUEUE = 1024  # connections that the system keeps until they are accepted
_SHARE = 4  # accepting rounds in the time that a request may take
_ENDINGS = (signal.SIGINT, signal.SIGTERM)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Application with its socket, certificate and limits.

    Args:
        app: the application.
        listening: listening socket.
        certificate: files of a TLS certificate and its key; None is plain HTTP.
        limits: limits of the connections.
    """

    app: ASGIApp
    listening: socket.socket
    certificate: tuple[str, str] | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def taken_together(self) -> int:
        """Number of connections accepted in one go.

        It is so small that each can still send a request before it is closed.
        """
        return max(1, min(_QUEUE, self.limits.most_connections // _SHARE))


def listen(address: str, *, name: str = "listen") -> socket.socket:
    """Listening socket at ``host:port``; port 0 takes any free port.

    Args:
        address: the address.
        name: key of the configuration that it comes from.

    Raises:
        InvalidParameterError: if the address is invalid or in use.
    """
    host, port = host_and_port(address, name=name)
    with suppress(OSError, OverflowError):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_QUEUE)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise an answer's body waits for its head
        return listening
    raise invalid("an address of this machine that is free", **{name: address})


def host_and_port(address: str, *, name: str = "listen") -> tuple[str, int]:
    """Host and port in ``host:port`` or ``[host]:port``; errors call the parameter ``name``."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not int(port) < 1 << 16 or not host.strip("[]"):
        raise invalid("host:port", **{name: address})
    return host.strip("[]"), int(port)


async def serve_all(
    endpoints: Sequence[Endpoint],
    *,
    ready: Callable[[], None] | None = None,
    renewed: Callable[[bool], None] = lambda _: None,
) -> None:
    """Serve several applications until the process is asked to end.

    Args:
        endpoints: applications with their addresses.
        ready: called when all of them answer.
        renewed: called when a certificate has changed, with whether it was taken.
    """
    servers = [_Server(_config(each)) for each in endpoints]
    allow_files(sum(each.limits.most_connections + each.taken_together for each in endpoints) + _FILES_BESIDE)
    running = [
        asyncio.create_task(server.serve(sockets=[each.listening]))
        for server, each in zip(servers, endpoints, strict=True)
    ]
    asked = asyncio.Event()
    for ending_by in _ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending_by, asked.set)
    ending = asyncio.create_task(asked.wait())
    following: list[asyncio.Task[None]] = []
    try:
        while not all(server.started for server in servers) and not any(task.done() for task in running):
            await asyncio.sleep(0.01)
        for each in endpoints:
            each.listening.listen(_QUEUE)  # more may wait than are accepted in one go
        for server, each in zip(servers, endpoints, strict=True):
            if each.certificate is not None and server.config.ssl is not None:
                follow = follow_pair(server.config.ssl, *each.certificate, told=renewed)
                following.append(asyncio.create_task(follow))
        if ready is not None:
            ready()
        await asyncio.wait([*running, ending], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (ending, *following):
            task.cancel()
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*running)


class _Server(uvicorn.Server):
    """Server that ignores signals, since all servers of a process end together."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture no signals."""
        yield


def _config(endpoint: Endpoint) -> uvicorn.Config:
    certificate, key = endpoint.certificate or (None, None)
    return uvicorn.Config(
        endpoint.app,
        http=limited(endpoint.limits),
        backlog=endpoint.taken_together,
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


def run(service: Coroutine[Any, Any, Result], *, speaks_tls: bool = False) -> Result:
    """Run a service to its end, in uvloop if it is installed, and return the service's result.

    A service that speaks TLS itself keeps the loop of Python, which lets it close connections during the handshake.
    """
    made = None
    if not speaks_tls:
        with suppress(ImportError):
            import uvloop

            made = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=made) as runner:
        return runner.run(service)


def allow_files(count: int) -> None:
    """Raise the process's limit of open files to ``count``, as far as the system allows."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < count:
            most = count if hard == resource.RLIM_INFINITY else min(count, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, soft), hard))
