"""Plain reports of a local network: each counts once, none of another length is taken, elsewhere none at all."""

import os

import httpx
import pytest
from starlette.responses import Response

from parties.service.at_work import run, shuffler
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.local_intake import PLAIN_TYPE, LocalIntake
from shuffledp.parties.wire.grammar import ReportError, ReportStatus

URL = "http://192.168.1.20:8080"
PAGE = f"{URL}/pages/survey"


def local(**further):
    parties = Parties.fetching(shuffler=URL, local=True, **further)
    parties.collection, _ = with_page(parties.collection, PAGE)
    return parties


async def sending(here, app, *bodies, media_type=PLAIN_TYPE, path="/pages/survey"):
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        return [await client.post(path, content=each, headers={"content-type": media_type}) for each in bodies]


def intake(here):
    """The way of plain reports alone; whatever else is asked for is not there."""
    return LocalIntake(Response(b"", 404), [here.at_shuffler], log=EventLog(here.logged.write))


def test_a_report_is_stored_once_however_often_it_is_sent_and_after_a_restart(tmp_path):
    async def test():
        parties, body = local(), os.urandom(16) + b"\0"
        async with shuffler(tmp_path, parties) as here:
            answers = await sending(here, intake(here), body, body)
            counts = await here.at_shuffler.counts()
            assert (counts[Count.STORED], counts[Count.DUPLICATE]) == (1, 1)
            answers += await sending(here, intake(here), body)  # a process that has forgotten how it was sealed
            counts = await here.at_shuffler.counts()
        assert [each.status_code for each in answers] == [200] * 3
        assert {each.content for each in answers} == {bytes(25)[:4] + (17).to_bytes(4, "big") + bytes(17)}
        assert counts[Count.STORED] == 1

    run(test)


@pytest.mark.parametrize("body", [b"", bytes(16), bytes(18)])
def test_what_is_no_report_is_refused_and_not_stored(tmp_path, body):
    async def test():
        async with shuffler(tmp_path, local()) as here:
            (answer,) = await sending(here, intake(here), body)
            assert answer.status_code in (400, 413)
            assert Count.STORED not in await here.at_shuffler.counts()

    run(test)


def test_another_media_type_is_refused(tmp_path):
    async def test():
        async with shuffler(tmp_path, local()) as here:
            (answer,) = await sending(here, intake(here), bytes(17), media_type="text/plain")
            assert answer.status_code == 415

    run(test)


def test_after_the_close_a_report_is_late_by_the_name_that_it_was_sent_with(tmp_path):
    async def test():
        async with shuffler(tmp_path, local()) as here:
            await here.at_shuffler.stop_intake()
            body = os.urandom(17)
            (answer,) = await sending(here, intake(here), body[:16] + b"\0")
        assert ReportStatus(body[:16], ReportError.TASK_EXPIRED).encode() in answer.content

    run(test)


def test_the_short_address_leads_to_the_link(tmp_path):
    async def test():
        parties = local()
        async with shuffler(tmp_path, parties) as here:
            transport = httpx.ASGITransport(app=intake(here))
            async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
                answer = await client.get("/")
        assert f"{URL}{answer.headers['location']}" == parties.collection.page.link

    run(test)


def test_a_collection_that_is_not_local_takes_nothing_plain(tmp_path):
    async def test():
        parties = Parties.fetching()
        parties.collection, _ = with_page(parties.collection, "https://mixer.example/pages/survey")
        async with shuffler(tmp_path, parties) as here:
            (answer,) = await sending(here, intake(here), bytes(17))
            assert answer.status_code == 404

    run(test)


@pytest.mark.parametrize(
    ("further", "why"),
    [
        ({"local": False}, "shuffler must be an https address"),
        ({"shuffler": "http://203.0.114.7"}, "https address"),
        ({"analyzer": "https://office.example"}, "local must be left out but for one operator"),
    ],
)
def test_plain_http_is_for_one_operator_in_a_local_network_alone(further, why):
    given = {"shuffler": URL, "analyzer": "", "local": True}
    with pytest.raises(InvalidParameterError, match=why):
        Parties(**given | further)


def test_the_page_of_a_local_collection_is_on_its_own_host():
    with pytest.raises(InvalidParameterError, match="page must be on the shuffler's host"):
        with_page(Parties.fetching(shuffler=URL, local=True).collection, "https://pages.example/survey")


def test_a_local_collection_says_who_can_see_what_and_read_what():
    collection = local().collection
    assert [each.value for each in collection.promised()[0].trust][:2] == ["local-network", "page"]
    assert "operator" in [each.value for each in collection.trust]
    assert collection.one_operator == ("shuffler", "analyzer")
