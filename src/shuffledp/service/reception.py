"""One collection at the analyzer, at work: batches in, each once, and their release when all columns are there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from shuffledp.core.errors import InputDataError, MalformedMessageError, RemoteProtocolError
from shuffledp.files.writing import remove_left_over
from shuffledp.service.batch_store import BatchStore, Received
from shuffledp.service.event_log import EventLog, Happened
from shuffledp.service.http_messages import SECONDS_OF_BODY, Problem, Refused
from shuffledp.service.releasing import is_released, write_batches
from shuffledp.survey import Collection, read_earlier
from shuffledp.wire.grammar import (
    COLLECTION_ID_BYTES,
    ID_BYTES,
    SIGNATURE_BYTES,
    BatchManifest,
    SignedManifest,
)
from shuffledp.wire.keys import AnalyzerKey, from_text, verify

Result = TypeVar("Result")

_AT_ONCE = 2  # batches that are being received
# The longest manifest with its signature: what is before the two texts, these, and their lengths.
_LONGEST_MANIFEST = COLLECTION_ID_BYTES + 2 + ID_BYTES + 5 * 4 + 32 + 2 * (1 + 255) + SIGNATURE_BYTES


class Reception:
    """A collection at the analyzer.

    Args:
        collection: what is collected.
        keys: the analyzer's, all that reports may be sealed to.
        store: of all collections of this process.
        folder: where the release is written; where there are several batches, one in it for each, and one about all of
            them ``together`` at the end.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        log: told what happened.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says.
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
        self._one_at_a_time, self._receiving = asyncio.Lock(), asyncio.Semaphore(_AT_ONCE)

    async def take(self, parts: AsyncIterator[bytes], *, known: Callable[[], object] = lambda: None) -> bool:
        """Take a batch in, from the bytes of a request; when it returns, the batch is on the disk.

        Args:
            parts: of the body of the request.
            known: called when its manifest is known to be signed by the shuffler.

        Returns:
            Whether it is new.

        Raises:
            RemoteProtocolError: if it is malformed, another collection's, or not signed by the collection's shuffler.
            StorageError: if the disk did not take it.
            Refused: if its manifest does not come in time.
        """
        try:
            async with asyncio.timeout(SECONDS_OF_BODY):
                manifest, rest = await self._head(parts)
            known()
            async with self._receiving:
                with self._store.incoming() as incoming:
                    incoming.write(rest)
                    async for part in parts:
                        await asyncio.to_thread(incoming.write, part)
                    is_new = await self._do(partial(self._store.take, manifest, incoming))
        except TimeoutError:
            raise Refused(Problem.TOO_SLOW) from None
        except RemoteProtocolError:
            self._log.later(Happened.BATCH_REFUSED)  # whoever reaches the analyzer can cause it
            raise
        if is_new:
            self._log(Happened.BATCH_RECEIVED, manifest.num_reports)
        return is_new

    async def try_to_store(self) -> None:
        """Find out whether something can be stored.

        Raises:
            StorageError: if the disk does not take it.
        """
        await self._do(self._store.try_to_store)

    async def _head(self, parts: AsyncIterator[bytes]) -> tuple[BatchManifest, bytes]:
        """The manifest, which is checked before anything else is read; and what came with it of the body."""
        head = b""
        async for part in parts:
            head += part
            if len(head) >= _LONGEST_MANIFEST:
                break
        signed, at = SignedManifest.read(head, 0, len(head))
        party = self.collection.shuffler.key
        manifest = verify(signed, [from_text(key, name="key") for key in (party.key, *party.successors)])
        if manifest.collection_id != self.collection.id or manifest.column >= len(self.collection.task.columns):
            raise RemoteProtocolError("a batch must be of this collection; it is of another.")
        if manifest.num_reports and manifest.number and self.collection.every is None:
            raise RemoteProtocolError("a batch must be the only one of its collection; there is another before it.")
        return manifest, head[at:]

    async def release(self) -> None:
        """Release what is complete; does nothing where that was done before."""
        async with self._one_at_a_time:
            complete = partial(self._store.complete, self.collection.id, len(self.collection.task.columns))
            released: list[Sequence[Received]] = []  # of a collection of several batches, kept for one about all
            for batches in await self._do(complete):
                number = batches[0][0].number
                if not all(manifest.num_reports for manifest, _ in batches):
                    await self._end(number, released)
                    continue
                several = self.collection.every is not None
                written = await self._is_written(
                    self._folder / f"batch-{number + 1}" if several else self._folder, [batches]
                )
                if written is None:
                    return  # nor is the collection at its end before
                if written and several:
                    released.append(batches)
                else:
                    await self._do(partial(self._store.done, batches))

    async def _end(self, number: int, released: Sequence[Sequence[Received]]) -> None:
        """Nothing follows: of several batches, release what all of them say together."""
        if number == 0:
            self._log(Happened.NOT_RELEASED)
        if len(released) < 2 or await self._is_written(self._folder / "together", released) is not None:
            await self._do(partial(self._store.end, self.collection.id))

    async def _is_written(self, folder: Path, several: Sequence[Sequence[Received]]) -> bool | None:
        """Whether there is a release of some batches, now or before; None if that is to be tried again later."""
        if (found := is_released(folder, self.collection)) is not None:
            return found
        try:
            in_others = None if self.collection.every is None else self._in_others
            await asyncio.to_thread(
                write_batches,
                self.collection,
                several,
                self._keys,
                folder,
                in_others=in_others,
                earlier=self._earlier,
                maker=self._store.name,
            )
        except (InputDataError, MalformedMessageError):  # no second attempt would find more, or better, reports
            is_seen = is_released(folder, self.collection) is False
            self._log(Happened.SEEN_NOT_RELEASED if is_seen else Happened.NOT_RELEASED)
            return False
        except Exception:  # whatever it is, such as a full disk, other collections go on; and this one after a restart
            self._log(Happened.RELEASE_FAILED)
            return None
        self._log(Happened.RELEASED, sum(min(manifest.num_reports for manifest, _ in each) for each in several))
        return True

    def _in_others(self, manifest: BatchManifest, ids: Sequence[bytes]) -> list[bool]:
        """Which reports of a batch came in another one; asked in the thread that writes a release."""
        return self._store.thread.submit(self._store.seen.in_other_batches, manifest, ids).result()

    async def _do(self, work: Callable[[], Result]) -> Result:
        """Something with the store, in the one thread that may touch it."""
        return await asyncio.get_running_loop().run_in_executor(self._store.thread, work)
