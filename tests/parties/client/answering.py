"""A collection with a page, a shuffler that the test plays, and the page in a browser."""

import os
from contextlib import contextmanager
from pathlib import Path

from parties.client.loading import watched
from parties.service.given import Parties
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.grammar import ReportError, ReportStatus, UploadRequest, UploadResponse
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.tokens import TokenRequest
from shuffledp.survey import Task

PICTURES = os.environ.get("SHUFFLEDP_PICTURES")  # a folder for screenshots, to be looked at
ADDRESS = "https://ask.example/survey.html"
RANDOMIZE, SEND, AGAIN = "Randomize my answer", "Send", "Send again"
SMOKES = {
    "column": "smokes",
    "question": "Do you smoke?",
    "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]},
}
ASKED_FOR = {"access-control-allow-headers": "content-type, authorization"}
NO_PATIENCE = "const real = performance.now.bind(performance); performance.now = () => 1000 * real();"


def asking(*blocks, **further):
    """A task of these questions."""
    release = {"delta": 1e-6, "minimum_batch": 10, "contact": "the office"}
    table = {"name": "survey", "language": "en", "value": list(blocks) or [SMOKES], "release": release}
    return Task.from_dict(table | further)


class Asked:
    """A collection with its page, and what the browser has sent to its shuffler."""

    def __init__(self, task=None, *, address=ADDRESS, parties=None):
        self.parties = parties or Parties(task or asking())
        self.collection, self.page = with_page(self.parties.collection, address)
        self.uploads, self.requests, self.mood = [], [], "up"
        self.shown, self.issued, self.issuer_mood, self.tries = [], [], "up", 0

    @property
    def link(self):
        return self.collection.page.link

    def reports(self, key=None):
        """The reports of the last upload, opened."""
        num_columns = len(self.collection.task.messages)
        (submission,) = UploadRequest.decode(self.uploads[-1], num_columns=num_columns).submissions
        key = key or self.parties.analyzer_key
        return [
            Opener.by([key], collection_id=self.collection.id, column=pool.number).open(report.ciphertext)
            for pool, report in zip(self.collection.task.messages, submission.reports, strict=True)
        ]

    def answer(self, route):
        """What the shuffler does with a request, as its mood is: up, down, or a `ReportError`."""
        assert route.request.url == f"{self.collection.shuffler.url}{self.collection.path}/reports"
        heard = {"access-control-allow-origin": self.collection.page.origin}
        if route.request.method == "OPTIONS":
            route.fulfill(status=204, headers=heard | ASKED_FOR)
            return
        body = route.request.post_data_buffer
        if not body and self.collection.issuer is not None:
            self.tries += 1
            if self.mood == "down":
                route.abort()
                return
            said = (Problem.NOT_AUTHORIZED if self.mood == "closed" else Problem.OTHER_TOKEN).response()
            route.fulfill(status=said.status_code, body=said.body, headers=heard)
            return
        self.uploads.append(body)
        self.shown.append(route.request.headers.get("authorization"))
        if self.mood in ("down", "lost"):  # all, or all but what only asks whether the way is open
            route.abort()
            return
        request = UploadRequest.decode(body, num_columns=len(self.collection.task.messages))
        refused = () if self.mood == "up" else (ReportStatus(request.submissions[0].id, self.mood),)
        route.fulfill(body=UploadResponse.to(request, refused).encode(), headers=heard)

    def sign(self, route):
        """What the issuer does with a request, as its mood is: up, down, "used", or "wrong"."""
        assert route.request.url == f"{self.collection.issuer.url}{self.collection.path}/token-request"
        heard = {"access-control-allow-origin": self.collection.page.origin}
        if route.request.method == "OPTIONS":
            route.fulfill(status=204, headers=heard | ASKED_FOR)
            return
        body = route.request.post_data_buffer
        self.issued.append((route.request.headers["authorization"], body))
        if self.issuer_mood == "down":
            route.abort()
            return
        if self.issuer_mood == "used":
            said = Problem.INVITATION_USED.response()
            route.fulfill(status=said.status_code, body=said.body, headers=heard)
            return
        signed = blind_sign(self.parties.issuer_key.private_key, TokenRequest.decode(body).blinded_msg)
        wrong = self.issuer_mood == "wrong"
        route.fulfill(body=signed[:-1] + bytes([signed[-1] ^ 1]) if wrong else signed, headers=heard)

    @contextmanager
    def device(self, browser, **further):
        """A browser of somebody who has not answered; it may send to nobody but the shuffler."""
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}} | further)
        context.add_init_script(NO_PATIENCE)
        context.on("request", lambda request: self.requests.append((request.method, request.url)))
        served = {"body": self.page, "content_type": "text/html"}
        context.route(f"{self.collection.page.url}*", lambda route: route.fulfill(**served))
        context.route(f"{self.collection.shuffler.url}/**", self.answer)
        if self.collection.issuer is not None:
            context.route(f"{self.collection.issuer.url}/**", self.sign)
        yield context
        context.close()

    @contextmanager
    def opened(self, context, link=None):
        """The page in a tab; nothing may go wrong in it."""
        tab = context.new_page()
        wrong = watched(tab)
        tab.goto(link or self.link)
        tab.locator("#facts time").wait_for()
        yield tab
        assert wrong == []


LATE = ReportError.TASK_EXPIRED


def randomize(tab):
    """Let the page randomize what is filled in, and wait until it shows what of."""
    tab.get_by_role("button", name=RANDOMIZE).click()
    tab.get_by_role("heading", name="This is what will be sent").wait_for()
    return tab.locator("#randomized dd").all_inner_texts()


def says(tab, text):
    """Wait until the page says this."""
    tab.locator("#notice").get_by_text(text).wait_for()


def picture(tab, name):
    """The whole page as it looks, where somebody wants to see it."""
    if PICTURES:
        tab.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)
