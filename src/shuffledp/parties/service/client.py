"""Client of a device: seals randomized reports, and sends the same bytes until they are stored.

A report is sealed once. Repeated requests have the same bytes, so that the shuffler
counts them once; only if the analyzer's key has expired is the same report sealed anew, to its successor.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError, UnreachableError
from shuffledp.core.flow import Progress
from shuffledp.files.devices import DeviceReports
from shuffledp.parties.http.bounded_answers import whole_answer
from shuffledp.parties.http.certificates import trusted
from shuffledp.parties.http.oblivious_transport import ObliviousTransport
from shuffledp.parties.http.pauses import Pauses
from shuffledp.parties.service.collection_terms import MOST_BYTES_RELAYED, terms_of
from shuffledp.parties.service.public_columns import extensions_of
from shuffledp.parties.service.share_uploads import shares_of
from shuffledp.parties.wire.grammar import (
    UPLOAD_TYPE,
    HpkeConfig,
    Report,
    ReportError,
    Submission,
    UploadRequest,
    UploadResponse,
)
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collection

SECONDS_OF_PATIENCE = 60.0
NO_ANSWER = "no answer"
_PHASES = (NO_ANSWER, "open", "closing", "agreeing", "closed", "released", "destroyed")
_AT_A_TIME = 500  # submissions in a request
_MOST_BYTES = 8 << 20  # of a request, about; shufflers take twice as many
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0  # seconds
_IN_WORDS = {
    "invitationUsed": "the invitation has been used on another device. Send the answer from there; if it was somebody "
    "else's, tell whoever asked you",
    "unauthorizedRequest": "the collection is closed, or knows no such invitation",
    "notRegistered": "the mix takes no collection without a code (--code) or a key (--key) that its operator knows",
    "otherMix": "the collection names other keys, addresses or a shuffle that are not this mix's",
    "otherPage": "the mix would make another page of this collection: its software must be of the same version as this",
    "placeTaken": "another collection has this page's address already",
    "tooManyPeople": "the mix takes no collection of so many people",
    "tooManyBytes": "the mix takes no collection whose answers are so long",
    "tooManyDays": "the mix takes no collection that lasts so long, or has ended",
    "tooManyCollections": "the mix takes no more collections of this registrant, until others have ended, or are "
    "forgotten with their results",
    "askedTooOften": "the collection does not say that its organizer may ask who is absent, or it has been told "
    "three times",
    "notClosed": "the collection must close before its result is published",
}
_NO_TOKEN = "unauthorizedToken"  # noqa: S105  name of a refusal
_LATER = "Run the same command again later"
TRY_AGAIN = (429, 502, 503, 504)
OTHER_KEY = (ReportError.OUTDATED_CONFIG, ReportError.HPKE_UNKNOWN_CONFIG_ID)


def new_client(*, certificates: Path | None = None, to: Collection | None = None) -> httpx.Client:
    """HTTP client that follows no redirects, and uses the collection's relay if there is one.

    Args:
        certificates: file of trusted certificates, in place of the system's.
        to: collection to answer: requests go through its relay, if it has one.
    """
    verify = trusted(certificates, name="--ca")
    client = httpx.Client(verify=verify, follow_redirects=False, timeout=30.0, headers={"User-Agent": "shuffledp"})
    return client if to is None or not to.is_oblivious else httpx.Client(transport=ObliviousTransport(to, client))


def configs_of(collection: Collection, now: datetime) -> list[HpkeConfig]:
    """HPKE configs of the analyzer for sealing now, the preferred config first."""
    return collection.analyzer.key.configs_at(now)


def sealed(collection: Collection, sent: DeviceReports, config: HpkeConfig) -> list[Submission]:
    """Sealed submission of each person, with every message of each column, in the order of people."""
    of_messages: list[list[Report]] = []
    pools = iter(collection.task.pools)
    for column, reports in zip(collection.task.columns, sent.reports, strict=True):
        blobs, messages = ReportLayout.of(reports.model).encode(reports), reports.model.num_messages
        beside = [extensions_of(column, row) for row in _rows(sent, reports.num_users)]
        theirs = [pool for pool in islice(pools, reports.model.num_pools) for _ in range(pool.messages)]
        for first, pool in enumerate(theirs):  # a message of each person, sealed for the shuffle of its pool
            sealer = Sealer.to(config, collection_id=collection.id, column=pool.number)
            pairs = zip(blobs[first::messages], beside, strict=True)
            of_messages.append([Report.of(sealer.seal(blob), public) for blob, public in pairs])
    return [Submission(reports) for reports in zip(*of_messages, strict=True)]


def _rows(sent: DeviceReports, count: int) -> Iterator[Mapping[str, Any]]:
    """Public columns of each person."""
    public = sent.public
    if public is None:
        yield from ({} for _ in range(count))
    else:
        yield from ({name: public[name][place] for name in public.columns} for place in range(count))


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of an upload: number of stored submissions, and counts of refusals by reason."""

    stored: int = 0
    refused: Mapping[ReportError, int] = field(default_factory=dict)

    def __add__(self, other: "Receipt") -> "Receipt":
        return Receipt(self.stored + other.stored, dict(Counter(self.refused) + Counter(other.refused)))


def send(
    collection: Collection,
    sent: DeviceReports,
    client: httpx.Client,
    *,
    patience: float = SECONDS_OF_PATIENCE,
    progress: Progress | None = None,
    token: str = "",
    tokens: Sequence[str] = (),
) -> Receipt:
    """Receipt for randomized reports, which are sealed and sent some hundred people at a time.

    Args:
        collection: collection that is answered.
        sent: randomized reports.
        client: made by `new_client`.
        patience: seconds for which requests without an answer are repeated.
        progress: told the number of people done.
        token: token of the only person who sends, in the form that `Token.shown` writes.
        tokens: tokens of the only person for each of several hosts, in their order.

    Raises:
        RemoteProtocolError: if the shuffler does not answer in time, or breaks the protocol.
    """
    receipt, done = Receipt(), 0
    for part in _parts(collection, sent):
        if collection.further_shufflers:
            receipt += _send_shares(collection, part, client, patience, tokens)
        else:
            receipt += _send_part(collection, part, client, patience, token)
        done += part.num_users
        if progress is not None:
            progress(done, sent.num_users)
    return receipt


def _parts(collection: Collection, sent: DeviceReports) -> Iterator[DeviceReports]:
    """Reports in parts of some hundred people, or of fewer people to keep uploads short enough."""
    longest = max(sum(terms_of(collection, host).lengths) for host in range(len(collection.hosts)))
    most = MOST_BYTES_RELAYED if collection.is_oblivious else _MOST_BYTES
    step = max(1, min(_AT_A_TIME, most // longest))
    for start in range(0, sent.num_users, step):
        yield sent.take(slice(start, start + step))


def _send_part(
    collection: Collection, part: DeviceReports, client: httpx.Client, patience: float, token: str
) -> Receipt:
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


def _send_shares(
    collection: Collection, part: DeviceReports, client: httpx.Client, patience: float, tokens: Sequence[str]
) -> Receipt:
    """Receipt for the shares of several people.

    A person's shares count as stored if every host has stored them.
    """
    config = configs_of(collection, datetime.now(UTC))[0]
    people = [shares_of(collection, each) for each in sealed(collection, part, config)]
    refused: dict[int, ReportError] = {}
    for host, theirs in enumerate(zip(*people, strict=True)):
        token, body = tokens[host] if tokens else "", UploadRequest(theirs).encode()
        answer = upload(collection, body, client, patience=patience, token=token, host=host)
        places = {each.id: place for place, each in enumerate(theirs)}
        refused |= {places[each.id]: each.error for each in answer.refused if each.id in places}
    return Receipt(len(people) - len(refused), dict(Counter(refused.values())))


def upload(
    collection: Collection, body: bytes, client: httpx.Client, *, patience: float, token: str = "", host: int = 0
) -> UploadResponse:
    """Answer of a shuffler to an encoded request.

    The request is repeated with the same bytes and token until an answer comes.

    Raises:
        RemoteProtocolError: if the shuffler does not answer in time, or breaks the protocol.
    """
    shuffler = collection.hosts[host].url
    url = f"{shuffler}{collection.path}/reports"
    answer = answer_to(client, "POST", url, patience, body=body, authorization=token)
    try:
        return UploadResponse.decode(answer.content)
    except MalformedMessageError:
        pass
    raise RemoteProtocolError(f"the shuffler must answer an upload as the protocol says; {shuffler} did not.")


def status_of(collection: Collection, client: httpx.Client, *, patience: float) -> dict[str, Any]:
    """Shuffler's answer about the state of a collection: its phase, and whether enough reports for a batch wait.

    Of several shufflers it is that of the one which is least far, with the answers of all as ``hosts``: the ``step`` of
    their agreement that each has done, and the numbers of those that it ``waits_for``.

    Raises:
        RemoteProtocolError: if the only shuffler does not answer in time, or one breaks the protocol.
    """
    if not collection.further_shufflers:
        return _status_at(collection.shuffler.url, collection, client, patience)
    found = []
    for each in collection.hosts:
        try:
            told = _status_at(each.url, collection, client, patience)
        except RemoteProtocolError:
            told = {"phase": NO_ANSWER, "at_least_minimum": False}
        found.append({"url": each.url, **told})
    least = min(found, key=lambda told: _PHASES.index(told["phase"]) if told["phase"] in _PHASES else 0)
    enough = all(told["at_least_minimum"] for told in found)
    return {"phase": least["phase"], "at_least_minimum": enough, "hosts": found}


def _status_at(url: str, collection: Collection, client: httpx.Client, patience: float) -> dict[str, Any]:
    answer = answer_to(client, "GET", f"{url}{collection.path}", patience)
    with suppress(ValueError, KeyError, TypeError):
        said = answer.json()
        found = {"phase": str(said["phase"]), "at_least_minimum": bool(said["at_least_minimum"])}
        if collection.further_shufflers:
            found |= {"step": str(said["step"]), "waits_for": [int(each) for each in said["waits_for"]]}
        return found
    raise RemoteProtocolError(f"the shuffler must say how a collection stands; {url} does not.")


def try_way(collection: Collection, client: httpx.Client, *, patience: float, host: int = 0) -> None:
    """Test the route to the shuffler by an upload without a token, which the shuffler refuses.

    Call it before an invitation is used.

    Raises:
        RemoteProtocolError: if the shuffler, or the relay before it, does not answer, or the collection is closed.
    """
    shuffler = collection.hosts[host].url
    url = f"{shuffler}{collection.path}/reports"
    try:
        answer = answer_to(client, "POST", url, patience, wanted=httpx.codes.UNAUTHORIZED)
        if not reason_of(answer).endswith(_NO_TOKEN):
            raise RemoteProtocolError(f"{shuffler} must be reached; somebody else has answered.")
    except RemoteProtocolError as error:
        used = "The invitation was not used."
        if collection.further_shufflers:
            used = (
                "The invitation was not used there: answer again from this device, which keeps what is for the others."
            )
        raise type(error)(f"{error} {used}") from None


def answer_to(
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
    """Answer to a request, which is repeated with growing pauses until an answer comes.

    Raises:
        UnreachableError: if no answer comes in time.
        RemoteProtocolError: if a refusal comes, whose reason the error names.
    """
    headers = {"Content-Type": media_type} if method == "POST" else {}
    headers |= {"Authorization": authorization} if authorization else {}
    failed: type[RemoteProtocolError] = UnreachableError
    reason = ""
    for _ in attempts(patience):
        reason = f"no answer. {_LATER}"
        try:
            answer = whole_answer(client, client.build_request(method, url, content=body or None, headers=headers))
            if answer.status_code == wanted:
                return answer
            reason = reason_of(answer)
            if answer.status_code not in TRY_AGAIN:
                failed = RemoteProtocolError
                break
            reason += f". {_LATER}"
        except httpx.TransportError as error:
            if isinstance(error, httpx.UnsupportedProtocol | httpx.ConnectError) and "CERTIFICATE" in str(error):
                reason, failed = "its certificate is not trusted here", RemoteProtocolError
                break
    raise failed(f"{url.partition('/collections/')[0]} must answer; got: {reason}.")


def attempts(patience: float) -> Iterator[None]:
    """Attempts at a request, one or more, with growing pauses between them until ``patience`` seconds are over."""
    until, pauses = time.monotonic() + patience, Pauses(FIRST_WAIT, LONGEST_WAIT)
    yield
    while time.monotonic() + (pause := pauses.next()) <= until:
        time.sleep(pause)
        yield


def reason_of(answer: httpx.Response) -> str:
    """Status and reason of a refusal (RFC 9457); a reason caused by a person is in plain words."""
    try:
        kind = str(answer.json()["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError):
        kind = ""
    known = kind if kind.isalpha() and kind.isascii() else ""
    return " ".join(filter(None, [str(answer.status_code), _IN_WORDS.get(known, known)]))


def _named(collection: Collection) -> str:
    return collection.shuffler.url


def refusals_in_words(refused: Mapping[ReportError, int]) -> Sequence[str]:
    """Refusals in words, the most frequent first."""
    words = {
        ReportError.TASK_EXPIRED: "the collection is closed",
        ReportError.TASK_NOT_STARTED: "the collection is not open yet",
        ReportError.OUTDATED_CONFIG: "the analyzer's key has expired, and no other that the collection names is taken",
        ReportError.TOKEN_SPENT: "the token has been spent: whoever had the invitation has answered already",
        ReportError.REPORT_DROPPED: "the collection is full: the shuffler takes no more answers",
    }
    return [
        f"{count:,}: {words.get(error, error.name.lower().replace('_', ' '))}"
        for error, count in Counter(refused).most_common()
    ]
