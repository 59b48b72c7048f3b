"""Memory of a device about one collection: the sealed request, and later only that it is stored.

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

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError, UnreachableError
from shuffledp.files.devices import DeviceReports
from shuffledp.parties.service.client import OTHER_KEY, Receipt, configs_of, sealed, upload
from shuffledp.parties.service.share_uploads import kept, requests_in, shares_of
from shuffledp.parties.store.private_files import write_private
from shuffledp.parties.wire.grammar import UploadRequest, UploadResponse
from shuffledp.randomness.permutations import random_permutation
from shuffledp.survey import Collection

_AT_HOST = "at-host-"


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
        self._folder, self._name = folder, collection_id.hex()
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
        for each in self._folder.glob(f"{self._name}.{_AT_HOST}*"):
            each.unlink(missing_ok=True)

    def stored_at(self, host: int) -> None:
        """Remember that one of several hosts has stored its request."""
        self._at(host).touch(mode=0o600)

    def is_stored_at(self, host: int) -> bool:
        """Whether one of several hosts has stored its request."""
        return self._at(host).exists()

    def _at(self, host: int) -> Path:
        return self._folder / f"{self._name}.{_AT_HOST}{host}"

    def outdated(self) -> None:
        """Forget a request that can never be opened, so that the answer is sealed anew."""
        self._pending.unlink(missing_ok=True)


def answer_once(
    collection: Collection,
    randomized: Callable[[], DeviceReports],
    memory: DeviceMemory,
    client: httpx.Client,
    *,
    patience: float,
    token: str = "",
) -> Receipt:
    """Receipt for one person's answer, or for the unsent request of an earlier call.

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


def answer_hosts(
    collection: Collection,
    randomized: Callable[[], DeviceReports],
    memory: DeviceMemory,
    client: httpx.Client,
    *,
    patience: float,
    token: Callable[[int], str] = lambda _: "",
) -> Receipt:
    """Receipt for one person's answer to several hosts, or for the unsent requests of an earlier call.

    A share that a host has stored is not sent again; one whose host is away is kept, and sent by the next call, as the
    same bytes. Hosts are tried in an order of chance.

    Args:
        collection: collection with several hosts.
        randomized: as in `answer_once`.
        memory: memory of this device.
        client: made by `shuffledp.parties.service.client.new_client`.
        patience: seconds for which requests without an answer are repeated, at each host.
        token: function for the token to show to a host, by its number.

    Raises:
        LocalProtocolError: if this device has answered already.
        RemoteProtocolError: if a host does not answer; its share stays to be sent.
    """
    left = memory.pending()
    if left is None:
        config = configs_of(collection, datetime.now(UTC))[0]
        (submission,) = sealed(collection, randomized(), config)
        left = kept(shares_of(collection, submission))
        memory.about_to_send(left)
    requests, refused, away = requests_in(left), Receipt(), list[RemoteProtocolError]()
    for host in random_permutation(len(requests)).tolist():
        if memory.is_stored_at(host):
            continue
        try:
            answer = upload(collection, requests[host], client, patience=patience, token=token(host), host=host)
        except RemoteProtocolError as error:
            away.append(error)
            continue
        if answer.refused:
            refused += Receipt(0, {answer.refused[0].error: 1})
        else:
            memory.stored_at(host)
    if away:
        had = len(requests) - len(away)
        first = next((each for each in away if not isinstance(each, UnreachableError)), away[0])
        kept_share = "Its share is kept for the next time; " if isinstance(first, UnreachableError) else ""
        raise type(first)(f"{first} {kept_share}{had} of {len(requests)} answered.")
    if refused.refused:
        return refused
    memory.stored()
    return Receipt(1)


def _is_outdated(collection: Collection, body: bytes) -> bool:
    """Whether a request is sealed to an expired key, by the collection file and this device's clock."""
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
