"""Pages at the shuffler: served as they are, and heard from where the collection says that they are."""

import asyncio

import httpx
import pytest
from starlette.responses import PlainTextResponse

from parties.issuer.issuing import WithTokens
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.web_pages import AppWithPages, read_pages
from shuffledp.survey import WebPage

OWN, ELSEWHERE = "https://mixer.example/pages/survey", "https://ask.example/survey.html"


@pytest.fixture(scope="module")
def pages():
    """A collection and its page, at the shuffler and elsewhere."""
    return {url: with_page(Parties().collection, url) for url in (OWN, ELSEWHERE)}


@pytest.fixture
def beside(tmp_path, pages):
    """The files of a collection, whose page is where it is told."""

    def write(url):
        file = tmp_path / "survey.collection"
        file.write_bytes(pages[url][0].canonical)
        WebPage.beside(file).write_bytes(pages[url][1])
        return [(pages[url][0], file)]

    return write


def asked(app, method, path, **headers):
    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="https://mixer.example") as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(ask())


def served(collections, pages):
    return AppWithPages(PlainTextResponse("taken"), collections, pages)


def test_the_shuffler_serves_the_page_that_the_collection_names_and_none_that_others_serve(beside, pages):
    assert read_pages(beside(OWN)) == {"/pages/survey": pages[OWN][1]}
    assert read_pages(beside(ELSEWHERE)) == {}
    assert read_pages([(Parties().collection, None)]) == {}


def test_a_page_that_is_absent_or_another_is_refused(beside):
    ((collection, file),) = beside(OWN)
    page = WebPage.beside(file)
    page.write_bytes(page.read_bytes() + b" ")
    with pytest.raises(InvalidParameterError, match=r"digest that its collection names; .*survey\.html has another"):
        read_pages([(collection, file)])
    page.unlink()
    with pytest.raises(InvalidParameterError, match=r"must be beside it; got .*survey\.html: No such file"):
        read_pages([(collection, file)])


def test_the_page_comes_as_it_is_and_may_not_be_framed(beside, pages):
    app = served([pages[OWN][0]], read_pages(beside(OWN)))
    found = asked(app, "GET", "/pages/survey")
    assert found.content == pages[OWN][1]
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    assert found.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert "camera=(), microphone=(), geolocation=()" in found.headers["permissions-policy"]
    assert asked(app, "POST", "/pages/survey").text == "taken"


def test_a_browser_may_send_from_where_the_page_is_and_reads_the_answer(pages):
    collection, without = pages[ELSEWHERE][0], Parties().collection
    app = served([collection, without], {})
    path = f"{collection.path}/reports"
    allowed = asked(app, "OPTIONS", path, origin="https://evil.example")
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == "https://ask.example"
    assert allowed.headers["access-control-allow-methods"] == "POST"
    assert allowed.headers["access-control-allow-headers"] == "content-type"
    assert asked(app, "POST", path).headers["access-control-allow-origin"] == "https://ask.example"
    for other in (f"{without.path}/reports", collection.path, f"{collection.path}/close"):
        assert "access-control-allow-origin" not in asked(app, "POST", other).headers


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Ask.Example/Survey", "https://ask.example"),
        ("https://ask.example:443/survey", "https://ask.example"),
        ("https://ask.example:8443", "https://ask.example:8443"),
        ("http://127.0.0.1:0080/survey", "http://127.0.0.1"),
        ("http://[0:0::1]:8000/survey", "http://[::1]:8000"),
    ],
)
def test_a_browser_is_heard_however_the_address_of_the_page_is_written(address, origin):
    collection, _ = with_page(Parties().collection, address)
    app = served([collection], {})
    allowed = asked(app, "OPTIONS", f"{collection.path}/reports", origin=origin)
    assert allowed.headers["access-control-allow-origin"] == origin


def test_where_there_are_tokens_a_page_may_show_one_and_ask_the_issuer_for_it():
    collection, _ = with_page(WithTokens().collection, ELSEWHERE)
    for way in ("reports", "token-request"):
        app = AppWithPages(PlainTextResponse("taken"), [collection], {}, way=way)
        for path in ("reports", "token-request"):
            answer = asked(app, "OPTIONS", f"{collection.path}/{path}").headers
            assert answer.get("access-control-allow-origin") == ("https://ask.example" if path == way else None)
            assert answer.get("access-control-allow-headers") == (
                "content-type, authorization" if path == way else None
            )


def test_behind_a_relay_the_shuffler_hears_no_page_and_the_issuer_does():
    collection, _ = with_page(WithTokens(relay="https://relay.example").collection, ELSEWHERE)
    for way, origin in (("reports", None), ("token-request", "https://ask.example")):
        app = AppWithPages(PlainTextResponse("taken"), [collection], {}, way=way)
        answer = asked(app, "OPTIONS", f"{collection.path}/{way}").headers
        assert answer.get("access-control-allow-origin") == origin
