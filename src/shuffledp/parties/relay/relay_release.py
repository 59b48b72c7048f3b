"""Analyst's part of a relay: counts votes, opens hand-ins, and writes the release.

Hand-ins are opened only after enough equal votes, and the release is that of the simulated walk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shuffledp.core.errors import InputDataError, RemoteProtocolError, UndecryptableReportError
from shuffledp.core.flow import View
from shuffledp.documents.document import Document
from shuffledp.documents.release_document import write_release
from shuffledp.files import new_folder
from shuffledp.files.reading import NOBODY, ProgressListener
from shuffledp.files.releases import ReceivedView, release_received
from shuffledp.files.unreleased_statement import COUNT_IT, write_unreleased
from shuffledp.parties.relay.attendance import Attendance
from shuffledp.parties.relay.hand_in_gate import simulated_shuffler
from shuffledp.parties.relay.member import Transport
from shuffledp.parties.relay.rounds import HandInRefusedError, check_hand_in, count_votes
from shuffledp.parties.relay.sealed_hand_ins import opened_hand_in
from shuffledp.parties.relay.terms import ANALYST, EVERYBODY, RelayTerms
from shuffledp.parties.wire.grammar import HpkeCiphertext
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collected, Outcome, read_earlier

_NOTHING_SEEN = "So the analyst has seen no report, and there is nothing to be counted in a next attempt."


@dataclass(frozen=True, slots=True, kw_only=True)
class HandIns:
    """Hand-ins of the members, and the attendance in their votes.

    Args:
        attendance: attendance that all voters saw.
        by_member: sealed reports of each member who handed in, by place in the directory.
        unreadable: error of an invalid hand-in; empty if all are valid.
    """

    attendance: Attendance
    by_member: dict[int, tuple[HpkeCiphertext, ...]]
    unreadable: str = ""


async def gather_hand_ins(terms: RelayTerms, transport: Transport, keys: Sequence[AnalyzerKey]) -> HandIns:
    """Hand-ins of all members, once the last stage has ended.

    Raises:
        RemoteProtocolError: if records or votes break the protocol, or no answer comes.
        HandInRefusedError: if these rounds allow no hand-in, or too few votes agree.
    """
    attendance = Attendance(terms.collection_id, terms.num_users)
    for stage in range(terms.num_rounds + 1):
        attendance = attendance.followed_by(await transport.record(stage))
    try:
        check_hand_in(terms, attendance)
        _, votes = await transport.fetch(terms.vote_stage, EVERYBODY)
        count_votes(terms, attendance, votes)
    except HandInRefusedError as error:
        raise HandInRefusedError(f"{error} {_NOTHING_SEEN}") from None
    _, letters = await transport.fetch(terms.hand_in_stage, ANALYST)
    there = {person: letter for person, letter in letters.items() if person not in attendance.absent}
    opened, unreadable = {}, ""
    for person, letter in there.items():
        try:
            opened[person] = opened_hand_in(terms, keys, person, letter)
        except RemoteProtocolError as error:
            unreadable = unreadable or str(error)
    return HandIns(attendance=attendance, by_member=opened, unreadable=unreadable)


def view_of(terms: RelayTerms, found: HandIns, keys: Sequence[AnalyzerKey]) -> tuple[View, Collected]:
    """View of the analyst, and counts of refused reports.

    Raises:
        InputDataError: if the number of reports has no statement (without a gate, all reports are needed), or
            a hand-in is unreadable.
    """
    if found.unreadable:
        raise InputDataError(f"{found.unreadable} Nothing was released.")
    layout = ReportLayout.of(terms.collection.task.columns[0].randomizer.randomizer().model)
    opener = Opener.by(keys, collection_id=terms.collection_id, column=0)
    seen: set[bytes] = set()
    texts, labels, duplicates, undecryptable = [], [], 0, 0
    for person, several in sorted(found.by_member.items()):
        for each in several:
            if each.report_id() in seen:
                duplicates += 1
                continue
            seen.add(each.report_id())
            try:
                texts.append(opener.open(each))
                labels.append(person)
            except UndecryptableReportError:
                undecryptable += 1
    reports, malformed = layout.decode(texts)
    collected = Collected(
        collection=terms.collection_id.hex(),
        duplicates=duplicates,
        malformed=len(malformed),
        undecryptable=undecryptable,
    )
    model = simulated_shuffler(terms, found.attendance).model(terms.num_users)
    if len(reports) not in model.num_reports(1):
        raise InputDataError(
            f"all {terms.num_users} members' reports must be handed in, and nothing else, since nothing was promised "
            f"of others; got {len(reports)}. Nothing was released."
        )
    return View(reports=reports, labels=np.delete(np.array(labels), malformed), shuffle=model), collected


def write_relay_release(
    terms: RelayTerms,
    found: HandIns,
    keys: Sequence[AnalyzerKey],
    folder: Path,
    *,
    earlier: Sequence[Path] = (),
    watch: ProgressListener = NOBODY,
    force: bool = False,
) -> tuple[Outcome, Document]:
    """Write the release of the hand-ins into a folder; return the outcome and its page.

    If no release is possible, the folder gets a statement without estimates, on the loss of each report by itself.

    Raises:
        InvalidParameterError: if ``earlier`` does not fit the task, or the folder cannot be made.
        InputDataError: as in `view_of`.
    """
    collection, (column,) = terms.collection, terms.collection.task.columns
    releases = read_earlier(collection.task, earlier)
    try:
        view, collected = view_of(terms, found, keys)
    except InputDataError as error:
        write_unreleased(
            collection.task,
            folder,
            {column.value: terms.num_users},
            str(error),
            collected={column.value: Collected(collection=terms.collection_id.hex())},
            provenance=collection.provenance,
            is_shuffled=False,
            earlier=earlier,
            force=force,
        )
        raise InputDataError(f"{error} {COUNT_IT.format(file=folder / 'statement.json')}") from None
    with new_folder(folder, force=force) as place:
        received = ReceivedView(view=view, shuffler=terms.shuffler, collected=collected)
        outcome = release_received(
            collection.task,
            lambda _: received,
            place,
            collection.provenance,
            earlier=releases,
            beside=Path(),
            watch=watch,
        )
        return write_release(outcome, place)
