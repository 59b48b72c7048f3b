"""Gateway of a shuffler: opens relayed requests, and seals the answers so that the relay learns nothing.

The relay knows the sender and cannot read the request; the gateway can read it and sees only the relay. Requests of
similar length look alike to the relay, and so do all answers.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from starlette.responses import Response

from shuffledp.core.errors import MalformedMessageError
from shuffledp.core.instants import instant
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.service.collection_terms import KEY_OUTLIVES
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse, field
from shuffledp.parties.wire.grammar import HpkeConfig
from shuffledp.parties.wire.keys import GatewayKey
from shuffledp.parties.wire.oblivious_http import Exchange, Gateway, UnknownKeyError, encode_keys, padded_length
from shuffledp.survey import Collection

_NOT_HERE = (b"expect", b"content-encoding")  # an answer is sealed as a whole (RFC 9458, section 5.1)


def now_in_utc() -> datetime:
    """Current time in UTC."""
    return datetime.now(UTC)


class ShufflerGateway:
    """Gateway of a shuffler for some collections.

    Args:
        keys: private keys that open requests.
        collections: function for the collections that people reach through a relay now.
    """

    def __init__(self, keys: Sequence[GatewayKey], collections: Callable[[], Iterable[Collection]]) -> None:
        self._gateway, self._keys, self._collections = Gateway.by(keys), keys, collections

    def published(self) -> bytes:
        """Public keys to which requests may be sealed now, as served at ``/ohttp-keys``."""
        return encode_keys(each.config for each in self._keys if self._is_taken(each.config))

    def open(self, body: bytes) -> tuple[bytes, Exchange, HpkeConfig]:
        """Opened request, the exchange that seals its answer, and the public key in use.

        Raises:
            MalformedMessageError: if the body is no sealed request.
            Refused: if it is sealed to an unknown or outdated key.
        """
        try:
            request, exchange, config = self._gateway.open(body)
        except UnknownKeyError:
            raise Refused(Problem.OTHER_GATEWAY_KEY) from None
        if not self._is_taken(config):
            raise Refused(Problem.OTHER_GATEWAY_KEY)
        return request, exchange, config

    def _is_taken(self, config: HpkeConfig) -> bool:
        return any(self.takes(config, each) for each in self._collections())

    def takes(self, config: HpkeConfig, collection: Collection) -> bool:
        """Whether a collection takes requests sealed to this key: one that it names, and not outdated."""
        party = collection.gateway
        if party is None or config.encode() not in party.several:
            return False
        had_its_time = party.expires is not None and now_in_utc() >= instant(expires=party.expires) + KEY_OUTLIVES
        return not (had_its_time and party.successors and config == party.config)


def content_of(request: BinaryRequest, *, media_type: str, most: int) -> bytes:
    """Body of a relayed request.

    Raises:
        Refused: as in `parties.http.http_messages.whole_body`, and for a request that expects an interim answer.
    """
    if request.method != b"POST":
        raise Refused(Problem.NOT_ALLOWED)
    names = {name.lower() for name, _ in request.fields}
    if field(request.fields, b"content-type") != media_type.encode() or names & set(_NOT_HERE):
        raise Refused(Problem.WRONG_TYPE)
    if len(request.content) > most:
        raise Refused(Problem.TOO_LARGE)
    return request.content


def read_request(data: bytes) -> BinaryRequest:
    """Binary HTTP request decoded from opened bytes.

    Raises:
        MalformedMessageError: if the bytes are no request, or have fields after the content.
    """
    request = BinaryRequest.decode(data)
    if request.trailers:
        raise MalformedMessageError("a request must end with its content; there are further fields.")
    return request


def sealed(response: Response, exchange: Exchange) -> bytes:
    """Sealed answer to a relayed request, padded to hide its length."""
    fields = ((b"content-type", response.headers["content-type"].encode()),)
    inside = BinaryResponse(response.status_code, fields, bytes(response.body))
    return exchange.seal(inside.encode(length=padded_length(len(inside.encode()))))
