"""Follow-up questions over the services: everybody's upload has the same parts, and the release says who was asked."""

import pytest

from parties.service.at_work import collected, run
from parties.service.given import Parties
from parties.service.test_ticks_collected import released, submissions_of
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.parties.wire.grammar import UploadRequest
from survey.test_follow_up import AFTER, AGE, QUIT, SMOKES, task

ANSWERS = b"smokes,quit,age\n" + b"Yes,never,20\nNo,,\nYes,often,50\nNo,,\n" * 20


@pytest.mark.usefixtures("without_a_page")
def test_uploads_have_the_same_parts_and_lengths_whoever_is_asked(tmp_path):
    blocks = (SMOKES, QUIT | AFTER, AGE | AFTER)
    sure = [block | {"randomizer": block["randomizer"] | {"epsilon0": 8.0}} for block in blocks]
    parties = Parties(task(*sure, release={"delta": 1e-6, "minimum_batch": 20}))
    submissions = submissions_of(parties, ANSWERS)
    assert len(submissions) == 80
    num_columns = len(parties.collection.task.messages)
    uploads = [UploadRequest(submissions=(each,)).encode() for each in submissions]
    assert len({len(upload) for upload in uploads}) == 1
    assert {len(each.reports) for each in submissions} == {num_columns}
    run(collected, tmp_path, parties, submissions)
    rows = released(tmp_path, "quit")["estimates"]
    all_people = {row["target"]: row["estimate"] for row in rows if row["statistic"] == "frequency"}
    assert all_people[NOT_ASKED] == pytest.approx(0.5, abs=0.1)
    among = {row["target"]: row["estimate"] for row in rows if row["statistic"] == "frequency among those asked"}
    assert among == {"never": pytest.approx(0.5, abs=0.15), "often": pytest.approx(0.5, abs=0.15)}
