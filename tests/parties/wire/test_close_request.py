"""The request to close a collection: only from its shuffler, only for it, and only now."""

from datetime import UTC, datetime, timedelta

import pytest

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire.close_request import CloseRequest
from shuffledp.parties.wire.keys import ShufflerKey

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
ID, OTHER = bytes(32), bytes([1] * 32)
KEY = ShufflerKey.generate()


def verified(request, *, keys=(KEY.public,), collection_id=ID, now=NOW):
    CloseRequest.decode(request.encode()).verify(keys, collection_id=collection_id, now=now)


def test_the_shuffler_closes_its_collection():
    verified(CloseRequest.by(KEY, ID, NOW))
    verified(CloseRequest.by(KEY, ID, NOW), keys=(ShufflerKey.generate().public, KEY.public))


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_a_request_is_good_for_a_few_minutes(late):
    with pytest.raises(RemoteProtocolError, match="within five minutes"):
        verified(CloseRequest.by(KEY, ID, NOW), now=NOW + late)


@pytest.mark.parametrize(
    ("request_", "further"),
    [
        (CloseRequest.by(ShufflerKey.generate(), ID, NOW), {}),
        (CloseRequest.by(KEY, OTHER, NOW), {}),
        (CloseRequest(ID, int(NOW.timestamp()), CloseRequest.by(KEY, OTHER, NOW).signature), {}),
        (CloseRequest(ID, int(NOW.timestamp()) + 1, CloseRequest.by(KEY, ID, NOW).signature), {}),
        (CloseRequest(ID, 2**64 - 1, bytes(64)), {}),
        (CloseRequest.by(KEY, ID, NOW), {"keys": ()}),
    ],
    ids=["another key", "another collection", "moved", "later", "absurd", "nobody"],
)
def test_nobody_else_closes_it(request_, further):
    with pytest.raises(RemoteProtocolError, match="somebody else has asked"):
        verified(request_, **further)


def test_a_request_that_is_cut_off_is_malformed():
    with pytest.raises(MalformedMessageError):
        CloseRequest.decode(CloseRequest.by(KEY, ID, NOW).encode()[:-1])
