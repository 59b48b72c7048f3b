"""Relay of Oblivious HTTP for demonstrations (RFC 9458, section 6.2): passes requests on, and stores nothing.

A relay for real people must be run by another party; this one listens on loopback alone.
"""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


class LoopbackRelay:
    """Relay on loopback that leads to one gateway.

    Args:
        port: port; 0 takes any free port.
        gateway: address of the shuffler's gateway; may be set later.
        origin: origin of the pages that may use it; may be set later; None for none.
    """

    def __init__(self, *, port: int = 0, gateway: str = "", origin: str | None = None) -> None:
        self.gateway, self.origin = gateway, origin
        self.client = httpx.Client(trust_env=False)
        self.server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/relay"

    def pass_on(self, sender: str, body: bytes, kind: str) -> httpx.Response:
        """Answer of the gateway to a request, which reaches the gateway without its sender."""
        del sender
        return self.client.post(self.gateway, content=body, headers={"content-type": kind})


def _handler(relay: LoopbackRelay) -> type[BaseHTTPRequestHandler]:
    """Request handler class of a relay."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                answer = relay.pass_on(self.client_address[0], body, self.headers["content-type"])
                status, kind, content = answer.status_code, answer.headers.get("content-type", ""), answer.content
            except httpx.TransportError:
                status, kind, content = 502, "text/plain", b""
            self.send_response_only(status)
            self._end_head(("content-type", kind), ("content-length", str(len(content))))
            self.wfile.write(content)

        def do_OPTIONS(self) -> None:
            self.send_response_only(204)
            self._end_head(("access-control-allow-methods", "POST"), ("access-control-allow-headers", "content-type"))

        def _end_head(self, *fields: tuple[str, str]) -> None:
            heard = () if relay.origin is None else (("access-control-allow-origin", relay.origin),)
            for name, value in (*fields, *heard):
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing, since a relay keeps no log."""

    return Handler


def run_relay(port: int, gateway: str, origin: str) -> None:
    """Run a relay until the process is ended."""
    LoopbackRelay(port=port, gateway=gateway, origin=origin).server.serve_forever()
