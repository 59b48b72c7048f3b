"""File of a privacy ledger, to which lines are only appended.

Each line is on the disk before the act that it allows.

One process writes at a time. What a killed process leaves is whole lines, or a last line that is cut off; that one was
never on the disk as a whole, so that nothing it allows has happened, and the next writer removes it.
"""

import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import FileIO
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.core.instants import instant, shown, written
from shuffledp.files.writing import sync
from shuffledp.survey.ledgers.ledger import Ledger, read_ledger
from shuffledp.survey.ledgers.ledger_lines import LedgerEvent, LedgerTerms, digest_of, line_of

_PATIENCE = 20.0  # seconds for which another writer is waited for
_PAUSE = 0.05
_SKEW = timedelta(minutes=5)  # by which clocks of several machines may differ


class LedgerFile:
    """Ledger file on disk, locked for this process; only `opened_ledger` makes one.

    Args:
        path: the file.
        file: the file, open and locked.

    Attributes:
        ledger: what its lines say.
        was_cut: whether a killed process had left part of a line.
    """

    def __init__(self, path: Path, file: FileIO) -> None:
        self.path, self._file = path, file
        content = file.read()
        lines = content.splitlines(keepends=True)
        self.was_cut = bool(lines) and not lines[-1].endswith(b"\n")
        whole = lines[: len(lines) - self.was_cut]
        self._length = sum(map(len, whole))
        self.ledger: Ledger = read_ledger(whole, [_parsed(line) for line in whole])

    def now(self) -> str:
        """Current time in UTC as text, for the next line.

        Raises:
            InvalidParameterError: if the clock is before the last line.
        """
        now, last = datetime.now(UTC), instant(at=self.ledger.at)
        if now < last - _SKEW:
            raise InvalidParameterError(
                f"this machine's clock must not be before the last line of the ledger, {shown(self.ledger.at)}; it "
                f"shows {shown(written(now))}. Nothing was spent."
            )
        return written(max(now, last))

    def append(self, event: LedgerEvent) -> None:
        """Add a line; it is on the disk when this returns.

        Raises:
            LocalProtocolError: if the line does not follow from those before it.
            InvalidParameterError: if the disk did not take it; then the file is as it was, and has to be opened anew.
        """
        line = line_of(event, self.ledger.head)
        head = digest_of(line)
        self.ledger.take(event, head)
        try:
            self._file.seek(self._length)
            self._file.truncate()
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # a line that stays all the same counts too much, and never too little
                self._file.truncate(self._length)
            raise InvalidParameterError(
                f"the ledger must be writable: {error.strerror}. Nothing was done; run the command again."
            ) from None
        self._length += len(line)


def new_ledger(path: Path, *, cap: float, delta: float, releases: int, populations: tuple[str, ...] = ()) -> Ledger:
    """New ledger without entries, in a file that only its owner may read.

    Raises:
        InvalidParameterError: for terms out of range, or a file that exists or cannot be written.
    """
    terms = LedgerTerms(
        cap=cap,
        delta=delta,
        releases=releases,
        populations=populations,
        nonce=secrets.token_hex(16),
        at=written(datetime.now(UTC)),
    )
    if terms.budget.squared < 1 or terms.remainder_each <= 0:
        raise InvalidParameterError(
            f"delta must be large enough for {releases} releases; got delta={delta:g}, of which a fiftieth is kept for "
            "what each release may leave."
        )
    line = line_of(terms, "")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        sync(path.resolve().parent)
    except FileExistsError:
        raise InvalidParameterError(f"output must be a file that does not exist yet; got {path}.") from None
    except OSError as error:
        raise InvalidParameterError(f"output must be a place to write to; got {path}: {error.strerror}.") from None
    return Ledger(terms, digest_of(line))


@contextmanager
def opened_ledger(path: Path) -> Iterator[LedgerFile]:
    """Context in which this process alone can write to a ledger.

    Raises:
        InvalidParameterError: if the file cannot be read, or is no ledger, or its chain is broken.
        LocalProtocolError: if another process has been writing for long.
    """
    try:
        file = path.open("r+b", buffering=0)  # a buffer would be written again when the file is closed
    except OSError as error:
        raise InvalidParameterError(
            f"--ledger must be a file that `shuffledp ledger new` made; got {path}: {error.strerror}."
        ) from None
    with file:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise LocalProtocolError(f"another process must be done with {path} first; it is not.") from None
                time.sleep(_PAUSE)
        if not _is_still(path, file):
            raise LocalProtocolError(f"{path} must not be replaced while it is waited for; run the command again.")
        yield LedgerFile(path, file)


def _is_still(path: Path, file: FileIO) -> bool:
    """Whether the path still leads to this open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False


def read_ledger_file(path: Path) -> Ledger:
    """Ledger read from a file, without locking or changing it; a last line that is cut off is ignored.

    Raises:
        InvalidParameterError: if the file cannot be read, or is no ledger, or its chain is broken.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidParameterError(
            f"the ledger must be a file that `shuffledp ledger new` made; got {path}: {error.strerror}."
        ) from None
    whole = [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    return read_ledger(whole, [_parsed(line) for line in whole])


def _parsed(line: bytes) -> dict[str, object]:
    """Content of a line; an empty table if the line is not valid."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
