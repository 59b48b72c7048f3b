"""The post office of one relay: it takes letters, says when a stage has ended and who was there, and hands mail out.

It is trusted with nothing but to be there. It sees who takes part, and letters of fixed lengths on fixed links.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from shuffledp.core.instants import instant
from shuffledp.relay.mailboxes import Mailboxes, Posted
from shuffledp.relay.recorded import is_in, record_of
from shuffledp.relay.rounds import Letters
from shuffledp.relay.terms import RelayTerms
from shuffledp.service.client import LONGEST_WAIT
from shuffledp.service.event_log import EventLog, Happened
from shuffledp.wire.grammar import SIGNATURE_BYTES
from shuffledp.wire.keys import is_signed_by

_CONTEXT = b"shuffledp-1 letters"
_LONGEST_HELD = 20.0  # seconds for which a question is held until a stage has ended
LONGEST_ANSWER = 60.0  # seconds for which members wait for one
AFTER_RESTART = 2 * (LONGEST_ANSWER + 1.5 * LONGEST_WAIT)  # seconds: members who ask again have done so well before
_TICK = 0.2
_LESS = 10  # times less long, members are waited for who were away a stage ago already
_Clock = Callable[[], float]


def signed_letters(terms: RelayTerms, sign: Callable[[bytes], bytes], posted: Posted) -> bytes:
    """What a member sends to the post office: the signature of the letters, then the letters, by recipient."""
    body = b"".join(letter for _, letter in sorted(posted.letters.items()))
    return sign(_bound(terms, posted.stage, posted.sender) + body) + body


class PostOffice:
    """One relay at work.

    Args:
        terms: of the relay.
        store: of its letters alone.
        patience: seconds after the end of a stage for which letters of the next are waited for, or a tenth of it where
            nobody is missing who was there in that stage; for those of the set-up, and for hand-ins of all who have
            voted, it is until the collection closes. In the stage in which the post office starts again it is at least
            ``AFTER_RESTART``, since members ask with pauses while it is away.
        log: told what happened.
        clock: seconds since 1970.
    """

    def __init__(
        self, terms: RelayTerms, store: Mailboxes, *, patience: float, log: EventLog, clock: _Clock = time.time
    ) -> None:
        self.terms, self._store, self._patience, self._log, self._clock = terms, store, patience, log, clock
        self.lengths = lru_cache(maxsize=1 << 12)(terms.letters)  # asked for twice in each request
        self._records: list[bytes] = []
        self._came: set[int] = set()
        self._began, self._is_back = 0.0, False
        self._members = self._expected = set(range(terms.num_users))  # all, and those who were there a stage ago
        self._ended, self._posted = asyncio.Condition(), asyncio.Event()

    @property
    def stage(self) -> int:
        """The stage of which letters are taken."""
        return len(self._records)

    async def open(self) -> None:
        """Go on from what is on the disk."""
        self._records = await self._store.records()
        self._came = await self._store.senders(self.stage)
        if self._records:
            self._is_back = True
            self._members, self._expected = map(self._in, (self._records[0], self._records[-1]))

    def accepts(self, stage: int, sender: int) -> bool:
        """Whether somebody is a member, and a stage has begun."""
        return stage <= min(self.stage, self.terms.hand_in_stage) and sender < self.terms.num_users

    def waits_for(self, stage: int, sender: int) -> bool:
        """Whether the stage has not ended, and the member was there for the set-up."""
        return stage == self.stage and sender in self._members

    def letters(self, stage: int, sender: int, body: bytes) -> Letters | None:
        """The letters that a member has signed, each of the length that it must have; None if it is something else."""
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
        """Keep letters that `accepts` and `letters` let pass; False if they are late, or not those that were sent.

        Raises:
            StorageError: if the disk did not take them.
        """
        if sender not in self._members or (stage < self.stage and sender not in await self._store.senders(stage)):
            return False
        is_kept = await self._store.put(Posted(stage, sender, letters))
        if is_kept and stage == self.stage:
            self._came.add(sender)
            if self._came >= self._members:
                self._posted.set()
        return is_kept

    def _in(self, record: bytes) -> set[int]:
        """Who was there, by a record: also where somebody's letters came while it was written."""
        return {each for each in range(self.terms.num_users) if is_in(record, each)}

    async def record(self, stage: int) -> bytes | None:
        """Who was there in a stage, when it has ended; None if that takes longer than anybody is kept waiting."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_HELD), self._ended:
                await self._ended.wait_for(lambda: stage < self.stage)
        return self._records[stage] if stage < self.stage else None

    async def mail(self, stage: int, recipient: int) -> bytes:
        """The letters of a stage that has ended to a recipient, by sender."""
        there = self._records[stage]
        return b"".join(letter for sender, letter in await self._store.mail(stage, recipient) if is_in(there, sender))

    async def try_to_store(self) -> None:
        """Find out whether something can be stored.

        Raises:
            StorageError: if the disk does not take it.
        """
        await self._store.try_to_store()

    async def run(self) -> None:
        """End one stage after the other, until the task is cancelled or the last has ended."""
        self._began = self._clock()
        while self.stage <= self.terms.hand_in_stage:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._posted.wait(), _TICK)
            self._posted.clear()
            if self._clock() >= self._began + self._waits():
                await self._end()
                self._began = self._clock()

    def _waits(self) -> float:
        """Seconds after the stage before for which this one waits."""
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
        """Say who was there; what comes from now on is late."""
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
