"""Keyed digests of ids, and their keys; without the key, nobody can find a report by its id."""

import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.store.private_files import sync_folder, write_private

_KEY_BYTES = 32
_DIGEST_BYTES = 16  # as many as of an id


def keyed(id_: bytes, key: bytes) -> bytes:
    """Digest of an id under a key, as long as the id."""
    return blake2b(id_, key=key, digest_size=_DIGEST_BYTES).digest()


def keyed_by(key: bytes) -> Callable[[bytes], bytes]:
    """Function `keyed` of one key, for many ids."""
    begun = blake2b(key=key, digest_size=_DIGEST_BYTES).copy

    def of_id(id_: bytes) -> bytes:
        digest = begun()
        digest.update(id_)
        return digest.digest()

    return of_id


def read_key(path: Path) -> bytes:
    """Key of existing digests, read from a file.

    Raises:
        LocalProtocolError: if the file is missing, or too short.
    """
    key = path.read_bytes() if path.exists() else b""
    if len(key) != _KEY_BYTES:
        state = "cut off" if path.exists() else "gone"
        raise LocalProtocolError(
            f"the key of stored digests must be beside them, of {_KEY_BYTES} bytes; it is {state}."
        )
    return key


def write_key(path: Path) -> None:
    """Write a fresh key, which only its owner may read, to the disk: whole or not at all.

    Raises:
        StorageError: if the disk did not take it.
    """
    try:
        write_private(path, os.urandom(_KEY_BYTES))
        sync_folder(path.parent)
    except OSError:
        raise StorageError("the disk did not take the key of digests.") from None


def destroy_key(path: Path) -> None:
    """Overwrite a key file and remove it.

    Raises:
        StorageError: if the file cannot be removed.
    """
    try:
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)
    except OSError:
        raise StorageError("the disk did not let the key of digests go.") from None
