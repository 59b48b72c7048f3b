"""Uploads of a person's shares to several hosts: one for each host, all with one random set id."""

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_bytes
from typing import Annotated

from shuffledp.parties.wire.agreement_messages import SET_ID_BYTES, set_extension
from shuffledp.parties.wire.grammar import Report, Submission, UploadRequest
from shuffledp.parties.wire.presentation import Message, Opaque, messages
from shuffledp.survey import Collection


def shares_of(collection: Collection, submission: Submission, set_id: bytes | None = None) -> list[Submission]:
    """Submissions of a person's shares, one to each host, in the order of the hosts.

    Args:
        collection: collection with several hosts.
        submission: every message of the person, sealed, in the order of the task's messages.
        set_id: 16 bytes that name the person's set to the hosts; None draws them, as a device must.
    """
    named = set_extension(token_bytes(SET_ID_BYTES) if set_id is None else set_id)
    found = []
    for host in range(len(collection.hosts)):
        theirs = [
            report
            for report, pool in zip(submission.reports, collection.task.messages, strict=True)
            if pool.host == host
        ]
        found.append(Submission((Report.of(theirs[0].ciphertext, (named,)), *theirs[1:])))
    return found


@dataclass(frozen=True, slots=True, repr=False)
class _StoredRequest(Message):
    """Request to one host, in the form that a device stores."""

    body: Annotated[bytes, Opaque(4)]


def kept(submissions: Sequence[Submission]) -> bytes:
    """Requests to all hosts as one file, so that a device keeps all requests or none."""
    return b"".join([_StoredRequest(UploadRequest((each,)).encode()).encode() for each in submissions])


def requests_in(data: bytes) -> list[bytes]:
    """Requests to all hosts, in the order of the hosts, from the bytes that `kept` wrote.

    Raises:
        MalformedMessageError: for anything else.
    """
    return [each.body for each in messages(_StoredRequest, data, 0, len(data))]
