"""Outputs appear whole or not at all, and take the place of nothing but earlier outputs."""

import errno
import json
import os
import signal
import stat
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_answers
from shuffledp.core.errors import InputDataError, InvalidParameterError, LocalProtocolError
from shuffledp.files import is_release, new_file, new_folder, stages
from shuffledp.survey import Task


def fill(path, text="new", **options) -> None:
    """An output as the library makes it."""
    with new_folder(path, **options) as folder:
        (folder / "estimates.csv").write_text(text)
        (folder / "release.html").write_text('<span class="files">Also as estimates.svg and estimates.png.</span>')
        mark = {"task_sha256": "0" * 64, "files": {"estimates.csv": "0" * 64}}
        (folder / "statement.json").write_text(json.dumps(mark))


def begin(manager) -> None:
    with manager as place:
        place.touch()


def refusal(manager) -> str:
    with pytest.raises(InvalidParameterError) as caught:
        begin(manager)
    return str(caught.value)


def contents(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def reports(tmp_path):
    """A file of this library."""
    source = tmp_path / "source"
    source.mkdir()
    stages.randomize(Task.from_dict(task_with()), write_answers(source, ["No", "Yes"]), source / "reports.parquet")
    return source / "reports.parquet"


# ---- folders --------------------------------------------------------------------------------------------------------


def test_a_folder_appears_only_when_it_is_whole(tmp_path):
    with new_folder(tmp_path / "out") as folder:
        (folder / "file").touch()
        assert not (tmp_path / "out").exists()
    assert contents(tmp_path) == {"out", "out/file"}


def test_a_failure_leaves_nothing_behind_not_even_folders_on_the_way(tmp_path):
    def fail(manager):
        with manager as place:
            (place / "file").touch() if place.is_dir() else place.touch()
            raise InputDataError("row 7")

    for manager in (new_folder(tmp_path / "a" / "b" / "out"), new_file(tmp_path / "a" / "b" / "out.parquet")):
        with pytest.raises(InputDataError, match="row 7"):
            fail(manager)
        assert contents(tmp_path) == set()


def test_folders_on_the_way_are_made_and_stay(tmp_path):
    fill(tmp_path / "a" / "b" / "out")
    assert is_release(tmp_path / "a" / "b" / "out")


def test_until_it_is_whole_the_output_is_in_a_place_that_nobody_else_can_enter(tmp_path):
    for manager in (new_folder(tmp_path / "out"), new_file(tmp_path / "out.parquet")):
        with manager as place:
            if not place.is_dir():
                place.touch()
            assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
            assert place.parent.parent == tmp_path


def test_the_output_has_the_usual_rights_in_the_end(tmp_path):
    before = os.umask(0o027)
    try:
        fill(tmp_path / "out")
        begin(new_file(tmp_path / "out.parquet"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "out" / "estimates.csv").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "out.parquet").stat().st_mode) == 0o640


def test_an_output_that_exists_is_replaced_only_by_force(tmp_path):
    fill(tmp_path / "out", "old")
    assert "must be a folder that does not exist yet (or use --force)" in refusal(new_folder(tmp_path / "out"))
    assert (tmp_path / "out" / "estimates.csv").read_text() == "old"
    fill(tmp_path / "out", "new", force=True)
    assert (tmp_path / "out" / "estimates.csv").read_text() == "new"
    assert contents(tmp_path / "out") == {"estimates.csv", "release.html", "statement.json"}
    assert contents(tmp_path) == {"out", *(f"out/{name}" for name in contents(tmp_path / "out"))}


def test_an_empty_folder_may_be_filled_by_force(tmp_path):
    (tmp_path / "out").mkdir()
    assert "does not exist yet" in refusal(new_folder(tmp_path / "out"))
    fill(tmp_path / "out", force=True)
    assert is_release(tmp_path / "out")


def test_a_failure_keeps_the_earlier_output(tmp_path):
    fill(tmp_path / "out", "old")

    def fail():
        with new_folder(tmp_path / "out", force=True) as folder:
            (folder / "file").touch()
            raise InputDataError("row 7")

    with pytest.raises(InputDataError):
        fail()
    assert (tmp_path / "out" / "estimates.csv").read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda out: (out / "notes.txt").write_text("mine"),
        lambda out: (out / "answers.csv").write_text("mine"),
        lambda out: (out / "folder").mkdir(),
        lambda out: (out / "estimates.svg").mkdir(),
        lambda out: (out / "photo.png").write_text("mine"),
        lambda out: (out / "drawing.svg").write_text("mine"),
        lambda out: (out / "notes.html").write_text("mine"),
        lambda out: (out / "statement.json").unlink(),
        lambda out: (out / "statement.json").write_text("{}"),
        lambda out: (out / "statement.json").write_text("not JSON"),
        lambda out: (out / "statement.json").write_text('["files", "task_sha256"]'),
        lambda out: (out / "statement.json").write_text('{"files": 3, "task_sha256": ""}'),
        lambda out: (out / "statement.json").write_bytes(b"\xff\xfe"),
        lambda out: (out / "statement.json").write_text("[" * 100_000),
    ],
)
def test_a_folder_that_holds_anything_else_is_never_replaced(tmp_path, spoil):
    fill(tmp_path / "out")
    spoil(tmp_path / "out")
    before = contents(tmp_path)
    assert "must be an earlier output, and hold nothing else" in refusal(new_folder(tmp_path / "out", force=True))
    assert contents(tmp_path) == before


def test_a_folder_that_fills_up_meanwhile_is_not_replaced(tmp_path):
    def race(force):
        with new_folder(tmp_path / "out", force=force):
            (tmp_path / "out").mkdir(exist_ok=True)
            (tmp_path / "out" / "mine").touch()

    for force in (False, True):
        with pytest.raises(InvalidParameterError):
            race(force)
    assert contents(tmp_path) == {"out", "out/mine"}


# ---- files ----------------------------------------------------------------------------------------------------------


def test_files_written_beside_an_output_come_with_it(tmp_path):
    with new_file(tmp_path / "view.parquet") as file:
        file.touch()
        file.with_name("view.labels.parquet").touch()
        assert contents(tmp_path) == {
            file.parent.name,
            *(f"{file.parent.name}/{name.name}" for name in file.parent.iterdir()),
        }
    assert contents(tmp_path) == {"view.parquet", "view.labels.parquet"}


def test_a_file_is_replaced_only_by_force_and_only_if_it_is_an_output(tmp_path, reports):
    assert "must be a file that does not exist yet (or use --force)" in refusal(new_file(reports))
    begin(new_file(reports, force=True))
    assert reports.read_bytes() == b""


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1 is how it begins"])
def test_a_file_of_somebody_else_is_never_replaced(tmp_path, content):
    path = tmp_path / "answers.csv"
    path.write_bytes(content)
    assert "must be an earlier output to be replaced" in refusal(new_file(path, force=True))
    assert path.read_bytes() == content


def test_a_parquet_file_of_somebody_else_is_never_replaced(tmp_path):
    path = tmp_path / "answers.parquet"
    for metadata in (None, {"shuffledp": "{}"}, {"shuffledp": "not JSON"}, {"pandas": "{}"}):
        pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(metadata), path)
        before = path.read_bytes()
        assert "must be an earlier output to be replaced" in refusal(new_file(path, force=True))
        assert path.read_bytes() == before


def test_a_file_beside_the_output_is_not_replaced_either(tmp_path):
    (tmp_path / "view.labels.parquet").write_text("mine")

    def write(force):
        with new_file(tmp_path / "view.parquet", force=force) as file:
            file.touch()
            file.with_name("view.labels.parquet").touch()

    for force in (False, True):
        with pytest.raises(InvalidParameterError, match=r"view\.labels\.parquet"):
            write(force)
    assert contents(tmp_path) == {"view.labels.parquet"}
    assert (tmp_path / "view.labels.parquet").read_text() == "mine"


def test_folders_and_devices_are_never_replaced_by_a_file(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "pipe"):
        if not path.exists():
            os.mkfifo(path)
        refusal(new_file(path, force=True))
        refusal(new_folder(tmp_path / "pipe", force=True)) if path.name == "pipe" else None
        assert path.exists()
        assert not path.is_file()


# ---- the exchange with an earlier output ----------------------------------------------------------------------------


def fill_pair(path, text="new", **options) -> None:
    """A view with its labels, as far as an exchange looks at them."""
    with new_file(path, is_ours=lambda _: True, **options) as file:
        file.write_text(text)
        file.with_name("out.labels").write_text(text)


EXCHANGED = {fill: ("out/estimates.csv", "out/release.html", "out/statement.json"), fill_pair: ("out", "out.labels")}


def held(folder, make, *, hidden=False) -> dict[str, str]:
    """What an output holds, or what the private folders beside it do."""
    places = folder.glob(".shuffledp-*") if hidden else [folder]
    found = {place / name for place in places for name in EXCHANGED[make] if (place / name).is_file()}
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def at_step(monkeypatch, number, act, *, late=False) -> list[str]:
    """Act before the given step of an exchange, or after it; the list fills with the steps."""
    steps: list[str] = []

    def stepping(name, step):
        def one(*arguments):
            steps.append(name)
            if len(steps) - 1 != number:
                return step(*arguments)
            if late:
                step(*arguments)
            act()
            return None if late else step(*arguments)

        return one

    monkeypatch.setattr(type(Path()), "rename", stepping("rename", type(Path()).rename))
    monkeypatch.setattr(os, "fsync", stepping("sync", os.fsync))
    return steps


def throw(error):
    raise error


@pytest.mark.parametrize(("make", "num_steps"), [(fill, 7), (fill_pair, 7)])
def test_an_exchange_is_on_the_disk_before_anything_is_moved_and_after(tmp_path, monkeypatch, make, num_steps):
    make(tmp_path / "out", "old")
    steps = at_step(monkeypatch, None, None)
    make(tmp_path / "out", force=True)
    moves = len(steps) - steps[::-1].index("rename") - steps.index("rename")
    assert steps == ["sync"] * (len(steps) - moves - 1) + ["rename"] * moves + ["sync"]
    assert len(steps) == num_steps


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt(), SystemExit(143)], ids=repr)
@pytest.mark.parametrize("make", [fill, fill_pair])
def test_whatever_breaks_off_an_exchange_leaves_the_earlier_output(tmp_path, make, error, late):
    make(tmp_path / "out", "old")
    old, before, broken = held(tmp_path, make), contents(tmp_path), 0
    for number in range(7):
        with pytest.MonkeyPatch.context() as patched:
            at_step(patched, number, lambda: throw(error), late=late)
            try:
                make(tmp_path / "out", force=True)
            except (InvalidParameterError, KeyboardInterrupt, SystemExit):
                broken += 1
                assert held(tmp_path, make) == old, number
            else:  # some file systems cannot have a folder on the disk at once, and need not
                assert isinstance(error, OSError)
                assert set(held(tmp_path, make).values()) != set(old.values())
                make(tmp_path / "out", "old", force=True)
        assert contents(tmp_path) == before
    assert broken >= 5


@pytest.mark.parametrize(("make", "first"), [(fill, 4), (fill_pair, 2)])
def test_a_signal_in_an_exchange_waits_until_it_is_done(tmp_path, monkeypatch, make, first):
    make(tmp_path / "out", "old")
    before = contents(tmp_path)
    old = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for number in range(first, 7):
            with monkeypatch.context() as patched:
                steps = at_step(patched, number, lambda: os.kill(os.getpid(), signal.SIGTERM))
                with pytest.raises(SystemExit):
                    make(tmp_path / "out", f"new {number}", force=True)
            assert len(steps) == 7
            assert f"new {number}" in held(tmp_path, make).values()
            assert contents(tmp_path) == before
    finally:
        signal.signal(signal.SIGTERM, old)


@pytest.mark.parametrize("make", [fill, fill_pair])
def test_a_process_killed_in_an_exchange_leaves_both_outputs_whole(tmp_path, monkeypatch, make):
    for number in range(7):
        folder = tmp_path / str(number)
        make(folder / "out", "old")
        old = sorted(held(folder, make).values())
        child = os.fork()
        if child == 0:
            try:
                at_step(monkeypatch, number, lambda: os.kill(os.getpid(), signal.SIGKILL))
                make(folder / "out", force=True)
            finally:
                os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        found = [*held(folder, make).values(), *held(folder, make, hidden=True).values()]
        assert sorted(found) == sorted([*old, *(text.replace("old", "new") for text in old)]), number


# ---- places ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [new_folder, new_file])
def test_a_place_that_cannot_be_written_to_is_refused_in_a_line(tmp_path, make):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, problem in (
        (tmp_path / "file" / "out", "File exists|Not a directory"),
        (tmp_path / "x" / ("y" * 300) / "out", "File name too long"),
        (tmp_path / "loop" / "out", "symbolic link|Too many levels|File exists"),  # the last on Python 3.13
        (tmp_path / "nul\0" / "out", "no path"),
    ):
        with pytest.raises(InvalidParameterError, match=f"output must be a place to write to; .*({problem})"):
            begin(make(path))
    assert contents(tmp_path) == {"file", "loop"}


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "out")
    fill(tmp_path / "link", "old")
    fill(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "disk" / "out" / "estimates.csv").read_text() == "new"
    assert contents(tmp_path / "disk") == {"out", *(f"out/{name}" for name in contents(tmp_path / "disk" / "out"))}


def test_a_link_to_a_folder_of_somebody_else_protects_it(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    refusal(new_folder(tmp_path / "link", force=True))
    assert contents(tmp_path / "mine") == {"thesis.tex"}


@pytest.mark.parametrize("make", [new_folder, new_file])
def test_errors_of_the_operating_system_while_writing_are_a_line_too(tmp_path, make):
    def fill_the_disk(error):
        with make(tmp_path / "out"):
            raise error

    with pytest.raises(InvalidParameterError, match="No space left on device"):
        fill_the_disk(OSError(errno.ENOSPC, "whatever"))
    with pytest.raises(InvalidParameterError, match="writing failed"):
        fill_the_disk(OSError("SECRET"))
    assert contents(tmp_path) == set()


def test_errors_of_the_library_pass_as_they_are(tmp_path):
    def fail():
        with new_folder(tmp_path / "out"):
            raise LocalProtocolError("no words left")

    with pytest.raises(LocalProtocolError, match="no words left"):
        fail()
