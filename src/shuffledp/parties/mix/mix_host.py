"""Mix host at work: registers collections, and keeps each collection until its end, then forgets it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.core.instants import instant
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.mix.collection_at_mix import CollectionAtMix
from shuffledp.parties.mix.mix_folder import MixFolder, StoredRegistration
from shuffledp.parties.mix.page_inspection import PageInspector, collection_in, id_of
from shuffledp.parties.mix.registration_rules import at_mix, has_place, issued_here, misfit, path_of_page
from shuffledp.parties.service.served_collections import ServedCollections
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.keys import ShufflerKey, in_text
from shuffledp.parties.wire.mix_terms import MixTerms
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.registrant_proofs import KEY_REQUEST_BYTES, RegistrantProof, code_of_shown
from shuffledp.survey import Collection

_SECONDS_BETWEEN_LOOKS = 1.0
_MOST_WAITING = 32  # registrations that wait for the inspector
_ANYBODY = "anybody"


class MixHost:
    """All collections of a mix host.

    Guarantees:
        1. A registration that is acknowledged is on the disk, as a whole; the same one again changes nothing.
        2. A page is served only if this software makes the same one, to the byte, of the collection.
        3. No registrant has more collections at work than the policy says (one whose answers were all destroyed is at
           work no more), more than ten times as many of which something is left, or more than one that is inspected.
        4. Of a collection that has ended, its reports, invitations and token key are removed.

    Args:
        terms: published terms.
        folder: state on the disk.
        key: key that signs batches.
        registrants: request keys of the listed registrants.
        log: log of events.
        clock: function for the time in seconds since 1970, after which what has ended is forgotten.
    """

    def __init__(
        self,
        terms: MixTerms,
        folder: MixFolder,
        key: ShufflerKey,
        *,
        registrants: frozenset[bytes] = frozenset(),
        log: EventLog,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.terms, self.folder, self.served = terms, folder, ServedCollections()
        self._key, self._registrants, self._log, self._clock = key, registrants, log, clock
        self.issued = IssuerStore(folder.path / "issuer")
        self._inspector, self._one_at_a_time = PageInspector(), asyncio.Lock()
        self._known: dict[str, CollectionAtMix] = {}
        self._pages: dict[tuple[str, str], CollectionAtMix] = {}
        self._inspected: set[str] = set()
        self.is_open = False
        self.changed: list[Callable[[CollectionAtMix, bool], None]] = []  # told of each that comes (True) or goes

    async def open(self) -> None:
        """Reopen the collections of an earlier process one by one; each open collection is served at once.

        Raises:
            InvalidParameterError: if one of them is not as this software wrote it.
        """
        for registered in self.folder.registrations():
            await self._take(registered)
            await asyncio.sleep(0)  # requests come first
        self.is_open = True

    async def try_to_store(self) -> None:
        """Test whether the disk takes data.

        Raises:
            StorageError: if the disk does not take data.
        """
        await self.issued.thread.do(self.issued.try_to_store)

    def __iter__(self) -> Iterator[CollectionAtMix]:
        return iter(tuple(self._known.values()))

    def find(self, collection_id: str) -> CollectionAtMix:
        """Collection with this id in base64url.

        Raises:
            Refused: if there is none, or not yet.
        """
        found = self._known.get(collection_id)
        if found is None:
            raise Refused(self.unknown)
        return found

    @property
    def unknown(self) -> Problem:
        """Refusal of an unknown collection; temporary while collections are still being reopened."""
        return Problem.UNRECOGNIZED_COLLECTION if self.is_open else Problem.UNAVAILABLE

    def at_page(self, host: str, path: str) -> CollectionAtMix | None:
        """Collection whose page is at this host and path; None if there is none."""
        return self._pages.get((host, path))

    def has_host(self, host: str) -> bool:
        """Whether a host name is reserved for the page of a collection."""
        return self.terms.pages == "origin" and host.endswith(f".{self.terms.url.partition('://')[2]}")

    async def _take(self, registered: StoredRegistration) -> None:
        at = CollectionAtMix(registered, self.terms, self._key, self.issued, self.served, log=self._log)
        await at.open()
        self._known[in_text(registered.collection.id)] = at
        if has_place(registered.collection, self.terms):
            self._pages[path_of_page(registered.collection, self.terms)] = at
        for each in self.changed:
            each(at, True)

    # ---- registrants ------------------------------------------------------------------------------------------------

    def registrant(self, authorization: str, path: str, body: bytes) -> str:
        """Name of the registrant who sends a request.

        Raises:
            Refused: if it shows no code or key that the operator knows.
        """
        if self.terms.register == _ANYBODY:
            return _ANYBODY
        name = None
        if self.terms.register == "codes" and (code := code_of_shown(authorization)) is not None:
            name = self.folder.registrant_by(code)
        proof = RegistrantProof.of_shown(authorization)
        if self.terms.register == "keys" and proof is not None and proof.key in self._registrants:
            try:
                proof.verify(f"{self.terms.url}{path}", body, datetime.now(UTC))
                name = f"key {in_text(proof.key)}"
            except RemoteProtocolError:
                name = None
        if name is None:
            raise Refused(Problem.NOT_REGISTERED)
        return name

    async def issuer_key(self, registrant: str, name: bytes) -> PublishedKey:
        """Public key for the tokens of one collection; a repeated name gets the same key.

        Raises:
            Refused: if the mix gives no tokens, or too many keys of the registrant wait for their collections.
            StorageError: if the disk did not take the key.
        """
        if not self.terms.tokens or len(name) != KEY_REQUEST_BYTES:
            raise Refused(Problem.OTHER_MIX if not self.terms.tokens else Problem.INVALID_MESSAGE)
        most = self.terms.policy.collections
        async with self._one_at_a_time:
            made = await asyncio.to_thread(self.folder.new_issuer_key, registrant, name, most, datetime.now(UTC))
        if made is None:
            raise Refused(Problem.TOO_MANY_COLLECTIONS)
        return made

    # ---- registrations ----------------------------------------------------------------------------------------------

    async def register(self, registrant: str, body: bytes) -> None:
        """Register a collection; when this returns, it is on the disk, and people can answer.

        Raises:
            Refused: with the reason.
            MalformedMessageError: if the body is no collection file.
            StorageError: if the disk did not take it.
        """
        if self._is_known(body):
            return
        if not self.is_open:
            raise Refused(Problem.UNAVAILABLE)
        theirs, policy = [each for each in self if each.registrant == registrant], self.terms.policy
        if sum(each.is_at_work for each in theirs) >= policy.collections or len(theirs) >= policy.kept:
            raise Refused(Problem.TOO_MANY_COLLECTIONS)
        if registrant in self._inspected or len(self._inspected) >= _MOST_WAITING:
            raise Refused(Problem.UNAVAILABLE)
        self._inspected.add(registrant)
        try:
            async with self._one_at_a_time:
                await self._register(registrant, body)
        finally:
            self._inspected.discard(registrant)

    async def _register(self, registrant: str, body: bytes) -> None:
        written = await asyncio.to_thread(self.folder.find, id_of(body))
        if written is not None:  # when the disk failed just after it was written
            await self._take(written)
            return
        found = await asyncio.to_thread(self._inspector.inspect, body)
        if not found.is_collection:
            raise Refused(Problem.INVALID_MESSAGE)
        collection = await asyncio.to_thread(collection_in, body)
        refused, page = misfit(collection, self.terms, now=datetime.now(UTC)), b""
        if refused is None and has_place(collection, self.terms):
            taken = self.at_page(*path_of_page(collection, self.terms)) is not None
            refused = Problem.OUT_OF_PLACE if taken else None
        if refused is None and at_mix(collection, self.terms):
            page = found.page
            refused = None if page else Problem.OTHER_PAGE
        key = None
        if refused is None and issued_here(collection, self.terms) and collection.issuer is not None:
            key = self.folder.waiting_issuer_key(registrant, collection.issuer.key.key)
            refused = Problem.OTHER_MIX if key is None else None
        if refused is not None:
            raise Refused(refused)
        await self._take(
            await asyncio.to_thread(
                self.folder.register, collection, registrant, page=page, promised=found.promised, key=key
            )
        )
        self._log(Happened.REGISTERED)

    def _is_known(self, body: bytes) -> bool:
        return in_text(id_of(body)) in self._known

    # ---- until the end ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Let collections end and forget them, until the task is cancelled; a failed collection's error is raised."""
        while True:
            await self.look()
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def look(self) -> None:
        """End the collections that the operator asks to end, and forget the collections that have ended."""
        for text in await asyncio.to_thread(self.folder.asked_to_end):
            await self._end(text)
        for each in self:
            await self._look_after(each)

    async def _look_after(self, each: CollectionAtMix) -> None:
        try:
            await each.advance()
            if each.has_ended and self._clock() >= self._last_day(each.collection).timestamp():
                self._forget(each)
        except StorageError:
            self._log.at_first(Happened.STORAGE_FAILED)

    async def _end(self, text: str) -> None:
        """End a collection for the mix's operator: nothing more is released, and its page is removed."""
        for each in self:
            if each.collection.id.hex() == text:
                try:
                    await each.destroy()
                except StorageError:
                    self._log.at_first(Happened.STORAGE_FAILED)
                    return
                self._log(Happened.ENDED_BY_OPERATOR)
        self.folder.has_ended(text)

    def _last_day(self, collection: Collection) -> datetime:
        until = instant(fetch_by=collection.fetch_by or collection.closes)
        return until + timedelta(days=self.terms.policy.result_days)

    def _forget(self, each: CollectionAtMix) -> None:
        self._known.pop(in_text(each.collection.id), None)
        if has_place(each.collection, self.terms):
            self._pages.pop(path_of_page(each.collection, self.terms), None)
        for changed in self.changed:
            changed(each, False)
        self.folder.remove(each.registered)

    async def close(self) -> None:
        """Close all stores after all accepted reports are on the disk."""
        for each in self:
            await each.close()
        self.issued.close()
        await asyncio.to_thread(self._inspector.close)
