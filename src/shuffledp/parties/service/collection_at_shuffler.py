"""Collection at the shuffler: carries out the decisions of other modules, one after the other.

Intake takes many requests at once; all else (closing, batches, delivery) is one task, which continues from the
state in the store.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes
from typing import Any

from shuffledp._version import __version__
from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError, ShuffleDPError
from shuffledp.core.instants import instant
from shuffledp.core.table import Integers
from shuffledp.parties.agreement.agreement_steps import Stage
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.service.batch_order import draw_for, encoded
from shuffledp.parties.service.batches import (
    Agreed,
    Clean,
    CloseAsked,
    Decision,
    Delivered,
    Destroy,
    Disagreed,
    Drained,
    End,
    Event,
    Freeze,
    Keep,
    MakeBatch,
    Phase,
    ReleaseRule,
    StopIntake,
    Stored,
    Tick,
    step,
)
from shuffledp.parties.service.collection_terms import host_of, terms_of
from shuffledp.parties.service.host_agreement import HostAgreement
from shuffledp.parties.service.intake import Count, Row, counted_as, refusal
from shuffledp.parties.service.report_queue import ReportQueue
from shuffledp.parties.service.report_store import OutgoingBatch, ReportStore, UnsignedBatch
from shuffledp.parties.service.share_store import ShareStore
from shuffledp.parties.service.upload_layout import UploadLayouts
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.grammar import (
    ID_BYTES,
    BatchManifest,
    ReportError,
    ReportStatus,
    Submission,
    UploadRequest,
    UploadResponse,
)
from shuffledp.parties.wire.keys import ShufflerKey
from shuffledp.parties.wire.tokens import Token, TokenCheck
from shuffledp.survey import Collection

_SECONDS_OF_TICK = 1.0
_LONGEST_PAUSE = 60.0  # seconds after a failure
_Clock = Callable[[], float]


class CollectionAtShuffler:
    """Collection at the shuffler: takes reports in, makes batches and delivers them.

    Args:
        collection: collection whose reports come.
        store: store of this collection alone.
        key: private key that signs batches.
        beside: folder that paths in the task are relative to.
        log: log of events.
        clock: function for the time in seconds since 1970.
    """

    def __init__(
        self,
        collection: Collection,
        store: ReportStore,
        key: ShufflerKey,
        *,
        beside: Path,
        log: EventLog,
        clock: _Clock = time.time,
    ) -> None:
        host = host_of(collection, key)
        self.collection, self.terms = collection, terms_of(collection, host)
        self._store, self._key, self._log, self._clock = store, key, log, clock
        self._layouts = UploadLayouts(self.terms)
        self._queue = ReportQueue(store, stored=self._stored)
        self._pools = [pool.number for pool in collection.pools_at(host)]
        self._draw = draw_for(collection.task, beside)
        self._agreement = None
        if isinstance(store, ShareStore):
            self._agreement = HostAgreement(collection, host, store, self._queue, key)
        issuer = collection.issuer
        self._check = None if issuer is None else TokenCheck(collection.challenge_at(host), issuer.key.several)
        self._rule = ReleaseRule(
            closes=self.terms.closes,
            minimum=collection.minimum,
            every=collection.every,
            fetch_by=None if collection.fetch_by is None else instant(fetch_by=collection.fetch_by).timestamp(),
            agrees=self._agreement is not None,
        )
        self._wake, self._one_at_a_time = asyncio.Event(), asyncio.Lock()
        self._is_clean, self._phase, self._waiting = False, store.phase, store.waiting
        self.batch_made = asyncio.Event()

    # ---- intake -----------------------------------------------------------------------------------------------------

    async def upload(self, body: bytes, authorization: str = "", *, name: bytes = b"") -> bytes:
        """Answer to an upload, after all accepted submissions are on the disk.

        A token, where the collection has tokens, is spent only when its submission is stored. An empty upload without
        one is refused and not counted: with it a device tests the way before it asks for its token.

        Args:
            body: bytes of the upload; with tokens, of one submission.
            authorization: header field that shows the token.
            name: in the place of a token, the name of a submission that is sealed here; spent like one.

        Raises:
            MalformedMessageError: if the body is no upload.
            Refused: if the token is not of this collection; an empty upload is refused differently after the close.
            StorageError: if the disk did not take the upload.
        """
        if self._check is not None and not body and not authorization:  # a test of the way
            is_closed = self._phase is not Phase.OPEN or self._clock() >= self.terms.closes
            raise Refused(Problem.NOT_AUTHORIZED if is_closed else Problem.OTHER_TOKEN)
        nonce = name or self._nonce(authorization)
        try:
            several, errors = self._read(body)
            if nonce and len(several) > 1:
                raise MalformedMessageError("an upload must be of one submission, which its token is for; it has more.")
        except MalformedMessageError:
            self._queue.count(Count.MALFORMED)
            raise
        if nonce:
            several[0][0] = several[0][0]._replace(token=nonce)
        taken = [rows for rows, error in zip(several, errors, strict=True) if error is None]
        results = iter(await self._queue.store(taken) if taken else ())
        refused = []
        for rows, error in zip(several, errors, strict=True):
            result = next(results) if error is None else error
            if isinstance(result, ReportError):
                refused.append(ReportStatus(rows[0].id, result))
            if error is not None:
                self._queue.count(counted_as(error))
        return UploadResponse.padded(len(several), tuple(refused)).encode()

    def _read(self, body: bytes) -> tuple[Sequence[list[Row]], Sequence[ReportError | None]]:
        """Rows of each submission of an upload, and reasons to refuse submissions."""
        now, terms = self._clock(), self.terms
        if self._phase is Phase.OPEN and terms.opens <= now < terms.closes:
            several = self._layouts.rows(body, now)
            if several is not None:
                return several, [None] * len(several)
        request = UploadRequest.decode(body, num_columns=len(terms.columns))
        errors = [refusal(each, terms, phase=self._phase, now=now) for each in request.submissions]
        return [_rows(each) for each in request.submissions], errors

    def _nonce(self, authorization: str) -> bytes:
        """Nonce of the token, if the token is for this collection; empty if the collection has no tokens."""
        if self._check is None:
            return b""
        try:
            token = Token.of_shown(authorization)
            self._check(token)
        except RemoteProtocolError:
            self._queue.count(Count.REFUSED)
            raise Refused(Problem.OTHER_TOKEN) from None
        return token.nonce

    def _stored(self, waiting: int) -> None:
        self._waiting = waiting
        if self._rule.every is not None and waiting >= self._rule.every:
            self._wake.set()

    @property
    def status(self) -> tuple[Phase, bool]:
        """Phase of the collection, and whether it has or had enough reports for a batch; never a number."""
        enough = self._waiting >= self.collection.minimum or self._store.batches > 0
        return self._phase, enough or self._phase is Phase.RELEASED

    @property
    def told(self) -> dict[str, Any]:
        """Public status: the phase, whether enough people have answered, and the state of an agreement."""
        phase, enough = self.status
        agreeing = {} if self._agreement is None else self._agreement.told(phase)
        return {"phase": phase.value, "at_least_minimum": enough, **agreeing}

    async def counts(self) -> dict[Count, int]:
        """Counts of submissions so far."""
        return dict(await self._queue.do(self._store.counts))

    async def try_to_store(self) -> None:
        """Test whether the disk takes data; without effect after the collection's data is deleted.

        Raises:
            StorageError: if the disk does not take data.
        """
        if not self._is_clean:
            await self._queue.do(self._store.try_to_store)

    async def stop_intake(self) -> None:
        """Close the collection before its date, on the disk when this returns; `run` does all further steps.

        Raises:
            StorageError: if the disk did not take the phase; then the collection stays open.
        """
        async with self._one_at_a_time:
            await self._happened(CloseAsked())
        self._wake.set()

    # ---- everything else --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Close, make batches and deliver until the task is cancelled; failures are retried after growing pauses."""
        pause = _SECONDS_OF_TICK
        while True:
            try:
                await self.advance()
                pause = _SECONDS_OF_TICK
            except StorageError:
                self._log.at_first(Happened.STORAGE_FAILED)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except ShuffleDPError:  # people's reports cannot be put in the order of the task
                self._log.later(Happened.BATCH_FAILED)
                pause = min(2 * pause, _LONGEST_PAUSE)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause)
            self._wake.clear()

    async def advance(self) -> None:
        """Advance the collection as far as possible now."""
        async with self._one_at_a_time:
            self._phase = self._store.phase  # ahead of ours if the disk failed just after it was written
            if not self._is_clean:
                await self._happened(Tick(self._clock()))
            while self._phase is Phase.OPEN and self._rule.every is not None and self._waiting >= self._rule.every:
                await self._happened(Stored(self._waiting))
            if self._phase is Phase.CLOSING:
                await self._queue.drain()
                await self._happened(Drained(self._store.waiting, self._store.batches))
            if self._phase is Phase.AGREEING and self._agreement is not None:
                await self._happen_agreed(self._agreement)
            if self._phase in (Phase.CLOSED, Phase.DESTROYED) and not self._is_clean:
                await self._happened(Delivered(len(await self.outgoing())))

    async def _happen_agreed(self, agreement: HostAgreement) -> None:
        """Continue if the agreement of the hosts has ended."""
        await agreement.freeze()  # if an earlier process was killed before it did
        if agreement.stage is Stage.REFUSED:
            self._log(Happened.DISAGREED)
            await self._happened(Disagreed())
        elif agreement.stage is Stage.AGREED:
            await self._happened(Agreed(len(agreement.complete), self._store.batches))

    async def agree(self, body: bytes) -> bytes:
        """Answer to the analyst, who carries another host's message or asks for this host's standing.

        Raises:
            MalformedMessageError: if the body is no such request.
            RemoteProtocolError: if the message is not signed by its host, or too early.
            Refused: if the collection has one shuffler, or the analyst has not signed the request.
            StorageError: if the disk did not take the step.
        """
        if self._agreement is None:
            raise Refused(Problem.UNRECOGNIZED_COLLECTION)
        async with self._one_at_a_time:
            answer = await self._agreement.answer(body, self._phase)
        self._wake.set()
        return answer

    async def outgoing(self) -> list[OutgoingBatch]:
        """Batches on their way to the analyzer."""
        return await self._queue.do(self._store.outgoing)

    async def part(self, outgoing: OutgoingBatch, number: int) -> bytes | None:
        """Part of the body of a batch; None after the last part."""
        return await self._queue.do(self._store.part, outgoing, number)

    async def delivered(self, outgoing: OutgoingBatch) -> None:
        """Forget a batch that the analyzer has acknowledged."""
        async with self._one_at_a_time:
            await self._queue.do(self._store.delivered, outgoing)
            self._log(Happened.DELIVERED)
            await self._happened(Delivered(len(await self.outgoing())))

    async def destroy(self) -> None:
        """Destroy all remaining data of the collection, permanently; nothing is released any more.

        Raises:
            StorageError: if the disk did not take it.
        """
        async with self._one_at_a_time:
            if not self._is_clean:
                self._phase = Phase.DESTROYED  # from now on, submissions are late
                await self._queue.drain()
                if self._store.phase in (Phase.OPEN, Phase.CLOSING, Phase.AGREEING):
                    await self._queue.do(self._store.end, Phase.DESTROYED, self._signed)
                await self._queue.do(self._store.destroy_batches)
                await self._carry_out(Clean(), Phase.DESTROYED)
            self.batch_made.set()

    @property
    def has_ended(self) -> bool:
        """Whether the shuffler has no more of the collection to deliver."""
        return self._is_clean or self._phase is Phase.RELEASED

    async def close(self) -> None:
        """Close the store after all accepted submissions are on the disk."""
        await self._queue.close()

    async def _happened(self, event: Event) -> None:
        phase, decisions = step(self._phase, event, self._rule)
        for decision in decisions:
            await self._carry_out(decision, phase)
        self._phase, self._waiting = phase, self._store.waiting

    async def _carry_out(self, decision: Decision, phase: Phase) -> None:
        match decision:
            case StopIntake():
                await self._queue.do(self._store.enter, phase)
                self._phase = phase  # from now on, submissions are late
                self._log(Happened.CLOSING)
            case Freeze() if self._agreement is not None:
                await self._queue.do(self._store.enter, phase)
                await self._agreement.freeze()
            case Keep() if self._agreement is not None:
                await self._agreement.keep()
            case MakeBatch(size):
                await self._queue.do(self._store.release, size, self._draw_own, self._signed)
                self._log(Happened.BATCH_MADE, size)
                self.batch_made.set()
            case End():
                await self._queue.do(self._store.end, phase, self._signed)
                if phase is Phase.DESTROYED:
                    self._log(Happened.NOT_RELEASED)
                self.batch_made.set()
            case Destroy():
                await self._queue.do(self._store.destroy_batches)
                self._log(Happened.NOT_FETCHED)
            case Clean():
                await self._queue.do(self._store.clean, phase)
                self._is_clean = True

    def _draw_own(
        self, pool: int, count: int, size: int, extensions: Callable[[], list[bytes]]
    ) -> tuple[Integers, Integers]:
        """Order for a pool of this shuffler; the draw gets the pool's number among all shufflers' pools."""
        return self._draw(self._pools[pool], count, size, extensions)

    def _signed(self, made: UnsignedBatch) -> bytes:
        counts = {name: min(made.counts.get(name, 0), (1 << 32) - 1) for name in Count}
        manifest = BatchManifest(
            collection_id=self.collection.id,
            column=self._pools[made.column],
            batch_id=token_bytes(ID_BYTES),
            number=made.number,
            num_reports=made.num_reports,
            duplicates=counts[Count.DUPLICATE],
            late=counts[Count.LATE],
            malformed=counts[Count.MALFORMED] + counts[Count.REFUSED],
            body_sha256=made.body_sha256,
            shuffle=self.collection.task.shuffler.kind.encode(),
            library_version=__version__.encode(),
        )
        return self._key.sign(manifest).encode()


def _rows(submission: Submission) -> list[Row]:
    """Rows of a submission for the store."""
    return [
        Row(report.id, encoded(report.public_extensions), report.ciphertext.encode()) for report in submission.reports
    ]
