"""One survey three ways: directly, with tokens, and with tokens through a relay by people at the page in a browser.

The devices draw the same random words, in a browser by a source that the test puts in the place of its own, so that the
three views must be the same reports.
"""

import random
from collections import Counter

import pytest

from parties.client.answering import RANDOMIZE, SEND, asking, picture, says
from parties.client.loading import watched
from parties.client.test_page_and_services import closed, files_served, laid_out, with_invitations
from parties.issuer.issuing import WithTokens
from parties.service.at_work import sealed
from parties.service.processes import place
from parties.service.relay import Relay
from shuffledp.files.parquet import read_view
from shuffledp.parties.service import client as sending
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.testing import RecordedSource

PEOPLE = 30
CATEGORIES = ["never", "rarely", "monthly", "weekly", "daily"]
ASKED = {
    "column": "smokes",
    "question": "How often do you smoke?",
    "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": CATEGORIES},
}
DRAWN = random.Random(30)
CROWD = [(DRAWN.randrange(len(CATEGORIES)), DRAWN.getrandbits(64)) for _ in range(PEOPLE)]  # answers, and words
RECORDED = """
const real = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => (array instanceof BigUint64Array ? array.fill(%dn) : real(array));
"""


def task():
    return asking(ASKED, release={"delta": 1e-6, "minimum_batch": PEOPLE})


def randomized(number):
    """What a person's device makes of the answer by the recorded word."""
    answer, word = CROWD[number]
    return task().column.randomizer.randomizer().randomize([answer], source=RecordedSource([word]))


def send_all(where, folder, invitations=()):
    """Everybody sends by a program of their own."""
    collection = where.parties.collection
    for number in range(PEOPLE):
        own, token = folder / f"device-{number}", ""
        own.mkdir()
        with sending.new_client(to=collection) as client:
            if invitations:
                token = DeviceToken(collection, own).get(invitations[number], client, patience=10.0).shown()
            upload = sealed(collection, [randomized(number)], config=where.parties.analyzer_key.config)
            body = UploadRequest(tuple(upload)).encode()
            assert sending.upload(collection, body, client, patience=10.0, token=token).refused == ()


def answer_all(browser, page, invitations):
    """Everybody opens the link in a browser of their own; what the page showed them before it was sent."""
    shown = []
    for (answer, word), invitation in zip(CROWD, invitations, strict=True):
        with browser.new_context() as context:
            context.add_init_script(RECORDED % word)
            tab = context.new_page()
            wrong = watched(tab)
            tab.goto(invitation.link(page))
            tab.get_by_label(CATEGORIES[answer]).check()
            tab.get_by_role("button", name=RANDOMIZE).click()
            tab.locator("#randomized dd").first.wait_for()
            shown += tab.locator("#randomized dd").all_inner_texts()
            if len(shown) == 1:
                picture(tab, "three-transports-page")
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
            assert wrong == []
    return shown


def released(where):
    """The values of the view and the statement, once the collection is closed."""
    statement = closed(where)["statements"][0]
    parts, _ = read_view(where.release / "smokes" / "release.parquet", where.parties.collection.task.columns[0])
    return Counter(value for part in parts for value in part.reports["value"].tolist()), statement


@pytest.fixture
def folders(tmp_path):
    made = [tmp_path / name for name in ("direct", "token", "oblivious")]
    for each in made:
        (each / "public").mkdir(parents=True)
    return made


def test_thirty_people_three_ways_are_one_view_and_one_promise(browser, folders):
    direct, token, oblivious = folders
    with place(direct, task()) as where:
        for role in ("shuffler", "analyzer"):
            where.start(role)
        send_all(where, direct)
        view, said = released(where)
    with place(token, task(), kind=WithTokens) as where:
        invitations = with_invitations(where, token, where.parties.collection, PEOPLE)
        send_all(where, token, invitations)
        with_tokens, said_with_tokens = released(where)
    with (
        Relay().running() as relay,
        files_served(oblivious / "public") as address,
        place(oblivious, task(), kind=WithTokens, relay=relay.url) as where,
    ):
        relay.origin, relay.gateway = address, f"{where.url}/gateway"
        collection = laid_out(where, oblivious, address)
        invitations = with_invitations(where, oblivious, collection, PEOPLE)
        shown = answer_all(browser, collection.page, invitations)
        on_the_page, said_on_the_page = released(where)
        with browser.new_context(viewport={"width": 1000, "height": 900}) as context:
            tab = context.new_page()
            tab.goto((where.release / "release.html").as_uri())
            picture(tab, "three-transports-release")
    expected = [int(randomized(number).columns["value"][0]) for number in range(PEOPLE)]
    assert view == with_tokens == on_the_page == Counter(expected)
    assert view != Counter(answer for answer, _ in CROWD)  # what people really answered
    assert shown == [CATEGORIES[value] for value in expected]
    assert said["guarantee"] == said_with_tokens["guarantee"] == said_on_the_page["guarantee"]
    trust = [set(each["trust"]) for each in (said, said_with_tokens, said_on_the_page)]
    assert (trust[1] - trust[0], trust[2] - trust[1]) == ({"issuer"}, {"relay-apart", "page"})
    assert len(relay.seen) == 2 * PEOPLE  # each tries the way before the token is asked for
