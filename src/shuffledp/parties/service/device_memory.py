"""Memory of a device about one collection: the sealed request until it is stored, then that the device has answered.

A person who answers again is protected less, and reports of one answer randomized often can be averaged. So
the sealed request is written down before it is sent, without the answer, and repeated until it is stored: also if it
is refused, since a shuffler that refuses what it keeps would otherwise see the answer randomized again.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.files.devices import Sent
from shuffledp.parties.service.client import OTHER_KEY, Receipt, configs_of, sealed, upload
from shuffledp.parties.store.private_files import write_private
from shuffledp.parties.wire.grammar import UploadRequest, UploadResponse
from shuffledp.survey import Collection


def state_folder() -> Path:
    """Folder where programs of this user keep their state (the XDG base directories)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return Path(state or Path.home() / ".local" / "state") / "shuffledp" / "answered"


@contextmanager
def state_written_to(folder: Path) -> Iterator[None]:
    """Context in which a state folder, made for its owner only, is written to.

    Raises:
        InvalidParameterError: if the folder cannot be written to.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InvalidParameterError(
            f"state must be a folder to write to; got state={str(folder)!r}: {error.strerror}."
        ) from None


class DeviceMemory:
    """Memory of one device about one collection.

    Args:
        collection_id: id of the collection.
        folder: folder of such memories, made if it is not there; for its owner only.

    Raises:
        InvalidParameterError: if the folder cannot be written to.
    """

    def __init__(self, collection_id: bytes, folder: Path) -> None:
        self._pending, self._done = (folder / f"{collection_id.hex()}.{end}" for end in ("pending", "answered"))
        with state_written_to(folder):
            pass

    def pending(self) -> bytes | None:
        """Sealed request that is not known to be stored; None if there is none.

        Raises:
            LocalProtocolError: if this device has answered already.
        """
        if self._done.exists():
            raise LocalProtocolError(
                "this device has answered the collection already: a second report would protect the person less, and "
                f"bend the result. If it was for somebody else, remove {self._done}."
            )
        return self._pending.read_bytes() if self._pending.exists() else None

    def about_to_send(self, body: bytes) -> None:
        """Write down a sealed request, on the disk before this returns."""
        write_private(self._pending, body)

    def stored(self) -> None:
        """Remember only that the shuffler has stored the request."""
        self._done.touch(mode=0o600)
        self._pending.unlink(missing_ok=True)

    def outdated(self) -> None:
        """Forget a request that can never be opened, so that the answer is sealed anew."""
        self._pending.unlink(missing_ok=True)


def answer_once(
    collection: Collection,
    randomized: Callable[[], Sent],
    memory: DeviceMemory,
    client: httpx.Client,
    *,
    patience: float,
    token: str = "",
) -> Receipt:
    """Receipt for one person's answer, or for the request left unsent the last time.

    Args:
        collection: collection that is answered.
        randomized: randomizes the answer; called at most once, and not where a request is left to send.
        memory: memory of this device.
        client: made by `shuffledp.parties.service.client.new_client`.
        patience: seconds for which requests without an answer are repeated.
        token: token as `shuffledp.parties.wire.tokens.Token.shown` writes it, where the collection has tokens.

    Raises:
        LocalProtocolError: if this device has answered already.
        RemoteProtocolError: if the shuffler does not answer; the report stays to be sent.
    """
    deliver = partial(upload, collection, client=client, patience=patience, token=token)
    left = memory.pending()
    if left is not None:
        return _sent(collection, left, memory, deliver)
    sent, receipt = randomized(), Receipt()
    for config in configs_of(collection, datetime.now(UTC)):
        body = UploadRequest(tuple(sealed(collection, sent, config))).encode()
        memory.about_to_send(body)
        receipt = _sent(collection, body, memory, deliver)
        if not set(receipt.refused) & set(OTHER_KEY):
            break
    return receipt


def _is_outdated(collection: Collection, body: bytes) -> bool:
    """Whether a request is sealed to a key that has expired, by the collection file and this device's clock."""
    (submission,) = UploadRequest.decode(body, num_columns=len(collection.task.messages)).submissions
    active = {config.id for config in configs_of(collection, datetime.now(UTC))}
    return submission.reports[0].ciphertext.config_id not in active


def _sent(
    collection: Collection, body: bytes, memory: DeviceMemory, deliver: Callable[[bytes], UploadResponse]
) -> Receipt:
    refused = deliver(body).refused
    if not refused:
        memory.stored()
        return Receipt(1)
    error = refused[0].error
    if error in OTHER_KEY and _is_outdated(collection, body):
        memory.outdated()
    return Receipt(0, {error: 1})
