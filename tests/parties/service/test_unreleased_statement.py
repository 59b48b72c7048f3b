"""A collection whose reports were opened and not released leaves a statement of what was lost, which others count."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from parties.service.at_work import analyzer, collected, run
from parties.service.given import Parties, task, task_near_an_order, task_of_two
from parties.service.test_analyzer_app import posted, statement, submissions_of
from parties.service.test_seen_reports import signed, submissions
from shuffledp.accounting import account
from shuffledp.core.errors import InputDataError, RemoteProtocolError
from shuffledp.parties.service import demonstration
from shuffledp.parties.service.batch_release import write_batch_release
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.public_columns import extensions_of
from shuffledp.parties.wire.grammar import SignedManifest
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.survey import EarlierRelease

pytestmark = pytest.mark.usefixtures("without_a_page")

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema.json").read_text(encoding="utf-8"))
RELEASE = Draft202012Validator(SCHEMA)
JOINT = Draft202012Validator({"$ref": "#/$defs/joint_release", "$defs": SCHEMA["$defs"]})


def strangers(parties, values, **further):
    """Reports that do not open by the analyst's key."""
    found = submissions_of(parties, values, config=AnalyzerKey.generate().config, **further)
    named = parties.analyzer_key.config.id
    return [replace(each, reports=tuple(_as_of(report, named) for report in each.reports)) for each in found]


def _as_of(report, config_id):
    return replace(report, ciphertext=replace(report.ciphertext, config_id=config_id))


def epsilon(said):
    return said["statements"][0]["guarantee"]["epsilon"]


def test_too_few_that_open_leave_a_statement_that_a_next_release_counts(tmp_path):
    parties = Parties()
    _, log = run(collected, tmp_path, parties, [*strangers(parties, [0] * 40), *submissions_of(parties, [1] * 9)])
    assert [each for each, _ in log.events] == ["batch-received", "seen-not-released", "batch-received"]
    assert [each.name for each in (tmp_path / "release").iterdir()] == ["statement.json"]
    said = statement(tmp_path)
    RELEASE.validate(said)
    assert said["estimates"] == []
    assert "got 9" in said["not_released"]
    assert said["num_reports"] == 9
    assert said["flow"]["released"] == 0
    assert said["flow"]["collected"]["undecryptable"] == 40
    model = parties.collection.task.column.model(9)
    assert epsilon(said) == account(model, delta=1e-6).guarantee.epsilon
    seen = tmp_path / "release" / "statement.json"
    assert EarlierRelease.read(seen).headline.guarantee.epsilon == epsilon(said)
    again = Parties()  # the same task once more
    run(collected, tmp_path / "alone", again, submissions_of(again))
    run(collected, tmp_path / "second", again, submissions_of(again), earlier=[seen])
    alone, together = (statement(tmp_path / name) for name in ("alone", "second"))
    assert max(epsilon(said), epsilon(alone)) < epsilon(together) <= epsilon(said) + epsilon(alone)
    assert len(together["earlier"]) == 1


def test_where_nothing_opens_nothing_was_seen(tmp_path):
    parties = Parties()
    _, log = run(collected, tmp_path, parties, strangers(parties, [0] * 40))
    assert ("not-released", 1) in log.events
    assert not (tmp_path / "release").exists()


def test_near_an_order_nothing_of_the_shuffle_is_counted(tmp_path):
    parties = Parties(task_near_an_order())
    public = [extensions_of(parties.collection.task.column, {"place": place, "age": 1}) for place in "AB"]
    sent = [*submissions_of(parties, public=public), *strangers(parties, [0, 1], public=public)]
    _, log = run(collected, tmp_path, parties, sent)
    assert ("seen-not-released", 1) in log.events
    said = statement(tmp_path)
    RELEASE.validate(said)
    assert epsilon(said) == 1.0
    assert "nothing is counted" in " ".join(said["statements"][0]["remarks"])
    assert EarlierRelease.read(tmp_path / "release" / "statement.json").headline.guarantee.epsilon == 1.0


def test_of_several_columns_all_losses_are_counted_whichever_has_too_few(tmp_path):
    parties = Parties(task_of_two())
    wrong, good = strangers(parties, [0] * 40), submissions_of(parties, [1] * 40)
    mixed = [
        replace(each, reports=(each.reports[0], bad.reports[1])) if number < 40 - 5 else each
        for number, (each, bad) in enumerate(zip(good, wrong, strict=True))
    ]
    run(collected, tmp_path, parties, mixed)
    said = statement(tmp_path)
    JOINT.validate(said)
    assert [each["num_reports"] for each in said["columns"]] == [40, 5]
    assert EarlierRelease.read(tmp_path / "release" / "statement.json").headline.guarantee.epsilon == epsilon(said)
    lone = [account(each.model(count), delta=1e-6).guarantee.epsilon for each, count in
            zip(parties.collection.task.columns, (40, 5), strict=True)]  # fmt: skip
    assert max(lone) < epsilon(said) <= sum(lone)


def test_a_batch_that_breaks_off_counts_as_if_nothing_was_shuffled(tmp_path):
    parties = Parties()

    async def test():
        async with analyzer(tmp_path, parties) as (client, _, logged):
            told = signed(parties, submissions(parties, 20), 0, num_reports=21)
            assert (await posted(client, parties, told)).is_success
            return logged.events

    assert run(test) == [("batch-received", 21), ("seen-not-released", 1)]
    said = statement(tmp_path)
    RELEASE.validate(said)
    assert (said["num_reports"], epsilon(said)) == (21, 1.0)


def test_a_batch_that_was_seen_and_not_released_is_none_of_those_together_also_after_a_restart(tmp_path):
    parties = Parties(task(), every=20)
    bad = strangers(parties, [0] * 15)
    sent = submissions(parties, 60)
    batches = [
        signed(parties, sent[:20], 0),
        signed(parties, [*sent[20:25], *bad], 1),
        signed(parties, sent[25:45], 2),
        signed(parties, [], 3),
    ]

    async def test():
        events = []
        for each in batches:  # each by an analyzer that has just started
            async with analyzer(tmp_path, parties) as (client, _, logged):
                assert (await posted(client, parties, each)).is_success
            events += logged.events
        return events

    events = run(test)
    assert [each for each, _ in events].count("seen-not-released") == 1
    said = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("release/*/statement.json")}
    assert {name: each["num_reports"] for name, each in said.items()} == (
        {"batch-1": 20, "batch-2": 5, "batch-3": 20, "together": 40}
    )
    assert [name for name, each in said.items() if "not_released" in each] == ["batch-2"]


def test_what_was_opened_of_several_batches_together_counts_as_if_nothing_was_shuffled(tmp_path):
    parties, store = Parties(task(), every=20), BatchStore(tmp_path / "batches")
    sent = submissions(parties, 6)
    for number, part in enumerate((sent[:3], sent[3:])):
        made, at = SignedManifest.read(whole := signed(parties, part, number), 0, len(whole))
        with store.incoming() as incoming:
            incoming.write(whole[at:])
            store.take(made.manifest, incoming)
    several = store.complete(parties.collection.id, 1)
    with pytest.raises(InputDataError, match="got 3"):
        write_batch_release(parties.collection, several, [parties.analyzer_key], tmp_path / "release")
    store.close()
    said = statement(tmp_path)
    RELEASE.validate(said)
    assert (len(several), said["num_reports"], epsilon(said)) == (2, 6, 1.0)


def test_a_demonstration_does_not_take_such_a_statement_for_a_release(tmp_path, monkeypatch):
    parties = Parties()
    _, log = run(collected, tmp_path, parties, [*strangers(parties, [0] * 40), *submissions_of(parties, [1] * 9)])
    (tmp_path / "releases").mkdir()
    (tmp_path / "release").rename(tmp_path / "releases" / Path(demonstration.COLLECTION_FILE).stem)
    (tmp_path / "analyzer.log").write_text("".join(log.lines))
    monkeypatch.setattr(demonstration, "status_of", lambda *_, **__: {"at_least_minimum": True})
    monkeypatch.setattr(demonstration, "answer_to", lambda *_, **__: None)
    shown = demonstration.Demonstration(parties.collection, parties.shuffler_key, tmp_path)
    with pytest.raises(RemoteProtocolError, match=r"must write a release; its log says: .*seen-not-released"):
        shown.release()
