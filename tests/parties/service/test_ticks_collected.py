"""Ticks over the services: a message for each option, sealed and shuffled by itself, whatever a person ticked."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from parties.service.at_work import collected, run
from parties.service.given import YES_NO, Parties
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.service.batch_opening import OpenedBatch
from shuffledp.parties.service.client import configs_of, sealed
from shuffledp.parties.service.message_joining import joined_messages
from shuffledp.parties.wire.grammar import Submission, UploadRequest
from shuffledp.randomizers import TickColumns
from shuffledp.survey import Task

OPTIONS = ["car", "bus", "bicycle"]


def ticks(kind="columns", **further):
    return {
        "column": "transport",
        "kind": "multi-select",
        "options": OPTIONS,
        "at_most": 2,
        "randomizer": {"kind": kind, "epsilon0": 6.0},
    } | further


def asked(*blocks, least=10, **further):
    release = {"delta": 1e-6, "minimum_batch": least}
    return Task.from_dict({"name": "survey", "value": list(blocks), "release": release} | further)


def submissions_of(parties, content):
    task = parties.collection.task
    config = configs_of(parties.collection, datetime.now(UTC))[0]
    return sealed(parties.collection, randomize_each(task, CsvInMemory(content)), config)


ANSWERS = b"transport,smokes\n" + b"car;bus,Yes\n,No\nbicycle,No\ncar;bus;bicycle,Yes\n" * 15


def released(folder, column="transport"):
    return json.loads((folder / "release" / column / "statement.json").read_text())


@pytest.mark.usefixtures("without_a_page")
def test_each_option_has_a_message_and_a_shuffle_of_its_own_beside_other_questions(tmp_path):
    parties = Parties(asked(ticks(), {"column": "smokes", "randomizer": YES_NO}))
    submissions = submissions_of(parties, ANSWERS)
    assert {len(each.reports) for each in submissions} == {4}
    shuffler_log, analyzer_log = run(collected, tmp_path, parties, submissions)
    assert shuffler_log.events.count(("delivered", 1)) == 8  # four batches, and four ends
    found = json.loads((tmp_path / "release" / "statement.json").read_text())
    assert [each["num_reports"] for each in found["columns"]] == [180, 60]
    estimates = {each["target"]: each["estimate"] for each in released(tmp_path)["estimates"]}
    assert list(estimates) == OPTIONS
    assert abs(estimates["bicycle"] - (0.25 + 0.25 * 2 / 3)) < 0.2
    assert "released" in dict(analyzer_log.events)


@pytest.mark.usefixtures("without_a_page")
@pytest.mark.parametrize(("kind", "options"), [("all-sets", {"pairs": True}), ("one-option", {})])
def test_the_other_ways_are_one_message(tmp_path, kind, options):
    parties = Parties(asked(ticks(kind, **options), least=80))
    submissions = submissions_of(parties, ANSWERS + b"car,No\n" * 40)
    assert {len(each.reports) for each in submissions} == {1}
    run(collected, tmp_path, parties, submissions)
    targets = [each["target"] for each in released(tmp_path)["estimates"]]
    assert targets == OPTIONS + (["car & bus", "car & bicycle", "bus & bicycle"] if options else [])


def test_uploads_have_one_form_whatever_is_ticked():
    for kind in ("columns", "one-option", "all-sets"):
        parties = Parties(asked(ticks(kind), least=80))
        sizes = {
            len(UploadRequest(tuple(submissions_of(parties, b"transport\n" + row + b"\n"))).encode())
            for row in (b"car", b'""', b"car;bus", b"car;bus;bicycle")
        }
        assert len(sizes) == 1


def test_no_part_of_an_upload_is_that_of_another_person_or_message():
    parties = Parties(asked(ticks()))
    ids = [each.id for one in submissions_of(parties, ANSWERS) for each in one.reports]
    assert len(set(ids)) == len(ids)


def opened(randomizer, rows, numbers=None):
    """The batches of each option, of these rows of ticks; of an option only the people in ``numbers``."""
    reports = randomizer.randomize(rows)
    found = []
    for option in range(randomizer.model.num_options):
        one = reports.take(np.flatnonzero(reports["option"] == option))
        one = one if numbers is None else one.take(numbers.get(option, np.arange(len(one))))
        found.append(_batch(one))
    return found


def _batch(reports):
    places = np.arange(len(reports))
    return OpenedBatch(
        reports=reports, places=places, extensions=((),) * len(reports), undecryptable=0, malformed=0, duplicates=0
    )


def test_messages_are_put_together_by_option_and_at_random():
    randomizer = TickColumns(epsilon0=30.0, num_options=2, at_most=2)
    rows = np.array([[1, 0]] * 20 + [[0, 1]] * 20)
    joined = joined_messages(opened(randomizer, rows))
    assert joined.reports.misplaced() is None
    told = joined.reports["ticked"].reshape(-1, 2)
    assert told.sum(axis=0).tolist() == [20, 20]
    assert not np.array_equal(told, rows)  # nobody's messages are side by side, but by chance


def test_a_message_about_another_option_is_malformed_and_surplus_ones_are_left_out():
    randomizer = TickColumns(epsilon0=30.0, num_options=2, at_most=2)
    first, second = opened(randomizer, np.zeros((20, 2), dtype=bool), {1: np.arange(17)})
    joined = joined_messages([first, second])
    assert (joined.reports.num_users, joined.malformed) == (17, 3)
    both_of_the_first = joined_messages([first, first])
    assert (both_of_the_first.reports.num_users, both_of_the_first.malformed) == (0, 40)


def test_a_submission_without_some_message_is_refused_whole(tmp_path):
    from parties.service.at_work import shuffler

    parties = Parties(asked(ticks()))

    async def sent():
        async with shuffler(tmp_path, parties) as here:
            (one, *_) = submissions_of(parties, ANSWERS)
            answer = await here.post(UploadRequest((Submission(one.reports[:2]),)).encode())
            return answer.status_code

    assert run(sent) == 400
