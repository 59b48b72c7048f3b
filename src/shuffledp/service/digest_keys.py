"""Keyed digests of ids, and their keys: once a key is destroyed, nobody can find a report by its id."""

import os
from hashlib import blake2b
from pathlib import Path

from shuffledp.wire.grammar import ID_BYTES

_KEY_BYTES = 32


def keyed(id_: bytes, key: bytes) -> bytes:
    """The digest of an id by a key, as long as the id."""
    return blake2b(id_, key=key, digest_size=ID_BYTES).digest()


def write_key(path: Path) -> None:
    """A fresh key that only its owner may read, on the disk."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        file.write(os.urandom(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def destroy_key(path: Path) -> None:
    """Overwrite a key, and take it off the disk."""
    with path.open("r+b") as file:
        file.write(bytes(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
