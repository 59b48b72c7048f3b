"""Readiness of a service to store data, tested at most once in some seconds.

A process that answers is alive (``/healthz``); but it may be unable to store answers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.store.database import StorageError

Try = Callable[[], Awaitable[object]]  # writes and deletes data; raises StorageError if the disk is full

_SECONDS_BETWEEN = 5.0  # for which a result is repeated
_LONGEST = 5.0  # seconds allowed to the disk


class Readiness:
    """Check that a service can store data; the result is kept for some seconds.

    Args:
        tries: try of each store.
        log: log, told once when storing begins to fail.
        clock: function for the time in seconds.
    """

    def __init__(self, tries: Sequence[Try], log: EventLog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tries, self._log, self._clock = tuple(tries), log, clock
        self._one_at_a_time = asyncio.Lock()
        self._found, self._until = False, -1.0

    async def is_ready(self) -> bool:
        """Whether all stores took data, now or some seconds ago."""
        async with self._one_at_a_time:
            if self._clock() >= self._until:
                self._found = await self._can_store()
                self._until = self._clock() + _SECONDS_BETWEEN
        return self._found

    async def _can_store(self) -> bool:
        try:
            async with asyncio.timeout(_LONGEST):
                for each in self._tries:
                    await each()
        except (StorageError, TimeoutError):
            self._log.at_first(Happened.STORAGE_FAILED)
            return False
        return True
