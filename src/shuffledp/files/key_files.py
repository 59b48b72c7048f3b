"""Key files: a private key that only its owner may read, and a public key in a ``.pub`` file."""

import json
import os
import stat
from pathlib import Path

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.writing import new_file
from shuffledp.parties.wire.keys import PrivateKey, Role, from_pem
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey.section import read_whole

_MOST = 1 << 16  # bytes of a key file
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LENT = stat.S_IRGRP  # an administrator may lend a key to a service, as systemd does: an ACL shows as this bit


def public_file(path: Path) -> Path:
    """Path of a key's public file, from the path of its public or its private file."""
    return path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub")


def write_key(path: Path, key: PrivateKey, published: PublishedKey) -> None:
    """Write a new private key and its public file, as `write_pair` does."""
    write_pair(path, key.to_pem(), _written(published))


def write_pair(path: Path, private: str, public: str) -> None:
    """Write a public file, and a private file that only its owner can read, both or neither.

    The private file has mode 0600 from the start.

    Raises:
        InvalidParameterError: if one of them exists, whatever it is: a key is never replaced; or cannot be written.
    """
    if path.suffix == ".pub":
        raise InvalidParameterError(f"output must end in something else than .pub; got output={str(path)!r}.")
    for each in (path, public_file(path)):
        if each.exists():
            raise InvalidParameterError(
                f"output must be a file that does not exist yet: no key is ever replaced; got output={str(each)!r}."
            )
    with new_file(path, is_ours=lambda _: False) as file:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="ascii") as written:
            written.write(private)
        public_file(file).write_text(public, encoding="utf-8")


def rewrite_public(path: Path, published: PublishedKey) -> None:
    """Write the public file of a key again, whole or not at all.

    Raises:
        InvalidParameterError: if something else stands in its place, or it cannot be written.
    """
    with new_file(public_file(path), force=True, is_ours=_is_public) as file:
        file.write_text(_written(published), encoding="utf-8")


def read_key(path: Path, role: Role = Role.ANALYZER) -> PrivateKey:
    """The private key in a file; ``role`` is as in `shuffledp.parties.wire.keys.from_pem`, errors as in `read_private`.

    Raises:
        InvalidParameterError: if the file holds something else.
    """
    return from_pem(read_private(path), role)


def read_private(path: Path) -> str:
    """The content of a private file, which only its owner may read.

    Raises:
        InvalidParameterError: if it cannot be read, or others than its owner may read or write it. A file that the
            administrator owns and lends to this process may be read by its group.
    """
    try:
        if os.name == "posix" and (mode := (found := path.stat()).st_mode) & _too_open(found.st_uid, os.geteuid()):
            raise InvalidParameterError(
                f"a key file must be for its owner alone, mode 0600; got {path} with mode {stat.S_IMODE(mode):04o}: "
                "whoever could read it has the key. Make a new one, or `chmod 600` it if nobody else could."
            )
        return read_whole(path, most=_MOST).decode("ascii", errors="replace")
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidParameterError):
            raise
        raise InvalidParameterError(f"a key file must be readable; got {path}: {_reason(error)}.") from None


def _too_open(owner: int, user: int) -> int:
    """Permission bits that a key file must not have, given the file's owner and the process's user."""
    return _OTHERS & ~_LENT if owner == 0 != user else _OTHERS


def read_public(path: Path) -> PublishedKey:
    """Public key, given the path of the public or the private key file.

    Raises:
        InvalidParameterError: if the file cannot be read.
        InputDataError: if it holds something else.
    """
    file = public_file(path)
    try:
        content = read_whole(file, most=_MOST)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(f"a public key file must be readable; got {file}: {_reason(error)}.") from None
    try:
        return PublishedKey.from_dict(json.loads(content))
    except (ValueError, RecursionError):
        pass
    raise InputDataError(f"{file} must be a public key file, as `shuffledp keys new` writes it; it is something else.")


def _written(published: PublishedKey) -> str:
    return json.dumps(published.to_dict(), indent=2) + "\n"


def _is_public(path: Path) -> bool:
    try:
        read_public(path)
    except (InputDataError, InvalidParameterError):
        return False
    return True


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "no path"
