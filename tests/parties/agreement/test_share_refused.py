"""One host of a sum does not take a person's share: the error promises a next time only where one can come."""

import httpx
import pytest

from parties.agreement.summing import Sum
from shuffledp.core.errors import RemoteProtocolError, UnreachableError
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.service.device_memory import DeviceMemory, answer_hosts
from shuffledp.parties.wire.grammar import UploadResponse


def hosts_with(answer):
    """Client for three hosts, of which the second gives this answer."""
    taken = UploadResponse.padded(1, ()).encode()
    return httpx.Client(
        transport=httpx.MockTransport(
            lambda request: answer if request.url.host == "host1.example" else httpx.Response(200, content=taken)
        )
    )


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (503, UnreachableError, "503. Run the same command again later. Its share is kept for the next time; 2 of 3"),
        (403, RemoteProtocolError, "must answer; got: 403. 2 of 3 answered"),
    ],
)
def test_a_host_that_is_away_gets_its_share_next_time_and_one_that_refuses_is_said_to_refuse(
    tmp_path, status, error, says
):
    given = Sum.new()
    memory = DeviceMemory(given.collection.id, tmp_path)
    table = CsvInMemory(b"wage\n55\n")
    with hosts_with(httpx.Response(status)) as client, pytest.raises(error) as raised:
        answer_hosts(given.collection, lambda: randomize_each(given.task, table), memory, client, patience=0.0)
    assert says in str(raised.value)
    assert type(raised.value) is error
    assert memory.pending() is not None  # the share is kept in any case
