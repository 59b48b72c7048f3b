"""Transport of a device through a relay: requests for the shuffler, sealed to its gateway (RFC 9458).

The relay sees who sends and when; the shuffler sees the content and only the relay as the sender.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse
from shuffledp.parties.wire.oblivious_http import OHTTP_REQUEST, OHTTP_RESPONSE, Exchange, encapsulate, padded_length
from shuffledp.survey import Collection

_PASSED_ON = ("content-type", "authorization")
_OTHER_KEY = "http-problem-types#ohttp-key"


class ObliviousTransport(httpx.BaseTransport):
    """HTTP transport for requests to a collection's shuffler, each sealed anew to its gateway.

    If the gateway says that the key of a request is outdated, the request is sealed to the next key that the
    collection names; no other key can be introduced. Where the first relay does not pass it on, the second one is
    asked, if there is one.

    Args:
        collection: collection with an oblivious transport.
        client: client for the relay.
        clock: function for the current time.
    """

    def __init__(
        self, collection: Collection, client: httpx.Client, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        if collection.gateway is None or collection.relay is None:
            raise ValueError("a collection must have a relay; this one has none")
        self._client, self._clock, self._relays, self._keys = client, clock, collection.relays, collection.gateway
        self._prefix = urlsplit(collection.shuffler.url).path

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Shuffler's answer, or the answer of a relay or gateway that stops the request.

        Raises:
            httpx.TransportError: if no answer comes.
            RemoteProtocolError: if the answer is not the gateway's to this request.
        """
        inside, (*others, last) = self._inside(request), self._relays
        for relay in others:
            with suppress(httpx.TransportError, RemoteProtocolError):
                is_sealed, answer = self._through(relay, inside)
                if is_sealed:
                    return answer
        return self._through(last, inside)[1]

    def _through(self, relay: str, inside: bytes) -> tuple[bool, httpx.Response]:
        """Whether the answer through one relay was sealed by the gateway, and the answer, opened if so."""
        *others, last = self._keys.configs_at(self._clock())
        for config in (*others, last):
            body, exchange = encapsulate(config, inside)
            answer = self._client.post(relay, content=body, headers={"content-type": OHTTP_REQUEST})
            if answer.status_code == httpx.codes.OK:
                return True, _opened(answer, exchange)
            if config is last or not _is_about_the_key(answer):
                break
        return False, httpx.Response(answer.status_code, content=answer.content)

    def close(self) -> None:
        """Close the connection to the relay."""
        self._client.close()

    def _inside(self, request: httpx.Request) -> bytes:
        """Request as the gateway reads it, padded so that the relay does not learn its length."""
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
