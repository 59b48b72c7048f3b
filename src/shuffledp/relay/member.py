"""One member at work: letters are settled, written down and sent, mail is fetched, stage after stage until the hand-in.

How letters travel is up to a `Transport`: `http_transport` and `folder_transport` are two.
"""

from asyncio import sleep
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from shuffledp.core import validate
from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.flow import Progress
from shuffledp.randomness.sources import RandomSource
from shuffledp.relay.journal import Journal, begun
from shuffledp.relay.member_keys import MemberKey
from shuffledp.relay.rounds import HandInRefusedError, LetterRefusedError, Letters, finish, prepare
from shuffledp.relay.terms import EVERYBODY, RelayTerms


class Transport(Protocol):
    """Carries letters; whatever it does, a member hands in nothing but what all members agree on."""

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """Send a member's letters of a stage; the same ones again change nothing, and late ones go nowhere.

        Raises:
            RemoteProtocolError: if they are not taken, or nobody answers.
        """

    async def record(self, stage: int) -> bytes:
        """Who was there in a stage, when it has ended; with the errors of `fetch`."""

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Who was there in a stage, when it has ended, and the letters of these to a recipient, by sender.

        Raises:
            RemoteProtocolError: if nobody answers, or not as the protocol says.
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
    """Take a member's part, from where the journal says that it stopped, to the hand-in.

    Returns:
        How many reports in layers went no further here, as `MemberState.refused`.

    Args:
        terms: of the relay.
        key: the member's.
        report: makes the member's own report, sealed to the analyst; called once, and never again after a restart.
        journal: of this member.
        transport: carries letters.
        pace: seconds after the mail of a stage at which the letters of the next leave, so that the moment does not
            tell how much there was to do; what takes longer leaves at the next multiple. 0 is as soon as they are
            there.
        source: of the walk; None is the cryptographic source.
        progress: told how many stages are done.

    Raises:
        InvalidParameterError: if the pace is below 0.
        LocalProtocolError: if the member's part has ended.
        RemoteProtocolError: if somebody does not do as the protocol says; nothing is handed in.
            A letter that is not as it must be is kept, and its sender named.
        HandInRefusedError: if nothing is to be handed in after what happened; the part has ended.
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
