"""Intake of submissions, as a pure decision: from the submission, the collection's terms and the stored reports.

There are two steps. `refusal` looks at the submission alone; `admission` at the store's entries for its reports, inside
the transaction that stores it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from shuffledp.parties.service.batches import Phase
from shuffledp.parties.wire.grammar import Extension, Report, ReportError, Submission


class Count(StrEnum):
    """Outcomes of submissions that are counted; a refused submission leaves only its count."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    LATE = "late"
    MALFORMED = "malformed"
    REFUSED = "refused"
    NOT_STORED = "not-stored"


_BYTES_OF_REPORT = 16 + 2 + 1 + 2 + 4  # id, and the prefixes of its parts
_COUNTED = {
    ReportError.TASK_EXPIRED: Count.LATE,
    ReportError.BATCH_COLLECTED: Count.LATE,
    ReportError.INVALID_MESSAGE: Count.MALFORMED,
    ReportError.WRONG_LENGTH: Count.MALFORMED,
    ReportError.UNKNOWN_EXTENSION: Count.MALFORMED,
    ReportError.REPORT_DROPPED: Count.NOT_STORED,
}


def counted_as(error: ReportError) -> Count:
    """Outcome under which a refusal is counted."""
    return _COUNTED.get(error, Count.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Form that all reports of a column have.

    Args:
        payload: bytes of the payload.
        extensions: type and length in bytes of each extension, in ascending order.
        is_sound: whether extensions of that form have a valid content.
    """

    payload: int
    extensions: tuple[tuple[int, int], ...] = ()
    is_sound: Callable[[Sequence[Extension]], bool] = field(default=bool, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Terms of a collection that decide on its submissions.

    Args:
        opens: seconds since 1970 (UTC).
        closes: seconds since 1970 (UTC); reports that arrive then or later are late.
        columns: the form of a report of each column.
        encapsulated: for each of the analyzer's keys, by its id, the bytes of the encapsulated secret.
        outdated: end of each key's use in such seconds, by its id, where there is an end.
    """

    opens: float
    closes: float
    columns: tuple[Shape, ...]
    encapsulated: Mapping[int, int]
    outdated: Mapping[int, float] = field(default_factory=dict)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Largest length in bytes of each column's reports, over all keys of the analyzer."""
        around = _BYTES_OF_REPORT + max(self.encapsulated.values())
        return tuple(around + each.payload + sum(4 + length for _, length in each.extensions) for each in self.columns)


def refusal(submission: Submission, terms: Terms, *, phase: Phase, now: float) -> ReportError | None:
    """Reason to refuse a submission, judged without the store; None if there is none."""
    if phase is not Phase.OPEN or now >= terms.closes:
        return ReportError.TASK_EXPIRED
    if now < terms.opens:
        return ReportError.TASK_NOT_STARTED
    if len(submission.reports) != len(terms.columns):
        return ReportError.INVALID_MESSAGE
    for report, shape in zip(submission.reports, terms.columns, strict=True):
        if (error := _misfit(report, shape, terms, now)) is not None:
            return error
    return None


def _misfit(report: Report, shape: Shape, terms: Terms, now: float) -> ReportError | None:
    sealed = report.ciphertext
    if now >= terms.outdated.get(sealed.config_id, math.inf):
        return ReportError.OUTDATED_CONFIG
    if sealed.config_id not in terms.encapsulated:
        return ReportError.HPKE_UNKNOWN_CONFIG_ID
    if len(sealed.enc) != terms.encapsulated[sealed.config_id] or len(sealed.payload) != shape.payload:
        return ReportError.WRONG_LENGTH
    if tuple((each.type, len(each.data)) for each in report.public_extensions) != shape.extensions:
        return ReportError.UNKNOWN_EXTENSION
    return None if not shape.extensions or shape.is_sound(report.public_extensions) else ReportError.INVALID_MESSAGE


class Row(NamedTuple):
    """Stored report: its id (only a keyed digest is kept), its extensions and its ciphertext.

    The first row of a submission has the nonce of the spent ``token``, kept as a keyed digest; empty for no token.
    """

    id: bytes
    extensions: bytes
    ciphertext: bytes
    token: bytes = b""


Kept = bytes | bool  # entry of an id: its extensions; True if only known as seen; False if unknown


def admission(rows: Sequence[Row], kept: Sequence[Kept], *, is_spent: bool = False) -> ReportError | Count:
    """Outcome of a submission in the store: stored now, stored before, or refused.

    A device without an answer sends the same bytes again, and is told that they are stored. A submission that mixes
    stored reports with new ones, or changes extensions, comes from another party; ``is_spent`` says that
    another submission was stored for its token.
    """
    if not any(each is not False for each in kept):
        return ReportError.TOKEN_SPENT if is_spent else Count.STORED
    if any(each is False for each in kept):
        return ReportError.REPORT_REPLAYED
    if any(each is not True and each != row.extensions for row, each in zip(rows, kept, strict=True)):
        return ReportError.EXTENSIONS_CHANGED
    return Count.DUPLICATE
