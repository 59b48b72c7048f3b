"""Output that is whole or not there at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.errors import InvalidParameterError

__all__ = ["new_file", "new_folder"]

_MARK = "statement.json"  # every output folder of this library has it


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill, which appears under its name only when the block ends well.

    Args:
        path: a folder that does not exist yet.
        force: replace an empty folder or an earlier output; never a folder that holds anything else.

    Raises:
        InvalidParameterError: if the folder exists (and may not be replaced), or cannot be made.
    """
    if path.exists():
        _check_replaceable(path, force=force)
    partial = _partial_beside(path)
    try:
        yield partial
        partial.chmod(0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A file to write, which appears under its name only when the block ends well.

    Raises:
        InvalidParameterError: if the file exists and ``force`` is not given, or cannot be made.
    """
    if path.exists() and (path.is_dir() or not force):
        raise InvalidParameterError(
            f"output must be a file that does not exist yet (or use --force); got output={path}."
        )
    partial = _partial_beside(path)
    try:
        yield partial / path.name
        (partial / path.name).replace(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _partial_beside(path: Path) -> Path:
    """A private folder on the same file system, so that the final rename is one step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InvalidParameterError(
            f"output must be a place to write to; got output={path}: {error.strerror}."
        ) from None


def _check_replaceable(path: Path, *, force: bool) -> None:
    if not force:
        raise InvalidParameterError(
            f"output must be a folder that does not exist yet (or use --force); got output={path}."
        )
    earlier = path.is_dir() and ((path / _MARK).is_file() or not any(path.iterdir()))
    if not earlier:
        raise InvalidParameterError(
            f"output must be an earlier output or an empty folder to be replaced with --force; got output={path}."
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
