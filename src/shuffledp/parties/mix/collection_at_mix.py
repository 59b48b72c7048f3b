"""Collection at a mix host: its shuffler, its issuer if the mix gives out tokens, and its organizer's requests."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.core.instants import instant
from shuffledp.documents.collections.published_document import published_document
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.issuer.invitations import Invited
from shuffledp.parties.issuer.invited_lists import Lists
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.mix.mix_folder import StoredRegistration
from shuffledp.parties.mix.registration_rules import most_answers
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.collection_terms import host_of, store_of
from shuffledp.parties.service.served_collections import ServedCollections
from shuffledp.parties.wire.grammar import ReportError, ReportStatus, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import ShufflerKey, from_text, in_text
from shuffledp.parties.wire.mix_terms import MOST_TIMES_ABSENT, MixTerms
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind
from shuffledp.parties.wire.published_result import MOST_RESULTS, PublishedResult

BY_OPERATOR = "ended_by_operator"
_SECONDS_TO_CANCEL = 0.5
_STATUS = ("phase", "at_least_minimum", "step", "waits_for")


class CollectionAtMix:
    """Collection at a mix host.

    Args:
        registered: registration on the disk.
        terms: terms of the mix.
        key: key that signs batches.
        issued: store of the invitations of all collections.
        served: collections that take reports in now.
        log: log of events.
    """

    def __init__(
        self,
        registered: StoredRegistration,
        terms: MixTerms,
        key: ShufflerKey,
        issued: IssuerStore,
        served: ServedCollections,
        *,
        log: EventLog,
    ) -> None:
        self.registered, self.collection, self.registrant = registered, registered.collection, registered.registrant
        pools = self.collection.pools_at(host_of(self.collection, key))
        self._messages = sum(pool.messages for pool in pools)  # of each person
        self._terms, self._key, self._issued, self._served, self._log = terms, key, issued, served, log
        self._one_at_a_time = asyncio.Lock()
        self._ended = registered.ended()
        self._at_shuffler: CollectionAtShuffler | None = None
        self.at_issuer: CollectionAtIssuer | None = None
        self._working: asyncio.Task[None] | None = None
        self.results = registered.results()
        self.request_key = from_text(self.collection.analyzer.key.request_key or "", name="request_key")

    async def open(self) -> None:
        """Take reports in from now on; a collection that has ended stays ended."""
        if self._ended is not None:
            self.registered.forget()  # if an earlier process did not get to it
            return
        collection = self.collection
        store = store_of(
            collection,
            host_of(collection, self._key),
            self.registered.reports,
            most=most_answers(collection, self._terms),
        )
        self._at_shuffler = CollectionAtShuffler(
            collection, store, self._key, beside=self.registered.folder, log=self._log
        )
        self._served.add(self._at_shuffler)
        self._working = asyncio.create_task(self._at_shuffler.run())
        issuing = self.registered.issuer_key()
        if issuing is not None:
            self.at_issuer = CollectionAtIssuer(collection, issuing, self._issued, log=self._log)
            await self.at_issuer.take(_lists(self.registered.invited()))

    # ---- how it stands ----------------------------------------------------------------------------------------------

    @property
    def has_ended(self) -> bool:
        """Whether all reports of the collection have been handed over or destroyed."""
        return self._ended is not None

    @property
    def is_at_work(self) -> bool:
        """Whether the collection takes answers in or may hand some over; False once all are destroyed."""
        return self._at_shuffler is not None and self._at_shuffler.status[0] is not Phase.DESTROYED

    @property
    def was_ended_by_operator(self) -> bool:
        """Whether the mix's operator has ended the collection."""
        return bool(self._ended and self._ended.get(BY_OPERATOR))

    @property
    def is_closed(self) -> bool:
        """Whether the collection takes no more answers."""
        if self._at_shuffler is None:
            return True
        closes = instant(closes=self.collection.closes)
        return self._at_shuffler.status[0] is not Phase.OPEN or datetime.now(UTC) >= closes

    @property
    def status(self) -> dict[str, Any]:
        """Status of the collection: its phase, and whether enough people have answered."""
        if self._at_shuffler is None:
            return {name: value for name, value in (self._ended or {}).items() if name in _STATUS}
        return self._at_shuffler.told

    def refuse_late(self, body: bytes) -> bytes:
        """Answer to an upload after the end: each submission is refused as too late.

        Raises:
            MalformedMessageError: if the body is no upload.
            Refused: if it is empty, as that of a device that tests the way.
        """
        if not body:
            raise Refused(Problem.NOT_AUTHORIZED)
        request = UploadRequest.decode(body, num_columns=self._messages)
        late = tuple(ReportStatus(each.id, ReportError.TASK_EXPIRED) for each in request.submissions)
        return UploadResponse.to(request, late).encode()

    # ---- what the analyst asks for ----------------------------------------------------------------------------------

    def request(self, body: bytes, asked: RequestKind) -> OrganizerRequest:
        """Request of the analyst in a body, signed for this purpose within the last five minutes.

        Raises:
            MalformedMessageError: if the body is no request.
            Refused: if another has signed it, or at another time.
        """
        request = OrganizerRequest.decode(body)
        try:
            request.verify(self.request_key, asked, collection_id=self.collection.id, now=datetime.now(UTC))
        except RemoteProtocolError:
            raise Refused(Problem.NOT_AUTHORIZED) from None
        return request

    async def stop_intake(self) -> None:
        """Close the collection before its date, at the shuffler and the issuer on this mix.

        Raises:
            StorageError: if the disk did not take it.
        """
        if self._at_shuffler is not None:
            await self._at_shuffler.stop_intake()
        if self.at_issuer is not None:
            await self.at_issuer.close()

    async def invite(self, content: bytes) -> None:
        """Add invitations, and cancel some; the list is on the disk when this returns.

        Raises:
            MalformedMessageError: if the content is no list of this collection's invitations.
            Refused: if the mix gives no tokens for it, or not so many.
            StorageError: if the disk did not take the list.
        """
        further = _lists(_table(content), in_text(self.collection.id))
        async with self._one_at_a_time:
            if self.at_issuer is None or self.at_issuer.has_ended:
                raise Refused(Problem.NOT_AUTHORIZED)
            before = _lists(self.registered.invited())
            both = Lists(before.codes | further.codes, before.cancelled | further.cancelled)
            if len(both.codes - both.cancelled) > self._terms.policy.people:
                raise Refused(Problem.TOO_MANY_PEOPLE)
            if len(both.codes | both.cancelled) > 2 * self._terms.policy.people:
                raise Refused(Problem.TOO_MANY_PEOPLE)
            await asyncio.to_thread(self.registered.write_invited, _written(both, self.collection.id))
            await self.at_issuer.take(both)

    async def absent(self) -> list[str]:
        """Digests of the invitations without a token so far.

        An analyst may ask a few times; each time is counted before the answer.

        Raises:
            Refused: if the collection does not say that its analyst may ask, or three times are over.
            StorageError: if the disk did not take the count.
        """
        async with self._one_at_a_time:
            if self.at_issuer is None or self.at_issuer.has_ended:
                raise Refused(Problem.NOT_AUTHORIZED)
            may_ask = self.collection.reminders and self.collection.every is None
            if not may_ask or await asyncio.to_thread(self.registered.asked) >= MOST_TIMES_ABSENT:
                raise Refused(Problem.ASKED_TOO_OFTEN)
            await asyncio.to_thread(self.registered.write_asked)
            return [in_text(each) for each in await self.at_issuer.absent()]

    async def publish(self, request: OrganizerRequest) -> None:
        """Show a result from now on; a second, different result is shown as a correction.

        The same result again changes nothing.

        Raises:
            MalformedMessageError: if it is no result of this collection.
            Refused: before the close, after the operator has ended it, for an older result than the last, or too many.
            StorageError: if the disk did not take it.
        """
        found = PublishedResult.of(request, self.request_key, collection_id=self.collection.id)
        async with self._one_at_a_time:
            if not self.is_closed:
                raise Refused(Problem.NOT_CLOSED)
            last = self.results[-1] if self.results else None
            if last is not None and last.content == request.content:
                return
            if self.was_ended_by_operator or (last is not None and request.time < last.time):
                raise Refused(Problem.NOT_AUTHORIZED)
            if len(self.results) >= MOST_RESULTS:
                raise Refused(Problem.ASKED_TOO_OFTEN)
            try:
                published_document(self.collection, [(found.day, found.statement)], ())
            except InvalidParameterError:
                raise MalformedMessageError("a result must be of this collection; it is another's.") from None
            await asyncio.to_thread(self.registered.write_result, len(self.results) + 1, request)
            self.results.append(request)

    # ---- until the end ----------------------------------------------------------------------------------------------

    async def advance(self) -> None:
        """Forget an ended collection, except its file, its page and its results.

        Raises:
            StorageError: if the disk did not take its end.
        """
        if self.has_ended:
            return
        if self._working is not None and self._working.done():
            self._working.result()  # raises what has ended it
        if self.at_issuer is not None and self.at_issuer.has_ended:
            await self.at_issuer.forget()
        if self._at_shuffler is not None and self._at_shuffler.has_ended:
            await self._retire({})

    async def destroy(self) -> None:
        """End the collection for the mix's operator: waiting reports are destroyed, and nothing is released.

        Raises:
            StorageError: if the disk did not take it.
        """
        if self.has_ended:
            self._ended = {**(self._ended or {}), BY_OPERATOR: True}
            await asyncio.to_thread(self.registered.write_ended, self._ended)
        elif self._at_shuffler is not None:
            await self._at_shuffler.destroy()
            await self._retire({BY_OPERATOR: True})

    async def _retire(self, further: dict[str, Any]) -> None:
        ended = self.status | further
        if self.at_issuer is not None:
            await self.at_issuer.close()
        await asyncio.to_thread(self.registered.write_ended, ended)
        self._served.remove(self.collection)
        await self.close()
        self._ended, self._at_shuffler, self.at_issuer = ended, None, None
        await asyncio.to_thread(self.registered.forget)

    async def close(self) -> None:
        """Close the collection's store after all accepted reports are on the disk."""
        while self._working is not None and not self._working.done():
            self._working.cancel()  # again, since a wait that ends just then loses it
            await asyncio.wait([self._working], timeout=_SECONDS_TO_CANCEL)
        self._working = None
        if self._at_shuffler is not None:
            await self._at_shuffler.close()

    # ---- what people see --------------------------------------------------------------------------------------------

    def published(self) -> list[PublishedResult]:
        """Published results, in their order."""
        return [PublishedResult.of(each, self.request_key, collection_id=self.collection.id) for each in self.results]


def _table(content: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(content)
        if isinstance(found, dict):
            return found
    raise MalformedMessageError("a list of the invited must be a JSON object; it is something else.")


def _lists(table: dict[str, Any] | None, collection: str = "") -> Lists:
    """Lists of invitations, read from the table of their file; empty if there is no file yet."""
    if table is None:
        return Lists()
    try:
        found = Invited.from_dict(table)
        codes, cancelled = (
            frozenset(from_text(code, name="codes") for code in several) for several in (found.codes, found.cancelled)
        )
    except InvalidParameterError:
        raise MalformedMessageError("a list of the invited must be as `shuffledp` writes it; it is not.") from None
    if (collection and found.collection != collection) or any(len(each) != 32 for each in codes | cancelled):
        raise MalformedMessageError("a list of the invited must be of its collection; it is not.")
    return Lists(codes, cancelled)


def _written(lists: Lists, collection_id: bytes) -> dict[str, Any]:
    codes, cancelled = (tuple(sorted(map(in_text, each))) for each in lists)
    return Invited(collection=in_text(collection_id), codes=codes, cancelled=cancelled).to_dict()
