"""The relay of demonstrations for tests, which remembers what it saw."""

import threading
from contextlib import contextmanager

from shuffledp.parties.service.loopback_relay import LoopbackRelay


class Relay(LoopbackRelay):
    """A relay on loopback; the gateway that it leads to and the origin of pages that it hears may be set later."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def pass_on(self, sender, body, kind):
        answer = super().pass_on(sender, body, kind)
        self.seen.append((sender, body, answer.content))
        return answer

    @contextmanager
    def running(self):
        """The relay at work."""
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            self.client.close()
