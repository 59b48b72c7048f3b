"""Queue that stores submissions in a shuffler's store, in groups, and counts the submissions.

The disk shows the order of arrival until it is tidied, which is some seconds later.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from shuffledp.parties.service.intake import Count, Row
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.store.group_commit import GroupCommit, Result
from shuffledp.parties.wire.grammar import ReportError

Submissions = Sequence[Sequence[Row]]
Results = list[ReportError | Count]

_UNTIDY_SECONDS = 2.0  # for which the disk may show the order of arrival, even under constant load
_REST = 10  # or this multiple of the time of the last tidying, if many long reports wait


class ReportQueue(GroupCommit[Sequence[Row], ReportError | Count]):
    """Queue of submissions that many requests of one event loop store in one collection's store.

    Args:
        store: store, used only by this queue.
        stored: called in the event loop after each group with the number of waiting reports per column.
    """

    def __init__(self, store: ReportStore, *, stored: Callable[[int], None]) -> None:
        super().__init__(store.thread, store.commit)
        self._store, self._stored = store, stored
        self._uncounted: Counter[Count] = Counter()
        self._tidying: asyncio.TimerHandle | None = None
        self._seconds_tidying = 0.0
        self._stopped = False

    async def store(self, items: Submissions) -> Results:
        """Results for submissions, once they are on the disk.

        Submissions after the start of `drain` are late.

        Raises:
            StorageError: if the disk did not take the submissions; then none is stored.
        """
        if self._stopped:
            self.count(Count.LATE, len(items))
            return [ReportError.TASK_EXPIRED] * len(items)
        return await super().store(items)

    def count(self, what: Count, number: int = 1) -> None:
        """Count submissions that are not stored."""
        self._uncounted[what] += number

    async def do(self, work: Callable[..., Result], *given: object) -> Result:
        """Result of other work on the store, done between two groups."""
        counts, self._uncounted = self._uncounted, Counter()

        def counting() -> Result:
            self._store.count(counts)
            return work(*given)

        return await super().do(counting)

    async def drain(self) -> None:
        """Refuse further submissions, and wait until all accepted submissions are on the disk."""
        self._stopped = True
        await super().drain()

    async def close(self) -> None:
        """Close the store after all accepted submissions are on the disk."""
        await self.drain()
        if self._tidying is not None:
            self._tidying.cancel()
        await self.do(lambda: None)  # the last counts
        await asyncio.to_thread(self._store.close)

    def _ended(self, number: int, *, is_stored: bool) -> None:
        if is_stored:
            self._stored(self._store.waiting)
        else:
            self.count(Count.NOT_STORED, number)
        if self._tidying is None:
            pause = max(_UNTIDY_SECONDS, _REST * self._seconds_tidying)
            self._tidying = asyncio.get_running_loop().call_later(pause, self._tidy)

    def _tidy(self) -> None:
        self._tidying = None
        if not self._stopped:
            self.thread.submit(self._tidied)

    def _tidied(self) -> None:
        began = time.monotonic()
        with suppress(StorageError):
            self._store.tidy()
        self._seconds_tidying = time.monotonic() - began
