"""What the analyzer opens: each ciphertext once, what opens and is a report, and all else counted."""

import numpy as np
import pytest

from parties.service.given import Parties
from shuffledp.core.errors import MalformedMessageError
from shuffledp.core.flow import Reports
from shuffledp.parties.service import batch_opening
from shuffledp.parties.service.batch_opening import open_batch
from shuffledp.parties.wire.grammar import BatchedReport
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.report_bytes import ReportLayout

PARTIES = Parties()
MODEL = PARTIES.collection.task.column.randomizer.randomizer().model
LAYOUT = ReportLayout.of(MODEL)


def sealer(key=PARTIES.analyzer_key, collection_id=PARTIES.collection.id, column=0):
    return Sealer.to(key.config, collection_id=collection_id, column=column)


def sealed(values, by=None):
    blobs = LAYOUT.encode(Reports({"value": values}, MODEL))
    return [BatchedReport((), (by or sealer()).seal(blob)).encode() for blob in blobs]


def open_all(tmp_path, parts, *, keys=(PARTIES.analyzer_key,), count=None):
    body = tmp_path / "body"
    body.write_bytes(b"".join(parts))
    count = len(parts) if count is None else count
    return open_batch(body, count, MODEL, keys, collection_id=PARTIES.collection.id, column=0)


def test_reports_come_out_in_the_order_of_their_places(tmp_path):
    found = open_all(tmp_path, sealed([0, 1, 1, 0, 1]))
    assert found.reports["value"].tolist() == [0, 1, 1, 0, 1]
    assert found.places.tolist() == [0, 1, 2, 3, 4]
    assert (found.undecryptable, found.malformed, found.duplicates) == (0, 0, 0)


def test_the_same_ciphertext_counts_once(tmp_path):
    first, second = sealed([0, 1])
    found = open_all(tmp_path, [first, second, first, first])
    assert found.reports["value"].tolist() == [0, 1]
    assert found.duplicates == 2


def test_what_does_not_open_is_counted_and_changes_nothing_else(tmp_path):
    others = {
        "another key": sealer(key=AnalyzerKey.generate(other_than=[PARTIES.analyzer_key.config.id])),
        "another collection": sealer(collection_id=Parties().collection.id),
        "another column": sealer(column=1),
    }
    parts = [*sealed([1]), *(sealed([0], by=each)[0] for each in others.values()), *sealed([1])]
    found = open_all(tmp_path, parts)
    assert found.reports["value"].tolist() == [1, 1]
    assert found.places.tolist() == [0, 4]
    assert found.undecryptable == 3


def test_what_opens_and_is_no_report_is_counted_as_malformed(tmp_path):
    parts = [BatchedReport((), sealer().seal(text)).encode() for text in (b"\x07", b"", b"\x00" * 9)]
    found = open_all(tmp_path, [*parts, *sealed([1])])
    assert found.reports["value"].tolist() == [1]
    assert found.malformed == 3


def test_a_successors_reports_open_beside_those_of_the_key_before(tmp_path):
    successor = AnalyzerKey.generate(other_than=[PARTIES.analyzer_key.config.id])
    found = open_all(
        tmp_path, [*sealed([0]), *sealed([1], by=sealer(key=successor))], keys=[PARTIES.analyzer_key, successor]
    )
    assert found.reports["value"].tolist() == [0, 1]


def test_tests_of_the_way_are_counted_once_each_and_change_nothing_else(tmp_path, monkeypatch):
    testing = Sealer.to(PARTIES.analyzer_key.config, collection_id=PARTIES.collection.id, column=0, is_test=True)
    first, second = (BatchedReport((), testing.seal(text)).encode() for text in (b"\x00", b"whatever"))
    parts = [first, *sealed([1, 0]), second, first, *sealed([1])]
    monkeypatch.setattr(batch_opening, "_REPORTS_AT_A_TIME", 2)
    found = open_all(tmp_path, parts)
    assert found.reports["value"].tolist() == [1, 0, 1]
    assert found.places.tolist() == [1, 2, 5]
    assert (found.tests, found.duplicates, found.undecryptable, found.malformed) == (2, 1, 0, 0)


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_of_another_number_than_it_says_is_refused(tmp_path, count):
    with pytest.raises(MalformedMessageError, match="a batch must hold"):
        open_all(tmp_path, sealed([0, 1]), count=count)


def test_a_batch_that_breaks_off_is_refused(tmp_path):
    whole = b"".join(sealed([0, 1]))
    with pytest.raises(MalformedMessageError):
        open_all(tmp_path, [whole[:-1]], count=2)


def test_in_processes_everything_comes_out_as_in_one(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_opening, "_REPORTS_AT_A_TIME", 7)
    values = np.arange(40) % 2
    parts = sealed(values)
    parts[3] = parts[2]
    alone = open_all(tmp_path, parts)
    monkeypatch.setattr(batch_opening, "_WORTH_PROCESSES", 10)
    together = open_all(tmp_path, parts)
    assert together.reports == alone.reports
    assert together.duplicates == 1
    assert together.places.tolist() == [place for place in range(40) if place != 3]
