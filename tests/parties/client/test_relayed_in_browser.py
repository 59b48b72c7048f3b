"""People at the page of a collection behind a relay: what the relay sees, and a gateway's key that has had its time."""

from datetime import timedelta

import pytest

from parties.client.answering import ASKED_FOR, SEND, Asked, asking, randomize, says
from parties.service.given import Parties
from shuffledp.core.instants import written
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse
from shuffledp.parties.wire.grammar import UPLOAD_ERRORS_TYPE, UPLOAD_TYPE, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import GatewayKey, in_text
from shuffledp.parties.wire.oblivious_http import LONGER_BY, OHTTP_REQUEST, Gateway

RELAY, SECOND = "https://relay.example", "https://second.example/survey"


class Relayed(Asked):
    """A collection behind a relay, both of which the test plays; ``keys`` are what the gateway takes."""

    def __init__(self, **further):
        first, second = GatewayKey.generate(), None
        while second is None or second.config.id == first.config.id:
            second = GatewayKey.generate()
        now = Parties().now
        until = {"expires": written(now + timedelta(hours=12)), "successors": (in_text(second.public),)}
        self.both, self.keys, self.sealed = [first, second], [first], []
        given = {"relay": RELAY, "gateway_key": first, "gateway_until": until} | further
        super().__init__(parties=Parties.with_relay(asking(), **given))

    def pass_on(self, route):
        """What the gateway makes of a request."""
        request = route.request
        heard = {"access-control-allow-origin": self.collection.page.origin}
        if request.method == "OPTIONS":
            route.fulfill(status=204, headers=heard | ASKED_FOR)
            return
        assert request.headers["content-type"] == OHTTP_REQUEST
        assert "authorization" not in request.headers
        body = request.post_data_buffer
        self.sealed.append(body)
        if self.mood == "down":
            route.abort()
            return
        if body[0] not in {key.config.id for key in self.keys}:
            said = Problem.OTHER_GATEWAY_KEY.response()
            route.fulfill(status=said.status_code, body=said.body, headers=heard)
            return
        inside, exchange, _ = Gateway.by(self.keys).open(body)
        found = BinaryRequest.decode(inside)
        assert (found.method, found.authority) == (b"POST", b"mixer.example")
        assert found.path.decode() == f"{self.collection.path}/reports"
        assert found.fields == ((b"content-type", UPLOAD_TYPE.encode()),)
        self.uploads.append(found.content)
        taken = UploadResponse.to(UploadRequest.decode(found.content, num_columns=1), ()).encode()
        answer = BinaryResponse(200, ((b"content-type", UPLOAD_ERRORS_TYPE.encode()),), taken).encode(length=1024)
        route.fulfill(body=exchange.seal(answer), headers=heard)


@pytest.fixture
def asked():
    return Relayed()


@pytest.fixture
def device(asked, browser):
    with asked.device(browser) as context:
        context.route(f"{RELAY}/**", asked.pass_on)
        yield context


def test_an_answer_goes_to_the_relay_alone_which_sees_a_message_of_a_usual_length(asked, device):
    asked.mood = "down"
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        asked.mood = "up"
        tab.get_by_role("button", name="Send again").click()
        says(tab, "Stored by the shuffler")
    assert {len(each) for each in asked.sealed} == {1024 + LONGER_BY}
    assert len(set(asked.sealed)) == len(asked.sealed) > 1  # sealed anew each time
    assert len(asked.uploads) == 1
    assert asked.reports()[0] in (b"\0", b"\1")
    assert {url for _, url in asked.requests} == {asked.link.partition("#")[0], f"{RELAY}/"}


def test_where_the_gateway_has_another_key_the_named_successor_is_sealed_to_and_no_other(asked, device):
    asked.keys = asked.both[1:]
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert [each[0] for each in asked.sealed] == [key.config.id for key in asked.both]
    assert len(asked.uploads) == 1


def test_where_the_gateway_takes_no_named_key_nothing_is_sent(asked, device):
    asked.keys = []
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler refused it")
    assert len(asked.sealed) == 2
    assert asked.uploads == []


@pytest.mark.parametrize(("hours", "first"), [(-24, 0), (24, 1)])
def test_a_clock_that_is_wrong_by_a_day_seals_to_a_key_that_the_gateway_takes_or_asks_once_more(
    asked, device, hours, first
):
    device.clock.set_fixed_time(asked.parties.now + timedelta(hours=hours))
    asked.keys = asked.both[1:]  # the first has had its time
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert [each[0] for each in asked.sealed] == [key.config.id for key in asked.both[first:]]
    assert len(asked.uploads) == 1


@pytest.mark.parametrize("first", [None, 502, 404])
def test_where_the_first_of_two_relays_does_not_pass_it_on_the_second_does(browser, first):
    asked = Relayed(second_relay=SECOND)
    tried = []

    def away(route):
        tried.append(route.request.method)
        if first is None:
            route.abort()
        else:
            route.fulfill(status=first, body="no relay", headers={"access-control-allow-origin": "*"} | ASKED_FOR)

    with asked.device(browser) as device:
        device.route(f"{RELAY}/**", away)
        device.route(f"{SECOND}*", asked.pass_on)
        with asked.opened(device) as tab:
            assert f"{RELAY} (or {SECOND}, where that does not answer) sees" in tab.locator("#sentences").inner_text()
            tab.get_by_label("Yes").check()
            randomize(tab)
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
    assert tried
    assert len(asked.uploads) == 1
