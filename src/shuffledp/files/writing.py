"""Output files and folders, complete or absent, that never replace foreign files; files of a release."""

import csv
import json
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp._version import __version__
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.parquet import read_facts
from shuffledp.files.parts_folder import PartsFolder
from shuffledp.pipeline import Release
from shuffledp.survey import ColumnOutcome, Outcome

_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
STATEMENT = "statement.json"  # in every output folder of this library; it names the other files
_PAGE = "release.html"  # written after the mark, whose digest it holds; it names the figures beside it
_FIGURES = re.compile(r'<span class="files">Also as ([^<]*)\.</span>')
_ESTIMATE_COLUMNS = ("statistic", "target", "estimate", "standard_error", "lower", "upper", "level", "sampling_error")
_FORMULA = re.compile(r"[=@+-](?![0-9.]+$)")  # beginning of a formula, but not of a number


def is_release(folder: Path) -> bool:
    """Whether this library wrote all content of a folder, as one release."""
    listed = _listed_files(folder / STATEMENT)
    columns = {name.partition("/")[0] for name in listed if "/" in name}
    ours = listed | _drawn_files(folder / _PAGE) if listed else set()
    return bool(ours) and all(
        (entry.name in ours and entry.is_file())
        or (entry.name in columns and entry.is_dir() and not entry.is_symlink() and _is_part(entry, listed))
        for entry in folder.iterdir()
    )


def _is_part(folder: Path, listed: set[str]) -> bool:
    """Whether a folder inside a release is a column's release, or holds only listed parts of a view."""
    return is_release(folder) or all(f"{folder.name}/{entry.name}" in listed for entry in folder.iterdir())


def is_stage(folder: Path) -> bool:
    """Whether a folder holds only reports or views of this library, in files or parts."""
    entries = list(folder.iterdir())
    return PartsFolder.is_all_of(folder) or (
        bool(entries)
        and all(PartsFolder.is_all_of(each) or (each.is_file() and _is_our_file(each)) for each in entries)
    )


@contextmanager
def new_folder(
    path: Path, *, force: bool = False, is_ours: Callable[[Path], bool] = is_release, maker: str = ""
) -> Iterator[Path]:
    """New folder to fill, which gets its name only if the block ends without an error.

    Until then it is in a private folder next to it. A symbolic link is followed. Whatever ends the block, or the
    exchange with an earlier output, that one is in its place again; a process that is killed (``SIGKILL``, a power cut)
    in the middle of the exchange leaves both, whole, in folders ``.shuffledp-*`` next to it.

    Args:
        path: a folder that does not exist yet.
        force: replace an empty folder or an earlier output; never a folder that holds anything else.
        is_ours: tells whether a folder is an earlier output.
        maker: who makes it, of whose killed processes `remove_left_over` takes the private folders away.

    Raises:
        InvalidParameterError: if the folder exists (and may not be replaced), or cannot be made.
    """
    with _private_place(path, maker) as (target, place):
        _check(target, force, is_ours, folder=True)
        filled = place / target.name
        filled.mkdir()
        yield filled
        _check(target, force, is_ours, folder=True)
        _take_places([filled], target.parent, maker)


def remove_left_over(folder: Path, maker: str) -> None:
    """Remove private folders of `new_folder` that remained when a maker's process was killed.

    Args:
        folder: where the outputs are; nothing is done if it is not there.
        maker: who made them, of whom no process may be at work now.
    """
    for each in folder.glob(f"{_hidden(maker)}*"):
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)


def _hidden(maker: str) -> str:
    """Prefix of the name of a private folder."""
    return f".shuffledp-{maker}-" if maker else ".shuffledp-"


@contextmanager
def new_file(path: Path, *, force: bool = False, is_ours: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """New file to write, which gets its name only if the block ends without an error.

    Files beside it are moved with it.

    Until then they are in a private folder next to it, and all take their places or none, as in `new_folder`.

    Args:
        path: a file that does not exist yet.
        force: replace an earlier output; never anything else.
        is_ours: whether a file is such an output; None for files of reports and views.

    Raises:
        InvalidParameterError: if a file exists (and may not be replaced), or cannot be made.
    """
    with _private_place(path) as (target, place):
        _check(target, force, is_ours or _is_our_file, folder=False)
        yield place / target.name
        written = sorted(place.iterdir())
        for file in written:
            _check(target.with_name(file.name), force, is_ours or _is_our_file, folder=False)
        _take_places(written, target.parent)


def _take_places(written: Sequence[Path], folder: Path, maker: str = "") -> None:
    """Move files or folders into a folder, all or none; earlier files of the same names are replaced.

    They are on the disk before anything is moved. What is replaced is deleted when all is done, and never before.
    """
    for path in written:
        for each in (*path.rglob("*"), path):
            sync(each)
    with _undisturbed():
        kept = Path(tempfile.mkdtemp(prefix=_hidden(maker), dir=folder))
        moves: list[tuple[Path, Path]] = []
        for path in written:
            target = folder / path.name
            moves += [(target, kept / path.name)] * target.exists() + [(path, target)]
        try:
            for start, end in moves:
                start.rename(end)
            sync(folder)
        except BaseException:
            for start, end in reversed(moves):
                with suppress(OSError):
                    if end.exists() and not start.exists():
                        end.rename(start)
            with suppress(OSError):
                kept.rmdir()
            raise
        shutil.rmtree(kept, ignore_errors=True)


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's list of names, to disk, if the file system allows."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _private_place(path: Path, maker: str = "") -> Iterator[tuple[Path, Path]]:
    """Path of the output, and a private folder on its file system, for a rename in one step.

    Errors of the operating system become ours; folders that had to be made are taken away again if they stay empty.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError, ValueError):  # Python 3.11 and 3.12 raise RuntimeError for a loop
        raise InvalidParameterError(
            f"output must be a place to write to; got output={str(path)!r}: no path, or a symbolic link to itself."
        ) from None
    made: list[Path] = []
    place = None
    try:
        made = [parent for parent in target.parents if not parent.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=_hidden(maker), dir=target.parent))
        yield target, place
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "writing failed"
        raise InvalidParameterError(
            f"output must be a place to write to; got output={str(path)!r}: {reason}."
        ) from None
    finally:
        with _undisturbed():
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)
            for folder in made:
                with suppress(OSError):
                    folder.rmdir()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Context in which signals that end the process wait until the block is done.

    So the block is never half done.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    handlers = {each: signal.getsignal(each) for each in _ENDINGS}
    ours = [each for each, handler in handlers.items() if callable(handler)]
    came: list[int] = []
    for each in ours:
        signal.signal(each, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, handlers[each])
        for number in came:
            signal.raise_signal(number)


def _check(path: Path, force: bool, is_ours: Callable[[Path], bool], *, folder: bool) -> None:
    """Refuse to replace a path, unless it is an earlier output or an empty folder and ``force`` is given."""
    if not path.exists():
        return
    if not force:
        kind = "folder" if folder else "file"
        raise InvalidParameterError(
            f"output must be a {kind} that does not exist yet (or use --force); got output={str(path)!r}."
        )
    replaceable = path.is_dir() and (not any(path.iterdir()) or is_ours(path)) if folder else is_ours(path)
    if not replaceable:
        alone = ", and hold nothing else," if folder else ""
        raise InvalidParameterError(
            f"output must be an earlier output{alone} to be replaced with --force; got output={str(path)!r}."
        )


def _listed_files(mark: Path) -> set[str]:
    """Files that an output's ``statement.json`` lists; empty if the file is something else."""
    try:
        content = json.loads(mark.read_text(encoding="utf-8"))
        return {STATEMENT, *content["files"]} if "task_sha256" in content else set()
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return set()


def _drawn_files(page: Path) -> set[str]:
    """Names of a release's page and of its figures; empty if the page cannot be read.

    No other files count as ours.
    """
    try:
        named = _FIGURES.findall(page.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {_PAGE, *(name for names in named for name in names.split(" and "))}


def _is_our_file(path: Path) -> bool:
    try:
        return read_facts(path) is not None
    except (InputDataError, InvalidParameterError):
        return False


def write_outcome(outcome: ColumnOutcome, folder: Path) -> ColumnOutcome:
    """Write estimates and statements beside the view; returns the outcome with the digests of the new files."""
    outcome = outcome.with_files(folder, _write_places(outcome, folder))
    places = () if outcome.shuffle_result is None else outcome.shuffle_result.further_columns
    _write_estimates(folder / "estimates.csv", outcome.rows(), places, seeded=outcome.seeded)
    outcome = outcome.with_files(folder, ["estimates.csv"])
    write_statement(outcome.to_dict(), folder)
    return outcome.with_files(folder, [STATEMENT])


def write_all(outcome: Outcome, folder: Path) -> Outcome:
    """Write estimates and statements of each column, and a joint statement for blocks; returns the outcome."""
    written = {}
    for name, column in outcome.columns.items():
        (folder / name).mkdir(exist_ok=True)
        written[name] = write_outcome(column, folder / name)
    outcome = replace(outcome, columns=written)
    if not outcome.task.in_blocks:
        return outcome
    write_statement(outcome.to_dict(), folder)
    return outcome.with_files(folder, [STATEMENT])


def write_memory(release: Release, folder: Path) -> Release:
    """Write estimates and statements of a release without a task; returns the release."""
    places = () if release.estimate.where is None else ("where",)
    _write_estimates(folder / "estimates.csv", release.estimate.rows(), places, seeded=release.seeded)
    content = {"library_version": __version__, **release.to_dict(), "model": release.model.to_dict()}
    write_statement(content, folder)
    return release


def write_statement(content: dict[str, Any], folder: Path) -> None:
    """Write ``statement.json``, which marks a folder as a release."""
    with (folder / STATEMENT).open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def _write_estimates(path: Path, rows: Iterable[dict[str, Any]], places: Sequence[str], *, seeded: bool) -> None:
    """Write one row per target, with texts in quotation marks; column ``seeded`` exists only if true.

    The columns of ``places`` come after those of every estimate.

    A name that a spreadsheet would take for a formula gets an apostrophe before it; ``statement.json`` has it as it is.
    """
    mark = {"seeded": "true"} if seeded else {}
    columns = (*_ESTIMATE_COLUMNS, *places, *mark)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns, quoting=csv.QUOTE_NONNUMERIC, extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            texts = {"target": _harmless(row["target"]), "where": _place(row.get("where", {}))}
            writer.writerow(row | texts | mark)


def _write_places(outcome: ColumnOutcome, folder: Path) -> tuple[str, ...]:
    """Write a table of each person's place, if no public column holds it; return the names of files."""
    regions, of_slot = outcome.regions, None if outcome.shuffle_result is None else outcome.shuffle_result.of_slot
    if regions is None or of_slot is None:
        return ()
    names = [_place(where) for where in (regions.where or ())[:: len(outcome.column.targets)]]
    with (folder / "places.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["person", "where"])
        writer.writerows([person, names[place]] for person, place in enumerate(of_slot.tolist()))
    return ("places.csv",)


def _place(where: Mapping[str, Any]) -> str:
    """Name of a region in files, as one text."""
    return _harmless("; ".join(f"{key}: {value}" for key, value in where.items()))


def _harmless(text: str) -> str:
    """Text that spreadsheets do not take for a formula; it begins with an apostrophe where needed."""
    return f"'{text}" if _FORMULA.match(text) else text
