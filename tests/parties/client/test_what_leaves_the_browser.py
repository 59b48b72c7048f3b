"""The row of docs/threat-model.md on whoever serves the page, and that nothing of a person is in what anybody logs."""

import hashlib
import http.server
import re
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from parties.client.answering import RANDOMIZE, SEND, asking, says
from parties.client.loading import watched
from parties.client.test_page_and_services import laid_out, with_invitations
from parties.service.processes import place
from parties.service.relay import Relay
from parties.service.test_who_sees_what import BY_INVITATION, TRANSPORTS, of_disk

pytestmark = pytest.mark.deep

NAME = "survey of one question"
ANSWERS = ["an answer to be found", "another to be found"]
ASKED = {
    "column": "opinion",
    "question": "What is it?",
    "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ANSWERS},
}


class PageServer:
    """Whoever serves the page: serves what it is told to, and keeps all that it is sent."""

    def __init__(self):
        self.page, self.seen = b"", []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.seen.append((self.command, self.path, sorted(self.headers.items()), b""))
                self.answer(200, outer.page)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.seen.append((self.command, self.path, sorted(self.headers.items()), body))
                self.answer(200, b"")

            def answer(self, status, body):
                self.send_response_only(status)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """It keeps a better log."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


@dataclass
class Visits:
    """Two people who answered, differently, and what everybody got of it."""

    collection: object
    links: list
    seen: list  # of each person, by whoever serves the page
    requests: list = field(default_factory=list)  # of the browsers: to whom, with which head and which body
    titles: set = field(default_factory=set)
    left: dict = field(default_factory=dict)  # logs and disks of the parties

    @property
    def codes(self):
        return [link.rpartition("=")[2] for link in self.links if "invitation=" in link]

    @property
    def tokens(self):
        shown = [
            re.fullmatch('PrivateToken token="(.+)"', head.get("authorization", "")) for _, head, _ in self.requests
        ]
        return [each[1] for each in shown if each]


def answer(browser, link, text, visits):
    """Somebody answers, in a browser of their own."""
    with browser.new_context() as context:
        tab = context.new_page()
        wrong, requests = watched(tab), []
        context.on("request", lambda request: requests.append((request, request.url)))
        tab.goto(link)
        visits.titles.add(tab.title())
        tab.get_by_label(text).check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        tab.get_by_role("button", name=SEND).wait_for()
        visits.titles.add(tab.title())
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
        visits.titles.add(tab.title())
        visits.requests += [(url, each.all_headers(), each.post_data_buffer or b"") for each, url in requests]
        assert context.cookies() == wrong == []


def visited(browser, transport, folder):
    kind, through_relay = TRANSPORTS[transport]
    (folder / "public").mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(PageServer().running())
        relay = stack.enter_context(Relay().running()) if through_relay else None
        further = {"relay": relay.url} if relay else {}
        where = stack.enter_context(place(folder, asking(ASKED, name=NAME), kind=kind, **further))
        collection = laid_out(where, folder, server.address)
        server.page = (folder / "public" / "survey.html").read_bytes()
        if relay:
            relay.origin, relay.gateway = server.address, f"{where.url}/gateway"
        if transport in BY_INVITATION:
            made = with_invitations(where, folder, collection, len(ANSWERS))
            links = [each.link(collection.page) for each in made]
        else:
            links = [collection.page.link] * len(ANSWERS)
            where.start("shuffler")
        visits = Visits(collection, links, [])
        for link, text in zip(links, ANSWERS, strict=True):
            server.seen.clear()
            answer(browser, link, text, visits)
            visits.seen.append(list(server.seen))
        for role, process in where.running.items():
            process.end()
            visits.left[role] = of_disk(where, role)
        return visits


@pytest.fixture(scope="module", params=TRANSPORTS)
def visits(request, browser, tmp_path_factory):
    found = visited(browser, request.param, tmp_path_factory.mktemp(request.param))
    assert len(found.codes) == (len(ANSWERS) if request.param in BY_INVITATION else 0)
    assert len(found.tokens) == (len(ANSWERS) if request.param == "token" else 0)  # else they are sealed
    return found


def test_whoever_serves_the_page_sees_that_it_is_opened_and_no_more(visits):
    first, second = visits.seen
    assert first == second  # whatever is answered, and by whichever invitation
    ((method, path, head, body),) = first
    assert (method, path, body) == ("GET", "/survey.html", b"")
    assert not {"referer", "cookie", "authorization"} & {name.lower() for name, _ in head}


def test_no_address_title_or_referrer_says_what_was_answered_or_by_which_link(visits):
    secret = [visits.collection.page.sha256, *visits.codes, *visits.tokens, *ANSWERS]
    assert visits.titles == {NAME}
    for url, head, body in visits.requests:
        assert not {"referer", "cookie"} & set(head)
        said = " ".join([url, *(value for name, value in head.items() if name != "authorization")])
        assert not any(each in said or each.encode() in body for each in secret), url
    to = {url.partition("/collections/")[0] for url, head, _ in visits.requests if "authorization" in head}
    issuer = visits.collection.issuer
    signing = {issuer.url} if issuer else set()
    assert to == signing | ({visits.collection.shuffler.url} if visits.tokens else set())


def test_no_log_and_no_disk_holds_an_answer_a_token_or_a_link(visits):
    for role, left in visits.left.items():
        for secret in (visits.collection.page.sha256, *visits.codes, *visits.tokens, *ANSWERS):
            assert secret.encode() not in left, role


OTHER = b"""<!doctype html><title>survey</title><label><input type="radio">an answer to be found</label>
<button onclick="fetch('/kept', {method: 'POST', body: document.querySelector('label').textContent})">Send</button>"""


def test_whoever_serves_another_page_gets_the_answer_and_its_digest_is_not_that_of_the_link(browser, tmp_path):
    (tmp_path / "public").mkdir()
    with PageServer().running() as server, place(tmp_path, asking(ASKED)) as where:
        collection = laid_out(where, tmp_path, server.address)
        server.page = OTHER
        with browser.new_context() as context:
            tab = context.new_page()
            tab.goto(collection.page.link)
            with tab.expect_response(f"{server.address}/kept"):
                tab.get_by_role("button", name=SEND).click()
    assert [body for _, path, _, body in server.seen if path == "/kept"] == [ANSWERS[0].encode()]
    assert hashlib.sha256(OTHER).hexdigest() != collection.page.sha256
    assert "page" in {each.name.lower() for each in collection.trust}
