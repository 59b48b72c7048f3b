"""A survey through a mix: what the organizer's machine makes, sends and writes again, and what it asks for."""

import csv
import email
import email.policy
import hashlib
import json
import stat
from datetime import timedelta

import pytest

from parties.organizer.played_mix import URL, PlayedMix
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.core.instants import instant
from shuffledp.core.statement_terms import Trust
from shuffledp.parties.issuer.invitations import Invited
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.mix_survey import MixPlan, new_mix_survey, remind
from shuffledp.parties.organizer.registration import Mixes
from shuffledp.parties.wire.keys import from_text
from shuffledp.parties.wire.organizer_requests import RequestKind
from shuffledp.survey.asked_questions import AskedQuestion
from shuffledp.survey.survey_terms import SurveyTerms

LIST = [["name", "Mail"], ["Ada", "ada@example.org"], ["Bo & Co", "none\r\nBcc: x@y.z"], ["Cleo", "cleo@example.org"]]


def terms(**further):
    given = {
        "name": "Homework",
        "questions": (AskedQuestion("Have you copied homework this year?", ("No", "Yes")),),
        "people": 3,
        "epsilon0": 2.0,
        "minimum": 2,
        "fakes": 0,
    }
    return SurveyTerms(**given | further)


def made(folder, played, *, code="", asked=None, **plan):
    with played.client() as client:
        mix = MixClient(URL, client, code=code, patience=0.0)
        survey = new_mix_survey(asked or terms(), folder / "homework", Mixes.reached([mix]), MixPlan(**plan))
        return survey, MixClient(URL, played.client(), patience=0.0)


@pytest.fixture(scope="module")
def invited(tmp_path_factory):
    """A survey with invitations, made once: the mix, the folder and a client."""
    played = PlayedMix()
    asked = terms(language="de", contact="die Lehrerin")
    return played, *made(tmp_path_factory.mktemp("invited"), played, invited=LIST, asked=asked)


def rows(file):
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened))


def test_by_an_open_link_the_mix_gets_the_collection_alone_and_serves_the_page_at_its_own_place(tmp_path):
    played = PlayedMix()
    survey, _ = made(tmp_path, played, code="AAAAAAAAAAAAAAAAAAAAAA")
    collection = survey.read()
    assert [path for path, _ in played.requests] == ["/collections"]
    assert played.shown == ["Bearer AAAAAAAAAAAAAAAAAAAAAA"]
    assert (played.collection, collection.shuffler.url, collection.analyzer.url) == (collection, URL, "")
    assert collection.page.url == collection.result == played.terms.page_url(collection.nonce)
    assert Trust.PAGE_AT_SHUFFLER in collection.trust
    names = {each.name for each in survey.path.iterdir()}
    assert names == {
        *("analyst.key", "analyst.key.pub", "task.toml"),
        *("survey.collection", "survey.html", "survey.svg", "print.html"),
    }
    assert stat.S_IMODE(survey.path.stat().st_mode) == 0o700
    sent = b"".join(body for _, body in played.requests)
    assert b"PRIVATE" in (survey.path / "analyst.key").read_bytes()
    assert b"PRIVATE" not in sent


def test_where_a_third_party_serves_the_page_that_one_is_trusted_and_the_result_is_at_the_mix(tmp_path):
    survey, _ = made(tmp_path, PlayedMix(), page_at="https://paper.example/survey.html")
    collection = survey.read()
    assert collection.page.url == "https://paper.example/survey.html"
    assert collection.result.startswith(f"{URL}/c/")
    assert Trust.PAGE in collection.trust


def test_a_relay_hides_addresses_and_then_the_mix_may_not_serve_the_page(tmp_path):
    relay, page = "https://relay.example/to", "https://paper.example/survey.html"
    collection = made(tmp_path, PlayedMix(), relays=(relay,), page_at=page)[0].read()
    assert (collection.transport, collection.relay) == ("oblivious", relay)
    assert collection.gateway is not None
    with pytest.raises(InvalidParameterError, match="page must be of another host than the shuffler"):
        made(tmp_path / "other", PlayedMix(), relays=(relay,))


def test_people_who_are_invited_have_a_link_a_card_and_a_mail_each_and_the_mix_knows_digests_alone(invited):
    played, survey, _ = invited
    collection = survey.read()
    assert (collection.transport, collection.issuer.url, collection.reminders) == ("token", URL, False)
    assert Trust.ISSUER_AT_SHUFFLER in collection.trust
    (listed,) = [Invited.from_dict(json.loads(each)) for each in played.sent(RequestKind.INVITED)]
    assert len(listed.codes) == 3
    header, *people = rows(survey.invitations / "people.csv")
    assert header == ["name", "Mail", "invitation", "link"]
    assert [row[0] for row in people] == ["Ada", "Bo & Co", "Cleo"]
    assert all(row[3].startswith(f"{collection.page.link}&invitation=") for row in people)
    assert len({row[3] for row in people}) == 3
    sheet = (survey.invitations / "print.html").read_text()
    assert sheet.count("</article>") == 3
    assert "Wenn Sie schon geantwortet haben" not in sheet
    sent = b"".join(body for _, body in played.requests).decode("latin-1")
    assert not any(row[3].rpartition("=")[2] in sent or row[0] in sent for row in people)
    assert not (survey.path / "print.html").exists()  # a link without an invitation is good for nothing


def test_a_mail_is_a_draft_for_one_person_and_a_list_cannot_add_to_its_head(invited):
    _, survey, _ = invited
    files = sorted((survey.invitations / "mails").iterdir())
    assert [stat.S_IMODE(each.stat().st_mode) for each in files] == [0o600] * 3
    mails = [email.message_from_bytes(each.read_bytes(), policy=email.policy.default) for each in files]
    assert [each["To"] for each in mails] == ["ada@example.org", None, "cleo@example.org"]
    assert [each["Bcc"] for each in mails] == [None] * 3
    links = [row[3] for row in rows(survey.invitations / "people.csv")[1:]]
    for mail, link in zip(mails, links, strict=True):
        text = mail.get_content()
        assert link in text.splitlines()
        assert "Öffnen Sie diesen Link" in text
        assert "Fragen zu dieser Umfrage: die Lehrerin" in text


def test_without_the_word_of_the_collection_all_are_reminded_and_the_mix_is_asked_nothing(invited):
    played, survey, mix = invited
    before = len(played.requests)
    folder, count = remind(survey, mix)
    assert (folder.name, count, len(played.requests)) == ("reminder-1", 3, before)
    header, *people = rows(folder / "people.csv")
    assert header == ["name", "Mail", "link"]
    assert [row[2] for row in people] == [row[3] for row in rows(survey.invitations / "people.csv")[1:]]
    assert (folder / "print.html").read_text().count("Wenn Sie schon geantwortet haben") == 3
    assert all("Wenn Sie schon geantwortet haben" in each.read_text() for each in (folder / "mails").iterdir())
    assert stat.S_IMODE((folder / "people.csv").stat().st_mode) == 0o600


def test_where_the_collection_says_so_those_alone_are_reminded_who_are_absent(tmp_path):
    played = PlayedMix()
    survey, mix = made(tmp_path, played, invited=LIST, reminders=True)
    assert "tells key" in survey.page_file.read_text()
    codes = {row[0]: row[3].rpartition("=")[2] for row in rows(survey.invitations / "people.csv")[1:]}
    played.absent = digests(codes["Cleo"])
    folder, count = remind(survey, mix)
    assert (count, [row[0] for row in rows(folder / "people.csv")[1:]]) == (1, ["Cleo"])
    assert played.sent(RequestKind.ABSENT) == [b""]
    folder, count = remind(survey, mix, everybody=True)
    assert (folder.name, count) == ("reminder-2", 3)
    assert len(played.sent(RequestKind.ABSENT)) == 1
    played.absent = []
    folder, count = remind(survey, mix)
    assert (count, [each.name for each in folder.iterdir()]) == (0, ["people.csv"])


def digests(*codes):
    return [hashlib.sha256(from_text(each, name="code")).digest() for each in codes]


def test_a_refusal_leaves_no_folder(tmp_path):
    played = PlayedMix()
    played.refusal = 403
    with pytest.raises(RemoteProtocolError, match="mix"):
        made(tmp_path, played)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plan", "policy", "why"),
    [
        ({}, {"people": 2}, "people must be at most 2, which https://mix.example.org takes; got people=3"),
        ({"reminders": True}, {}, "reminders must be left out without people who are invited by name"),
        ({"closes": "2001-01-01T00:00:00Z"}, {}, "closes must be after"),
    ],
)
def test_what_the_mix_would_not_take_is_refused_before_it_is_asked(tmp_path, plan, policy, why):
    played = PlayedMix(**policy)
    with pytest.raises(InvalidParameterError, match=why):
        made(tmp_path, played, **plan)
    assert played.requests == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("days", [1, 31])
def test_a_survey_is_open_and_waits_no_longer_than_the_mix_allows(tmp_path, days):
    collection = made(tmp_path, PlayedMix(days=days))[0].read()
    opened, closed, gone = (instant(when=when) for when in (collection.opens, collection.closes, collection.fetch_by))
    assert closed - opened <= timedelta(days=min(days, 7))
    assert closed - opened > timedelta(days=min(days, 7)) - timedelta(minutes=6)
    assert gone - closed < timedelta(days=days)


def test_a_list_that_was_changed_reminds_nobody(invited):
    _, survey, mix = invited
    people, before = survey.invitations / "people.csv", list(survey.path.iterdir())
    written = people.read_bytes()
    people.write_bytes(written.replace(b"link", b"url", 1))
    with pytest.raises(InvalidParameterError, match=r"people\.csv must be as it was written"):
        remind(survey, mix)
    people.write_bytes(written)
    assert list(survey.path.iterdir()) == before


def test_an_analyst_without_an_address_is_named_by_its_key_in_the_language_of_the_page(invited):
    _, survey, _ = invited
    fingerprint = survey.read().analyzer.key.fingerprint
    named = json.dumps(f"(Schlüssel {fingerprint})")[1:-1]
    assert named in survey.page_file.read_text(encoding="utf-8")
