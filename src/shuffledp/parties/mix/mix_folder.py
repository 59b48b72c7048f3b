"""Folder of a mix host's state: its keys, the registrants' codes, and a folder for each registered collection.

Everything in it is for its owner alone. A registration is a folder that appears under its name when it is whole.
"""

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import written
from shuffledp.files.key_files import public_file, read_key, read_public, write_key
from shuffledp.parties.mix.page_inspection import collection_in
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.store.private_files import make_private, sync_folder, write_private
from shuffledp.parties.wire.keys import GatewayKey, IssuerKey, PrivateKey, Role, ShufflerKey, in_text
from shuffledp.parties.wire.organizer_requests import OrganizerRequest
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.registrant_proofs import REGISTRANT_CODE_BYTES
from shuffledp.survey import Collection

_CODES, _COLLECTIONS, _ENDING, _KEYS = "codes", "collections", "ending", "issuer-keys"
_FILE, _ABOUT, _PAGE, _ENDED = "survey.collection", "registration.json", "page.html", "ended.json"
_INVITED, _ASKED, _RESULTS, _ISSUER_KEY, _REPORTS = "invited.json", "asked", "results", "issuer.key", "reports"
_IN_WORDS = {
    _PAGE: "page",
    _REPORTS: "reports",
    _INVITED: "invitations",
    _ISSUER_KEY: "token key",
    _RESULTS: "results",
}
_PARTIAL, _ID = ".new-", re.compile(r"[0-9a-f]{64}")
_KEY_WAITS = timedelta(days=1)  # for its collection

Key = TypeVar("Key", bound=PrivateKey)


@dataclass(frozen=True, slots=True)
class StoredRegistration:
    """Registration of a collection, as stored on the disk.

    Args:
        collection: the collection.
        registrant: name of who registered it: the digest of a code, a public key, or "anybody".
        since: when, as `shuffledp.core.instants` writes it.
        promised: what is promised to those who answer, sentence by sentence.
        folder: its folder.
    """

    collection: Collection
    registrant: str
    since: str
    promised: tuple[str, ...]
    folder: Path = field(compare=False)

    @property
    def reports(self) -> Path:
        """Folder of the collection's stored reports."""
        return self.folder / _REPORTS

    def page(self) -> bytes | None:
        """Page on which people answer, if the mix serves it."""
        return _content(self.folder / _PAGE)

    def issuer_key(self) -> IssuerKey | None:
        """Key that signs the collection's tokens; None if the mix does not sign them."""
        if not (self.folder / _ISSUER_KEY).exists():
            return None
        return _of_kind(IssuerKey, self.folder / _ISSUER_KEY, Role.ISSUER)

    def remains(self) -> list[str]:
        """Kinds of files of the collection that are left on the disk, in words."""
        return ["collection", *(word for name, word in _IN_WORDS.items() if (self.folder / name).exists())]

    # ---- what comes later -------------------------------------------------------------------------------------------

    def ended(self) -> dict[str, Any] | None:
        """Final status of the collection, as reported by the shuffler; None before the end."""
        return _json(self.folder / _ENDED)

    def write_ended(self, status: dict[str, Any]) -> None:
        """Write down the final status of the collection."""
        write(self.folder / _ENDED, json.dumps(status).encode())

    def forget(self) -> None:
        """Remove all files except the collection, its page and its results."""
        for name in (_INVITED, _ASKED, _ISSUER_KEY, public_file(Path(_ISSUER_KEY)).name):
            with suppress(FileNotFoundError):
                (self.folder / name).unlink()
        shutil.rmtree(self.reports, ignore_errors=True)

    def invited(self) -> dict[str, Any] | None:
        """List of invitations; None before there is one."""
        return _json(self.folder / _INVITED)

    def write_invited(self, listed: dict[str, Any]) -> None:
        """Replace the list of invitations."""
        write(self.folder / _INVITED, json.dumps(listed).encode())

    def asked(self) -> int:
        """Number of times that the organizer received the list of absent people."""
        return len(_content(self.folder / _ASKED) or b"")

    def write_asked(self) -> None:
        """Count on the disk that the organizer receives the list of absent people once more."""
        write(self.folder / _ASKED, b"." * (self.asked() + 1))

    def results(self) -> list[OrganizerRequest]:
        """Published results, in the order of publication."""
        folder = self.folder / _RESULTS
        names = [each.name for each in folder.iterdir() if each.name.isdigit()] if folder.is_dir() else []
        return [OrganizerRequest.decode((folder / name).read_bytes()) for name in sorted(names, key=int)]

    def write_result(self, number: int, request: OrganizerRequest) -> None:
        """Write one published result to the disk, under its number."""
        make_private(self.folder / _RESULTS)
        write(self.folder / _RESULTS / str(number), request.encode())


class MixFolder:
    """State of a mix host on the disk.

    Args:
        path: the folder, made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            for name in (_CODES, _COLLECTIONS, _ENDING, _KEYS):
                make_private(path / name)
        except OSError:
            raise StorageError("the folder of a mix must be writable; it is not.") from None

    # ---- keys -------------------------------------------------------------------------------------------------------

    def shuffler_key(self) -> tuple[ShufflerKey, PublishedKey]:
        """Key that signs batches, with its public part; made by the first call."""
        return self._key("shuffler.key", ShufflerKey, Role.SHUFFLER)

    def gateway_key(self) -> tuple[GatewayKey, PublishedKey]:
        """Key that opens relayed requests, with its public part; made by the first call."""
        return self._key("gateway.key", GatewayKey, Role.GATEWAY)

    def _key(self, name: str, kind: type[Key], role: Role) -> tuple[Key, PublishedKey]:
        file = self.path / name
        if not public_file(file).exists():
            made: Any = kind
            _write_pair(file, made.generate(), datetime.now(UTC))
        return _of_kind(kind, file, role), read_public(file)

    def new_issuer_key(self, registrant: str, name: bytes, most: int, now: datetime) -> PublishedKey | None:
        """Public key, one for each ``name``, for a collection's tokens; None if too many unused keys wait."""
        folder = self.path / _KEYS / hashlib.sha256(registrant.encode()).hexdigest()
        make_private(folder)
        file = folder / f"{name.hex()}.key"
        if not public_file(file).exists():
            self._drop_old(folder, now)
            if len(list(folder.glob("*.key"))) >= most:
                return None
            _write_pair(file, IssuerKey.generate(), now)
        return read_public(file)

    def _drop_old(self, folder: Path, now: datetime) -> None:
        for each in folder.iterdir():
            if datetime.fromtimestamp(each.stat().st_mtime, UTC) < now - _KEY_WAITS:
                each.unlink()

    def waiting_issuer_key(self, registrant: str, wanted: str) -> Path | None:
        """File of a registrant's waiting key with this public part; None if there is none."""
        folder = self.path / _KEYS / hashlib.sha256(registrant.encode()).hexdigest()
        files = sorted(folder.glob("*.key")) if folder.is_dir() else []
        return next((each for each in files if public_file(each).exists() and read_public(each).key == wanted), None)

    # ---- codes ------------------------------------------------------------------------------------------------------

    def new_code(self) -> str:
        """New code for a registrant; only its digest is kept, in a file.

        The code ends when the file is removed.
        """
        code = secrets.token_bytes(REGISTRANT_CODE_BYTES)
        write(self.path / _CODES / hashlib.sha256(code).hexdigest(), written(datetime.now(UTC)).encode() + b"\n")
        return in_text(code)

    def registrant_by(self, code: bytes) -> str | None:
        """Name of the registrant with this code; None if no registrant has the code."""
        digest = hashlib.sha256(code).hexdigest()
        return f"code {digest}" if (self.path / _CODES / digest).exists() else None

    # ---- collections ------------------------------------------------------------------------------------------------

    def register(
        self, collection: Collection, registrant: str, *, page: bytes, promised: tuple[str, ...], key: Path | None
    ) -> StoredRegistration:
        """Registration of a collection, completely on the disk when this returns.

        Args:
            collection: the collection.
            registrant: name of the registrant.
            page: page to serve; empty for none.
            promised: what is promised to those who answer.
            key: file of the key that signs its tokens, which moves; None for none.
        """
        name, now = collection.id.hex(), written(datetime.now(UTC))
        place, partial = self.path / _COLLECTIONS / name, self.path / _COLLECTIONS / f"{_PARTIAL}{name}"
        about = {"registrant": registrant, "since": now, "promised": list(promised)}
        try:
            shutil.rmtree(partial, ignore_errors=True)
            make_private(partial)
            write_private(partial / _FILE, collection.canonical)
            write_private(partial / _ABOUT, json.dumps(about).encode())
            if page:
                write_private(partial / _PAGE, page)
            if key is not None:
                write_private(partial / _ISSUER_KEY, key.read_bytes())
            partial.rename(place)
            sync_folder(place.parent)
        except OSError:
            raise StorageError("the disk did not take the collection.") from None
        return self._settled(StoredRegistration(collection, registrant, now, promised, place))

    def registrations(self) -> Iterator[StoredRegistration]:
        """All registrations, after remains of a killed process are removed."""
        for each in (self.path / _COLLECTIONS).glob(f"{_PARTIAL}*"):
            shutil.rmtree(each)
        return map(self._settled, self.look())

    def look(self) -> Iterator[StoredRegistration]:
        """All registrations, read without a change, since another process may run the mix.

        Raises:
            InvalidParameterError: if a folder that is named as a registration is none.
        """
        for each in sorted((self.path / _COLLECTIONS).iterdir()):
            if _ID.fullmatch(each.name):
                yield self._read(each)

    def find(self, collection_id: bytes) -> StoredRegistration | None:
        """Registration of the collection with this id; None if there is none."""
        folder = self.path / _COLLECTIONS / collection_id.hex()
        return self._settled(self._read(folder)) if folder.is_dir() else None

    def _read(self, folder: Path) -> StoredRegistration:
        with suppress(OSError, ValueError, KeyError, TypeError, InvalidParameterError):
            about, collection = json.loads((folder / _ABOUT).read_bytes()), collection_in((folder / _FILE).read_bytes())
            if collection.id.hex() == folder.name:
                return StoredRegistration(
                    collection, about["registrant"], about["since"], tuple(about["promised"]), folder
                )
        raise InvalidParameterError(
            f"state must hold registrations as the mix wrote them; {folder} is none. If it is of a later version take "
            "that one again; else put it back from a copy, or move it away: its survey is lost then."
        )

    def _settled(self, registered: StoredRegistration) -> StoredRegistration:
        """Registration, after its waiting token key is removed, so that no second collection shares its tokens."""
        issuer = registered.collection.issuer
        if issuer is not None and (key := self.waiting_issuer_key(registered.registrant, issuer.key.key)) is not None:
            for each in (public_file(key), key):
                each.unlink(missing_ok=True)
        return registered

    def remove(self, registered: StoredRegistration) -> None:
        """Remove all that is left of a collection."""
        partial = registered.folder.with_name(f"{_PARTIAL}{registered.folder.name}")
        with suppress(OSError):
            registered.folder.rename(partial)
            shutil.rmtree(partial)

    # ---- what the operator asks for ---------------------------------------------------------------------------------

    def ask_to_end(self, collection_id: str) -> None:
        """Ask the running mix, or the next one, to end a collection at once.

        Raises:
            InvalidParameterError: if there is no such collection.
        """
        if not collection_id.isalnum() or not (self.path / _COLLECTIONS / collection_id).is_dir():
            raise InvalidParameterError("--end must be the id of a collection that --list shows; got another.")
        write(self.path / _ENDING / collection_id, b"")

    def asked_to_end(self) -> list[str]:
        """Ids of the collections to end, in hexadecimal digits."""
        return [each.name for each in (self.path / _ENDING).iterdir() if each.name.isalnum()]

    def has_ended(self, collection_id: str) -> None:
        """Note that a collection has been ended as asked."""
        (self.path / _ENDING / collection_id).unlink(missing_ok=True)


def write(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read: durably, whole or not at all.

    Raises:
        StorageError: if the disk did not take it.
    """
    try:
        write_private(path, data)
    except OSError:
        raise StorageError("the disk did not take what was written.") from None


def _write_pair(file: Path, key: PrivateKey, now: datetime) -> None:
    """Write a private key, then its public file.

    Half of a pair, from a killed process, was never used.
    """
    try:
        file.unlink(missing_ok=True)
        write_key(file, key, PublishedKey.of(key, active_from=written(now)))
    except (OSError, InvalidParameterError):
        raise StorageError("the disk did not take the key.") from None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _json(path: Path) -> dict[str, Any] | None:
    content = _content(path)
    found: dict[str, Any] | None = None if content is None else json.loads(content)
    return found


def _of_kind(kind: type[Key], file: Path, role: Role) -> Key:
    key = read_key(file, role)
    if not isinstance(key, kind):
        raise InvalidParameterError(f"{file} must be the {role.value}'s key of the mix; it is another's.")
    return key
