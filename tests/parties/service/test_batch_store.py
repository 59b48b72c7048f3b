"""What the analyzer takes: each batch once, whole, and under a number of its own."""

import hashlib
import os
import signal

import pytest

from parties.service.test_report_store import killed
from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.wire.grammar import BatchManifest

COLLECTION = bytes(32)
BODY = b"sealed reports" * 100


def manifest(body=BODY, *, column=0, number=0, batch=b"0123456789abcdef"):
    return BatchManifest(
        COLLECTION, column, batch, number, 100, 0, 0, 0, hashlib.sha256(body).digest(), b"uniform", b"0.1.0"
    )


def take(store, of, body=BODY):
    with store.incoming() as incoming:
        for start in range(0, len(body), 100):
            incoming.write(body[start : start + 100])
        return store.take(of, incoming)


@pytest.fixture
def store(tmp_path):
    made = BatchStore(tmp_path)
    yield made
    made.close()


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "batches").iterdir())


def test_a_batch_is_taken_once_however_often_it_comes(store, tmp_path):
    assert take(store, manifest()) is True
    assert take(store, manifest()) is False
    ((found,),) = store.complete(COLLECTION, 1)
    assert found[0] == manifest()
    assert found[1].read_bytes() == BODY
    assert files(tmp_path) == [manifest().batch_id.hex()]


def test_a_body_that_breaks_off_or_is_another_is_refused_and_leaves_nothing(store, tmp_path):
    for body in (BODY[:-1], BODY + b"x", b""):
        with pytest.raises(RemoteProtocolError, match="must have the body"):
            take(store, manifest(), body)
    assert files(tmp_path) == []
    assert store.complete(COLLECTION, 1) == []


def test_another_batch_of_the_same_number_is_refused(store, tmp_path):
    take(store, manifest())
    with pytest.raises(RemoteProtocolError, match="a number of its own"):
        take(store, manifest(batch=b"another batch id"))
    assert len(files(tmp_path)) == 1


def test_batches_are_complete_when_those_of_all_columns_are_there(store):
    take(store, manifest(column=1))
    assert store.complete(COLLECTION, 2) == []
    take(store, manifest(batch=b"of the 1st colum"))
    take(store, manifest(number=1, batch=b"of another batch"))
    ((first, second),) = store.complete(COLLECTION, 2)
    assert (first[0].column, second[0].column) == (0, 1)
    assert store.complete(b"x" * 32, 2) == []


def test_a_batch_that_was_released_is_gone_and_is_not_taken_again(store, tmp_path):
    take(store, manifest())
    store.done(store.complete(COLLECTION, 1)[0])
    assert files(tmp_path) == []
    assert store.complete(COLLECTION, 1) == []
    assert take(store, manifest()) is False
    assert store.has(manifest())


@pytest.mark.parametrize("before_commit", [True, False])
def test_a_batch_is_there_once_wherever_the_process_is_killed(tmp_path, before_commit):
    def run():
        store = BatchStore(tmp_path)
        die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        if before_commit:
            kept = store.run
            store.run = lambda statement, *values: die() if "INSERT" in statement else kept(statement, *values)
        take(store, manifest())
        die()

    assert killed(run)
    again = BatchStore(tmp_path)
    assert len(again.complete(COLLECTION, 1)) == (not before_commit)
    assert take(again, manifest()) is before_commit
    assert len(again.complete(COLLECTION, 1)) == 1
    again.close()
    assert files(tmp_path) == [manifest().batch_id.hex()]


def test_a_second_process_refuses_to_start(store, tmp_path):
    with pytest.raises(LocalProtocolError, match="must belong to one process"):
        BatchStore(tmp_path)
