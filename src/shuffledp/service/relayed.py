"""The device's way through a relay: what is meant for the shuffler is sealed to its gateway (RFC 9458).

The relay sees who sends, and when; the shuffler sees what comes, from the relay.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.survey import Collection
from shuffledp.wire.binary_http import BinaryRequest, BinaryResponse
from shuffledp.wire.oblivious_http import OHTTP_REQUEST, OHTTP_RESPONSE, Exchange, encapsulate, padded_length

_PASSED_ON = ("content-type", "authorization")
_OTHER_KEY = "http-problem-types#ohttp-key"


class ThroughRelay(httpx.BaseTransport):
    """Takes requests for the shuffler of a collection, and gives its answers; each is sealed anew.

    If the gateway says that the key of a request has had its time, the same is sealed to the next one that the
    collection names; nobody can name another.

    Args:
        collection: with an oblivious transport.
        client: goes to the relay.
        clock: the time.
    """

    def __init__(
        self, collection: Collection, client: httpx.Client, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        if collection.gateway is None or collection.relay is None:
            raise ValueError("a collection must have a relay; this one has none")
        self._client, self._clock, self._relay, self._keys = client, clock, collection.relay, collection.gateway
        self._prefix = urlsplit(collection.shuffler.url).path

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The shuffler's answer; or the relay's, or the gateway's, where they do not let the request pass.

        Raises:
            httpx.TransportError: if there is none.
            RemoteProtocolError: if it is not the gateway's to this request.
        """
        inside, (*others, last) = self._inside(request), self._keys.configs_at(self._clock())
        for config in (*others, last):
            body, exchange = encapsulate(config, inside)
            answer = self._client.post(self._relay, content=body, headers={"content-type": OHTTP_REQUEST})
            if answer.status_code == httpx.codes.OK:
                return _opened(answer, exchange)
            if config is last or not _is_about_the_key(answer):
                break
        return httpx.Response(answer.status_code, content=answer.content)

    def close(self) -> None:
        """Let the connection to the relay go."""
        self._client.close()

    def _inside(self, request: httpx.Request) -> bytes:
        """The request as the gateway reads it, filled up so that the relay does not know how long it is."""
        fields = tuple(
            (name.encode(), request.headers[name].encode()) for name in _PASSED_ON if name in request.headers
        )
        path = request.url.raw_path.removeprefix(self._prefix.encode())
        inside = BinaryRequest(request.method.encode(), b"https", request.url.netloc, path, fields, request.read())
        return inside.encode(length=padded_length(len(inside.encode())))


def _opened(answer: httpx.Response, exchange: Exchange) -> httpx.Response:
    if answer.headers.get("content-type") != OHTTP_RESPONSE:
        raise RemoteProtocolError(f"a relay must pass on what the gateway answers, as {OHTTP_RESPONSE}; it did not.")
    inside = BinaryResponse.decode(exchange.open(answer.content))
    return httpx.Response(inside.status, headers=list(inside.fields), content=inside.content)


def _is_about_the_key(answer: httpx.Response) -> bool:
    try:
        return str(answer.json()["type"]).endswith(_OTHER_KEY)
    except (ValueError, KeyError, TypeError):
        return False
