"""Transport of letters over HTTP through a post office, for one member in a process or for many."""

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from shuffledp.parties.relay.post_office_client import PostOfficeClient
from shuffledp.parties.relay.rounds import Letters
from shuffledp.parties.relay.terms import EVERYBODY

_Answer = TypeVar("_Answer")


class HttpTransport:
    """`shuffledp.parties.relay.member.Transport` for the only member of a process; it blocks while it waits.

    Args:
        client: client of the post office.
    """

    def __init__(self, client: PostOfficeClient) -> None:
        self._client = client

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """Post letters as `Transport.post` demands."""
        self._client.post(stage, person, letters)

    async def record(self, stage: int) -> bytes:
        """Attendance of a stage, as in `Transport.record`."""
        return self._client.record(stage)

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Attendance of a stage and letters to a recipient, as in `Transport.fetch`."""
        return self._client.fetch(stage, recipient)


class SharedHttpTransport:
    """`shuffledp.parties.relay.member.Transport` for several members of one process, whose requests run in threads.

    All members share one wait for each stage, and one fetch of letters to everybody.

    Args:
        new_client: makes a client of the post office, with a connection of its own.
        connections: connections open at once, 2 or more.
    """

    def __init__(self, new_client: Callable[[], PostOfficeClient], *, connections: int) -> None:
        self._new_client, self._local = new_client, threading.local()
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="letters")
        self._once: dict[Hashable, asyncio.Task[Any]] = {}

    async def post(self, stage: int, person: int, letters: Letters) -> None:
        """Post letters as `Transport.post` demands."""
        await self._do(lambda client: client.post(stage, person, letters))

    async def record(self, stage: int) -> bytes:
        """Attendance of a stage, as in `Transport.record`."""
        return await self._shared(stage, lambda client: client.record(stage))

    async def fetch(self, stage: int, recipient: int) -> tuple[bytes, Letters]:
        """Attendance of a stage and letters to a recipient, as in `Transport.fetch`."""
        await self.record(stage)  # otherwise all threads would wait, and none could send
        of = partial(PostOfficeClient.fetch, stage=stage, recipient=recipient)
        return await (self._shared((stage, recipient), of) if recipient == EVERYBODY else self._do(of))

    async def _shared(self, what: Hashable, work: Callable[[PostOfficeClient], _Answer]) -> _Answer:
        """Answer to a request, shared by several members; a failed request is repeated."""
        task = self._once.get(what)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._once[what] = asyncio.create_task(self._do(work))
        found: _Answer = await asyncio.shield(task)
        return found

    async def _do(self, work: Callable[[PostOfficeClient], _Answer]) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._with_own, work)

    def _with_own(self, work: Callable[[PostOfficeClient], _Answer]) -> _Answer:
        """Result of ``work`` with this thread's own client."""
        client: PostOfficeClient | None = getattr(self._local, "client", None)
        if client is None:
            client = self._local.client = self._new_client()
        return work(client)
