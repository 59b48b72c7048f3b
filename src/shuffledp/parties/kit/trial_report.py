"""Test report sent by the same route as people's reports; the analyzer opens and discards it.

Whoever carries it sees a report as any other: of equal length, to the same key, by the same request. The analyzer's key
alone tells it apart; it is nobody's answer, and counts among ``tests`` of the release. A shuffler counts it among those
who came, so that one in a batch that is just large enough stands in the place of a person; where the promise has no
room for that, none is sent.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.parties.issuer.invitations import Invitation
from shuffledp.parties.kit.doctor import Finding
from shuffledp.parties.service.client import OTHER_KEY, configs_of, new_client, refusals_in_words, status_of, upload
from shuffledp.parties.service.device_memory import state_folder, state_written_to
from shuffledp.parties.service.device_token import DeviceToken
from shuffledp.parties.store.private_files import write_private
from shuffledp.parties.wire.grammar import HpkeConfig, Report, ReportError, Submission, UploadRequest
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collection
from shuffledp.survey.questions.question import Question

_PATIENCE = 10.0  # seconds
_TEST = "test report"


def require_test(collection: Collection, *, is_invited: bool) -> None:
    """Refuse a test report that would count as a person's report or take a person's place.

    Args:
        collection: the collection.
        is_invited: whether there is an invitation for the test.

    Raises:
        InvalidParameterError: with the reason.
    """
    task = collection.task
    reasons = {
        "with members who pass reports on": "they take no letter of anybody else" if collection.directory else None,
        "in a local network": "phones there send reports unsealed" if collection.local else None,
        "near an order": "each report has its place in it, and a test would take one"
        if any(column.attached for column in task.columns)
        else None,
        "with a sum in several messages": "its noise comes from everybody who is counted"
        if any(column.randomizer.key != Question.key for column in task.columns)
        else None,
    }
    for what, why in reasons.items():
        if why:
            raise InvalidParameterError(f"--test must be left out of a collection {what}: {why}.")
    if is_invited != (collection.issuer is not None):
        word = "left out where anybody may answer" if is_invited else "given: each report spends one, a test as well"
        raise InvalidParameterError(f"--invitation must be {word}.")


def examine_by_test(
    collection: Collection, *, ca: Path | None = None, invitation: Path | None = None, state: Path | None = None
) -> Iterator[Finding]:
    """Finding about a test report, sent in the same way as people's reports.

    Args:
        collection: the collection, which `require_test` has let through.
        ca: file of certificates to trust in place of the system's.
        invitation: file of an invitation to spend on it, where each report needs one.
        state: folder that keeps a token until it is spent, and how many tests were sent; else that of this user.
    """
    folder = state_folder().with_name("tests") if state is None else state
    try:
        with new_client(certificates=ca) as plain, new_client(certificates=ca, to=collection) as client:
            if _has_room(collection, plain, folder):
                _count_one(collection, folder)
                refused = _spent(collection, invitation, folder, plain, client)
                yield _told(refused)
            else:
                yield Finding(
                    party=_TEST,
                    seen=f"none was sent: the shuffler counts one among the {collection.minimum} reports that a batch "
                    "needs, and the promise would rest on one person fewer",
                    change="[people] fakes of the task, which cover as many; or send it when enough have answered",
                )
    except RemoteProtocolError as error:
        yield Finding(
            party=_TEST, seen=f"none was stored: {error}", change="what is wrong above, first; or another invitation"
        )


def _told(refused: ReportError | None) -> Finding:
    if refused is None:
        return Finding(party=_TEST, seen="stored; the release counts it among `tests`, and nowhere else")
    (why,) = refusals_in_words({refused: 1})
    return Finding(party=_TEST, seen=f"refused, {why}", change="dates, keys and invitations of the collection")


def _spent(
    collection: Collection, invitation: Path | None, folder: Path, plain: httpx.Client, client: httpx.Client
) -> ReportError | None:
    """Reason why a test report, sent with an invitation if given, was refused; None if it is stored."""
    if invitation is None:
        return send_test(collection, client)
    with state_written_to(folder):
        own = DeviceToken(collection, folder)
        token = own.get(Invitation.read(invitation, collection), plain, patience=_PATIENCE, to=client)
        refused = send_test(collection, client, token=token.shown())
        own.spent()
    return refused


def _has_room(collection: Collection, client: httpx.Client, folder: Path) -> bool:
    """Whether a test report may be sent now without weakening the promise of the smallest batch."""
    people = collection.task.people
    if collection.demonstration or people.unvouched or _sent_before(collection, folder) < people.fakes:
        return True
    return collection.every is None and status_of(collection, client, patience=_PATIENCE)["at_least_minimum"]


def _sent_before(collection: Collection, folder: Path) -> int:
    """Number of test reports of a collection that were sent or tried from this folder."""
    file = _count_file(collection, folder)
    return int(file.read_bytes()) if file.exists() else 0


def _count_one(collection: Collection, folder: Path) -> None:
    """Count a test report before it is sent, since it may be stored without an answer."""
    with state_written_to(folder):
        write_private(_count_file(collection, folder), str(_sent_before(collection, folder) + 1).encode())


def _count_file(collection: Collection, folder: Path) -> Path:
    return folder / f"{collection.id.hex()}.tests"


def send_test(collection: Collection, client: httpx.Client, *, token: str = "") -> ReportError | None:
    """Reason why the shuffler refused a test report; None if the report is stored.

    Raises:
        RemoteProtocolError: if the shuffler does not answer in time, or breaks the protocol.
    """
    refused = None
    for config in configs_of(collection, datetime.now(UTC)):
        test = sealed_test(collection, config)
        answer = upload(collection, UploadRequest((test,)).encode(), client, patience=_PATIENCE, token=token)
        refused = next((each.error for each in answer.refused if each.id == test.id), None)
        if refused not in OTHER_KEY:
            break
    return refused


def sealed_test(collection: Collection, config: HpkeConfig) -> Submission:
    """Submission of a test, sealed to a key: messages of zeros, as long as real reports."""
    reports = []
    for pool in collection.task.messages:
        sealer = Sealer.to(config, collection_id=collection.id, column=pool.number, is_test=True)
        length = ReportLayout.of(pool.column.randomizer.randomizer().model).length
        reports.append(Report.of(sealer.seal(bytes(length))))
    return Submission(tuple(reports))
