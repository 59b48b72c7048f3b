"""Part of one host in the agreement of a collection; its state is stored before any answer."""

import asyncio
from datetime import UTC, datetime
from secrets import token_bytes
from typing import Any

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.agreement.agreement_rules import Reason, Refusal, rules_of
from shuffledp.parties.agreement.agreement_steps import AgreementState, Stage, frozen, step
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.report_queue import ReportQueue
from shuffledp.parties.service.share_store import ShareStore
from shuffledp.parties.wire.agreement_messages import NOBODY, NONCE_BYTES, Handed, Kind, Signer, Standing, decoded
from shuffledp.parties.wire.keys import ShufflerKey, from_text
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind
from shuffledp.survey import Collection

_STAGES = list(Stage)


class HostAgreement:
    """Part of one host in the agreement of a collection with several hosts.

    Guarantees:
        1. Whatever the host has told anybody is on its disk, and the same after a restart.

    Args:
        collection: collection with several hosts.
        host: number of this host.
        store: store of its shares.
        queue: queue before the store.
        key: key that the host signs by.
    """

    def __init__(
        self, collection: Collection, host: int, store: ShareStore, queue: ReportQueue, key: ShufflerKey
    ) -> None:
        self._collection, self._host, self._store, self._queue = collection, host, store, queue
        self._rules, self._signer = rules_of(collection), Signer(key, collection.id, host)
        self._analyst = from_text(collection.analyzer.key.request_key or "", name="request_key")
        self._held = store.held(host)

    @property
    def stage(self) -> Stage:
        """Stage of this host."""
        return self._held.stage(self._rules)

    async def freeze(self) -> None:
        """Commit to the sets that have come, unless already done; on the disk when this returns."""
        if self.stage is not Stage.OPEN:
            return
        sets = await self._queue.do(self._store.sets, self._collection.id)
        reveal = self._signer.reveal(token_bytes(NONCE_BYTES), sets)
        await self._hold(frozen(self._host, reveal, self._signer))

    async def keep(self) -> None:
        """Destroy the shares of people who are not complete at all hosts."""
        await self._queue.do(self._store.keep, self._collection.id, self.complete)

    @property
    def complete(self) -> list[bytes]:
        """Digests of the complete sets; empty until all hosts have signed the sets."""
        found = self._held.judged(self._rules) if self.stage is Stage.AGREED else []
        return [] if isinstance(found, Refusal) else found

    async def answer(self, body: bytes, phase: Phase) -> bytes:
        """Standing of this host, after taking in another host's message if the request has one.

        Raises:
            MalformedMessageError: if the body is no such request, or what it hands over is no message.
            RemoteProtocolError: if the message is not signed by its host, or too early.
            Refused: if the analyst has not signed the request within five minutes.
            StorageError: if the disk did not take the step.
        """
        request = OrganizerRequest.decode(body)
        try:
            request.verify(self._analyst, RequestKind.AGREE, collection_id=self._collection.id, now=datetime.now(UTC))
        except RemoteProtocolError:
            raise Refused(Problem.NOT_AUTHORIZED) from None
        handed = Handed.decode(request.content)
        if handed.kind is not Kind.NONE and phase is Phase.AGREEING and self.stage is not Stage.OPEN:
            message = decoded(handed.kind, handed.message)
            after, _ = await asyncio.to_thread(step, self._held, message, self._rules, self._signer)
            if after is not self._held:
                await self._hold(after)
        return self._standing(handed.wanted, phase).encode()

    def told(self, phase: Phase) -> dict[str, Any]:
        """Public status: the step of this host, and the numbers of the hosts that it waits for."""
        standing = self._standing(Kind.NONE, phase)
        return {"step": _STAGES[standing.stage].value, "waits_for": standing.hosts}

    async def _hold(self, after: AgreementState) -> None:
        await self._queue.do(self._store.hold, self._held, after)
        self._held = after

    def _standing(self, wanted: Kind, phase: Phase) -> Standing:
        stage, refusal = self.stage, self._held.refusal or Refusal(Reason.NONE)
        if phase is Phase.DESTROYED:
            stage = Stage.REFUSED
        elif phase in (Phase.CLOSED, Phase.RELEASED):
            stage = Stage.AGREED
        kind = self._held.waited_for(self._rules) if stage is self.stage else Kind.NONE
        lacks = self._held.lacks(kind, self._rules) if kind else []
        shown = None if wanted is Kind.NONE else self._held.shown(wanted, self._rules)
        return Standing(
            stage=_STAGES.index(stage),
            reason=refusal.reason,
            named=NOBODY if refusal.host is None else refusal.host,
            waits_for=b"".join(host.to_bytes(2, "big") for host in lacks),
            message=b"" if shown is None else shown.encode(),
        )
