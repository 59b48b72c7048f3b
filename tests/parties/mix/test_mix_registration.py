"""Which collections a mix takes, of whom, and that each is registered as a whole or not at all."""

import asyncio
import os
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from parties.client.answering import SMOKES, Asked, asking
from parties.mix.mixing import UNVOUCHED, URL, Survey, mixing
from parties.service.at_work import run
from parties.service.given import task_near_an_order
from shuffledp.core.instants import written
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.mix import collection_at_mix, mix_folder
from shuffledp.parties.mix.page_inspection import InspectedPage, PageInspector
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import UPLOAD_TYPE
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, ShufflerKey, in_text
from shuffledp.parties.wire.mix_terms import MixPolicy
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE, RegistrantProof
from shuffledp.survey import Service, WebPage
from shuffledp.survey.parties import PartyNames

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{}"
pytestmark = pytest.mark.usefixtures("at_once")


def kind(answer):
    """Status and kind of a refusal."""
    return answer.status_code, answer.json()["type"].rpartition(":")[2] if answer.status_code >= 400 else ""


# ---- a registration -------------------------------------------------------------------------------------------------


def test_a_registered_collection_is_served_with_its_page_and_again_after_a_restart(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)
            answers = [await mix.register(survey.collection) for _ in range(2)]
            seen = [(await mix.page(survey.collection)).content]
        async with mixing(tmp_path) as again:
            seen.append((await again.page(survey.collection)).content)
            answers.append(await again.register(survey.collection))
            status = await again.client.get(survey.collection.path)
            return survey, answers, seen, status.json(), mix.logged.events, len(list(again.host))

    survey, answers, seen, status, events, number = run(test)
    assert [each.status_code for each in answers] == [201] * 3
    assert seen == [survey.html] * 2
    assert status == {"phase": "open", "at_least_minimum": False}
    assert (events, number) == ([("registered", 1)], 1)


def test_a_page_elsewhere_or_none_is_not_served_and_may_send_from_there(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            elsewhere = Survey(mix.terms, page="https://third.example/page")
            none = Survey(mix.terms, page=None)
            for each in (elsewhere, none):
                assert (await mix.register(each.collection)).status_code == 201
            asked = await mix.client.options(f"{elsewhere.collection.path}/reports")
            return asked.headers["access-control-allow-origin"], len(mix.host._pages)

    assert run(test) == ("https://third.example", 0)


def test_the_terms_and_the_page_for_people_say_what_the_host_does_and_sees(tmp_path):
    async def test():
        async with mixing(tmp_path, contact="<b>office</b>") as mix:
            home, terms = await mix.client.get("/"), await mix.client.get("/mix")
            return home, terms.json() == mix.terms.to_dict()

    home, is_told = run(test)
    assert is_told
    assert "page or result is still shown" in home.text
    for text in ("What this host does and sees", "could serve another page", "share one address", "code from"):
        assert text in home.text
    assert "&lt;b&gt;office&lt;/b&gt;" in home.text
    assert "<b>office" not in home.text
    assert home.headers["content-security-policy"] == "frame-ancestors 'none'"


# ---- by whom --------------------------------------------------------------------------------------------------------


def test_without_a_code_that_the_operator_has_handed_out_nothing_is_registered(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)
            shown = ["", "Bearer", f"Bearer {in_text(os.urandom(16))}", f"Basic {mix.code}"]
            shown.append(RegistrantProof.by(survey.key, f"{URL}/collections", b"", datetime.now(UTC)).shown)
            answers = [await mix.register(survey.collection, shown=each) for each in shown]
            good = await mix.register(survey.collection)
            shutil.rmtree(mix.host.folder.path / "codes")  # the operator ends the code
            return answers, good, await mix.register(Survey(mix.terms).collection)

    answers, good, gone = run(test)
    assert [kind(each) for each in [*answers, gone]] == [(403, "notRegistered")] * 6
    assert good.status_code == 201


def test_a_listed_key_registers_what_it_has_signed_here_and_now(tmp_path):
    async def test():
        known, stranger = AnalyzerKey.generate(), AnalyzerKey.generate()
        async with mixing(tmp_path, register="keys", registrants=[known.request_key]) as mix:
            body, now = Survey(mix.terms).collection.canonical, datetime.now(UTC)
            url = f"{URL}/collections"
            good = RegistrantProof.by(known, url, body, now)
            bad = [
                RegistrantProof.by(stranger, url, body, now),
                RegistrantProof.by(known, "https://other.example/collections", body, now),
                RegistrantProof.by(known, url, body + b" ", now),
                RegistrantProof.by(known, url, body, now - timedelta(minutes=6)),
                replace(good, key=stranger.request_key),
            ]
            refused = [await mix.register(body, shown=each.shown) for each in bad]
            refused.append(await mix.register(body))  # a code
            return refused, await mix.register(body, shown=good.shown)

    refused, good = run(test)
    assert [kind(each) for each in refused] == [(403, "notRegistered")] * 6
    assert good.status_code == 201


def test_anybody_may_register_where_the_operator_says_so(tmp_path):
    async def test():
        async with mixing(tmp_path, register="anybody", policy=MixPolicy(collections=1)) as mix:
            answers = [await mix.register(Survey(mix.terms).collection, shown=shown) for shown in ("", "Bearer AAAA")]
            return list(map(kind, answers))

    assert run(test) == [(201, ""), (403, "tooManyCollections")]


# ---- which ----------------------------------------------------------------------------------------------------------


def other_key(kind, now="2026-11-01"):
    return PublishedKey.of(kind.generate(), active_from=now)


WRONG = {
    "another address": (
        lambda terms: {"shuffler": Service(url="https://other.example", key=terms.shuffler)},
        "otherMix",
    ),
    "another key": (lambda terms: {"shuffler": Service(url=terms.url, key=other_key(ShufflerKey))}, "otherMix"),
    "an analyst with an address": (
        lambda _: {"analyzer": Service(url="https://a.example", key=other_key(AnalyzerKey)), "fetch_by": None},
        "otherMix",
    ),
    "groups": (lambda _: {"asked": task_near_an_order(), "page": None}, "otherMix"),
    "tokens of a key that the mix has not": (
        lambda terms: {"issuer": Service(url=terms.url, key=other_key(IssuerKey)), "transport": "token"},
        "otherMix",
    ),
    "tokens that the mix would make": (
        lambda terms: {
            "issuer": Service(url=terms.url, key=other_key(IssuerKey)),
            "transport": "token",
            "ready_made": True,
        },
        "otherMix",
    ),
    "another place": (lambda _: {"page": f"{URL}/c/aaaaaaaaaaaaaaaaaaaaaaaaaa"}, "otherPage"),
    "the mix's own page": (lambda _: {"page": URL}, "otherPage"),
    "a name below the mix": (lambda _: {"page": "https://a.mix.example.org"}, "otherPage"),
    "days": (lambda _: {"days": 32}, "tooManyDays"),
    "days of fetching": (lambda _: {"fetch_days": 32}, "tooManyDays"),
    "people expected": (lambda _: {"asked": asking(people=UNVOUCHED | {"expected": 1001})}, "tooManyPeople"),
    "people at once": (lambda _: {"every": 1001}, "tooManyPeople"),
}


def test_collections_that_are_not_for_this_mix_are_refused_by_name(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            cases = {case: make(mix.terms) for case, (make, _) in WRONG.items()}
            found = {
                case: kind(await mix.register(Survey(mix.terms, **further).collection))
                for case, further in cases.items()
            }
            assert not list(mix.host)
            return found

    assert run(test) == {case: (422, why) for case, (_, why) in WRONG.items()}


def test_a_collection_whose_answers_are_too_long_or_which_has_ended_is_refused(tmp_path):
    async def test():
        async with mixing(tmp_path, policy=MixPolicy(bytes=500)) as mix:
            now, survey = datetime.now(UTC), Survey(mix.terms)
            ended = survey.otherwise(
                opens=written(now - timedelta(days=2)), closes=written(now - timedelta(days=1)), page=None
            )
            return [kind(await mix.register(each)) for each in (survey.collection, ended)]

    assert run(test) == [(422, "tooManyBytes"), (422, "tooManyDays")]


def test_a_page_that_the_mix_would_not_make_is_never_served(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)
            url = survey.collection.page.url
            changed = survey.otherwise(page=WebPage(url=url, sha256="0" * 64))
            refused = kind(await mix.register(changed))
            assert (await mix.page(survey.collection)).status_code == 404
            assert (await mix.register(survey.collection)).status_code == 201
            return refused, (await mix.page(survey.collection)).content == survey.html

    assert run(test) == ((422, "otherPage"), True)


def test_a_second_collection_cannot_take_the_place_of_a_page(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey, other = (
                Survey(mix.terms),
                Survey(mix.terms, asked=asking(SMOKES | {"question": "Another?"}, people=UNVOUCHED)),
            )
            twin = with_page_of(other.otherwise(nonce=survey.collection.nonce, page=None), mix.terms)
            assert (await mix.register(survey.collection)).status_code == 201
            refused = kind(await mix.register(twin))
            return refused, (await mix.page(survey.collection)).content == survey.html

    assert run(test) == ((409, "placeTaken"), True)


def with_page_of(collection, terms):
    return with_page(collection, terms.page_url(collection.nonce))[0]


SPOILT = {
    "empty": lambda _: b"",
    "an object": lambda _: b"{}",
    "deep": lambda _: b"[" * 100_000,
    "cut off": lambda body: body[:-1],
    "a line more": lambda body: body + b"\n",
    "version": lambda body: body.replace(b'"version":1', b'"version":2'),
    "a blank": lambda body: body.replace(b"{", b"{ ", 1),
    "a key twice": lambda body: b'{"version":1,' + body[1:],
    "a surrogate": lambda body: body.replace(b'"smokes"', b'"\\ud800"'),
}


def test_what_is_no_collection_file_to_the_byte_is_refused(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            good = Survey(mix.terms).collection.canonical
            found = {name: kind(await mix.register(spoil(good))) for name, spoil in SPOILT.items()}
            assert not list(mix.host.folder.look())
            return found

    assert run(test) == dict.fromkeys(SPOILT, (400, "invalidMessage"))


def test_a_file_that_is_too_long_or_of_another_type_is_refused(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            body, shown = Survey(mix.terms).collection.canonical, {"authorization": f"Bearer {mix.code}"}
            return [
                (await mix.register(body + b" " * (1 << 18))).status_code,
                (await mix.post("/collections", body, "application/json", **shown)).status_code,
                (await mix.client.get("/collections")).status_code,
            ]

    assert run(test) == [413, 415, 405]


# ---- hostile registrants --------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Names of the elements of a page that scripts or strangers could make."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "img", "svg", "iframe", "object", "a") or any(name.startswith("on") for name, _ in attrs):
            self.found.append(tag)

    @classmethod
    def of(cls, page):
        made = cls()
        made.feed(page)
        return made.found


def test_script_in_every_field_is_text_on_the_page(tmp_path):
    categories = {"kind": "k-rr", "epsilon0": 1.0, "categories": [HOSTILE, "<svg onload=alert(3)>"]}
    asked = asking(
        {"column": HOSTILE, "question": HOSTILE, "randomizer": categories},
        name=HOSTILE,
        people=UNVOUCHED,
        release={"delta": 1e-6, "minimum_batch": 10, "contact": HOSTILE},
    )

    async def test():
        async with mixing(tmp_path) as mix:
            names = {"shuffler": HOSTILE.replace('"', ""), "analyzer": HOSTILE.replace('"', "")}
            survey = Survey(mix.terms, asked=asked, names=PartyNames(**names))
            assert (await mix.register(survey.collection)).status_code == 201
            return survey, await mix.page(survey.collection)

    survey, page = run(test)
    assert page.content == survey.html
    usual = Tags.of(Asked().page.decode())
    assert Tags.of(page.text) == usual


@pytest.mark.parametrize("number", [20, pytest.param(10_000, marks=pytest.mark.deep)])
def test_one_registrant_cannot_register_more_than_the_policy_says_and_others_still_can(tmp_path, number):
    async def test():
        async with mixing(tmp_path, policy=MixPolicy(collections=2)) as mix:
            other = mix.host.folder.new_code()
            good = [kind(await mix.register(Survey(mix.terms).collection)) for _ in range(2)]
            refused = {kind(await mix.register(os.urandom(300))) for _ in range(number)}
            theirs = await mix.register(Survey(mix.terms).collection, shown=f"Bearer {other}")
            return good, refused, theirs.status_code, len(list(mix.host))

    assert run(test, seconds=600) == ([(201, "")] * 2, {(403, "tooManyCollections")}, 201, 3)


def test_of_one_registrant_one_collection_is_inspected_at_a_time(tmp_path, monkeypatch):
    async def test():
        async with mixing(tmp_path) as mix:
            waiting, go_on = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()

            def slow(_, content):
                loop.call_soon_threadsafe(waiting.set)
                asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
                return InspectedPage()

            monkeypatch.setattr(PageInspector, "inspect", slow)
            first = asyncio.create_task(mix.register(b"first"))
            await waiting.wait()
            second = kind(await mix.register(b"second"))
            go_on.set()
            return second, kind(await first)

    assert run(test) == ((503, "unavailable"), (400, "invalidMessage"))


def test_a_collection_whose_answers_were_destroyed_is_at_work_no_more(tmp_path):
    async def test():
        async with mixing(tmp_path, policy=MixPolicy(collections=1)) as mix:
            survey, other = Survey(mix.terms), Survey(mix.terms)
            assert (await mix.register(survey.collection)).status_code == 201
            at = mix.at(survey.collection)
            await at.stop_intake()
            await at._at_shuffler.advance()
            return at.status["phase"], at.has_ended, (await mix.register(other.collection)).status_code

    assert run(test) == ("destroyed", False, 201)


def test_what_has_ended_counts_too_until_it_is_forgotten_so_that_the_disk_has_an_end(tmp_path):
    now = [time.time()]

    async def test():
        policy = MixPolicy(collections=1, result_days=5)
        async with mixing(tmp_path, policy=policy, clock=lambda: now[0]) as mix:
            first = []
            for _ in range(10):
                survey = Survey(mix.terms)
                first.append((await mix.register(survey.collection)).status_code)
                mix.host.folder.ask_to_end(survey.collection.id.hex())
                await mix.host.look()
            survey = Survey(mix.terms)
            full = kind(await mix.register(survey.collection))
            others = await mix.register(Survey(mix.terms).collection, shown=f"Bearer {mix.host.folder.new_code()}")
            now[0] += timedelta(days=13.1).total_seconds()
            await mix.host.look()
            return first, full, others.status_code, (await mix.register(survey.collection)).status_code

    assert run(test) == ([201] * 10, (403, "tooManyCollections"), 201, 201)


# ---- the disk -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last", [pytest.param(each, marks=pytest.mark.deep) if each in (1, 2) else each for each in range(6)]
)
def test_whatever_write_is_the_last_of_a_killed_process_a_registration_is_whole_or_absent(tmp_path, monkeypatch, last):
    """The process ends before one of its writes; the next one finds the collection whole, or not at all."""

    class Killed(BaseException):
        pass

    left = [last]

    def until_killed(real):
        def act(*given, **further):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real(*given, **further)

        return act

    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)
            found = PageInspector().inspect(survey.collection.canonical)
            with monkeypatch.context() as killed:
                for name in ("write_private", "make_private", "sync_folder"):
                    killed.setattr(mix_folder, name, until_killed(getattr(mix_folder, name)))
                given = {"page": found.page, "promised": found.promised, "key": None}
                with suppress(Killed):
                    mix.host.folder.register(survey.collection, "code", **given)
        async with mixing(tmp_path) as again:
            known = again.at(survey.collection) is not None
            files = sorted(each.name for each in (again.host.folder.path / "collections").iterdir())
            assert files == ([survey.collection.id.hex()] if known else [])
            assert (await again.register(survey.collection)).status_code == 201
            assert (await again.page(survey.collection)).content == survey.html
            return known

    assert run(test) == (last >= 4)


def test_a_full_disk_registers_nothing_and_says_so(tmp_path, monkeypatch):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)

            def full(*_, **__):
                raise OSError(28, "full")

            with monkeypatch.context() as disk:
                disk.setattr(mix_folder, "write_private", full)
                refused = kind(await mix.register(survey.collection))
                assert mix.at(survey.collection) is None
                with pytest.raises(StorageError):
                    mix.host.folder.new_code()
            return refused, (await mix.register(survey.collection)).status_code, mix.logged.events

    assert run(test) == ((503, "unavailable"), 201, [("storage-failed", 1), ("registered", 1)])


def test_a_registration_whose_store_the_disk_did_not_take_goes_on_when_it_comes_again(tmp_path, monkeypatch):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)

            def full(*_, **__):
                raise StorageError("full")

            with monkeypatch.context() as disk:
                disk.setattr(collection_at_mix, "store_of", full)
                refused = kind(await mix.register(survey.collection))
            again = kind(await mix.register(survey.collection))
            return refused, again, (await mix.page(survey.collection)).content == survey.html

    assert run(test) == ((503, "unavailable"), (201, ""), True)


def test_people_reach_a_mix_through_a_relay_by_the_key_that_it_tells(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            relayed = {"transport": "oblivious", "relay": "https://relay.example", "page": "https://third.example/a"}
            survey = Survey(mix.terms, gateway=mix.terms.gateway, **relayed)
            other = Survey(mix.terms, gateway=other_key(GatewayKey), **relayed)
            assert kind(await mix.register(other.collection)) == (422, "otherMix")
            assert (await mix.register(survey.collection)).status_code == 201
            direct = await mix.post(f"{survey.collection.path}/reports", b"", UPLOAD_TYPE)
            keys = (await mix.client.get("/ohttp-keys")).content
            return kind(direct), mix.terms.gateway.config.public_key in keys

    assert run(test)[1]


# ---- keys for tokens ------------------------------------------------------------------------------------------------


def test_a_key_for_tokens_is_for_one_collection_of_the_registrant_who_asked_for_it(tmp_path, monkeypatch):
    keys = iter([IssuerKey.generate() for _ in range(3)])
    monkeypatch.setattr(mix_folder.IssuerKey, "generate", lambda: next(keys))

    async def test():
        async with mixing(tmp_path, policy=MixPolicy(collections=2)) as mix:
            other = mix.host.folder.new_code()
            name = os.urandom(16)

            async def key(name, code=mix.code):
                shown = {"authorization": f"Bearer {code}"}
                return await mix.post("/issuer-keys", name, ISSUER_KEY_TYPE, **shown)

            first, again, second = await key(name), await key(name), await key(os.urandom(16))
            third, stranger = await key(os.urandom(16)), await key(os.urandom(16), "AAAA")
            assert first.json() == again.json() != second.json()
            assert [kind(each) for each in (third, stranger, await key(b"short"))] == [
                (403, "tooManyCollections"),
                (403, "notRegistered"),
                (400, "invalidMessage"),
            ]
            issuer = Service(url=URL, key=PublishedKey.from_dict(first.json()))
            survey = Survey(mix.terms, issuer=issuer, transport="token")
            theirs = kind(await mix.register(survey.collection, shown=f"Bearer {other}"))
            mine = kind(await mix.register(survey.collection))
            twice = kind(await mix.register(Survey(mix.terms, issuer=issuer, transport="token").collection))
            return theirs, mine, twice

    assert run(test) == ((422, "otherMix"), (201, ""), (422, "otherMix"))


def test_a_mix_without_tokens_makes_no_keys(tmp_path):
    async def test():
        async with mixing(tmp_path, tokens=False) as mix:
            shown = {"authorization": f"Bearer {mix.code}"}
            return kind(await mix.post("/issuer-keys", os.urandom(16), ISSUER_KEY_TYPE, **shown))

    assert run(test) == (422, "otherMix")


# ---- a host name for each page --------------------------------------------------------------------------------------


def test_where_each_page_has_a_host_name_nothing_else_is_served_there(tmp_path):
    async def test():
        async with mixing(tmp_path, pages="origin") as mix:
            survey = Survey(mix.terms)
            assert (await mix.register(survey.collection)).status_code == 201
            page = survey.collection.page.url
            assert page.endswith(".mix.example.org")
            assert (await mix.client.get(page)).content == survey.html
            others = ["/mix", "/c/x", f"/{survey.collection.path}", "/readyz"]
            found = [(await mix.client.get(f"{page}{each}")).status_code for each in others]
            found.append((await mix.client.post(f"{page}/collections", content=b"")).status_code)
            found.append((await mix.client.get("https://aaaaaaaaaaaaaaaaaaaaaaaaaa.mix.example.org/")).status_code)
            asked = await mix.client.options(f"{survey.collection.path}/reports")
            home = await mix.client.get("/")
            return found, asked.headers["access-control-allow-origin"] == page, "address of its own" in home.text

    assert run(test) == ([404] * 6, True, True)
