"""Invited people at the page: one token for each, which is lost by nothing, and what is said where there is none."""

import json

import pytest

from parties.client.answering import AGAIN, SEND, Asked, asking, randomize, says
from parties.issuer.issuing import WithTokens
from shuffledp.parties.issuer.invitations import Invitation, new_invitations, ready_made_invitations
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.parties.wire.keys import in_text
from shuffledp.parties.wire.tokens import Token, TokenCheck


@pytest.fixture(scope="module")
def asked():
    return Asked(parties=WithTokens(asking()))


@pytest.fixture
def device(asked, browser):
    for each in (asked.uploads, asked.requests, asked.shown, asked.issued):
        each.clear()
    asked.mood = asked.issuer_mood = "up"
    with asked.device(browser) as context:
        yield context


@pytest.fixture
def link(asked):
    ((invitation,), _) = new_invitations(asked.collection, 1)
    return invitation.link(asked.collection.page)


def answer(tab):
    tab.get_by_label("Yes").check()
    randomize(tab)
    tab.get_by_role("button", name=SEND).click()


def is_good(asked, shown):
    token = Token.of_shown(shown)
    key = asked.parties.issuer_key.public
    TokenCheck(asked.collection.challenge, [key])(token)
    return token


def test_an_answer_spends_a_token_that_the_issuer_has_not_seen(asked, device, link):
    with asked.opened(device, link) as tab:
        assert "signs a token by which you answer once" in tab.locator("body").inner_text()
        answer(tab)
        says(tab, "Stored by the shuffler")
        kept = json.loads(tab.evaluate("JSON.stringify(localStorage)"))
    assert list(kept.values()) == ["answered"]
    token = is_good(asked, asked.shown[0])
    ((bearer, request),) = asked.issued
    assert bearer == f"Bearer {link.rpartition('=')[2]}"
    assert token.nonce not in request
    assert token.authenticator not in request
    collection = asked.collection
    assert [each for each in asked.requests if each[0] != "OPTIONS"] == [
        ("GET", link.partition("#")[0]),
        ("POST", f"{collection.shuffler.url}{collection.path}/reports"),  # whether it can be reached
        ("POST", f"{collection.issuer.url}{collection.path}/token-request"),
        ("POST", f"{collection.shuffler.url}{collection.path}/reports"),
    ]


def test_the_issuer_is_asked_in_the_same_words_and_a_token_is_kept_until_it_is_spent(asked, device, link):
    asked.issuer_mood = "down"
    with asked.opened(device, link) as tab:
        answer(tab)
        says(tab, "The issuer of tokens did not answer")
        assert not asked.uploads
        asked.issuer_mood, asked.mood = "up", "lost"
        tab.reload()
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        assert len({request for _, request in asked.issued}) == 1
        asked.issued.clear()
        asked.mood = "up"
    with asked.opened(device, asked.link) as tab:  # without the invitation, which is not needed any more
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert asked.issued == []
    assert len(set(asked.shown)) == len(set(asked.uploads)) == 1
    is_good(asked, asked.shown[0])


@pytest.mark.parametrize(
    ("mood", "said"), [("used", "has been used in another browser"), ("wrong", "did not sign what it was asked to")]
)
def test_without_a_token_nothing_is_sent_and_it_says_why(asked, device, link, mood, said):
    asked.issuer_mood = mood
    with asked.opened(device, link) as tab:
        answer(tab)
        says(tab, said)
        assert tab.get_by_role("button", name=AGAIN).is_enabled()
    assert asked.uploads == []


@pytest.mark.parametrize(
    ("mood", "said"), [("down", "The shuffler did not answer"), ("closed", "collection is closed")]
)
def test_an_invitation_is_not_used_where_the_shuffler_takes_nothing(asked, device, link, mood, said):
    asked.mood = mood
    with asked.opened(device, link) as tab:
        answer(tab)
        says(tab, said)
    assert asked.tries >= 1
    assert (asked.issued, asked.uploads) == ([], [])


def test_a_token_that_was_spent_is_told(asked, device, link):
    asked.mood = ReportError.TOKEN_SPENT
    with asked.opened(device, link) as tab:
        answer(tab)
        says(tab, "By this invitation somebody has answered already")


def test_a_link_without_an_invitation_asks_nothing_and_neither_does_one_with_a_token(asked, device):
    made = Invitation(
        collection=in_text(asked.collection.id), token=in_text(asked.parties.token(asked.collection).encode())
    )
    for link in (asked.link, f"{asked.link}&invitation=", made.link(asked.collection.page)):
        with asked.opened(device, link) as tab:
            says(tab, "The link is not complete")
            assert not tab.locator("#questions").is_visible()


def test_a_token_in_the_link_is_spent_where_the_collection_says_that_tokens_are_ready_made(browser):
    asked = Asked(parties=WithTokens(asking(), ready_made=True))
    (invitation,) = ready_made_invitations(asked.collection, 1, asked.parties.issuer_key)
    with asked.device(browser) as device, asked.opened(device, invitation.link(asked.collection.page)) as tab:
        assert "can tell that it is yours" in tab.locator("body").inner_text()
        answer(tab)
        says(tab, "Stored by the shuffler")
    assert asked.issued == []
    assert is_good(asked, asked.shown[0]) == invitation.ready_token()
