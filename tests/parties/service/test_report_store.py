"""What is on the shuffler's disk: every acknowledged report once, whole batches or none, and afterwards nothing."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b

import numpy as np
import pytest

from parties.service.sealed import rows
from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.service import report_store
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.randomness.permutations import random_permutation


def opened(folder, *, pools=(1,), remembers=False, kind=ReportStore):
    return closing(kind(folder, pools=pools, remembers=remembers))


def drawn(column, count, size, extensions):
    order = random_permutation(count)[:size]
    return order, order


def in_place(column, count, size, extensions):
    return np.arange(size), np.arange(size)


def signed(made):
    return repr((made.column, made.number, made.num_reports, made.body_sha256)).encode()


def body(store, column=0, number=0):
    found = [each for each in store.outgoing() if (each.column, each.number) == (column, number)]
    return b"".join(part for each in found for part in parts(store, each))


def parts(store, outgoing):
    """All parts of a batch."""
    found = []
    while (part := store.part(outgoing, len(found))) is not None:
        found.append(part)
    return found


def in_body(submission, column, sent):
    return submission[column].extensions + submission[column].ciphertext in sent


def test_a_report_is_stored_once_however_often_it_comes(tmp_path):
    with opened(tmp_path) as store:
        first, other = rows(), rows()
        assert store.commit([first, other, first]) == [Count.STORED, Count.STORED, Count.DUPLICATE]
        assert store.commit([first] * 100) == [Count.DUPLICATE] * 100
        assert store.waiting == 2
        assert store.counts() == {Count.STORED: 2, Count.DUPLICATE: 101}


def test_what_was_stored_is_there_after_the_process_was_killed(tmp_path):
    known = [rows(number=number) for number in range(50)]

    def run():
        store = ReportStore(tmp_path, pools=[1], remembers=False)
        store.commit(known)
        os.kill(os.getpid(), signal.SIGKILL)

    killed(run)
    with opened(tmp_path) as store:
        assert store.waiting == 50
        assert store.commit(known) == [Count.DUPLICATE] * 50


def test_a_folder_from_before_there_were_tokens_takes_them(tmp_path):
    stored, spending = rows(), [each._replace(token=b"token") for each in rows(number=2)]
    with opened(tmp_path) as store:
        store.commit([stored])
        store.run("DROP TABLE spent")
    with opened(tmp_path) as store:
        assert store.commit([stored, spending]) == [Count.DUPLICATE, Count.STORED]
        again = [each._replace(token=b"token") for each in rows(number=3)]
        assert store.commit([again]) == [ReportError.TOKEN_SPENT]


def test_the_columns_of_a_submission_are_stored_together_or_not_at_all(tmp_path):
    with opened(tmp_path, pools=[1, 1]) as store:
        first, second = rows(2), rows(2)
        mixed = (first[0], second[1])
        assert store.commit([first, mixed]) == [Count.STORED, ReportError.REPORT_REPLAYED]
        assert store.commit([second]) == [Count.STORED]
        assert store.waiting == 2
        assert store.counts()[Count.REFUSED] == 1


def test_every_write_is_on_the_disk_before_it_returns(tmp_path):
    with opened(tmp_path) as store:
        assert store.rows("PRAGMA synchronous") == [(2,)]  # FULL: a power cut loses nothing that was acknowledged
        assert store.rows("PRAGMA journal_mode") == [("wal",)]


def test_rows_do_not_lie_in_the_order_in_which_they_came(tmp_path):
    with opened(tmp_path) as store:
        came = [rows(number=number) for number in range(200)]
        for each in came:
            store.commit([each])
        store.release(200, in_place, signed)
        at = [body(store).index(each[0].ciphertext) for each in came]
    places = np.argsort(np.argsort(at))
    assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.4  # 5.6 standard errors


def order_on_disk(folder, came):
    """How far the places of reports in the bytes of the files go with when they came: 1 or -1 tells the order."""
    raw = b"".join(path.read_bytes() for path in sorted(folder.glob("reports.sqlite*")))
    at = [raw.rindex(each[0].ciphertext) for each in came]
    return np.corrcoef(np.argsort(np.argsort(at)), np.arange(len(came)))[0, 1]


@pytest.mark.parametrize("ends", ["tidy", "close", "kill"])
def test_the_bytes_of_the_disk_do_not_tell_who_came_first(tmp_path, ends):
    came = [rows(number=number) for number in range(25)]  # of one page: in more there is less order to be seen
    store = ReportStore(tmp_path, pools=[1], remembers=False)
    for each in came:
        store.commit([each])
    assert abs(order_on_disk(tmp_path, came)) > 0.99
    if ends == "tidy":
        store.tidy()
        assert abs(order_on_disk(tmp_path, came)) < 0.85  # 4 standard errors
    if ends == "kill":
        store._database.close()
        store = ReportStore(tmp_path, pools=[1], remembers=False)
        assert abs(order_on_disk(tmp_path, came)) < 0.85
    store.close()
    assert abs(order_on_disk(tmp_path, came)) < 0.85


@pytest.mark.parametrize("length", [200, 1400, 9000])
def test_among_very_many_long_reports_do_not_lie_one_behind_the_other_as_they_came(tmp_path, monkeypatch, length):
    monkeypatch.setattr(report_store, "_MOST_WRITTEN_ANEW", 0)
    came = [(rows()[0]._replace(ciphertext=os.urandom(length)),) for _ in range(200)]
    store = ReportStore(tmp_path, pools=[1], remembers=False, longest=len(came[0][0].ciphertext))
    for each in came:
        store.commit([each])
    store.tidy()
    assert abs(order_on_disk(tmp_path, came)) < 0.43  # 6 standard errors
    store.close()


def test_what_is_stored_together_is_written_in_no_order_of_arrival(tmp_path):
    came = [rows(number=number) for number in range(25)]
    with opened(tmp_path) as store:
        assert store.commit([*came, came[3]]) == [Count.STORED] * 25 + [Count.DUPLICATE]
        assert abs(order_on_disk(tmp_path, came)) < 0.85


def test_a_batch_holds_every_report_once_and_nothing_waits_any_more(tmp_path):
    with opened(tmp_path, pools=[1, 1]) as store:
        came = [rows(2) for _ in range(30)]
        store.commit(came)
        store.release(30, drawn, signed)
        assert store.waiting == 0
        for column in (0, 1):
            sent = body(store, column)
            assert sorted(sent.index(each[column].ciphertext) for each in came) == list(range(2, 30 * 82, 82))
            manifest = next(each.manifest for each in store.outgoing() if each.column == column)
            assert manifest == repr((column, 0, 30, hashlib.sha256(sent).digest())).encode()


def test_a_batch_of_fewer_leaves_the_others_and_knows_its_own_again(tmp_path):
    with opened(tmp_path, remembers=True) as store:
        came = [rows() for _ in range(30)]
        store.commit(came)
        store.release(20, drawn, signed)
        assert store.waiting == 10
        assert store.commit(came) == [Count.DUPLICATE] * 30
        store.release(10, drawn, signed)
        sent = [body(store, 0, number) for number in (0, 1)]
        assert [sum(in_body(each, 0, batch) for each in came) for batch in sent] == [20, 10]
        assert all(in_body(each, 0, sent[0]) != in_body(each, 0, sent[1]) for each in came)


def test_extensions_stay_at_their_places_while_ciphertexts_change_them(tmp_path):
    with opened(tmp_path) as store:
        came = [(rows()[0]._replace(extensions=b"%03d" % number),) for number in range(8)]
        store.commit(came)
        turned, asked = np.roll(np.arange(8), 3), []

        def draw(column, count, size, extensions):
            asked.extend(extensions())
            return np.arange(count), turned

        store.release(8, draw, signed)
        sent = body(store)
    at_places = [sent[start : start + 3] for start in range(0, len(sent), 83)]
    ciphertexts = [sent[start + 3 : start + 83] for start in range(0, len(sent), 83)]
    owner = {row.ciphertext: row.extensions for (row,) in came}
    assert at_places == asked
    assert [owner[each] for each in ciphertexts] == [asked[origin] for origin in turned]


def test_a_large_batch_is_kept_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(report_store, "_BYTES_OF_PART", 500)
    with opened(tmp_path) as store:
        store.commit([rows() for _ in range(30)])
        store.release(30, drawn, signed)
        sizes = [len(part) for part in parts(store, store.outgoing()[0])]
    assert sum(sizes) == 30 * 82
    assert len(sizes) == 5
    assert max(sizes) < 500 + 82


def test_what_was_counted_is_written_with_what_is_stored_next(tmp_path):
    with opened(tmp_path) as store:
        store.count({Count.LATE: 2})
        store.commit([rows()])
        store.count({Count.MALFORMED: 1})
        assert store.counts() == {Count.LATE: 2, Count.STORED: 1, Count.MALFORMED: 1}
    with opened(tmp_path) as store:
        assert store.counts() == {Count.LATE: 2, Count.STORED: 1}


# ---- the end --------------------------------------------------------------------------------------------------------


def test_the_end_destroys_what_waits_and_tells_the_analyzer_so(tmp_path):
    with opened(tmp_path, pools=[1, 1]) as store:
        store.commit([rows(2)])
        store.enter(Phase.CLOSING)
        store.end(Phase.DESTROYED, signed)
        assert store.waiting == 0
        empty = hashlib.sha256(b"").digest()
        assert [each.manifest for each in store.outgoing()] == [
            repr((column, 0, 0, empty)).encode() for column in (0, 1)
        ]
        with pytest.raises(LocalProtocolError, match="it is closed"):
            store.commit([rows(2)])
    with opened(tmp_path, pools=[1, 1]) as store:
        assert store.phase is Phase.DESTROYED


def raw(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("remembers", [False, True])
def test_after_the_release_neither_ciphertexts_nor_ids_nor_the_key_are_on_the_disk(tmp_path, remembers):
    with opened(tmp_path, remembers=remembers) as store:
        came = [rows() for _ in range(3000)]
        for start in range(0, 3000, 100):
            store.commit(came[start : start + 100])
        key = (tmp_path / "seen.key").read_bytes()
        digests = [blake2b(row.id, key=key, digest_size=16).digest() for (row,) in came]
        assert all(row.ciphertext in raw(tmp_path) for (row,) in came[::100])
        store.enter(Phase.CLOSING)
        store.release(3000, drawn, signed)
        store.end(Phase.CLOSED, signed)
        for each in store.outgoing():
            store.delivered(each)
        left = raw(tmp_path)
        assert not any(row.ciphertext[:16] in left or row.id in left for (row,) in came[::10])
        assert not any(digest in left for digest in digests[::10])
        assert not (tmp_path / "seen.key").exists()
        assert key not in left
        store.clean(Phase.RELEASED)
        assert store.counts() == {Count.STORED: 3000}
    assert len(raw(tmp_path)) < 1 << 16


def test_only_its_owner_may_read_what_is_stored(tmp_path):
    with opened(tmp_path / "made") as store:
        store.commit([rows()])
        assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "made").iterdir()} == {0o600}


# ---- what goes wrong ------------------------------------------------------------------------------------------------


def killed(run):
    """Run something that is killed in the middle, in a process of its own."""
    child = os.fork()
    if not child:
        try:
            run()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


class Dying(ReportStore):
    """Is killed before one of its statements."""

    left = None

    def run(self, statement, *values):
        if self.left is not None:
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
        return super().run(statement, *values)


def dies_at(folder, statement, doing):
    def run():
        store = Dying(folder, pools=[1, 1], remembers=True)
        store.left = statement
        doing(store)
        os._exit(0)

    return killed(run)


def test_a_batch_is_whole_or_absent_wherever_the_process_is_killed(tmp_path):
    came, statement, states = [rows(2) for _ in range(3)], 0, set()
    while True:
        folder = tmp_path / str(statement)
        with opened(folder, pools=[1, 1], remembers=True) as store:
            store.commit(came)
        died = dies_at(folder, statement, lambda store: store.release(3, drawn, signed))
        with opened(folder, pools=[1, 1], remembers=True) as store:
            sent = [sum(in_body(each, column, body(store, column)) for each in came) for column in (0, 1)]
            states.add((store.waiting, store.batches, len(store.outgoing()), *sent))
            assert store.commit(came) == [Count.DUPLICATE] * 3
        if not died:
            break
        statement += 1
    assert states == {(3, 0, 0, 0, 0), (0, 1, 2, 3, 3)}
    assert statement > 20


def test_the_end_is_whole_or_absent_wherever_the_process_is_killed(tmp_path):
    statement, states = 0, set()
    while True:
        folder = tmp_path / str(statement)
        with opened(folder, pools=[1, 1], remembers=True) as store:
            store.commit([rows(2)])
            store.enter(Phase.CLOSING)
        died = dies_at(folder, statement, lambda store: store.end(Phase.DESTROYED, signed))
        with opened(folder, pools=[1, 1], remembers=True) as store:
            states.add((store.phase, store.waiting, len(store.outgoing()), (folder / "seen.key").exists()))
        if not died:
            break
        statement += 1
    assert states == {(Phase.CLOSING, 1, 0, True), (Phase.DESTROYED, 0, 2, False)}


def test_a_second_process_refuses_to_start(tmp_path):
    with opened(tmp_path) as store:
        program = (
            "import sys; from pathlib import Path; from shuffledp.parties.service.report_store import ReportStore\n"
            "ReportStore(Path(sys.argv[1]), pools=[1], remembers=False)"
        )
        second = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert "must belong to one process; another one has them open" in second.stderr
        store.commit([rows()])


def test_an_open_collection_without_its_key_is_refused(tmp_path):
    with opened(tmp_path) as store:
        store.commit([rows()])
    (tmp_path / "seen.key").unlink()
    with pytest.raises(LocalProtocolError, match="it is gone"):
        ReportStore(tmp_path, pools=[1], remembers=False)


def test_an_open_collection_with_a_key_that_was_cut_off_is_refused(tmp_path):
    with opened(tmp_path) as store:
        store.commit([rows()])
    (tmp_path / "seen.key").write_bytes(b"")
    with pytest.raises(LocalProtocolError, match="of 32 bytes; it is cut off"):
        ReportStore(tmp_path, pools=[1], remembers=False)


@contextmanager
def small_disk(folder):
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "shuffledp-test", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_nothing_of_a_group_is_stored_on_a_full_disk_and_all_of_it_when_there_is_room_again(tmp_path):
    with small_disk(tmp_path / "disk") as disk, opened(disk / "store") as store:
        first = [rows() for _ in range(100)]
        store.commit(first)
        filler = disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        second = [rows() for _ in range(2000)]
        with pytest.raises(StorageError, match="the disk did not take"):
            store.commit(second)
        assert store.waiting == 100
        filler.unlink()
        assert store.commit(first) == [Count.DUPLICATE] * 100
        assert store.commit(second) == [Count.STORED] * 2000


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="must be writable"):
        ReportStore(tmp_path / "file" / "store", pools=[1], remembers=False)
