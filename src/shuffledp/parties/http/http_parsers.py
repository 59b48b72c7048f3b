"""Connections for the web server's two HTTP parsers: h11, and the faster httptools if installed."""

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from shuffledp.parties.http.connections import Connection, Connections, Limits

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    HttpToolsProtocol = None  # type: ignore[assignment, misc]

_MOST_WITHOUT_PROGRESS = 1 << 16  # bytes of a head, or of what is neither head nor body
_MOST_AHEAD = 8  # requests that a client may send before the answer to an earlier one


class H11Connection(Connection, H11Protocol):
    """Connection whose requests are read by h11."""

    def __init__(self, *given: Any, **further: Any) -> None:
        super().__init__(*given, **further)
        self.begins()

    def handle_events(self) -> None:
        """Handle received data; the wait ends when a request is complete, or known to come from a party."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self.scope["extensions"] = self.extensions()
        self.received()

    def is_ahead(self) -> bool:
        """Whether bytes of the next request are there."""
        return bool(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.waits_for_next()
        super().on_response_complete()


def fastest_parser() -> type[Connection]:
    """Class of connections with the fastest parser that is installed."""
    return H11Connection if HttpToolsProtocol is None else with_httptools()


def limited(limits: Limits, parser: type[Connection] | None = None) -> type[Any]:
    """Protocol class for the connections of one server, counted apart from other servers' connections."""
    return type("Limited", (parser or fastest_parser(),), {"all": Connections(limits)})


def with_httptools() -> type[Connection]:
    """Class of connections whose requests are read by httptools, which must be installed."""

    class HttptoolsConnection(Connection, HttpToolsProtocol):
        """Connection whose requests are read by httptools, which has no limits of its own."""

        def __init__(self, *given: Any, **further: Any) -> None:
            super().__init__(*given, **further)
            self._begins_next, self._has_progress, self._without_progress = False, False, 0
            self.begins()

        def data_received(self, data: bytes) -> None:
            """Read received data; close the connection if any part of a request except a body is too long."""
            self._has_progress = False
            super().data_received(data)
            self._without_progress = 0 if self._has_progress else self._without_progress + len(data)
            if self._without_progress > _MOST_WITHOUT_PROGRESS:
                self.end()
            else:
                self.received()

        def on_message_begin(self) -> None:
            """Begin a request; close the connection if too many requests wait for their answers."""
            if len(self.pipeline) >= _MOST_AHEAD:
                self.end()
                raise ConnectionAbortedError
            super().on_message_begin()
            self._begins_next = self._has_progress = True
            self.scope["extensions"] = self.extensions()

        def on_header(self, name: bytes, value: bytes) -> None:
            """Keep a header field; a field after a body is dropped."""
            if self._begins_next:
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            """Handle the request."""
            self._begins_next, self._has_progress = False, True
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            """Take in a part of a body."""
            self._has_progress = True
            super().on_body(body)

        def is_ahead(self) -> bool:
            """Whether the next request has begun."""
            return self._begins_next or bool(self.pipeline)

        def on_response_complete(self) -> None:
            """Wait for the next request, or continue with a request that has already come."""
            self.waits_for_next()
            super().on_response_complete()
            self.received()

    return HttptoolsConnection
