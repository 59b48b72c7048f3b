"""A relay for tests (RFC 9458, section 6.2): passes on what it is sent, adds nothing, and remembers what it saw."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


class Relay:
    """A relay on loopback that leads to one gateway; this, and the origin of pages that it hears, may be set later."""

    def __init__(self):
        self.origin, self.gateway, self.seen, self._client = None, None, [], httpx.Client(trust_env=False)
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    answer = relay.pass_on(self.client_address[0], body, self.headers["content-type"])
                    status, kind, content = answer.status_code, answer.headers.get("content-type", ""), answer.content
                except httpx.TransportError:
                    status, kind, content = 502, "text/plain", b""
                self.send_response_only(status)
                self.head(("content-type", kind), ("content-length", str(len(content))))
                self.wfile.write(content)

            def do_OPTIONS(self):
                self.send_response_only(204)
                self.head(("access-control-allow-methods", "POST"), ("access-control-allow-headers", "content-type"))

            def head(self, *fields):
                heard = () if relay.origin is None else (("access-control-allow-origin", relay.origin),)
                for name, value in (*fields, *heard):
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                """A relay keeps no log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/relay"

    def pass_on(self, sender, body, kind):
        """What the gateway answers; that of it alone, whoever has sent it."""
        answer = self._client.post(self.gateway, content=body, headers={"content-type": kind})
        self.seen.append((sender, body, answer.content))
        return answer

    @contextmanager
    def running(self):
        """The relay at work."""
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._client.close()
