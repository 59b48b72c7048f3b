"""Member of a relay at work: stores letters, sends them and fetches mail, stage after stage.

A `Transport` carries the letters: `http_transport` and `folder_transport` are two.
"""

from asyncio import sleep
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from shuffledp.core import validate
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.flow import Progress
from shuffledp.parties.relay.journal import Journal, begun
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.rounds import HandInRefusedError, LetterRefusedError, Letters, finish, prepare
from shuffledp.parties.relay.terms import EVERYBODY, RelayTerms
from shuffledp.randomness.sources import RandomSource


class Transport(Protocol):
    """Untrusted carrier of letters.

    A member hands in only reports of rounds on which all members agree.
    """

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """Send a member's letters of a stage; a repeat changes nothing, and late letters are discarded.

        Raises:
            RemoteProtocolError: if the letters are refused, or no answer comes.
        """

    async def record(self, stage: int) -> bytes:
        """Attendance of a stage that has ended; errors as in `fetch`."""

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Attendance of an ended stage, and the letters from present members to a recipient, by sender.

        Raises:
            RemoteProtocolError: if no answer comes, or the answer breaks the protocol.
        """


async def take_part(
    terms: RelayTerms,
    key: MemberKey,
    report: Callable[[], bytes],
    journal: Journal,
    transport: Transport,
    *,
    pace: float = 0.0,
    source: RandomSource | None = None,
    progress: Progress | None = None,
) -> int:
    """Run a member's part, from the state in its journal to the hand-in.

    Returns:
        Number of reports in layers that this member did not pass on, as in `MemberState.refused`.

    Args:
        terms: terms of the relay.
        key: private keys of the member.
        report: makes the member's own report, sealed to the analyst; called once, and never again after a restart.
        journal: journal of this member.
        transport: carries letters.
        pace: seconds from the mail of a stage to the letters of the next stage, so that the time of sending does not
            tell the amount of work; longer work waits for the next multiple. 0 sends as soon as letters are
            ready.
        source: randomness of the walk; None is the cryptographic source.
        progress: told the number of finished stages.

    Raises:
        InvalidParameterError: if the pace is below 0.
        LocalProtocolError: if the member's part has ended.
        RemoteProtocolError: if a party breaks the protocol; nothing is handed in.
            An invalid letter is kept, and its sender named.
        HandInRefusedError: if these rounds allow no hand-in; the part has ended.
    """
    validate.nonnegative(pace=pace)
    person, began = terms.directory.place_of(key.identity), monotonic()
    state = begun(journal, terms, person, report, source=source)
    try:
        while True:
            stage = state.stage
            if progress is not None:
                progress(stage, terms.hand_in_stage + 1)
            if state.letters is None:
                state = prepare(terms, key, state, source=source)
                journal.write(state)
            if pace:
                await sleep((began - monotonic()) % pace)
            await transport.post(stage, person, state.letters or {})
            if stage == terms.hand_in_stage:
                break
            record, mail = await transport.fetch(stage, EVERYBODY if stage == terms.vote_stage else person)
            began = monotonic()
            state = finish(terms, key, state, record, mail)
    except HandInRefusedError:
        journal.end()
        raise
    except LetterRefusedError as error:
        kept = journal.keep_letter(stage, error.name, error.letter)
        raise RemoteProtocolError(
            f"{error} The letter is kept in {kept}. A next directory can be made without that member: shuffledp relay "
            f"directory --without {error.name}."
        ) from None
    journal.end()
    if progress is not None:
        progress(terms.hand_in_stage + 1, terms.hand_in_stage + 1)
    return state.refused
