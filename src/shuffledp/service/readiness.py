"""Whether a service can store anything: found out by trying, at most once in some seconds, whoever asks how often.

A process that answers is alive (``/healthz``); people whose answers it cannot store are turned away all the same.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from shuffledp.service.event_log import EventLog, Happened
from shuffledp.service.store import StorageError

Try = Callable[[], Awaitable[object]]  # writes something, takes it away again, and raises StorageError if it cannot

_SECONDS_BETWEEN = 5.0  # for which what was found out is told again
_LONGEST = 5.0  # seconds that a disk may take


class Readiness:
    """What a service says when it is asked whether it can store anything.

    Args:
        tries: of each of its stores.
        log: told once, when it begins that nothing can be stored.
        clock: seconds.
    """

    def __init__(self, tries: Sequence[Try], log: EventLog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tries, self._log, self._clock = tuple(tries), log, clock
        self._one_at_a_time = asyncio.Lock()
        self._found, self._until = False, -1.0

    async def is_ready(self) -> bool:
        """Whether everything could be stored, now or some seconds ago."""
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
