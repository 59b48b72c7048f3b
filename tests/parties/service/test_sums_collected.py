"""Sums over the services, with one mix: exact or nothing, and only for as many people as were planned for."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest

from parties.service.at_work import analyzer, collected, run, shuffler
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.files.devices import DeviceReports, randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.service import collection_terms
from shuffledp.parties.service.batch_opening import OpenedBatch
from shuffledp.parties.service.batch_order import draw_for
from shuffledp.parties.service.client import configs_of, sealed
from shuffledp.parties.service.forwarder import Forwarder
from shuffledp.parties.service.message_joining import joined_messages
from shuffledp.parties.wire.grammar import ReportError, Submission, UploadRequest
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.survey import EarlierRelease, Task

pytestmark = pytest.mark.usefixtures("without_a_page")

SHARES = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0.0, "upper": 10.0, "dropout_fraction": 0.5}
POURED = SHARES | {"buffers": "host"}  # one batch, for speed
BITS = {"kind": "counted-bits", "epsilon": 1.0, "lower": 0.0, "upper": 10.0, "error": 3.0, "dropout_fraction": 0.5}
VECTORS = {"kind": "vector-sum", "epsilon": 1.0, "largest_norm": 1.0, "dimension": 3, "dropout_fraction": 0.5}
IMPERFECT = {"kind": "imperfect", "imperfection": 0.5, "construction": "cayley"}


def asked(block=SHARES, *, expected=30, least=2, **further):
    release = {"delta": 1e-2, "minimum_batch": least}  # few shares, for speed
    people = {"expected": expected} | further.pop("people", {})
    return Task.from_dict(
        {"name": "s", "value": "wage", "protocol": block, "people": people, "release": release} | further
    )


def submissions_of(parties, numbers):
    content = "wage\n" + "".join(f"{each}\n" for each in numbers)
    sent = randomize_each(parties.collection.task, CsvInMemory(content.encode()))
    return sealed(parties.collection, sent, configs_of(parties.collection, datetime.now(UTC))[0])


def statement(folder):
    return json.loads((folder / "release" / "statement.json").read_text())


def resealed(collection, report, plaintext, *, column):
    """A report in the place of another one, which its device has made up."""
    config = configs_of(collection, datetime.now(UTC))[0]
    sealer = Sealer.to(config, collection_id=collection.id, column=column)
    return type(report).of(sealer.seal(plaintext))


# ---- exact ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffler", [None, IMPERFECT], ids=["uniform", "imperfect"])
@pytest.mark.parametrize("buffers", [pytest.param("message", marks=pytest.mark.deep), "host"])
def test_without_noise_the_sum_is_exact(tmp_path, monkeypatch, shuffler, buffers):
    monkeypatch.setattr(
        "shuffledp.protocols.shares.randomizers.polya.polya_noise", lambda *given, **_: np.zeros(given[2], int)
    )
    block = SHARES | {"integer": True, "buffers": buffers}
    parties = Parties(asked(block, **({"shuffler": shuffler} if shuffler else {})))
    numbers = np.arange(20) % 11
    run(collected, tmp_path, parties, submissions_of(parties, numbers))
    (row,) = statement(tmp_path)["estimates"]
    assert row["estimate"] == pytest.approx(numbers.mean(), abs=1e-12)
    pools = [pool.messages for pool in parties.collection.task.pools]
    assert statement(tmp_path)["num_reports"] == 20 * sum(pools)
    assert len(pools) == (1 if buffers == "host" else pools.count(1))


@pytest.mark.parametrize(
    "block", [pytest.param(SHARES, marks=pytest.mark.deep), POURED, BITS], ids=["shares", "poured", "bits"]
)
def test_a_service_states_what_a_run_over_the_same_reports_states(tmp_path, block):
    parties = Parties(asked(block))
    run(collected, tmp_path, parties, submissions_of(parties, [5] * 20))
    said = statement(tmp_path)
    outcome = parties.collection.task.run({"wage": [5] * 20})
    own = json.loads(json.dumps(outcome.to_dict()))
    for key in ("guarantee", "basis"):
        assert [each[key] for each in said["statements"]] == [each[key] for each in own["statements"]]
    assert said["estimates"][0]["standard_error"] == own["estimates"][0]["standard_error"]
    assert said["num_reports"] == own["num_reports"]
    trust = said["statements"][0]["trust"]
    assert trust[0] == ("all-bits" if block is BITS else "all-shares")
    assert {"not-together", "no-collusion", "shuffler"} <= set(trust)


def test_single_reports_of_an_imperfect_shuffle_state_the_gamma_that_is_promised(tmp_path):
    randomizer = {"kind": "k-rr", "epsilon0": 2.0, "categories": ["No", "Yes"]}
    task = {"name": "s", "value": "wage", "randomizer": randomizer, "shuffler": IMPERFECT}
    parties = Parties(Task.from_dict(task | {"release": {"delta": 1e-6, "minimum_batch": 10}}))
    run(collected, tmp_path, parties, submissions_of(parties, ["No", "Yes"] * 50))
    own = parties.collection.task.run({"wage": ["No", "Yes"] * 50}).to_dict()
    guarantee = statement(tmp_path)["statements"][0]["guarantee"]
    assert guarantee == own["statements"][0]["guarantee"]
    assert statement(tmp_path)["model"]["shuffle"] == own["model"]["shuffle"]


def test_responses_under_a_blanket_are_one_pool_and_state_what_a_run_states(tmp_path):
    randomizer = {"kind": "k-rr", "epsilon0": 4.0, "categories": ["a", "b", "c"], "blanket": True}
    task = {"name": "s", "value": "wage", "randomizer": randomizer | {"blanket_messages": 2.5}}
    parties = Parties(Task.from_dict(task | {"release": {"delta": 1e-6, "minimum_batch": 10}}))
    submissions = submissions_of(parties, ["a", "b"] * 30)
    assert {len(each.reports) for each in submissions} == {4}
    run(collected, tmp_path, parties, submissions)
    own = parties.collection.task.run({"wage": ["a", "b"] * 30}).to_dict()
    said = statement(tmp_path)
    assert said["statements"][0]["guarantee"] == own["statements"][0]["guarantee"]
    assert said["num_reports"] == own["num_reports"] == 240
    assert said["statements"][0]["trust"][:2] == ["one-answer", "blanket"]


@pytest.mark.deep
def test_vectors_go_the_same_way(tmp_path):
    task = asked(VECTORS)
    parties = Parties(task)
    model = task.column.randomizer.randomizer().model
    reports = model.randomizer().randomize(np.full((20, 3), 0.5))
    config = configs_of(parties.collection, datetime.now(UTC))[0]
    submissions = sealed(parties.collection, DeviceReports(reports=(reports,), public=None, left_out=0), config)
    assert len(task.pools) == model.num_messages
    run(collected, tmp_path, parties, submissions)
    assert statement(tmp_path)["num_reports"] == 20 * model.num_messages
    assert len(statement(tmp_path)["estimates"]) == 3


# ---- or nothing -----------------------------------------------------------------------------------------------------


def tampered(collection, submissions, how):
    """Submissions of which the first has one share that was spoilt by its device."""
    first, *others = submissions
    model = collection.task.columns[0].randomizer.randomizer().model
    shares = list(first.reports)
    if how == "undecryptable":
        sealed_to = shares[3].ciphertext
        flipped = bytes([sealed_to.payload[0] ^ 1]) + sealed_to.payload[1:]
        shares[3] = type(shares[3]).of(replace(sealed_to, payload=flipped))
    elif how == "of another round":
        shares[3] = resealed(collection, shares[3], _encoded(model, residue=1, number=2), column=3)
    elif how == "malformed":
        shares[3] = resealed(collection, shares[3], b"\xff" * len(_encoded(model, residue=1, number=2)), column=3)
    elif how == "for another pool":
        shares[3] = resealed(collection, shares[3], _encoded(model, residue=1, number=3), column=2)
    return [Submission(tuple(shares)), *others]


def _encoded(model, *, residue, number):
    from shuffledp.parties.wire.report_bytes import ReportLayout

    columns = {name: np.array([each]) for name, each in (("residue", residue), ("round", number))}
    return ReportLayout.of(model).encode(Reports(columns, model))[0]


IN_ROUNDS = [(SHARES, how) for how in ("undecryptable", "of another round", "malformed", "for another pool")]


@pytest.mark.parametrize(
    ("block", "how"), [(POURED, "undecryptable"), *(pytest.param(*each, marks=pytest.mark.deep) for each in IN_ROUNDS)]
)
def test_one_spoilt_share_releases_nothing_and_the_others_are_counted(tmp_path, block, how):
    parties = Parties(asked(block))
    submissions = tampered(parties.collection, submissions_of(parties, [5] * 20), how)
    _, log = run(collected, tmp_path, parties, submissions)
    assert ("seen-not-released", 1) in log.events
    said = statement(tmp_path)
    assert [each.name for each in (tmp_path / "release").iterdir()] == ["statement.json"]
    assert "the sum would be noise: nothing was released" in said["not_released"]
    assert said["estimates"] == []
    assert said["num_reports"] == 19 * parties.collection.task.column.randomizer.randomizer().model.num_messages
    assert EarlierRelease.read(tmp_path / "release" / "statement.json").headline.guarantee.epsilon <= 1.0
    assert 0.9 < said["statements"][0]["guarantee"]["epsilon"] <= 1.0


def test_where_too_few_are_left_whose_noise_came_whole_nothing_is_promised_for_the_sum_that_was_not_released(tmp_path):
    parties = Parties(asked(POURED))
    run(collected, tmp_path, parties, tampered(parties.collection, submissions_of(parties, [5] * 15), "undecryptable"))
    said = statement(tmp_path)
    assert said["num_reports"] == 14 * parties.collection.task.column.randomizer.randomizer().model.num_messages
    assert said["statements"][0]["guarantee"]["epsilon"] == "inf"


def test_rounds_of_different_sizes_are_spoilt_and_bits_of_one_pool_are_not():
    for block, spoilt in ((SHARES, True), (BITS, False)):
        task = asked(block)
        model = task.column.randomizer.randomizer().model
        reports = model.randomizer().randomize(np.full(20, 5.0))
        batches, at = [], np.arange(len(reports)) % model.num_messages // model.messages_per_round
        for number in range(model.num_pools):
            one = reports.take(np.flatnonzero(at == number))
            one = one.take(np.arange(len(one) - (number == 1)))
            counts = dict.fromkeys(("undecryptable", "malformed", "duplicates"), 0)
            batches.append(OpenedBatch(reports=one, places=np.arange(len(one)), extensions=((),) * len(one), **counts))
        joined = joined_messages(batches)
        assert bool(joined.lost) is spoilt
        assert joined.reports.num_users == 20 - spoilt
        assert joined.reports.misplaced() is None


def test_a_sum_of_which_some_messages_of_a_person_are_tests_is_spoilt_and_one_without_all_of_them_is_whole():
    model = asked(POURED).column.randomizer.randomizer().model
    reports, each = model.randomizer().randomize(np.full(20, 5.0)), model.num_messages
    assert (model.num_pools, model.messages_per_round) == (1, each)
    counts = dict.fromkeys(("undecryptable", "malformed", "duplicates"), 0)
    for tests, spoilt in ((1, True), (each - 1, True), (each, False), (2 * each, False)):
        left = reports.take(np.arange(len(reports) - tests))
        batch = OpenedBatch(
            reports=left, places=np.arange(len(left)), extensions=((),) * len(left), **counts, tests=tests
        )
        assert bool(joined_messages([batch]).lost) is spoilt


def test_bits_that_do_not_open_leave_a_sum_of_one_person_less(tmp_path):
    parties = Parties(asked(BITS))
    first, *others = submissions_of(parties, [5] * 20)
    broken = type(first.reports[0]).of(
        replace(first.reports[0].ciphertext, payload=bytes(len(first.reports[0].ciphertext.payload)))
    )
    run(collected, tmp_path, parties, [Submission((broken, *first.reports[1:])), *others])
    said, messages = statement(tmp_path), len(first.reports)
    assert (said["num_reports"], said["flow"]["collected"]["undecryptable"]) == (19 * messages, 1)
    assert said["flow"]["collected"]["malformed"] == messages - 1


@pytest.mark.parametrize(("come", "released"), [(14, False), (15, True)])
def test_exactly_the_planned_share_may_stay_away(tmp_path, come, released):
    parties = Parties(asked(POURED))
    assert parties.collection.minimum == 15
    shuffler_log, analyzer_log = run(collected, tmp_path, parties, submissions_of(parties, [5] * come))
    assert (tmp_path / "release").exists() is released
    assert (("not-released", 1) in shuffler_log.events) is not released
    assert ("released", 15) in analyzer_log.events or not released


def test_fakes_make_no_noise_and_more_than_expected_are_not_taken_in(tmp_path):
    parties = Parties(asked(POURED, people={"fakes": 3}, least=10))
    assert (parties.collection.minimum, parties.collection.most) == (18, 30)

    async def sent():
        async with shuffler(tmp_path, parties) as here, analyzer(tmp_path, parties) as (client, _, logged):
            refused = await here.send(*submissions_of(parties, [5] * 30))
            full = await here.send(*submissions_of(parties, [5] * 2))
            await here.at_shuffler.stop_intake()
            await here.at_shuffler.advance()
            assert await Forwarder(here.at_shuffler, client, log=here.at_shuffler._log).send_all()
            return refused, full, logged.events

    refused, full, events = run(sent)
    assert (refused, list(full.values())) == ({}, [ReportError.REPORT_DROPPED] * 2)
    assert ("released", 30) in events


# ---- what the parties see -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [SHARES, BITS], ids=["shares", "bits"])
def test_uploads_have_one_form_whatever_is_answered(block):
    parties = Parties(asked(block))
    people = [submissions_of(parties, [number]) for number in (0, 3.7, 10)]
    assert len({len(UploadRequest(tuple(each)).encode()) for each in people}) == 1
    ids = [report.id for (one,) in people for report in one.reports]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("shuffler", [None, IMPERFECT], ids=["uniform", "imperfect"])
def test_each_pool_leaves_in_an_order_of_its_own(tmp_path, shuffler):
    """Whoever has all batches cannot tell by places which messages came together: orders are drawn for each pool."""
    task = asked(**({"shuffler": shuffler} if shuffler else {}))
    draw = draw_for(task, tmp_path)
    orders = [draw(pool.number, 200, 200, list)[1] for pool in task.pools]
    assert all(sorted(each) == list(range(200)) for each in orders)
    pairs = [np.corrcoef(one, other)[0, 1] for one, other in pairwise(orders)]
    assert (
        max(np.abs([*pairs, *(np.corrcoef(each, np.arange(200))[0, 1] for each in orders)])) < 0.43
    )  # 6 standard errors


# ---- what no collection can be --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "further", "why"),
    [
        (SHARES, {"every": 20}, "^every must be absent with a"),
        (BITS, {"every": 20}, "^every must be absent with a"),
        (SHARES | {"hosts": 2}, {}, "shufflers must be as many as the hosts of the task, 2; got 1"),
    ],
)
def test_what_one_mix_cannot_do_is_refused_by_name(block, further, why):
    with pytest.raises(InvalidParameterError, match=why):
        Parties(asked(block), **further)


def test_an_upload_of_more_than_a_megabyte_is_refused_by_its_length(monkeypatch):
    collection = Parties(asked(BITS)).collection
    length = sum(collection_terms.terms_of(collection).lengths)
    monkeypatch.setattr(collection_terms, "MOST_BYTES_OF_ONE", length)
    collection_terms.require_short(collection)
    monkeypatch.setattr(collection_terms, "MOST_BYTES_OF_ONE", length - 1)
    with pytest.raises(
        InvalidParameterError, match=f"at most {length - 1:,} bytes long together; here they are {length:,}"
    ):
        collection_terms.require_short(collection)


def test_whoever_serves_the_page_may_not_mix_and_analyze_a_sum():
    from shuffledp.survey import Service

    parties = Parties.fetching(asked())
    with pytest.raises(InvalidParameterError, match=r"^local must be left out for 'split-and-mix' reports"):
        replace(
            parties.collection,
            local=True,
            shuffler=Service(url="http://192.168.1.7:8000", key=parties.collection.shuffler.key),
        )
