"""Tokens at the shuffler: one report each, spent by what is stored and by nothing else, and forgotten at the close."""

import asyncio
import os
from hashlib import blake2b

import pytest

from parties.issuer.issuing import WithTokens, issuer_key
from parties.service.at_work import Clock, looks_sealed, run, shuffler
from parties.service.given import Parties, task, task_of_two
from parties.service.test_gateway import KIND, request_of, through
from parties.service.test_gateway import told as told_inside
from parties.service.test_shuffler_app import altered, one_test, problem
from shuffledp.core.statement_terms import Trust
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import ReportError, UploadRequest, UploadResponse


async def post(here, submission, token="", *more):
    """The answer to an upload that shows a token."""
    shown = token if isinstance(token, str) else token.shown()
    headers = {"authorization": shown} if shown else {}
    return await here.post(UploadRequest((submission, *more)).encode(), **headers)


def refused(answer):
    assert answer.status_code == 200, answer.text
    return [each.error for each in UploadResponse.decode(answer.content).refused]


def test_a_token_is_good_for_one_report_and_for_that_one_as_often_as_it_is_sent(tmp_path):
    @one_test(tmp_path, parties=WithTokens(task_of_two()))
    async def result(here):
        collection, token = here.parties.collection, here.parties.token()
        first, second = looks_sealed(collection), looks_sealed(collection)
        answers = [await post(here, each, token) for each in (first, first, second, first)]
        return [refused(each) for each in answers], answers, await here.at_shuffler.counts()

    errors, answers, counts = result
    assert errors == [[], [], [ReportError.TOKEN_SPENT], []]
    assert counts == {Count.STORED: 1, Count.DUPLICATE: 2, Count.REFUSED: 1}
    assert len({len(each.content) for each in answers}) == 1


def test_a_report_that_is_stored_needs_no_second_token_and_spends_none(tmp_path):
    @one_test(tmp_path, parties=WithTokens())
    async def result(here):
        parties = here.parties
        first, second = looks_sealed(parties.collection), looks_sealed(parties.collection)
        spent, other = parties.token(), parties.token()
        sent = [(first, spent), (first, other), (second, other)]
        return [refused(await post(here, *each)) for each in sent]

    assert result == [[], [], []]


def test_without_a_token_of_the_collection_nothing_is_stored(tmp_path):
    parties = WithTokens()
    good, other = parties.token(), WithTokens()
    forged = good.encode()[:-1] + bytes((good.encode()[-1] ^ 1,))
    tokens = {
        "none": "",
        "garbage": 'PrivateToken token="garbage"',
        "bearer": f"Bearer {good.shown()[20:-1]}",
        "forged": type(good).decode(forged),
        "of another collection": parties.token(other.collection),
        "by another issuer": parties.token(by=issuer_key(1)),
        "with another nonce": type(good).decode(good.encode()[:2] + os.urandom(32) + good.encode()[34:]),
    }

    @one_test(tmp_path, parties=parties)
    async def result(here):
        made = {name: await post(here, looks_sealed(parties.collection), token) for name, token in tokens.items()}
        one = looks_sealed(parties.collection)
        twice = await post(here, one, good, looks_sealed(parties.collection))
        return made, twice, await here.at_shuffler.counts(), refused(await post(here, one, good)), here.logged.lines

    made, twice, counts, errors, lines = result
    assert {name: problem(answer) for name, answer in made.items()} == dict.fromkeys(tokens, (401, "unauthorizedToken"))
    assert {answer.headers["www-authenticate"] for answer in made.values()} == {"PrivateToken"}
    assert problem(twice) == (400, "invalidMessage")  # a token is for one submission
    assert counts == {Count.REFUSED: len(tokens), Count.MALFORMED: 1}
    assert errors == []  # and none of this has spent it
    assert lines == []


def test_an_empty_upload_without_a_token_says_whether_the_way_is_open_and_is_counted_nowhere(tmp_path):
    parties = WithTokens()
    clock = Clock(parties)

    async def test():
        async with shuffler(tmp_path, parties, clock=clock) as here:
            is_open = await here.post(b"")
            clock.now += 2 * 86_400
            late = await here.post(b"")
            return is_open, late, await here.at_shuffler.counts()

    is_open, late, counts = run(test)
    assert problem(is_open) == (401, "unauthorizedToken")
    assert problem(late) == (403, "unauthorizedRequest")
    assert counts == {}


def test_a_token_is_not_lost_where_its_report_is_not_stored(tmp_path, monkeypatch):
    parties = WithTokens()
    token = parties.token()

    @one_test(tmp_path, parties=parties)
    async def result(here):
        wrong = altered(looks_sealed(parties.collection), payload=b"x" * 99)
        first = refused(await post(here, wrong, token))
        taken, insert = looks_sealed(parties.collection), ReportStore.run_many
        with monkeypatch.context() as full:

            def fails(self, statement, rows):
                if "INTO spent" in statement:  # after the report was written
                    raise StorageError("full")
                return insert(self, statement, rows)

            full.setattr(ReportStore, "run_many", fails)
            second = await post(here, looks_sealed(parties.collection), token)
        return first, second, refused(await post(here, taken, token))

    first, second, third = result
    assert first == [ReportError.WRONG_LENGTH]
    assert problem(second) == (503, "unavailable")
    assert third == []


def test_two_reports_at_once_with_one_token_are_one_report(tmp_path):
    @one_test(tmp_path, parties=WithTokens())
    async def result(here):
        token, collection = here.parties.token(), here.parties.collection
        answers = await asyncio.gather(*(post(here, looks_sealed(collection), token) for _ in range(20)))
        return sorted(map(refused, answers)), here.at_shuffler._store.waiting

    errors, waiting = result
    assert errors == [[], *[[ReportError.TOKEN_SPENT]] * 19]
    assert waiting == 1


def test_a_spent_token_stays_spent_after_a_restart_and_after_its_batch_left(tmp_path):
    parties = WithTokens(task(), every=10)
    tokens = [parties.token() for _ in range(10)]

    async def test():
        async with shuffler(tmp_path, parties) as here:
            for token in tokens:
                assert refused(await post(here, looks_sealed(parties.collection), token)) == []
            await here.at_shuffler.advance()
            assert len(await here.at_shuffler.outgoing()) == 1
        async with shuffler(tmp_path, parties) as again:
            return refused(await post(again, looks_sealed(parties.collection), tokens[0]))

    assert run(test) == [ReportError.TOKEN_SPENT]


@pytest.mark.parametrize("count", [12, 2])
def test_of_tokens_only_keyed_digests_are_kept_and_after_the_close_nothing(tmp_path, count):
    parties = WithTokens()
    tokens = [parties.token() for _ in range(count)]

    def left():
        return b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())

    async def test():
        async with shuffler(tmp_path, parties) as here:
            for token in tokens:
                await post(here, looks_sealed(parties.collection), token)
            during, kept = left(), here.at_shuffler._store.rows("SELECT token FROM spent")
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            return during, kept, here.at_shuffler._store.rows("SELECT token FROM spent"), await here.status()

    during, kept, after, status = run(test)
    assert len(kept) == count
    assert after == []
    assert status["phase"] in (Phase.CLOSED, Phase.DESTROYED)
    for token in tokens:
        for part in (token.nonce, token.authenticator, token.authenticator[:32]):
            assert part not in during
            assert part not in left()
    assert not any(digest in left() for (digest,) in kept)
    plain = {blake2b(token.nonce, digest_size=len(kept[0][0])).digest() for token in tokens}
    assert not plain & {digest for (digest,) in kept}  # without the key nobody can look for a token


def test_a_token_comes_through_a_relay_inside_and_no_further(tmp_path):
    parties = WithTokens(relay="https://relay.example")

    @one_test(tmp_path, parties=parties)
    async def result(here):
        token, collection = parties.token(), parties.collection
        paid = (KIND, (b"authorization", token.shown().encode()))
        sent = [(looks_sealed(collection), paid), (looks_sealed(collection), paid), (looks_sealed(collection), (KIND,))]
        answers = [(await through(here, request_of(collection, each, fields=fields)))[0] for each, fields in sent]
        return answers, here.at_shuffler._store.waiting

    (first, second, third), waiting = result
    assert UploadResponse.decode(first.content).refused == ()
    assert [each.error for each in UploadResponse.decode(second.content).refused] == [ReportError.TOKEN_SPENT]
    assert told_inside(third) == (401, "unauthorizedToken")
    assert waiting == 1


def test_where_there_are_no_tokens_none_is_looked_at(tmp_path):
    @one_test(tmp_path, parties=Parties())
    async def result(here):
        return refused(await post(here, looks_sealed(here.parties.collection), "PrivateToken token=x"))

    assert result == []


def test_tokens_take_the_place_of_trust_in_everybody(tmp_path):
    assert WithTokens().collection.trust == (Trust.ISSUER,)
    assert WithTokens(ready_made=True).collection.trust == (Trust.ISSUER, Trust.READY_MADE_TOKENS)
    oblivious = WithTokens(relay="https://relay.example").collection
    assert oblivious.trust == (Trust.ISSUER, Trust.RELAY_APART)
    assert not any(each.is_danger for each in (*oblivious.trust, Trust.READY_MADE_TOKENS))
