"""What comes through a relay: opened, told what it asks for, and answered so that the relay learns nothing.

The relay knows who sends, and cannot read what; here it can be read, and comes from the relay. All requests of about
one length look alike to the relay, and so do all answers.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from starlette.responses import Response

from shuffledp.core.errors import MalformedMessageError
from shuffledp.core.instants import instant
from shuffledp.service.desk import KEY_OUTLIVES
from shuffledp.service.http_messages import Problem, Refused
from shuffledp.survey import Collection
from shuffledp.wire.binary_http import BinaryRequest, BinaryResponse, field
from shuffledp.wire.grammar import HpkeConfig
from shuffledp.wire.keys import GatewayKey
from shuffledp.wire.oblivious_http import Exchange, Gateway, UnknownKeyError, encode_keys, padded_length

_NOT_HERE = (b"expect", b"content-encoding")  # an answer is sealed as a whole (RFC 9458, section 5.1)


def now_in_utc() -> datetime:
    """Current time in UTC."""
    return datetime.now(UTC)


class GatewayDoor:
    """The gateway of a shuffler, for some collections.

    Args:
        keys: what it opens requests by.
        collections: those that people reach through a relay.
    """

    def __init__(self, keys: Sequence[GatewayKey], collections: Sequence[Collection]) -> None:
        self._gateway, self._keys, self._collections = Gateway.by(keys), keys, collections

    def published(self) -> bytes:
        """The keys that may be sealed to now, as ``/ohttp-keys`` shows them."""
        return encode_keys(each.config for each in self._keys if self._is_taken(each.config))

    def open(self, body: bytes) -> tuple[bytes, Exchange, HpkeConfig]:
        """What was sealed, what seals its answer, and the key that it came by.

        Raises:
            MalformedMessageError: if nothing was.
            Refused: if it was to a key that is not here, or had its time.
        """
        try:
            request, exchange, config = self._gateway.open(body)
        except UnknownKeyError:
            raise Refused(Problem.OTHER_GATEWAY_KEY) from None
        if not self._is_taken(config):
            raise Refused(Problem.OTHER_GATEWAY_KEY)
        return request, exchange, config

    def _is_taken(self, config: HpkeConfig) -> bool:
        return any(self.takes(config, each) for each in self._collections)

    def takes(self, config: HpkeConfig, collection: Collection) -> bool:
        """Whether requests about a collection may come by a key: one that it names, and that has not had its time."""
        party = collection.gateway
        if party is None or config.encode() not in party.several:
            return False
        had_its_time = party.expires is not None and now_in_utc() >= instant(expires=party.expires) + KEY_OUTLIVES
        return not (had_its_time and party.successors and config == party.config)


def content_of(request: BinaryRequest, *, media_type: str, most: int) -> bytes:
    """What a request brings.

    Raises:
        Refused: as `shuffledp.service.http_messages.whole_body`, and where it expects an answer in between.
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
    """The request that was sealed.

    Raises:
        MalformedMessageError: if it is none, or has anything after its content.
    """
    request = BinaryRequest.decode(data)
    if request.trailers:
        raise MalformedMessageError("a request must end with its content; there are further fields.")
    return request


def sealed(response: Response, exchange: Exchange) -> bytes:
    """An answer to a request that came through a relay."""
    fields = ((b"content-type", response.headers["content-type"].encode()),)
    inside = BinaryResponse(response.status_code, fields, bytes(response.body))
    return exchange.seal(inside.encode(length=padded_length(len(inside.encode()))))
