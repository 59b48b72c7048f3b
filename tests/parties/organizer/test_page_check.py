"""The page that is served is compared with the link, byte by byte, and what invites one person stays here."""

import hashlib

import httpx
import pytest

from parties.client.answering import ADDRESS, asking
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.organizer.page_check import check_page, page_of_link

COLLECTION, PAGE = with_page(Parties(asking()).collection, ADDRESS)


def checked(content, status=200):
    requests = []

    def serve(request):
        requests.append(str(request.url))
        return httpx.Response(status, content=content)

    with httpx.Client(transport=httpx.MockTransport(serve)) as client:
        found = check_page(page_of_link(f"{COLLECTION.page.link}&invitation=SECRET"), client)
    assert requests == [ADDRESS]
    return found


def test_the_right_page_has_the_collection_inside():
    assert checked(PAGE) == COLLECTION
    assert checked(PAGE).id == COLLECTION.id


@pytest.mark.parametrize(
    "content", [PAGE.replace(b"smoke", b"drink"), PAGE + b"\n", PAGE[:-1], b"", PAGE + bytes(1 << 21)]
)
def test_another_page_is_said_to_be_another_one(content):
    with pytest.raises(RemoteProtocolError, match="it is ANOTHER ONE"):
        checked(content)


def test_what_asks_nothing_may_be_the_result():
    with pytest.raises(RemoteProtocolError, match=r"it is ANOTHER ONE.* it may be the result"):
        checked(b"<!doctype html><h1>Result</h1>")
    with pytest.raises(RemoteProtocolError) as another:
        checked(PAGE + b"\n")
    assert "result" not in str(another.value)


@pytest.mark.parametrize("status", [404, 302, 500])
def test_an_answer_that_is_no_page_is_said(status):
    with pytest.raises(RemoteProtocolError, match=f"the answer there is {status}"):
        checked(PAGE, status)


def test_silence_is_said():
    def nobody(request):
        raise httpx.ConnectError("refused", request=request)

    client = httpx.Client(transport=httpx.MockTransport(nobody))
    with client, pytest.raises(RemoteProtocolError, match="nothing answers there"):
        check_page(COLLECTION.page, client)


def test_a_page_with_the_right_digest_may_be_of_another_version():
    other = b"<!doctype html><p>of another version</p>"
    page = with_digest(other)
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=other))) as client:
        assert check_page(page, client) is None


def with_digest(content):
    return page_of_link(f"{ADDRESS}#page={hashlib.sha256(content).hexdigest()}")


@pytest.mark.parametrize("link", ["", ADDRESS, f"{ADDRESS}#page=SECRET", f"http://example.org/#page={64 * 'a'}"])
def test_what_is_no_whole_link_is_refused_and_not_repeated(link):
    with pytest.raises(InvalidParameterError) as refused:
        page_of_link(link)
    assert "SECRET" not in str(refused.value)
