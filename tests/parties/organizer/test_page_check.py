"""The page that is served is compared with the link, byte by byte, and what invites one person stays here."""

import hashlib

import httpx
import pytest

from parties.client.answering import ADDRESS, asking
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.documents.collections.published_document import published_document
from shuffledp.documents.page import page_of
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


def test_a_result_is_no_page_that_asks_in_the_place_of_another():
    for results in ([None], [None, None]):
        told = [("2026-12-01", each) for each in results]
        result = page_of(published_document(COLLECTION, told, ["this."]))
        with pytest.raises(RemoteProtocolError, match=r"nobody can answer at .* shows the result") as caught:
            checked(result)
        assert "ANOTHER ONE" not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        "<script>1</script>",
        "<form action=https://x.example><button>Yes</button></form>",
        "<a href=https://x.example>Answer here</a>",
        "<meta http-equiv=Refresh content='0; url=https://x.example'>",
        "<b onclick=1>Yes</b>",
        "<svg><a/></svg>",
        "<iframe>",
        "",
    ],
)
def test_whatever_could_ask_or_lead_elsewhere_is_another_page(more):
    with pytest.raises(RemoteProtocolError, match="ANOTHER ONE"):
        checked(f"<!doctype html><h1>Result</h1>{more}".encode() if more else b"")


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
