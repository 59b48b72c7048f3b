"""Group commit: requests that arrive while a group is being stored form the next group, one disk write each.

A submission is acknowledged when its group is on the disk, and never before. All work on a store runs in one thread,
one thing after the other.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TypeVar

from shuffledp.service.intake import Count, Row
from shuffledp.service.store import StorageError, Store
from shuffledp.wire.grammar import ReportError

Submissions = Sequence[Sequence[Row]]
Results = list[ReportError | Count]
Result = TypeVar("Result")

_MOST_TOGETHER = 4096  # submissions in a group, unless one request has more
_UNTIDY_SECONDS = 2.0  # for which the disk may show the order of arrival, even under constant load
_REST = 10  # or this multiple of the time of the last tidying, if many long reports wait


class GroupCommit:
    """Queue from many requests of one event loop to one store.

    Args:
        store: store, used only by this queue.
        stored: called in the event loop after each group with the number of waiting reports per column.
    """

    def __init__(self, store: Store, *, stored: Callable[[int], None]) -> None:
        self._store, self._stored = store, stored
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._waiting: list[tuple[Submissions, asyncio.Future[Results]]] = []
        self._uncounted: Counter[Count] = Counter()
        self._writing: asyncio.Task[None] | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._seconds_tidying = 0.0
        self._stopped = False

    async def store(self, submissions: Submissions) -> Results:
        """Results for submissions, once they are on the disk.

        Submissions after the start of `drain` are late.

        Raises:
            StorageError: if the disk did not take the submissions; then none is stored.
        """
        if self._stopped:
            self.count(Count.LATE, len(submissions))
            return [ReportError.TASK_EXPIRED] * len(submissions)
        done: asyncio.Future[Results] = asyncio.get_running_loop().create_future()
        self._waiting.append((submissions, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await done

    def count(self, what: Count, number: int = 1) -> None:
        """Count submissions that are not stored."""
        self._uncounted[what] += number

    async def do(self, work: Callable[[], Result]) -> Result:
        """Result of other work on the store, done between two groups."""
        counts, self._uncounted = self._uncounted, Counter()

        def counting() -> Result:
            self._store.count(counts)
            return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, counting)

    async def drain(self) -> None:
        """Refuse further submissions, and wait until all accepted ones are on the disk."""
        self._stopped = True
        while self._writing is not None:
            await asyncio.wait([self._writing])

    async def close(self) -> None:
        """Close the store after all accepted submissions are on the disk."""
        await self.drain()
        if self._tidying is not None:
            self._tidying.cancel()
        await self.do(self._store.close)
        self._thread.shutdown()

    async def _write(self) -> None:
        """Store group after group until none waits."""
        while self._waiting:
            if self._tidying is None:
                pause = max(_UNTIDY_SECONDS, _REST * self._seconds_tidying)
                self._tidying = asyncio.get_running_loop().call_later(pause, self._tidy)
            group = self._next_group()
            submissions = [each for together, _ in group for each in together]
            try:
                results = iter(await self.do(partial(self._store.commit, submissions)))
            except Exception as error:
                for together, done in group:
                    self.count(Count.NOT_STORED, len(together))
                    if not done.done():
                        done.set_exception(error)
                continue
            for together, done in group:
                found = list(islice(results, len(together)))
                if not done.done():  # otherwise the request was cancelled
                    done.set_result(found)
            self._stored(self._store.waiting)
        self._writing = None

    def _next_group(self) -> list[tuple[Submissions, "asyncio.Future[Results]"]]:
        size, number = 0, 0
        while number < len(self._waiting) and (not number or size + len(self._waiting[number][0]) <= _MOST_TOGETHER):
            size += len(self._waiting[number][0])
            number += 1
        group, self._waiting = self._waiting[:number], self._waiting[number:]
        return group

    def _tidy(self) -> None:
        self._tidying = None
        if not self._stopped:
            self._thread.submit(self._tidied)

    def _tidied(self) -> None:
        began = time.monotonic()
        with suppress(StorageError):
            self._store.tidy()
        self._seconds_tidying = time.monotonic() - began
