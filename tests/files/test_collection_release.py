"""The release of reports that a service collected: as from files, with the parties by name."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cli.running import task_with
from files.whole import read_view
from shuffledp.core.errors import BatchTooSmallError
from shuffledp.core.flow import Reports
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.table import Table
from shuffledp.documents.flow_document import flow_section
from shuffledp.files import stages
from shuffledp.files.collection_release import DecodedBatch, release_collected
from shuffledp.files.shuffling import shuffler_for
from shuffledp.survey import Collected, Provenance, Task
from shuffledp.testing import SeededSource

PARTIES = (Party("shuffler", "https://mixer.example"), Party("analyst", "https://office.example"))
PROVENANCE = Provenance(parties=PARTIES)
REFUSED = Collected(collection="ab" * 32, duplicates=3, late=2, malformed=1, undecryptable=4)
GROUPS = {
    "shuffler": {"kind": "mallows", "concentration": 0.01},
    "groups": {"columns": ["x"], "neighbors": 20},
    "public": ["x"],
}


def batch_of(column, answers, seed=1) -> DecodedBatch:
    source = SeededSource(seed)
    reports = column.randomizer.randomizer().randomize(np.asarray(answers), source=source)
    object.__setattr__(reports, "seeded", False)  # as it comes from devices, which say nothing of their randomness
    return DecodedBatch(reports=reports)


@pytest.fixture
def release(tmp_path):
    """The release of 400 reports of a task."""
    task = Task.from_dict(task_with())
    answers = np.arange(400) % len(task.columns[0].targets)
    batches = {column.value: [batch_of(column, answers)] for column in task.columns}
    refused = {column.value: REFUSED for column in task.columns}
    return release_collected(task, batches, refused, tmp_path, PROVENANCE), batches, tmp_path


def test_the_statement_names_the_parties_and_nobody_who_saw_raw_answers(release):
    first = release[0].statements[0]
    assert Trust.OPERATOR not in first.trust
    said = str(first)
    assert "the shuffler (https://mixer.example) shuffles as stated" in said
    assert "the analyst (https://office.example) does not work together with the shuffler" in said


def test_what_must_hold_of_how_reports_came_is_for_the_service_to_say(release, tmp_path):
    assert Trust.ONE_ANSWER not in release[0].statements[0].trust
    task = Task.from_dict(task_with())
    batches = {column.value: [batch_of(column, [0, 1] * 200)] for column in task.columns}
    refused = {column.value: REFUSED for column in task.columns}
    found = release_collected(task, batches, refused, tmp_path, replace(PROVENANCE, trust=(Trust.ONE_ANSWER,)))
    assert Trust.ONE_ANSWER.is_danger
    assert Trust.ONE_ANSWER in found.statements[0].trust


def test_the_view_holds_the_reports_that_opened_as_a_multiset(release):
    outcome, batches, folder = release
    view, _ = read_view(folder / "release.parquet", outcome.task)
    (batch,) = batches[outcome.column.column.value]
    mine, theirs = (np.sort(reports["value"]) for reports in (view.reports, batch.reports))
    assert np.array_equal(mine, theirs)


def test_all_that_was_received_is_counted(release):
    outcome, _, folder = release
    flow = json.loads((folder / "statement.json").read_text())["flow"]
    assert flow["received"] == 410
    assert flow["released"] == 400
    assert flow["collected"]["undecryptable"] == 4
    words = " ".join(block.text for block in flow_section(outcome.column).blocks if hasattr(block, "text"))
    assert "410 reports received, 3 copies counted once, 2 too late, 1 malformed" in words


def test_the_released_view_analyzed_again_gives_the_same_release(release, tmp_path_factory):
    outcome, _, folder = release
    again = stages.analyze(outcome.task, folder / "release.parquet", tmp_path_factory.mktemp("again"))
    assert again.statements == outcome.statements
    assert again.column.rows() == outcome.column.rows()


def test_too_small_a_batch_is_not_released(tmp_path):
    task = Task.from_dict(task_with(release={"delta": 1e-6, "minimum_batch": 500}))
    batches = {column.value: [batch_of(column, [0, 1] * 200)] for column in task.columns}
    with pytest.raises(BatchTooSmallError, match="minimum_batch = 500"):
        release_collected(task, batches, {each.value: REFUSED for each in task.columns}, tmp_path, PROVENANCE)
    assert not list(tmp_path.iterdir())


def test_near_an_order_each_report_stays_near_the_public_columns_of_its_sender(tmp_path):
    people = 400
    task = Task.from_dict(task_with(**GROUPS))
    column, public = task.column, Table({"x": np.arange(people, dtype=np.float64)})
    source = SeededSource(1)
    reports = batch_of(column, np.arange(people) % 2).reports
    shuffler = shuffler_for(column, public, people, tmp_path)
    view = shuffler.shuffle(reports, public=public, source=source)
    opened = Reports(view.reports.columns, reports.model)
    batches = {column.value: [DecodedBatch(reports=opened, public=public)]}
    found = release_collected(task, batches, {column.value: REFUSED}, tmp_path, PROVENANCE)
    assert found.column.shuffle_result is not None
    again, _ = read_view(tmp_path / "release.parquet", task)
    assert np.array_equal(again.reports["value"], opened["value"])


def test_all_columns_of_a_person_are_composed_and_name_the_parties(tmp_path):
    randomizer = task_with()["randomizer"]
    blocks = [{"column": name, "randomizer": randomizer} for name in ("smokes", "drinks")]
    task = Task.from_dict({"name": "survey", "release": {"delta": 1e-6}, "value": blocks})
    batches = {column.value: [batch_of(column, [0, 1] * 200, seed=place)] for place, column in enumerate(task.columns)}
    found = release_collected(task, batches, dict.fromkeys(batches, REFUSED), tmp_path, PROVENANCE)
    assert found.statements[0].parties == PARTIES
    assert "(https://mixer.example)" in str(found.statements[0])
    assert found.statements[0].guarantee.epsilon > found.columns["smokes"].release.statements[0].guarantee.epsilon
