"""Group commit: requests that arrive during a disk write form the next group, with one write for all.

A request is acknowledged when its group is on the disk, and never before. All work on a store runs in one thread,
one thing after the other.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Result = TypeVar("Result")

_MOST_TOGETHER = 4096  # items in a group, unless one request has more


class StoreThread(ThreadPoolExecutor):
    """Only thread that may touch a store."""

    async def do(self, work: Callable[..., Result], *given: object) -> Result:
        """Result of work on the store, done after all earlier work."""
        return await asyncio.get_running_loop().run_in_executor(self, work, *given)


class GroupCommit(Generic[Item, Outcome]):
    """Queue of items that many requests of one event loop store in one store, group after group.

    Args:
        thread: thread of the store.
        commit: stores a group of items, all or none, and returns their outcomes, in this thread.
    """

    def __init__(self, thread: StoreThread, commit: Callable[[Sequence[Item]], Sequence[Outcome]]) -> None:
        self.thread, self._commit = thread, commit
        self._waiting: list[tuple[Sequence[Item], asyncio.Future[list[Outcome]]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def store(self, items: Sequence[Item]) -> list[Outcome]:
        """Outcomes of a request's items, once they are on the disk.

        Raises:
            StorageError: if the disk did not take the group; then nothing of it is stored.
        """
        done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return await done

    async def do(self, work: Callable[..., Result], *given: object) -> Result:
        """Result of other work on the store, done between two groups."""
        return await self.thread.do(work, *given)

    async def drain(self) -> None:
        """Wait until all accepted items are on the disk."""
        while self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        """Store group after group until none waits."""
        while self._waiting:
            group = self._next_group()
            items = [each for together, _ in group for each in together]
            try:
                outcomes = iter(await self.do(self._commit, items))
            except Exception as error:
                for _, done in group:
                    if not done.done():
                        done.set_exception(error)
                self._ended(len(items), is_stored=False)
                continue
            for together, done in group:
                found = list(islice(outcomes, len(together)))
                if not done.done():  # otherwise the request was cancelled
                    done.set_result(found)
            self._ended(len(items), is_stored=True)
        self._writing = None

    def _ended(self, number: int, *, is_stored: bool) -> None:
        """Hook in the event loop after each group, called with the number of items in the group."""

    def _next_group(self) -> list[tuple[Sequence[Item], "asyncio.Future[list[Outcome]]"]]:
        size, number = 0, 0
        while number < len(self._waiting) and (not number or size + len(self._waiting[number][0]) <= _MOST_TOGETHER):
            size += len(self._waiting[number][0])
            number += 1
        group, self._waiting = self._waiting[:number], self._waiting[number:]
        return group
