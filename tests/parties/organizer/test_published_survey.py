"""A survey through a mix from its making to the result behind the link, without anything that stays switched on."""

import json

import pytest

from parties.organizer.mix_in_thread import mix_in_thread
from parties.organizer.test_mix_survey import LIST, terms
from parties.service.given import Parties
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError, RemoteProtocolError
from shuffledp.core.statement_terms import Trust
from shuffledp.documents.collections.published_document import result_blocks
from shuffledp.documents.collections.survey_document import numbers_document
from shuffledp.documents.terminal import whole_lines
from shuffledp.documents.words import OUTSIDE_SHARES
from shuffledp.files.devices import randomize_each
from shuffledp.parties.issuer.invitations import Invitation
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.mix_survey import MixPlan, finished, new_mix_survey, publish, remind
from shuffledp.parties.organizer.page_check import check_page
from shuffledp.parties.organizer.registration import Mixes
from shuffledp.parties.service.client import new_client, send
from shuffledp.parties.service.device_token import DeviceToken


@pytest.fixture
def without_a_page(monkeypatch):
    """Releases without their page, which takes longest."""
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)


@pytest.fixture
def mix(tmp_path, monkeypatch, without_a_page):
    with mix_in_thread(tmp_path / "mix", monkeypatch) as url, new_client() as client:
        yield MixClient(url, client, patience=5.0)


def made(mix, folder, **plan):
    return new_mix_survey(terms(), folder / "homework", Mixes.reached([mix]), MixPlan(**plan))


def answer(collection, folder, *given, tokens=()):
    """People answer by the project's own client, each with a token, where people are invited."""
    (folder / "crowd.csv").write_text("\n".join(["answer", *given, ""]))
    sent = randomize_each(collection.task, folder / "crowd.csv")
    with new_client(to=collection) as client:
        for number in range(len(given)):
            token = tokens[number] if tokens else ""
            assert send(collection, sent.take([number]), client, token=token).stored == 1


def shown(survey):
    """What people read where the collection says that the result will be, which is the link if the mix serves it."""
    with new_client() as client:
        return client.get(survey.read().result).text


def test_the_link_asks_and_then_shows_the_result_that_the_folder_has(mix, tmp_path):
    survey = made(mix, tmp_path)
    collection = survey.read()
    with new_client() as client:
        assert check_page(collection.page, client) == collection
    answer(collection, tmp_path, "Yes", "No", "No")
    key = survey.analyst_key()
    with pytest.raises(RemoteProtocolError):  # before the close there is no result
        mix.publish(collection, key, None)
    mix.close(collection, key)
    found = finished(survey)
    publish(survey.read(), survey.analyst_key(), mix, found)
    page = shown(survey)
    ((told, rows),) = [(each, each["estimates"]) for each in found.releases.values()]
    numbers = whole_lines(numbers_document(collection, told))
    assert "Have you copied homework this year?\n3 answers, each of them changed by chance" in numbers
    assert [f"{round(100 * row['estimate'])}%" in numbers.replace("\N{MINUS SIGN}", "-") for row in rows] == [True] * 2
    rows[0].update(estimate=1.16, lower=0.83, upper=1.0, standard_error=0.11)  # as any release shows it
    numbers = whole_lines(numbers_document(collection, told))
    assert "116%" in numbers
    assert "83% to 100%" in numbers
    assert OUTSIDE_SHARES in numbers
    for row in rows:
        row.update(estimate=0.96, lower=0.83, upper=1.0)  # which holds the estimate
    assert OUTSIDE_SHARES not in whole_lines(numbers_document(collection, told))
    assert collection.result == collection.page.url
    assert "Have you copied homework this year?" in page
    assert "3 answers" in page
    assert page.index(f"holds only as long as {Trust.PAGE_AT_SHUFFLER.text}.") < page.index("3 answers")
    assert page.count(Trust.PAGE_AT_SHUFFLER.text) == 1
    assert Trust.NO_COLLUSION.text in page
    (result,) = mix.results(collection)
    assert result.statement == json.loads((survey.release / "statement.json").read_text())
    publish(survey.read(), survey.analyst_key(), mix, finished(survey))  # by somebody who is not sure
    assert len(mix.results(collection)) == 1
    publish(survey.read(), survey.analyst_key(), mix, BatchTooSmallError("fewer"))
    assert [each.statement is None for each in mix.results(collection)] == [False, True]
    assert "This is a correction" in shown(survey)


def test_where_a_third_party_serves_the_page_the_result_is_at_the_mix(mix, tmp_path):
    survey = made(mix, tmp_path, page_at="https://paper.example/survey.html")
    collection = survey.read()
    assert "The result of this survey will be here" in shown(survey)
    mix.close(collection, survey.analyst_key())
    publish(survey.read(), survey.analyst_key(), mix, BatchTooSmallError("fewer"))
    page = shown(survey)
    assert "Nothing was released" in page
    assert page.count(Trust.PAGE.text) == 1
    assert Trust.PAGE_AT_SHUFFLER.text not in page
    assert "carry the signature" not in page  # there are no numbers


def test_of_too_few_answers_it_is_published_that_nothing_was_released(mix, tmp_path):
    survey = made(mix, tmp_path)
    answer(survey.read(), tmp_path, "Yes")
    mix.close(survey.read(), survey.analyst_key())
    for _ in range(2):  # whoever runs it again hears the same
        with pytest.raises(BatchTooSmallError) as caught:
            finished(survey)
    publish(survey.read(), survey.analyst_key(), mix, caught.value)
    assert "Nothing was released" in shown(survey)
    assert not survey.release.exists() or list(survey.release.iterdir()) == []


def test_a_reason_for_which_nothing_was_released_is_shown_as_text_and_other_data_are_refused():
    collection = Parties().collection
    flow = {"flow": {"collected": {"collection": collection.id.hex()}}, "estimates": []}
    blocks = result_blocks(collection, flow | {"not_released": "Two came <b>twice</b>.\x1b[2J"})
    assert blocks[0].text.startswith("Nothing was released, although")
    assert (blocks[1].text[:22], "\x1b" in blocks[1].text) == ("Two came <b>twice</b>.", False)
    for reason in ("", 7, None, "x" * 1001):
        with pytest.raises(InvalidParameterError, match="must be of its collection"):
            result_blocks(collection, flow | {"not_released": reason})


@pytest.mark.deep
def test_invited_people_answer_once_and_who_did_not_is_told_three_times(mix, tmp_path):
    survey = made(mix, tmp_path, invited=LIST, reminders=True)
    collection = survey.read()
    tokens = []
    for number in (1, 3):
        invitation = Invitation.read(survey.invitations / f"{number}.invitation", collection)
        (tmp_path / f"device {number}").mkdir()
        own = DeviceToken(collection, tmp_path / f"device {number}")
        with new_client() as client:
            tokens.append(own.get(invitation, client, patience=5.0).shown())
    answer(collection, tmp_path, "Yes", "No", tokens=tokens)
    for _ in range(3):
        folder, count = remind(survey, mix)
        assert count == 1
        assert "Bo & Co" in (folder / "people.csv").read_text()
    with pytest.raises(RemoteProtocolError):
        remind(survey, mix)
    assert remind(survey, mix, everybody=True)[1] == 3
    mix.close(collection, survey.analyst_key())
    publish(survey.read(), survey.analyst_key(), mix, finished(survey))
    assert "2 answers" in shown(survey)
