"""Messages of a collection, each with one encoding; other bytes raise one error, which quotes nothing.

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
from shuffledp.parties.wire.presentation import Fixed, Integer, Message, Opaque, Sequence, messages

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
    """Reason for the refusal of a submission: DAP defines the codes up to 127, we define higher codes."""

    BATCH_COLLECTED = 1  # the batch of the submission has left the shuffler
    REPORT_REPLAYED = 2  # a report in it is already stored with another submission
    REPORT_DROPPED = 3  # the collection is full
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5  # at the analyzer, which counts the error and tells nobody else
    TASK_EXPIRED = 7  # the collection is closed
    INVALID_MESSAGE = 8
    TASK_NOT_STARTED = 10  # the collection is not open yet
    OUTDATED_CONFIG = 11  # the key has expired; seal the report anew
    WRONG_LENGTH = 128  # reports of one column have one length
    UNKNOWN_EXTENSION = 129
    EXTENSIONS_CHANGED = 130  # the same ciphertext came before with other extensions
    TOKEN_SPENT = 131  # another submission spent the token


@dataclass(frozen=True, slots=True, repr=False)
class HpkeConfig(Message):
    """Public key of the analyzer, with the algorithms (RFC 9180, section 7) that the key is for."""

    id: UInt8
    kem: UInt16
    kdf: UInt16
    aead: UInt16
    public_key: Annotated[bytes, Opaque(2, least=1)]


@dataclass(frozen=True, slots=True, repr=False)
class HpkeConfigList(Message):
    """Public keys of the analyzer, the preferred key first; all ids differ."""

    configs: Annotated[tuple[HpkeConfig, ...], Sequence(2, HpkeConfig, least=1)]

    def check(self) -> None:
        """Refuse keys that share an id."""
        ids = [config.id for config in self.configs]
        if len(set(ids)) != len(ids):
            raise invalid("of different ids", configs=ids)


@dataclass(frozen=True, slots=True, repr=False)
class HpkeCiphertext(Message):
    """Sealed plaintext: id of the recipient's key, encapsulated secret, and encrypted bytes."""

    config_id: UInt8
    enc: Annotated[bytes, Opaque(2, least=1)]
    payload: Annotated[bytes, Opaque(4, least=1)]

    def report_id(self) -> bytes:
        """Id of the report with this ciphertext: the first 16 bytes of SHA-256(enc || payload)."""
        return hashlib.sha256(self.enc + self.payload).digest()[:ID_BYTES]


@dataclass(frozen=True, slots=True, repr=False)
class Extension(Message):
    """Public data beside a report, such as the public columns that a shuffler uses."""

    type: UInt16
    data: Annotated[bytes, Opaque(2)]


Extensions = Annotated[tuple[Extension, ...], Sequence(2, Extension)]


def _check_ascending(extensions: tuple[Extension, ...]) -> None:
    """Refuse extensions whose types do not ascend, so that each set of extensions has one encoding."""
    if any(first.type >= second.type for first, second in pairwise(extensions)):
        raise invalid("of ascending types", public_extensions=[each.type for each in extensions])


@dataclass(frozen=True, slots=True, repr=False)
class Report(Message):
    """Report on its way to the shuffler.

    The id is a digest of the ciphertext: a repeated upload changes nothing, and a copy cannot pass as a new report.
    """

    id: Id
    public_extensions: Extensions
    ciphertext: HpkeCiphertext

    def check(self) -> None:
        """Refuse an id other than the ciphertext's digest, and extensions out of order."""
        _check_ascending(self.public_extensions)
        if self.id != self.ciphertext.report_id():
            raise InvalidParameterError("id must be the digest of the ciphertext; it is another.")

    @classmethod
    def of(cls, ciphertext: HpkeCiphertext, public_extensions: tuple[Extension, ...] = ()) -> Self:
        """Report with this ciphertext and the id that follows from it."""
        return cls(ciphertext.report_id(), public_extensions, ciphertext)


@dataclass(frozen=True, slots=True, repr=False)
class Submission:
    """Submission of one person: a report for each column, stored together or not at all."""

    reports: tuple[Report, ...]

    def __post_init__(self) -> None:
        if len({report.id for report in self.reports}) != len(self.reports) or not self.reports:
            raise InvalidParameterError(f"reports must be different, one for each column; got {len(self.reports)}.")

    @property
    def id(self) -> bytes:
        """Id of the first report, by which a `ReportStatus` names the submission."""
        return self.reports[0].id


@dataclass(frozen=True, slots=True, repr=False)
class UploadRequest:
    """Submissions of one or more people in sequence."""

    submissions: tuple[Submission, ...]

    def __post_init__(self) -> None:
        if len({len(submission.reports) for submission in self.submissions}) != 1:
            raise InvalidParameterError("submissions must be one or more, each with as many reports as the others.")

    def encode(self) -> bytes:
        """Bytes of all reports in sequence."""
        return b"".join([report.encode() for submission in self.submissions for report in submission.reports])

    @classmethod
    def decode(cls, data: bytes, *, num_columns: int) -> Self:
        """Request that ``encode`` wrote, with ``num_columns`` reports per submission; errors as in `Message.decode`."""
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
    """Refused submission, named by the id of its first report, with the reason."""

    id: Id
    error: Annotated[ReportError, Integer(1, ReportError)]


@dataclass(frozen=True, slots=True, repr=False)
class UploadResponse(Message):
    """Answer to an upload: the refused submissions in the order of the request; all others are stored.

    Zeros fill it up, so that its length tells how many submissions were sent, and not how many were refused.
    """

    refused: Annotated[tuple[ReportStatus, ...], Sequence(4, ReportStatus)]
    padding: Annotated[bytes, Opaque(4)]

    def check(self) -> None:
        """Refuse padding other than zeros."""
        if self.padding.strip(b"\0"):
            raise InvalidParameterError("padding must be zeros; it is something else.")

    @classmethod
    def to(cls, request: UploadRequest, refused: tuple[ReportStatus, ...]) -> Self:
        """Answer to a request, padded to a length that the number of submissions fixes."""
        return cls.padded(len(request.submissions), refused)

    @classmethod
    def padded(cls, num_submissions: int, refused: tuple[ReportStatus, ...]) -> Self:
        """Answer to a request with this number of submissions, padded to a length that the number fixes."""
        return cls(refused, bytes((num_submissions - len(refused)) * (ID_BYTES + 1)))


@dataclass(frozen=True, slots=True, repr=False)
class BatchedReport(Message):
    """Report after the shuffle: without an id, and with extensions that belong to its new place."""

    public_extensions: Extensions
    ciphertext: HpkeCiphertext

    def check(self) -> None:
        """Refuse extensions out of order."""
        _check_ascending(self.public_extensions)


@dataclass(frozen=True, slots=True, repr=False)
class BatchManifest(Message):
    """Signed facts of the shuffler about a batch of one column.

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
    """Manifest with the shuffler's Ed25519 signature, which `shuffledp.parties.wire.keys` makes and verifies."""

    manifest: BatchManifest
    signature: Annotated[bytes, Fixed(SIGNATURE_BYTES)]


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """Batch on its way to the analyzer; ``body`` holds its reports in shuffled order.

    Raises:
        InvalidParameterError: if the body is not the one that the manifest is about.
    """

    signed: SignedManifest
    body: bytes

    def __post_init__(self) -> None:
        if hashlib.sha256(self.body).digest() != self.signed.manifest.body_sha256:
            raise InvalidParameterError("body must be the one whose digest the manifest has; it is another.")

    def encode(self) -> bytes:
        """Bytes of the manifest, its signature and the body."""
        return self.signed.encode() + self.body

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Batch that ``encode`` wrote; errors as in `Message.decode`.

        Its reports are checked by `reports`.
        """
        signed, at = SignedManifest.read(data, 0, len(data))
        try:
            return cls(signed, data[at:])
        except InvalidParameterError:
            pass
        raise MalformedMessageError("a batch must have the body that its manifest is about; it has another.")

    def reports(self) -> Iterator[BatchedReport]:
        """Reports of the batch in sequence, decoded one at a time to save memory.

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
