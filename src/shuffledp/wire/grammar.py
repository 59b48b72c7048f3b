"""The messages of a collection. Each has one encoding; anything else is refused, by one error that shows nothing of it.

The names, and most of the structures, are those of the Distributed Aggregation Protocol (draft-ietf-ppm-dap); this is
another protocol, whose rules are in docs/protocol.md.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Annotated, Self

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError
from shuffledp.core.validate import invalid
from shuffledp.wire.presentation import Fixed, Integer, Message, Opaque, Sequence, messages

COLLECTION_ID_BYTES = 32
ID_BYTES = 16  # of reports and of batches
SIGNATURE_BYTES = 64

UPLOAD_TYPE = "application/vnd.shuffledp.upload"
UPLOAD_ERRORS_TYPE = "application/vnd.shuffledp.upload-errors"
BATCH_TYPE = "application/vnd.shuffledp.batch"
HPKE_CONFIGS_TYPE = "application/vnd.shuffledp.hpke-config-list"

UInt8 = Annotated[int, Integer(1)]
UInt16 = Annotated[int, Integer(2)]
UInt32 = Annotated[int, Integer(4)]
CollectionId = Annotated[bytes, Fixed(COLLECTION_ID_BYTES)]
Id = Annotated[bytes, Fixed(ID_BYTES)]


class ReportError(IntEnum):
    """Why a submission was refused: up to 127 in the words of DAP, from 128 on in our own."""

    BATCH_COLLECTED = 1  # its batch has left; nothing can be added to it
    REPORT_REPLAYED = 2  # a report of it is stored already, as part of another submission
    REPORT_DROPPED = 3  # it could not be stored; to be sent again later
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5  # of the analyzer, who counts it and tells nobody
    TASK_EXPIRED = 7  # the collection is closed
    INVALID_MESSAGE = 8
    TASK_NOT_STARTED = 10  # the collection is not open yet
    OUTDATED_CONFIG = 11  # the key is not active any more; to be sealed anew
    WRONG_LENGTH = 128  # not of the one length that reports of the column have
    UNKNOWN_EXTENSION = 129
    EXTENSIONS_CHANGED = 130  # the same ciphertext came before, with others
    TOKEN_SPENT = 131  # by another submission


@dataclass(frozen=True, slots=True, repr=False)
class HpkeConfig(Message):
    """A public key of the analyzer, with the algorithms (RFC 9180, section 7) that it is for."""

    id: UInt8
    kem: UInt16
    kdf: UInt16
    aead: UInt16
    public_key: Annotated[bytes, Opaque(2, least=1)]


@dataclass(frozen=True, slots=True, repr=False)
class HpkeConfigList(Message):
    """The analyzer's keys, the one to be used first; their ids are all different."""

    configs: Annotated[tuple[HpkeConfig, ...], Sequence(2, HpkeConfig, least=1)]

    def check(self) -> None:
        """Ids that differ."""
        ids = [config.id for config in self.configs]
        if len(set(ids)) != len(ids):
            raise invalid("of different ids", configs=ids)


@dataclass(frozen=True, slots=True, repr=False)
class HpkeCiphertext(Message):
    """A sealed plaintext: the key it is sealed to, the encapsulated secret, and what hides the plaintext."""

    config_id: UInt8
    enc: Annotated[bytes, Opaque(2, least=1)]
    payload: Annotated[bytes, Opaque(4, least=1)]

    def report_id(self) -> bytes:
        """The id of the report that this is: the first 16 bytes of SHA-256(enc || payload)."""
        return hashlib.sha256(self.enc + self.payload).digest()[:ID_BYTES]


@dataclass(frozen=True, slots=True, repr=False)
class Extension(Message):
    """Something public about a report, such as the public columns that a shuffler works by."""

    type: UInt16
    data: Annotated[bytes, Opaque(2)]


Extensions = Annotated[tuple[Extension, ...], Sequence(2, Extension)]


def _check_ascending(extensions: tuple[Extension, ...]) -> None:
    """One order, so that there is one encoding; and none twice."""
    if any(first.type >= second.type for first, second in pairwise(extensions)):
        raise invalid("of ascending types", public_extensions=[each.type for each in extensions])


@dataclass(frozen=True, slots=True, repr=False)
class Report(Message):
    """A report on its way to the shuffler.

    Its id is a digest of its ciphertext, so that sending it again changes nothing, and a copy cannot pass for another.
    """

    id: Id
    public_extensions: Extensions
    ciphertext: HpkeCiphertext

    def check(self) -> None:
        """The digest of the ciphertext, and extensions in their order."""
        _check_ascending(self.public_extensions)
        if self.id != self.ciphertext.report_id():
            raise InvalidParameterError("id must be the digest of the ciphertext; it is another.")

    @classmethod
    def of(cls, ciphertext: HpkeCiphertext, public_extensions: tuple[Extension, ...] = ()) -> Self:
        """The report of a ciphertext."""
        return cls(ciphertext.report_id(), public_extensions, ciphertext)


@dataclass(frozen=True, slots=True, repr=False)
class Submission:
    """All that one person sends: a report for each column, stored together or not at all."""

    reports: tuple[Report, ...]

    def __post_init__(self) -> None:
        if len({report.id for report in self.reports}) != len(self.reports) or not self.reports:
            raise InvalidParameterError(f"reports must be different, one for each column; got {len(self.reports)}.")

    @property
    def id(self) -> bytes:
        """The id of its first report, by which a `ReportStatus` names it."""
        return self.reports[0].id


@dataclass(frozen=True, slots=True, repr=False)
class UploadRequest:
    """Submissions of one person or more, one after the other."""

    submissions: tuple[Submission, ...]

    def __post_init__(self) -> None:
        if len({len(submission.reports) for submission in self.submissions}) != 1:
            raise InvalidParameterError("submissions must be one or more, each with as many reports as the others.")

    def encode(self) -> bytes:
        """The bytes of all reports."""
        return b"".join([report.encode() for submission in self.submissions for report in submission.reports])

    @classmethod
    def decode(cls, data: bytes, *, num_columns: int) -> Self:
        """The request that ``encode`` wrote, of submissions that have this number of reports; as `Message.decode`."""
        reports = tuple(messages(Report, bytes(data), 0, len(data)))
        parts = [reports[at : at + num_columns] for at in range(0, len(reports), num_columns)]
        try:
            if parts and len(parts[-1]) == num_columns:
                return cls(tuple(map(Submission, parts)))
        except InvalidParameterError:
            pass
        raise MalformedMessageError(f"an upload must be whole submissions of {num_columns} different reports each.")


@dataclass(frozen=True, slots=True, repr=False)
class ReportStatus(Message):
    """A submission that was refused, by the id of its first report."""

    id: Id
    error: Annotated[ReportError, Integer(1, ReportError)]


@dataclass(frozen=True, slots=True, repr=False)
class UploadResponse(Message):
    """Answer to an upload: the submissions that were refused, in the order of the request; all others are stored.

    Zeros fill it up, so that its length tells how many submissions were sent, and not how many were refused.
    """

    refused: Annotated[tuple[ReportStatus, ...], Sequence(4, ReportStatus)]
    padding: Annotated[bytes, Opaque(4)]

    def check(self) -> None:
        """Zeros, and nothing that they could hide."""
        if self.padding.strip(b"\0"):
            raise InvalidParameterError("padding must be zeros; it is something else.")

    @classmethod
    def to(cls, request: UploadRequest, refused: tuple[ReportStatus, ...]) -> Self:
        """The answer to a request."""
        spare = len(request.submissions) - len(refused)
        return cls(refused, bytes(spare * (ID_BYTES + 1)))


@dataclass(frozen=True, slots=True, repr=False)
class BatchedReport(Message):
    """A report as it leaves the shuffler: without an id; the extensions are those of its place after the shuffle."""

    public_extensions: Extensions
    ciphertext: HpkeCiphertext

    def check(self) -> None:
        """Extensions in their order."""
        _check_ascending(self.public_extensions)


@dataclass(frozen=True, slots=True, repr=False)
class BatchManifest(Message):
    """What the shuffler says, and signs, of a batch of one column.

    ``number`` counts the batches of the column from 0, and the last one holds no report: nothing follows it, and if it
    is the first, nothing was released. ``duplicates``, ``late`` and ``malformed`` are submissions to the collection
    that were not stored so far; ``shuffle`` is the kind of shuffler that made the batch, in UTF-8.
    """

    collection_id: CollectionId
    column: UInt16
    batch_id: Id
    number: UInt32
    num_reports: UInt32
    duplicates: UInt32
    late: UInt32
    malformed: UInt32
    body_sha256: Annotated[bytes, Fixed(32)]
    shuffle: Annotated[bytes, Opaque(1, least=1)]
    library_version: Annotated[bytes, Opaque(1, least=1)]


@dataclass(frozen=True, slots=True, repr=False)
class SignedManifest(Message):
    """A manifest with the Ed25519 signature of the shuffler; `shuffledp.wire.keys` makes and verifies it."""

    manifest: BatchManifest
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """A batch on its way to the analyzer; ``body`` is that of its reports, one after the other, in shuffled order.

    Raises:
        InvalidParameterError: if the body is not the one that the manifest is about.
    """

    signed: SignedManifest
    body: bytes

    def __post_init__(self) -> None:
        if hashlib.sha256(self.body).digest() != self.signed.manifest.body_sha256:
            raise InvalidParameterError("body must be the one whose digest the manifest has; it is another.")

    def encode(self) -> bytes:
        """The bytes of the manifest, its signature and the body."""
        return self.signed.encode() + self.body

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The batch that ``encode`` wrote; as `Message.decode`. Its reports are looked at in `reports`."""
        signed, at = SignedManifest.read(data, 0, len(data))
        try:
            return cls(signed, data[at:])
        except InvalidParameterError:
            pass
        raise MalformedMessageError("a batch must have the body that its manifest is about; it has another.")

    def reports(self) -> Iterator[BatchedReport]:
        """The reports, one after the other, so that few are in memory.

        Raises:
            MalformedMessageError: at the first that is malformed, or at the end if there are more or fewer than the
                manifest says.
        """
        found = 0
        for report in messages(BatchedReport, self.body, 0, len(self.body)):
            found += 1
            yield report
        if found != (said := self.signed.manifest.num_reports):
            raise MalformedMessageError(f"a batch must hold the {said} reports that its manifest counts; got {found}.")
