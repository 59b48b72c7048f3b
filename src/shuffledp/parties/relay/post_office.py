"""Post office of one relay: takes letters, ends stages, and hands out attendance and mail.

Members trust it only to be available. It sees who takes part, and letters of fixed lengths on fixed links.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from shuffledp.core.instants import instant
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.relay.attendance import is_in, record_of
from shuffledp.parties.relay.mailboxes import Mailboxes, PostedLetters
from shuffledp.parties.relay.rounds import Letters
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.service.client import LONGEST_WAIT
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES
from shuffledp.parties.wire.keys import is_signed_by

_CONTEXT = b"shuffledp-1 letters"
_LONGEST_HELD = 20.0  # seconds for which a request waits for the end of a stage
LONGEST_ANSWER = 60.0  # seconds for which members wait for an answer
AFTER_RESTART = 2 * (LONGEST_ANSWER + 1.5 * LONGEST_WAIT)  # seconds, well above the pauses of members who ask again
_TICK = 0.2
_LESS = 10  # times shorter is the wait for members who were already away in the stage before
_Clock = Callable[[], float]


def signed_letters(terms: RelayTerms, sign: Callable[[bytes], bytes], posted: PostedLetters) -> bytes:
    """Body of a member's post: the signature of the letters, then the letters, by recipient."""
    body = b"".join(letter for _, letter in sorted(posted.letters.items()))
    return sign(_bound(terms, posted.stage, posted.sender) + body) + body


class PostOffice:
    """Post office of one relay at work.

    Args:
        terms: terms of the relay.
        store: store of this relay's letters.
        patience: seconds from the end of a stage for which letters of the next are accepted, or a tenth of it where
            all members present in that stage have sent; for letters of the set-up, and for hand-ins of all who have
            voted, the wait lasts until the collection closes. In the stage of a restart of the post office, at least
            ``AFTER_RESTART``, since members ask with growing pauses meanwhile.
        log: log of events.
        clock: seconds since 1970.
    """

    def __init__(
        self, terms: RelayTerms, store: Mailboxes, *, patience: float, log: EventLog, clock: _Clock = time.time
    ) -> None:
        self.terms, self._store, self._patience, self._log, self._clock = terms, store, patience, log, clock
        self.lengths = lru_cache(maxsize=1 << 12)(terms.letters)  # needed twice in each request
        self._records: list[bytes] = []
        self._came: set[int] = set()
        self._began, self._is_back = 0.0, False
        self._members = self._expected = set(range(terms.num_users))  # members; members present a stage ago
        self._ended, self._posted = asyncio.Condition(), asyncio.Event()

    @property
    def stage(self) -> int:
        """Stage whose letters are accepted now."""
        return len(self._records)

    async def open(self) -> None:
        """Continue from the state on disk."""
        self._records = await self._store.records()
        self._came = await self._store.senders(self.stage)
        if self._records:
            self._is_back = True
            self._members, self._expected = map(self._in, (self._records[0], self._records[-1]))

    def accepts(self, stage: int, sender: int) -> bool:
        """Whether the sender is a member, and the stage has begun."""
        return stage <= min(self.stage, self.terms.hand_in_stage) and sender < self.terms.num_users

    def waits_for(self, stage: int, sender: int) -> bool:
        """Whether the stage has not ended, and the member was present at the set-up."""
        return stage == self.stage and sender in self._members

    def letters(self, stage: int, sender: int, body: bytes) -> Letters | None:
        """Letters that the member has signed, each of its due length; None for any other body."""
        lengths, signature, joined = self.lengths(sender, stage), body[:SIGNATURE_BYTES], body[SIGNATURE_BYTES:]
        identity = self.terms.directory.identities[sender]
        if len(joined) != sum(lengths.values()):
            return None
        if not is_signed_by([identity], signature, _bound(self.terms, stage, sender) + joined):
            return None
        found, at = {}, 0
        for recipient, length in sorted(lengths.items()):
            found[recipient] = joined[at : at + length]
            at += length
        return found

    async def take(self, stage: int, sender: int, letters: Letters) -> bool:
        """Whether checked letters are stored; False if they are late, or differ from earlier letters.

        Raises:
            StorageError: if the disk did not take the letters.
        """
        if sender not in self._members or (stage < self.stage and sender not in await self._store.senders(stage)):
            return False
        is_kept = await self._store.put(PostedLetters(stage, sender, letters))
        if is_kept and stage == self.stage:
            self._came.add(sender)
            if self._came >= self._members:
                self._posted.set()
        return is_kept

    def _in(self, record: bytes) -> set[int]:
        """Members that a stage's record has as present.

        Letters that come while the record is written do not count.
        """
        return {each for each in range(self.terms.num_users) if is_in(record, each)}

    async def record(self, stage: int) -> bytes | None:
        """Attendance of an ended stage; None if the stage does not end within a request's longest wait."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_HELD), self._ended:
                await self._ended.wait_for(lambda: stage < self.stage)
        return self._records[stage] if stage < self.stage else None

    async def mail(self, stage: int, recipient: int) -> bytes:
        """Letters of an ended stage to a recipient, by sender."""
        there = self._records[stage]
        return b"".join(letter for sender, letter in await self._store.mail(stage, recipient) if is_in(there, sender))

    async def try_to_store(self) -> None:
        """Test whether the disk takes data.

        Raises:
            StorageError: if the disk does not take data.
        """
        await self._store.try_to_store()

    async def run(self) -> None:
        """End one stage after the other, until the task is cancelled or the last stage has ended."""
        self._began = self._clock()
        while self.stage <= self.terms.hand_in_stage:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._posted.wait(), _TICK)
            self._posted.clear()
            if self._clock() >= self._began + self._waits():
                await self._end()
                self._began = self._clock()

    def _waits(self) -> float:
        """Longest duration of the current stage in seconds."""
        last = self.stage == self.terms.hand_in_stage
        if self._came >= (self._expected if last else self._members):
            return 0.0
        if self._came >= self._expected:
            return self._patience / _LESS
        least = AFTER_RESTART if self._is_back else 0.0
        if last or self.stage == 0:
            return max(
                least, self._patience * last, instant(closes=self.terms.collection.closes).timestamp() - self._began
            )
        return max(least, self._patience)

    async def _end(self) -> None:
        """Record the attendance of the stage; letters of the stage are late from now on."""
        stage = self.stage
        came = await self._store.senders(stage)
        record = record_of(came, self.terms.num_users)
        await self._store.end(stage, record)
        if stage == 0:
            self._members = came
        self._expected, self._is_back = came, False
        self._log(Happened.STAGE_ENDED, len(came))
        async with self._ended:
            self._records.append(record)
            self._came = set()
            self._ended.notify_all()


def _bound(terms: RelayTerms, stage: int, sender: int) -> bytes:
    return _CONTEXT + terms.collection_id + stage.to_bytes(4, "big") + sender.to_bytes(4, "big")
