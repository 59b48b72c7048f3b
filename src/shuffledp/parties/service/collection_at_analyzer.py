"""Collection at the analyzer: takes each batch once, and releases batches when all columns have come."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from shuffledp.core.errors import AgreementError, InputDataError, MalformedMessageError, RemoteProtocolError
from shuffledp.files.writing import remove_left_over
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.http_messages import SECONDS_OF_BODY, Problem, Refused
from shuffledp.parties.service.batch_release import TOGETHER, is_released, release_folder, write_batch_release
from shuffledp.parties.service.batch_store import BatchStore, Received
from shuffledp.parties.wire.grammar import (
    COLLECTION_ID_BYTES,
    ID_BYTES,
    SIGNATURE_BYTES,
    BatchManifest,
    SignedManifest,
)
from shuffledp.parties.wire.keys import AnalyzerKey, verify
from shuffledp.survey import Collection, read_earlier

_AT_ONCE = 2  # batches being received at once from one host, so that a slow one keeps no other waiting
# Longest manifest with its signature: fixed fields, two texts with their lengths, signature.
LONGEST_MANIFEST = COLLECTION_ID_BYTES + 2 + ID_BYTES + 5 * 4 + 32 + 2 * (1 + 255) + SIGNATURE_BYTES


class CollectionAtAnalyzer:
    """Collection at the analyzer: stores batches and writes releases.

    Args:
        collection: collection of the batches.
        keys: analyzer's private keys, for all keys that reports may be sealed to.
        store: store of all collections of this process.
        folder: folder of the release; with several batches, it holds one release for each, and one over all of
            them ``together`` at the end.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        log: log of events.

    Raises:
        InvalidParameterError: if ``earlier`` does not fit the task.
    """

    def __init__(
        self,
        collection: Collection,
        keys: Sequence[AnalyzerKey],
        store: BatchStore,
        folder: Path,
        *,
        log: EventLog,
        earlier: Sequence[Path] = (),
    ) -> None:
        read_earlier(collection.task, earlier)
        for each in (folder.parent, folder):
            remove_left_over(each, store.name)
        self.collection, self._earlier = collection, earlier
        self._keys, self._store, self._folder, self._log = keys, store, folder, log
        self._one_at_a_time = asyncio.Lock()
        self._receiving = [asyncio.Semaphore(_AT_ONCE) for _ in collection.hosts]

    async def take(self, parts: AsyncIterator[bytes], *, known: Callable[[], object] = lambda: None) -> bool:
        """Whether the batch in a request's body is new; it is on the disk when this returns.

        Args:
            parts: parts of the request's body.
            known: called when the shuffler's signature of the manifest is verified.

        Returns:
            Whether the batch is new.

        Raises:
            RemoteProtocolError: if the batch is malformed, of another collection, or not signed by its shuffler.
            AgreementError: if a host of a sum says that it has nothing, which it has agreed on.
            StorageError: if the disk did not take the batch.
            Refused: if the manifest does not come in time.
        """
        try:
            async with asyncio.timeout(SECONDS_OF_BODY):
                manifest, rest = await self._head(parts)
            known()
            async with self._receiving[self.collection.task.pools[manifest.column].host]:
                with self._store.incoming() as incoming:
                    incoming.write(rest)
                    async for part in parts:
                        await asyncio.to_thread(incoming.write, part)
                    is_new = await self._store.thread.do(self._store.take, manifest, incoming)
        except TimeoutError:
            raise Refused(Problem.TOO_SLOW) from None
        except RemoteProtocolError:
            self._log.later(Happened.BATCH_REFUSED)  # any client of the analyzer can cause this
            raise
        if is_new:
            self._log(Happened.BATCH_RECEIVED, manifest.num_reports)
        return is_new

    async def try_to_store(self) -> None:
        """Test whether the disk takes data.

        Raises:
            StorageError: if the disk does not take data.
        """
        await self._store.thread.do(self._store.try_to_store)

    async def _head(self, parts: AsyncIterator[bytes]) -> tuple[BatchManifest, bytes]:
        """Manifest of a batch, checked before more is read, and the first bytes of the body, already read."""
        head = b""
        async for part in parts:
            head += part
            if len(head) >= LONGEST_MANIFEST:
                break
        signed, at = SignedManifest.read(head, 0, len(head))
        pools = self.collection.task.pools
        host = pools[signed.manifest.column].host if signed.manifest.column < len(pools) else 0
        manifest = verify(signed, self.collection.hosts[host].key.several)
        if manifest.collection_id != self.collection.id or manifest.column >= len(pools):
            raise RemoteProtocolError("a batch must be of this collection; it is of another.")
        if manifest.num_reports and manifest.number and self.collection.every is None:
            raise RemoteProtocolError("a batch must be the only one of its collection; there is another before it.")
        if self.collection.further_shufflers and not (manifest.num_reports or manifest.number):
            raise AgreementError(
                f"{self.collection.hosts[host].url} must hand over what all hosts have agreed on; it has signed that "
                "it has nothing. Nothing was released."
            )
        return manifest, head[at:]

    async def release(self) -> None:
        """Write the releases of all complete batches; existing releases are skipped."""
        async with self._one_at_a_time:
            num_columns = len(self.collection.task.pools)
            released: list[Sequence[Received]] = []  # kept for the release over all batches
            for batches in await self._store.thread.do(self._store.complete, self.collection.id, num_columns):
                number = batches[0][0].number
                if not all(manifest.num_reports for manifest, _ in batches):
                    await self._end(number, released)
                    continue
                several = self.collection.every is not None
                written = await self._is_written(
                    release_folder(self._folder, number) if several else self._folder, [batches]
                )
                if written is None:
                    return  # the collection ends only after this release
                if written and several:
                    released.append(batches)
                else:
                    await self._store.thread.do(self._store.done, batches)

    async def has_ended(self) -> bool:
        """Whether the last batch of every column has come, and every possible release is written."""
        num_columns = len(self.collection.task.pools)
        return await self._store.thread.do(self._store.has_ended, self.collection.id, num_columns)

    async def _end(self, number: int, released: Sequence[Sequence[Received]]) -> None:
        """End the collection; after several batches, write the release over all batches."""
        if number == 0:
            self._log(Happened.NOT_RELEASED)
        came = await self._store.thread.do(self._store.count_before, self.collection.id, number)
        if missing := number * len(self.collection.task.pools) - came:
            self._log(Happened.BATCH_MISSING, missing)  # the shuffler has made it, and left it out
        if len(released) < 2 or await self._is_written(self._folder / TOGETHER, released) is not None:
            await self._store.thread.do(self._store.end, self.collection.id)

    async def _is_written(self, folder: Path, several: Sequence[Sequence[Received]]) -> bool | None:
        """Whether a release of these batches is written; None if a later try may succeed."""
        if (found := is_released(folder, self.collection)) is not None:
            return found
        try:
            in_others = None if self.collection.every is None else self._in_others
            await asyncio.to_thread(
                write_batch_release,
                self.collection,
                several,
                self._keys,
                folder,
                in_others=in_others,
                earlier=self._earlier,
                maker=self._store.name,
            )
        except (InputDataError, MalformedMessageError):  # a second attempt would find the same reports
            is_seen = is_released(folder, self.collection) is False
            self._log(Happened.SEEN_NOT_RELEASED if is_seen else Happened.NOT_RELEASED)
            return False
        except Exception:  # for any error, such as a full disk, other collections go on, and this one after a restart
            self._log(Happened.RELEASE_FAILED)
            return None
        pools = self.collection.task.pools
        people = [[manifest.num_reports // pools[manifest.column].messages for manifest, _ in each] for each in several]
        self._log(Happened.RELEASED, sum(map(min, people)))
        return True

    def _in_others(self, manifest: BatchManifest, ids: Sequence[bytes]) -> list[bool]:
        """Whether each report of a batch is in another batch, too; the store's thread looks it up."""
        return self._store.thread.submit(self._store.seen.in_other_batches, manifest, ids).result()
