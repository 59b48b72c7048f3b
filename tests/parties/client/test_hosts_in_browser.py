"""A sum over several hosts on the page on which people answer: each gets its shares, later if it was away."""

import json

import pytest

from parties.agreement.summing import Sum, sum_task
from parties.client.answering import ADDRESS, AGAIN, ASKED_FOR, NO_PATIENCE, SEND, picture, randomize, says
from parties.client.loading import watched
from parties.issuer.issuing import issuer_key
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.wire.agreement_messages import SET_ID
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.grammar import ReportError, ReportStatus, UploadRequest, UploadResponse
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.keys import in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.parties.wire.tokens import Token, TokenCheck, TokenRequest
from shuffledp.survey import Service

PHONE = {"viewport": {"width": 400, "height": 800}}


class Several:
    """Three hosts that the test plays, and the page of their collection."""

    def __init__(self, *, is_invited=False, **protocol):
        self.issuer_key, further = issuer_key(), {}
        if is_invited:
            published = PublishedKey.of(self.issuer_key, active_from="2020-01-01T00:00:00Z")
            further = {"transport": "token", "issuer": Service(url="https://issuer.example", key=published)}
        self.given = Sum.new(task=sum_task(3, **protocol), **further)
        self.shown, self.issued = {}, []
        self.collection, self.page = with_page(self.given.collection, ADDRESS)
        self.uploads = {host: [] for host in range(3)}
        self.moods = dict.fromkeys(range(3), "up")

    def answer(self, host):
        def answered(route):
            heard = {"access-control-allow-origin": self.collection.page.origin}
            if route.request.method == "OPTIONS":
                route.fulfill(status=204, headers=heard | ASKED_FOR)
                return
            body = route.request.post_data_buffer
            if not body:  # whether the way is open, before an invitation is used for it
                said = Problem.OTHER_TOKEN.response()
                route.fulfill(status=said.status_code, body=said.body, headers=heard)
                return
            self.uploads[host].append(body)
            self.shown[host] = route.request.headers.get("authorization")
            if self.moods[host] == "down":
                route.abort()
                return
            request = UploadRequest.decode(body, num_columns=len(self.pools(host)))
            refused = ()
            if self.moods[host] != "up":
                refused = (ReportStatus(request.submissions[0].id, self.moods[host]),)
            route.fulfill(body=UploadResponse.to(request, refused).encode(), headers=heard)

        return answered

    def sign(self, route):
        """What the issuer does with a request for a token: it signs it."""
        heard = {"access-control-allow-origin": self.collection.page.origin}
        if route.request.method == "OPTIONS":
            route.fulfill(status=204, headers=heard | ASKED_FOR)
            return
        self.issued.append(route.request.post_data_buffer)
        signed = blind_sign(self.issuer_key.private_key, TokenRequest.decode(self.issued[-1]).blinded_msg)
        route.fulfill(body=signed, headers=heard)

    def pools(self, host):
        """The pool of each message for a host."""
        return [pool for pool in self.collection.task.messages if pool.host == host]

    def device(self, browser):
        context = browser.new_context(**PHONE)
        context.add_init_script(NO_PATIENCE)
        context.route(f"{ADDRESS}*", lambda route: route.fulfill(body=self.page, content_type="text/html"))
        for host, each in enumerate(self.collection.hosts):
            context.route(f"{each.url}/**", self.answer(host))
        context.route("https://issuer.example/**", self.sign)
        return context

    def told(self):
        """Residues of the last upload to each host, and the set id of each."""
        model, residues, sets = self.given.model, [], []
        for host, bodies in self.uploads.items():
            pools = self.pools(host)
            (submission,) = UploadRequest.decode(bodies[-1], num_columns=len(pools)).submissions
            first, *others = [report.public_extensions for report in submission.reports]
            assert [each.type for each in first] == [SET_ID]
            assert not any(others)
            sets.append(first[0].data)
            blobs = [
                Opener.by([self.given.analyst], collection_id=self.collection.id, column=pool.number).open(
                    report.ciphertext
                )
                for pool, report in zip(pools, submission.reports, strict=True)
            ]
            reports, malformed = ReportLayout.of(model).decode(blobs)
            assert not malformed.size
            residues += reports["residue"].tolist()
        return residues, sets


@pytest.fixture
def several():
    return Several()


def test_each_host_gets_its_shares_and_all_of_them_add_up_to_the_answer(several, browser):
    context = several.device(browser)
    tab = context.new_page()
    wrong = watched(tab)
    tab.goto(several.collection.page.link)
    dangers = tab.locator("#sentences .danger").all_inner_texts()
    assert any("If one of" in each and "host2.example" in each for each in dangers)
    tab.get_by_role("spinbutton").fill("70")
    picture(tab, "several-hosts")
    randomize(tab)
    tab.get_by_role("button", name=SEND).click()
    says(tab, "Stored by the shuffler")
    residues, sets = several.told()
    model = several.given.model
    assert len(residues) == model.num_messages
    assert len(set(sets)) == 1
    off = (sum(residues) - round(70 / 100 * model.precision)) % model.modulus
    assert min(off, model.modulus - off) < 1 + 60 / float(model.rate)
    assert wrong == []
    context.close()


def test_the_page_says_of_how_many_hosts_none_may_work_with_the_analyst():
    page = Several(colluding_hosts=1, epsilon=4.0).page.decode()
    assert "If more than 1 of https://host0.example, https://host1.example and https://host2.example work" in page


def test_a_host_that_was_away_gets_the_same_upload_later_and_no_other_gets_a_second_one(several, browser):
    """Mutant: the page seals another set for the second try, so that no set is complete."""
    several.moods[1] = "down"
    context = several.device(browser)
    tab = context.new_page()
    tab.goto(several.collection.page.link)
    tab.get_by_role("spinbutton").fill("20")
    randomize(tab)
    tab.get_by_role("button", name=SEND).click()
    says(tab, "did not answer")
    stored = {host: len(bodies) for host, bodies in several.uploads.items()}
    several.moods[1] = "up"
    tab.reload()
    tab.get_by_role("button", name=AGAIN).or_(tab.get_by_role("button", name=SEND)).click()
    says(tab, "Stored by the shuffler")
    assert {host: len(bodies) for host, bodies in several.uploads.items() if host != 1} == {0: stored[0], 2: stored[2]}
    assert len(set(several.uploads[1])) == 1
    assert len(set(several.told()[1])) == 1
    kept = json.loads(tab.evaluate("JSON.stringify(Object.values({...localStorage}))"))
    assert kept == ["answered"]
    context.close()


def test_a_host_that_takes_no_more_is_named_as_the_reason(several, browser):
    several.moods[2] = ReportError.TASK_EXPIRED
    says_after_sending(several, browser, "The collection is closed")


def says_after_sending(several, browser, said):
    """What the page says of an answer that a new device sends to all hosts."""
    context = several.device(browser)
    tab = context.new_page()
    tab.goto(several.collection.page.link)
    tab.get_by_role("spinbutton").fill("20")
    randomize(tab)
    tab.get_by_role("button", name=SEND).click()
    says(tab, said)
    context.close()


@pytest.mark.deep
@pytest.mark.parametrize("reason", [ReportError.HPKE_UNKNOWN_CONFIG_ID, ReportError.OUTDATED_CONFIG])
def test_a_host_that_knows_no_key_of_the_collection_has_refused(several, browser, reason):
    """Mutant: the outcome of such a host is left as it is, for which the page has no words."""
    several.moods[1] = reason
    says_after_sending(several, browser, "The shuffler refused it. Your sealed answer stays on this device")


def test_whoever_is_invited_shows_each_host_a_token_of_its_own_also_after_a_pause(browser):
    """Mutant: one token for all hosts, by which they know together who sent what."""
    invited = Several(is_invited=True)
    invited.moods[0] = "down"
    context = invited.device(browser)
    tab = context.new_page()
    wrong = watched(tab)
    tab.goto(f"{invited.collection.page.link}&invitation={in_text(bytes(16))}")
    tab.get_by_role("spinbutton").fill("20")
    randomize(tab)
    tab.get_by_role("button", name=SEND).click()
    says(tab, "did not answer")
    invited.moods[0] = "up"
    tab.reload()
    tab.get_by_role("button", name=AGAIN).or_(tab.get_by_role("button", name=SEND)).click()
    says(tab, "Stored by the shuffler")
    assert len(invited.issued) == len(set(invited.issued)) == 3
    checks = [TokenCheck(invited.collection.challenge_at(host), [invited.issuer_key.public]) for host in range(3)]
    for host, check in enumerate(checks):
        check(Token.of_shown(invited.shown[host]))
        with pytest.raises(RemoteProtocolError):
            check(Token.of_shown(invited.shown[(host + 1) % 3]))
    assert tab.evaluate("Object.values({...localStorage})") == ["answered"]
    assert [each for each in wrong if "net::ERR_FAILED" not in each] == []
    context.close()
