"""What the issuer has on its disk: who took part, in an order that tells nothing; and after the close nothing of it."""

import asyncio
import json
import os
import sqlite3
from hashlib import sha256
from itertools import combinations

import httpx
import numpy as np
import pytest

from cli.running import shuffledp
from parties.issuer.issuing import WithTokens
from parties.issuer.test_issuer import on_disk
from parties.service.at_work import Logged, run
from parties.service.processes import place, until
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.issuer import invitations
from shuffledp.parties.issuer.invitations import digest_of
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer
from shuffledp.parties.issuer.issuer_store import IssuerStore, row_of
from shuffledp.parties.service import run_services
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.keys import from_text
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, PendingToken

COLLECTION = b"c" * 32
PEOPLE = 25
TIMES = 80  # so that 5% are six standard deviations


def invited(folder, codes):
    store = IssuerStore(folder)
    store.invite(COLLECTION, codes)
    return store


def codes_of(count):
    return [os.urandom(32) for _ in range(count)]


def content(folder):
    """The bytes of a file of an issuer that is at work, and of its journal."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_the_file_is_the_same_byte_for_byte_in_whatever_order_people_came(tmp_path):
    codes = codes_of(40)
    found = []
    for number, order in enumerate((codes, codes[::-1], sorted(codes))):
        store = invited(tmp_path / str(number), codes)
        for code in order[:30] if number != 1 else order[10:]:
            store.use(COLLECTION, code, code)
        found.append((set(order[:30] if number != 1 else order[10:]), content(tmp_path / str(number))))
        store.close()
    assert found[0] == found[1]
    assert found[0][1] != found[2][1]  # others took part


@pytest.mark.deep
def test_of_two_people_who_took_part_nobody_tells_who_was_first(tmp_path):
    told = []
    for number in range(TIMES):
        codes = codes_of(PEOPLE)
        store = invited(tmp_path / str(number), codes)
        store.run("PRAGMA synchronous = OFF")
        for code in codes:
            assert store.use(COLLECTION, code, code)
        raw = content(tmp_path / str(number))
        places = [raw.index(sha256(code).digest()) for code in codes]
        told += [first > second for first, second in combinations(places, 2)]  # as what came last lies first
        assert {path.name: path.stat().st_size for path in (tmp_path / str(number)).glob("*journal")} in (
            {},
            {"issued.sqlite-journal": 0},
        )
        store.close()
    assert len(told) == TIMES * 300
    assert 0.45 < np.mean(told) < 0.55


def test_a_file_of_before_is_taken_over_and_its_order_is_lost(tmp_path):
    codes = codes_of(PEOPLE)
    with sqlite3.connect(tmp_path / "issued.sqlite", isolation_level=None) as database:
        database.execute(
            "CREATE TABLE issued(collection BLOB, code BLOB, request BLOB, PRIMARY KEY(collection, code)) WITHOUT ROWID"
        )
        for code in codes[1:]:
            database.execute("INSERT INTO issued VALUES(?, ?, ?)", (COLLECTION, code, sha256(code).digest()))
    database.close()
    store = invited(tmp_path, codes)
    raw = content(tmp_path)
    places = [raw.index(sha256(code).digest()) for code in sorted(codes[1:])]
    assert places in (sorted(places), sorted(places)[::-1])
    assert [raw.count(sha256(code).digest()) for code in codes] == [0, *[1] * (PEOPLE - 1)]
    assert not store.use(COLLECTION, codes[1], b"another request")
    assert store.use(COLLECTION, codes[1], codes[1])
    assert store.use(COLLECTION, codes[0], b"another request")
    store.close()


def test_an_invitation_that_is_cancelled_is_good_no_more_and_one_that_was_used_is_counted(tmp_path):
    codes = codes_of(3)
    store = invited(tmp_path, codes)
    store.use(COLLECTION, codes[0], b"request")
    assert store.invite(COLLECTION, codes, codes[:2]) == 1
    assert store.invite(COLLECTION, codes, codes[:2]) == 0
    assert [store.use(COLLECTION, code, b"request") for code in codes] == [False, False, True]
    store.close()


def test_of_a_collection_that_was_closed_there_is_nothing_but_that(tmp_path):
    codes = codes_of(PEOPLE)
    store = invited(tmp_path, codes)
    for code in codes[:9]:
        store.use(COLLECTION, code, code)
    store.close_collections([COLLECTION])
    raw = content(tmp_path)
    assert not any(code in raw or sha256(code).digest() in raw for code in codes)
    store.close()
    again = invited(tmp_path, codes)
    assert again.is_closed(COLLECTION)
    assert not again.use(COLLECTION, codes[0], b"request")
    again.close()


# ---- at work --------------------------------------------------------------------------------------------------------


def asked(where, invitation):
    """What the issuer answers to a fresh request by an invitation."""
    parties = where.parties
    body = PendingToken.new(parties.collection.challenge, parties.issuer_key.public).request.encode()
    url = f"{parties.collection.issuer.url}{parties.collection.path}/token-request"
    headers = {"content-type": ISSUANCE_REQUEST, "authorization": f"Bearer {invitation.code}"}
    return httpx.post(url, content=body, headers=headers).status_code


def events(where):
    return [json.loads(line)["event"] for line in where.log("issuer").read_text().splitlines()]


def test_lists_are_taken_in_and_invitations_cancelled_while_the_issuer_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(run_services, "_SECONDS_BETWEEN_LISTS", 0.02)
    with place(tmp_path, kind=WithTokens) as where:
        config, folder = tmp_path / "issuer.toml", tmp_path / "lists"
        config.write_text(config.read_text().replace("invited.json", "lists"))
        folder.mkdir()
        (first, second), told = invitations.new_invitations(where.parties.collection, 2)
        (folder / "1.json").write_text(told.written())
        where.start("issuer")
        assert asked(where, first) == 200
        (later,), added = invitations.new_invitations(where.parties.collection, 1)
        assert asked(where, later) == 403
        (folder / "2.json").write_text(added.written()[:20])
        until(lambda: "lists-refused" in events(where))
        assert asked(where, second) == 200
        (new, other), replacing = invitations.replacements(where.parties.collection, [first.code, later.code])
        (folder / "2.json").write_text(added.written())
        (folder / "3.json").write_text(replacing.written())
        until(lambda: asked(where, new) == 200)
        assert [asked(where, each) for each in (first, later, other)] == [403, 403, 200]
        assert events(where).count("cancelled-too-late") == 1


def test_a_list_that_a_full_disk_did_not_take_is_tried_again_and_the_log_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(run_services, "_SECONDS_BETWEEN_LISTS", 0.0)
    parties, logged, left = WithTokens(), Logged(), [3]
    store, log = IssuerStore(tmp_path / "state"), EventLog(logged.write)
    at_issuer = CollectionAtIssuer(parties.collection, parties.issuer_key, store, log=log)
    _, told = invitations.new_invitations(parties.collection, 1)
    (tmp_path / "invited.json").write_text(told.written())
    invite = store.invite

    def full_at_first(*given):
        left[0] -= 1
        if left[0] >= 0:
            raise StorageError("full")
        return invite(*given)

    monkeypatch.setattr(store, "invite", full_at_first)

    async def test():
        following = asyncio.create_task(run_services._follow_lists([tmp_path / "invited.json"], None, [at_issuer], log))
        while ("lists-taken", 1) not in logged.events:
            await asyncio.sleep(0.001)
        following.cancel()

    run(test, seconds=5)
    log.flush()
    store.close()
    assert logged.events == [("storage-failed", 1), ("lists-taken", 1), ("storage-failed", 2)]


def test_an_issuer_is_told_of_an_early_close_and_then_nothing_of_it_is_left(tmp_path):
    with place(tmp_path, kind=WithTokens) as where:
        (first, second), told = invitations.new_invitations(where.parties.collection, 2)
        (tmp_path / "invited.json").write_text(told.written())
        where.start("shuffler")
        closing = ["collect", "close", tmp_path / "survey.collection", "--key", tmp_path / "shuffler.key"]
        where.start("issuer")
        assert asked(where, first) == 200
        traces = [digest_of(from_text(each.code, name="code")) for each in (first, second)]
        assert all(on_disk(tmp_path / "issuer", each) for each in traces)
        found = shuffledp(*closing)
        assert found.code == 0, found.err
        assert not any(on_disk(tmp_path / "issuer", each) for each in traces)
        assert [asked(where, each) for each in (first, second)] == [403, 403]
        where.running["issuer"].end()
        where.start("issuer")
        assert asked(where, second) == 403
        assert not any(on_disk(tmp_path / "issuer", each) for each in traces)


def test_whoever_closes_hears_that_the_issuer_was_not_told(tmp_path, monkeypatch):
    monkeypatch.setattr("shuffledp.cli.collect_command._PATIENCE", 0.0)
    with place(tmp_path, kind=WithTokens) as where:
        where.start("shuffler")
        found = shuffledp("collect", "close", tmp_path / "survey.collection", "--key", tmp_path / "shuffler.key")
        assert found.code == 9
        assert "issuer must be told that the collection is closed" in found.err


def test_an_invitation_is_good_for_as_many_requests_as_there_are_shufflers(tmp_path):
    store = IssuerStore(tmp_path)
    code = sha256(b"code").digest()
    store.invite(COLLECTION, [row_of(code, number) for number in range(3)])
    asked = [bytes([number]) for number in range(4)]
    assert [store.use(COLLECTION, code, each, requests=3) for each in asked] == [True] * 3 + [False]
    assert all(store.use(COLLECTION, code, each, requests=3) for each in asked[:3])  # the same ones again
    assert store.unused(COLLECTION) == []
    store.close()
