"""Files and folders for their owner alone; each file is on the disk whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, for their owner only; existing folders stay unchanged."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file that only its owner may read, whole or not at all.

    If ``durable``, the file is on the disk under its name before this returns.

    Raises:
        OSError: if the disk did not take the file; then an earlier file of this name is unchanged.
    """
    partial = path.with_suffix(".partial")
    with suppress(FileNotFoundError):
        partial.unlink()
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)
    if durable:
        with suppress(OSError):  # some file systems cannot flush a folder
            sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
