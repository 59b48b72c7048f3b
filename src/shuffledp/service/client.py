"""The device's part of a collection: seal what was randomized, send it, and send the same again until it is stored.

A report is sealed once. Whatever happens on the way, the bytes that are sent again are the same, so that the shuffler
counts them once; only if the analyzer's key has expired is the same report sealed anew, to its successor.
"""

import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.core.flow import Progress
from shuffledp.files.devices import Sent
from shuffledp.service.certificates import trusted
from shuffledp.service.public_columns import extensions_of
from shuffledp.service.relayed import ThroughRelay
from shuffledp.survey import Collection
from shuffledp.wire.grammar import (
    UPLOAD_TYPE,
    HpkeConfig,
    Report,
    ReportError,
    Submission,
    UploadRequest,
    UploadResponse,
)
from shuffledp.wire.hpke import Sealer
from shuffledp.wire.report_bytes import ReportLayout

SECONDS_OF_PATIENCE = 60.0
_AT_A_TIME = 500  # submissions in a request
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0  # seconds
_IN_WORDS = {
    "invitationUsed": "the invitation has been used on another device. Send the answer from there; if it was somebody "
    "else's, tell whoever asked you",
    "unauthorizedRequest": "the collection is closed, or knows no such invitation",
}
_NO_TOKEN = "unauthorizedToken"  # noqa: S105  the name of a refusal
_LATER = "Run the same command again later"
TRY_AGAIN = (429, 502, 503, 504)
OTHER_KEY = (ReportError.OUTDATED_CONFIG, ReportError.HPKE_UNKNOWN_CONFIG_ID)


def new_client(*, certificates: Path | None = None, to: Collection | None = None) -> httpx.Client:
    """A client that goes where it is told and nowhere else.

    Args:
        certificates: a file of trusted ones, in place of the system's.
        to: the collection that people answer by it: what is sent goes through its relay, if it has one.
    """
    verify = trusted(certificates, name="--ca")
    client = httpx.Client(verify=verify, follow_redirects=False, timeout=30.0, headers={"User-Agent": "shuffledp"})
    return client if to is None or not to.is_oblivious else httpx.Client(transport=ThroughRelay(to, client))


def configs_of(collection: Collection, now: datetime) -> list[HpkeConfig]:
    """The analyzer's keys that may be sealed to, the one to be tried first at the beginning."""
    return collection.analyzer.key.configs_at(now)


def sealed(collection: Collection, sent: Sent, config: HpkeConfig) -> list[Submission]:
    """What each person submits, sealed to a key: a report in every column, in the order of the people."""
    columns = collection.task.columns
    of_columns = []
    for number, (column, reports) in enumerate(zip(columns, sent.reports, strict=True)):
        sealer = Sealer.to(config, collection_id=collection.id, column=number)
        blobs = ReportLayout.of(reports.model).encode(reports)
        beside = [extensions_of(column, row) for row in _rows(sent, len(blobs))]
        of_columns.append([Report.of(sealer.seal(blob), public) for blob, public in zip(blobs, beside, strict=True)])
    return [Submission(reports) for reports in zip(*of_columns, strict=True)]


def _rows(sent: Sent, count: int) -> Iterator[Mapping[str, Any]]:
    """The public columns of each person."""
    public = sent.public
    if public is None:
        yield from ({} for _ in range(count))
    else:
        yield from ({name: public[name][place] for name in public.columns} for place in range(count))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of submissions: how many are stored, and why others were refused."""

    stored: int = 0
    refused: Mapping[ReportError, int] = field(default_factory=dict)

    def __add__(self, other: "Receipt") -> "Receipt":
        return Receipt(self.stored + other.stored, dict(Counter(self.refused) + Counter(other.refused)))


def send(
    collection: Collection,
    sent: Sent,
    client: httpx.Client,
    *,
    patience: float = SECONDS_OF_PATIENCE,
    progress: Progress | None = None,
    token: str = "",
) -> Receipt:
    """Seal and send what devices have randomized, some hundred people at a time.

    Args:
        collection: where it goes.
        sent: the reports.
        client: made by `new_client`.
        patience: seconds for which a service that does not answer is asked again.
        progress: told how many people are done.
        token: of one person who sends, as it is shown.

    Raises:
        RemoteProtocolError: if the shuffler does not answer in time, or not as the protocol says.
    """
    receipt, done = Receipt(), 0
    for part in _parts(sent):
        receipt += _send_part(collection, part, client, patience, token)
        done += part.num_users
        if progress is not None:
            progress(done, sent.num_users)
    return receipt


def _parts(sent: Sent) -> Iterator[Sent]:
    for start in range(0, sent.num_users, _AT_A_TIME):
        yield sent.take(slice(start, start + _AT_A_TIME))


def _send_part(collection: Collection, part: Sent, client: httpx.Client, patience: float, token: str) -> Receipt:
    receipt = Receipt()
    *others, last = configs_of(collection, datetime.now(UTC))
    for config in (*others, last):
        submissions = sealed(collection, part, config)
        body = UploadRequest(tuple(submissions)).encode()
        answer = upload(collection, body, client, patience=patience, token=token)
        refused = {each.id: each.error for each in answer.refused}
        anew = [] if config is last else [each.id for each in answer.refused if each.error in OTHER_KEY]
        final = Counter(error for id_, error in refused.items() if id_ not in anew)
        receipt += Receipt(len(submissions) - len(refused), dict(final))
        if not anew:
            break
        part = part.take([place for place, each in enumerate(submissions) if each.id in anew])
    return receipt


def upload(
    collection: Collection, body: bytes, client: httpx.Client, *, patience: float, token: str = ""
) -> UploadResponse:
    """Send an encoded request until the shuffler answers it; the same bytes each time, with the same token.

    Raises:
        RemoteProtocolError: if it does not answer in time, or not as the protocol says.
    """
    url = f"{collection.shuffler.url}{collection.path}/reports"
    answer = asked(client, "POST", url, patience, body=body, authorization=token)
    try:
        return UploadResponse.decode(answer.content)
    except MalformedMessageError:
        pass
    raise RemoteProtocolError(f"the shuffler must answer an upload as the protocol says; {_named(collection)} did not.")


def try_way(collection: Collection, client: httpx.Client, *, patience: float) -> None:
    """Find out whether uploads come through, before an invitation is used: one without a token is refused by its name.

    Raises:
        RemoteProtocolError: if the shuffler, or the relay before it, does not answer, or the collection is closed.
    """
    url = f"{collection.shuffler.url}{collection.path}/reports"
    try:
        answer = asked(client, "POST", url, patience, wanted=httpx.codes.UNAUTHORIZED)
        if not reason_of(answer).endswith(_NO_TOKEN):
            raise RemoteProtocolError(f"{_named(collection)} must be reached; somebody else has answered.")
    except RemoteProtocolError as error:
        raise RemoteProtocolError(f"{error} The invitation was not used.") from None


def asked(
    client: httpx.Client,
    method: str,
    url: str,
    patience: float,
    *,
    body: bytes = b"",
    media_type: str = UPLOAD_TYPE,
    authorization: str = "",
    wanted: int = httpx.codes.OK,
) -> httpx.Response:
    """The answer to a request, asked for again with growing pauses while there is none.

    Raises:
        RemoteProtocolError: if there is none in time, or it is a refusal; with the reason that it gives.
    """
    until, wait = time.monotonic() + patience, FIRST_WAIT
    headers = {"Content-Type": media_type} if method == "POST" else {}
    headers |= {"Authorization": authorization} if authorization else {}
    while True:
        reason = f"no answer. {_LATER}"
        try:
            answer = client.request(method, url, content=body or None, headers=headers)
            if answer.status_code == wanted:
                return answer
            reason = reason_of(answer)
            if answer.status_code not in TRY_AGAIN:
                break
            reason += f". {_LATER}"
        except httpx.TransportError as error:
            if isinstance(error, httpx.UnsupportedProtocol | httpx.ConnectError) and "CERTIFICATE" in str(error):
                reason = "its certificate is not trusted here"
                break
        if time.monotonic() + wait > until:
            break
        time.sleep(wait * (0.5 + secrets.randbelow(1000) / 1000))
        wait = min(2 * wait, LONGEST_WAIT)
    raise RemoteProtocolError(f"{url.partition('/collections/')[0]} must answer; got: {reason}.")


def reason_of(answer: httpx.Response) -> str:
    """What a refusal says (RFC 9457), as far as it is one of our own words; plainly if a person did it."""
    try:
        kind = str(answer.json()["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError):
        kind = ""
    known = kind if kind.isalpha() and kind.isascii() else ""
    return " ".join(filter(None, [str(answer.status_code), _IN_WORDS.get(known, known)]))


def _named(collection: Collection) -> str:
    return collection.shuffler.url


def statuses(refused: Mapping[ReportError, int]) -> Sequence[str]:
    """Refusals in words, the most frequent first."""
    words = {
        ReportError.TASK_EXPIRED: "the collection is closed",
        ReportError.TASK_NOT_STARTED: "the collection is not open yet",
        ReportError.OUTDATED_CONFIG: "the analyzer's key has expired, and no other that the collection names is taken",
        ReportError.TOKEN_SPENT: "the token has been spent: whoever had the invitation has answered already",
        ReportError.REPORT_DROPPED: "the shuffler could not store it; send it again later",
    }
    return [
        f"{count:,}: {words.get(error, error.name.lower().replace('_', ' '))}"
        for error, count in Counter(refused).most_common()
    ]
