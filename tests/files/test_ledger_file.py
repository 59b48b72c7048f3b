"""The file of a ledger keeps what was allowed: through kills, full disks, other writers, edits and old copies."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from cli.running import task_with
from shuffledp.accounting.gaussian_charges import charge_of
from shuffledp.core.errors import BudgetExceededError, InvalidParameterError, LocalProtocolError
from shuffledp.files import ledger_file
from shuffledp.files.ledger_file import new_ledger, opened_ledger, read_ledger_file
from shuffledp.files.ledger_use import require_recent, reserve, void
from shuffledp.survey import Task
from shuffledp.survey.ledgers.ledger_charges import promised_releases, worst_loss
from shuffledp.survey.ledgers.ledger_lines import UNIT

LOCAL = Task.from_dict(task_with(randomizer={"epsilon0": 0.1}, shuffler={"kind": "none"}))


@pytest.fixture
def path(tmp_path):
    new_ledger(tmp_path / "year.ledger", cap=1.0, delta=1e-5, releases=10)
    return tmp_path / "year.ledger"


def test_a_new_ledger_is_for_its_owner_alone_and_replaces_nothing(path):
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidParameterError, match="does not exist yet"):
        new_ledger(path, cap=1.0, delta=1e-5, releases=10)


def test_a_reservation_is_on_the_disk_before_it_is_given(path):
    with opened_ledger(path) as file:
        mark = reserve(file, LOCAL)
        assert list(read_ledger_file(path).entries) == [mark.entry]
    assert mark.head == read_ledger_file(path).head


def test_a_line_that_was_cut_off_is_left_out_and_written_over(path):
    """Mutant: what follows is appended to the part of a line, and the whole file is lost."""
    with opened_ledger(path) as file:
        reserve(file, LOCAL)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at":"2026-12-01T12:0')
    assert len(read_ledger_file(path).entries) == 1
    with opened_ledger(path) as file:
        assert file.was_cut
        reserve(file, LOCAL)
    assert len(read_ledger_file(path).entries) == 2
    assert path.read_bytes().startswith(whole)


def test_an_edited_line_is_found_and_nothing_is_written(path):
    with opened_ledger(path) as file:
        for _ in range(2):
            reserve(file, LOCAL)
    edited = path.read_bytes().replace(b'"people":1', b'"people":9', 1)
    path.write_bytes(edited)
    with pytest.raises(InvalidParameterError, match="line 2 was changed"), opened_ledger(path):
        pass
    assert path.read_bytes() == edited


def test_a_full_disk_leaves_the_ledger_as_it_was(path, monkeypatch):
    before = path.read_bytes()
    with opened_ledger(path) as file:
        monkeypatch.setattr(ledger_file.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(InvalidParameterError, match="must be writable: No space left"):
            reserve(file, LOCAL)
    assert path.read_bytes() == before


def test_a_clock_that_went_back_is_refused(path, monkeypatch):
    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - timedelta(days=1)

    monkeypatch.setattr(ledger_file, "datetime", Earlier)
    with opened_ledger(path) as file, pytest.raises(InvalidParameterError, match="clock must not be before"):
        reserve(file, LOCAL)


def test_a_second_writer_waits_and_then_gives_up(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "_PATIENCE", 0.1)
    with opened_ledger(path), pytest.raises(LocalProtocolError, match="another process"), opened_ledger(path):
        pass


def vectors_of(releases: int) -> Task:
    """Task of gradients whose promise is about so many sums together."""
    protocol = {"kind": "vector-sum", "epsilon": 1.0, "largest_norm": 1.0, "dimension": 2, "releases": releases}
    people, release = {"expected": 500}, {"delta": 1e-6, "minimum_batch": 500}
    return Task.from_dict({"name": "g", "value": "g", "people": people, "protocol": protocol, "release": release})


def test_a_task_is_released_no_more_often_than_its_promise_is_about(tmp_path):
    path = tmp_path / "large.ledger"
    new_ledger(path, cap=20.0, delta=1e-3, releases=20, populations=("north", "south"))
    task = vectors_of(3)
    with opened_ledger(path) as file:
        first = reserve(file, task, population="north")
        with pytest.raises(BudgetExceededError, match=r"must be at most 3.* counts 1 of them already.* be 3 more"):
            reserve(file, task, population="north", count=3)
        reserve(file, task, population="north", count=2)  # a declared plan, which the next two use up
        before = path.read_bytes()
        with pytest.raises(BudgetExceededError, match=r"counts 3 of them already, .* 1 more.* Nothing was spent"):
            reserve(file, task)  # it is about people of the north, too
        assert path.read_bytes() == before
        reserve(file, task, population="south")  # other people
        for _ in range(2):
            last = reserve(file, task, population="north")
        with pytest.raises(BudgetExceededError, match="counts 3"):
            reserve(file, task, population="north")
        reserve(file, vectors_of(4), population="north")  # another promise
        reserve(file, vectors_of(1), population="north")
        reserve(file, vectors_of(1), population="north")  # of one release each, which the cap alone counts
        entries = file.ledger.entries
        assert entries[first.entry].charge == entries[last.entry].charge


def test_a_release_of_a_promise_about_several_is_charged_as_one_of_them():
    several, one = (worst_loss(vectors_of(releases), 1e-7).charge for releases in (5, 1))
    alone = promised_releases(vectors_of(5)), promised_releases(vectors_of(1)), promised_releases(LOCAL)
    assert alone == (5, None, None)
    model = vectors_of(5).column.model(500)
    together = charge_of(model, remainder=1e-7) ** 2 * UNIT
    assert 0.8 * together < 5 * several.squared < together
    assert several.squared < 0.3 * one.squared  # whose one release is all that epsilon is about


def test_what_does_not_fit_is_refused_and_not_written(path):
    task = Task.from_dict(task_with(randomizer={"epsilon0": 9.0}, shuffler={"kind": "none"}))
    before = path.read_bytes()
    with opened_ledger(path) as file, pytest.raises(BudgetExceededError, match="Nothing was spent"):
        reserve(file, task)
    assert path.read_bytes() == before


def test_an_older_copy_of_the_file_is_noticed_by_a_release_that_saw_more(path):
    older = path.read_bytes()
    with opened_ledger(path) as file:
        mark = reserve(file, LOCAL)
        require_recent(file.ledger, mark.to_dict())
    path.write_bytes(older)
    with pytest.raises(InvalidParameterError, match="an older copy"):
        require_recent(read_ledger_file(path), mark.to_dict())


def test_a_plan_can_be_taken_back_once_and_a_run_never(path):
    with opened_ledger(path) as file:
        mark = reserve(file, LOCAL, count=3)
        run = reserve(file, LOCAL, population="")
        with pytest.raises(InvalidParameterError, match="or it stays"):
            void(file, run.entry, reason="it was killed", destroyed=False)
        assert void(file, mark.entry, reason="not begun").state == "void"
        with pytest.raises(InvalidParameterError, match="must be reserved; it is void"):
            void(file, mark.entry, reason="again")


def test_a_collection_can_be_taken_back_only_where_its_reports_were_destroyed(path):
    with opened_ledger(path) as file:
        reserve(file, LOCAL, id_="c" * 64)
        with pytest.raises(InvalidParameterError, match="reports may have been seen"):
            void(file, "c" * 64, reason="the date was wrong")
        assert void(file, "c" * 64, reason="too few", destroyed=True).state == "void"
        reserve(file, LOCAL, id_="d" * 64, keeps=True)
        with pytest.raises(InvalidParameterError, match="reports may have been seen"):
            void(file, "d" * 64, reason="in batches", destroyed=True)


def test_a_file_that_is_replaced_while_it_is_waited_for_takes_no_line(path, monkeypatch):
    taken = fcntl.flock

    def replaced(file, how):
        copy = path.with_suffix(".copy")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        return taken(file, how)

    monkeypatch.setattr(ledger_file.fcntl, "flock", replaced)
    with pytest.raises(LocalProtocolError, match="must not be replaced"), opened_ledger(path):
        pass


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b'{"cap":1}\n', b"[]\n", b"\xff\xfe\n"])
def test_what_is_no_ledger_is_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(InvalidParameterError, match="the ledger must"):
        read_ledger_file(tmp_path / "other")


KILLED = """
import os, sys
from pathlib import Path
from shuffledp.files.ledger_file import opened_ledger
from shuffledp.files.ledger_use import reserve
from shuffledp.survey import Task
import fcntl
import json
task = Task.from_dict(json.loads(sys.argv[2]))
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    with opened_ledger(Path(sys.argv[1])) as file:
        mark = reserve(file, task)
    sys.stdout.write(mark.entry + "\\n"); sys.stdout.flush()
"""


@pytest.mark.deep
def test_a_process_that_is_killed_a_hundred_times_forgets_no_reservation(tmp_path):
    path, given = tmp_path / "year.ledger", []
    new_ledger(path, cap=1.0, delta=1e-5, releases=10_000)
    small = task_with(randomizer={"epsilon0": 1e-3}, shuffler={"kind": "none"})
    for number in range(100):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, path, json.dumps(small)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        for _ in range(1 + number % 3):
            process.stdin.write(b"\n")
            process.stdin.flush()
            given.append(process.stdout.readline().decode().strip())
        process.stdin.write(b"\n")
        process.stdin.flush()
        os.kill(process.pid, signal.SIGKILL)  # somewhere between the request and its answer
        process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()
    assert set(given) <= set(read_ledger_file(path).entries)
    assert len(read_ledger_file(path).entries) <= len(given) + 100
