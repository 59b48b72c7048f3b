"""Master key of a job, from which each task's randomness is drawn, in a file for its owner only.

A task that runs twice must draw the same words, so tasks cannot ask the operating system. The key is drawn afresh for
each job; the tasks are told where its file is, and never its content, since Spark may write down what it is told:
plans, closures, properties, broadcast values. The file is overwritten and removed when the job ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.core.errors import EngineError
from shuffledp.randomness.keystream import KEY_BYTES
from shuffledp.randomness.replayable import SeededSource
from shuffledp.randomness.sources import RandomSource, SecureSource

_SEED = b"seed "
_KEY = b"key "


@contextmanager
def key_file(folder: Path, seed: int | None = None) -> Iterator[Path]:
    """File with a fresh key, or with a seed for experiments; it is removed when the block ends."""
    content = _KEY + _fresh_key() if seed is None else _SEED + b"%d" % seed
    path = folder / "key"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, content)
        os.close(handle)
        yield path
    finally:
        overwrite(path)


def overwrite(path: Path) -> None:
    """Remove a file after its content on the disk is overwritten by zeros."""
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def _fresh_key() -> bytes:
    return os.urandom(KEY_BYTES)


def source_of(path: Path, *labels: int | str) -> RandomSource:
    """Random source of one task: a substream with labels that no other task of the job uses.

    Raises:
        EngineError: if the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    kind, rest = content[: len(_KEY)], content[len(_KEY) :]
    if kind == _KEY and len(rest) == KEY_BYTES:
        return SecureSource(rest).substream(*labels)
    if content.startswith(_SEED):
        return SeededSource(int(content[len(_SEED) :])).substream(*labels)
    raise EngineError(
        f"the folder {str(path.parent)!r} must be one that all workers see, under the same name and as the same user: "
        "the key of the job, and the output, are there; a worker found no key."
    )
