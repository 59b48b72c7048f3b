"""People at the page, with real services and a server of files between them: from the link to the release."""

import functools
import http.server
import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime

from parties.client.answering import RANDOMIZE, SEND, asking, says
from parties.client.loading import watched
from parties.issuer.issuing import WithTokens
from parties.service.processes import place, until
from parties.service.relay import Relay
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.issuer.invitations import new_invitations
from shuffledp.parties.service.client import answer_to, new_client
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest

PEOPLE = 4


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        pass


@contextmanager
def files_served(folder):
    """The address of a folder, on another port than everything else."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def answer(browser, link):
    """Somebody answers Yes in a browser of their own; what the page asked for, and of whom."""
    context = browser.new_context()
    tab, requests = context.new_page(), []
    wrong = watched(tab)
    tab.on("request", lambda request: requests.append((request.method, request.url)))
    tab.goto(link)
    tab.get_by_label("Yes").check()
    tab.get_by_role("button", name=RANDOMIZE).click()
    tab.get_by_role("button", name=SEND).click()
    says(tab, "Stored by the shuffler")
    context.close()
    assert wrong == []
    return requests


def closed(where):
    """Close the collection, and wait for the release."""
    collection = where.parties.collection
    body = CloseRequest.by(where.parties.shuffler_key, collection.id, datetime.now(UTC)).encode()
    with new_client() as client:
        answer_to(client, "POST", f"{where.url}{collection.path}/close", 10.0, body=body, media_type=CLOSE_TYPE)
    until((where.release / "release.html").exists)
    return json.loads((where.release / "statement.json").read_text())


def laid_out(where, folder, address):
    """The collection with its page, each written to where its readers look; the services are still to be started."""
    collection, page = with_page(where.parties.collection, f"{address}/survey.html")
    where.parties.collection = collection
    (folder / "survey.collection").write_bytes(collection.canonical)
    (folder / "public" / "survey.html").write_bytes(page)
    return collection


def with_invitations(where, folder, collection, people=PEOPLE):
    """The invitations of all people, once the issuer knows them and all services run."""
    invitations, listed = new_invitations(collection, people)
    (folder / "invited.json").write_text(listed.written())
    for role in ("issuer", "shuffler", "analyzer"):
        where.start(role)
    return invitations


def test_people_answer_on_a_page_that_others_serve_and_the_release_names_it(browser, tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    task = asking(release={"delta": 1e-6, "minimum_batch": PEOPLE})
    with files_served(public) as address, place(tmp_path, task) as where:
        collection = laid_out(where, tmp_path, address)
        where.start("shuffler")
        where.start("analyzer")
        seen = [answer(browser, collection.page.link) for _ in range(PEOPLE)]
        released = closed(where)
        log = where.log("shuffler").read_text()
    upload = f"{where.url}{collection.path}/reports"
    assert {each for requests in seen for each in requests} == {("GET", f"{address}/survey.html"), ("POST", upload)}
    assert [column["num_reports"] for column in released["columns"]] == [PEOPLE]
    statement = released["statements"][0]
    assert statement["trust"][:2] == ["page", "one-answer"]
    assert {"role": "page", "name": collection.page.words} in statement["parties"]
    assert "127.0.0.1" not in log


def test_invited_people_answer_once_each_on_a_page(browser, tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    task = asking(release={"delta": 1e-6, "minimum_batch": PEOPLE})
    with files_served(public) as address, place(tmp_path, task, kind=WithTokens) as where:
        collection = laid_out(where, tmp_path, address)
        invitations = with_invitations(where, tmp_path, collection)
        links = [each.link(collection.page) for each in invitations]
        seen = [answer(browser, link) for link in links]
        with browser.new_context() as other:  # the same person once more, on another device
            tab = other.new_page()
            tab.goto(links[0])
            tab.get_by_label("No").check()
            tab.get_by_role("button", name=RANDOMIZE).click()
            tab.get_by_role("button", name=SEND).click()
            says(tab, "This invitation has been used")
        released = closed(where)
        logs = where.log("shuffler").read_text() + where.log("issuer").read_text()
    to = {url for requests in seen for _, url in requests}
    paths = (f"{collection.issuer.url}{collection.path}/token-request", f"{where.url}{collection.path}/reports")
    assert to == {f"{address}/survey.html", *paths}
    assert [column["num_reports"] for column in released["columns"]] == [PEOPLE]
    assert released["statements"][0]["trust"][0] == "page"
    assert "issuer" in released["statements"][0]["trust"]
    assert not any(each.code in logs for each in invitations)


def test_invited_people_answer_on_a_page_through_a_relay(browser, tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    task = asking(release={"delta": 1e-6, "minimum_batch": PEOPLE})
    with (
        Relay().running() as relay,
        files_served(public) as address,
        place(tmp_path, task, kind=WithTokens, relay=relay.url) as where,
    ):
        relay.origin, relay.gateway = address, f"{where.url}/gateway"
        collection = laid_out(where, tmp_path, address)
        invitations = with_invitations(where, tmp_path, collection)
        seen = [answer(browser, each.link(collection.page)) for each in invitations]
        released = closed(where)
    to = {url for requests in seen for _, url in requests}
    assert to == {f"{address}/survey.html", f"{collection.issuer.url}{collection.path}/token-request", relay.url}
    assert len({(len(body), len(reply)) for _, body, reply in relay.seen}) == 1
    assert [column["num_reports"] for column in released["columns"]] == [PEOPLE]
    assert {"page", "issuer", "relay-apart"} <= set(released["statements"][0]["trust"])
