"""Members as processes of this machine, each with one of its own or many that share one.

They are forked from a process that has loaded all that they need, and share its memory as far as they leave it alone.
What a process writes to is its own: so a member alone in one uses neither an event loop nor threads.
"""

import asyncio
import gc
import os
import signal
import traceback
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.core.errors import ShuffleDPError
from shuffledp.relay.http_transport import HttpTransport, SharedHttpTransport
from shuffledp.relay.journal import Journal
from shuffledp.relay.member import Transport, take_part
from shuffledp.relay.member_keys import MemberKey
from shuffledp.relay.post_office_client import HttpConnection, PostOfficeClient
from shuffledp.relay.terms import RelayTerms
from shuffledp.service.serving import allow_files

PATIENCE = 3600.0  # seconds for which members wait for others, who share the machine with them
_CONNECTIONS, _FILES_BESIDE = 16, 200  # of a process with several members
_NICE = 5  # the post office, for which all of them wait, comes first


class Member(NamedTuple):
    """A member with a report, as it begins."""

    key: MemberKey
    report: bytes  # sealed


class Processes:
    """Processes that are forked from this one, to be killed when it ends."""

    def __init__(self) -> None:
        self._running: list[int] = []

    def start(self, several: Sequence[Callable[[], None]]) -> None:
        """A process for each of these; one whose work raises an error has failed."""
        gc.collect()
        gc.freeze()  # else collections in them would write to all that is shared
        try:
            for work in several:
                self._running.append(_forked(work))
        finally:
            gc.unfreeze()

    def wait(self) -> int:
        """How many have failed, when all have ended."""
        failed = 0
        while self._running:
            _, status = os.waitpid(self._running[-1], 0)
            self._running.pop()
            failed += status != 0
        return failed

    def kill(self, first: int) -> None:
        """End so many of those that were started first and are still there; they do not count as failed."""
        leaving, self._running = self._running[:first], self._running[first:]
        for each in leaving:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        for each in leaving:
            os.waitpid(each, 0)


def _forked(work: Callable[[], None]) -> int:
    """The number of a process that does this work, without what `multiprocessing` would set up in it."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        os.nice(_NICE)
        work()
        status = 0
    except* (ShuffleDPError, KeyboardInterrupt):
        pass  # how many have failed is said once
    except* BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def run_members(terms: RelayTerms, members: Sequence[Member], folder: Path) -> None:
    """Take the parts of some members, from where their journals say.

    Args:
        terms: of the relay.
        members: one, or several who take turns.
        folder: for what they remember.

    Raises:
        RemoteProtocolError: if one of them cannot hand in; of several, as the only one of a group.
    """
    keys = {terms.directory.place_of(each.key.identity): each.key for each in members}
    reports = {person: each.report for person, each in zip(keys, members, strict=True)}

    def new_client() -> PostOfficeClient:
        return PostOfficeClient(
            terms,
            HttpConnection(terms.collection.shuffler.url),
            lambda person, said: keys[person].signature(said),
            patience=PATIENCE,
            patience_of_stage=PATIENCE,
        )

    def part(person: int, transport: Transport) -> Coroutine[Any, Any, int]:
        journal = Journal(terms, person, folder, durable=False)  # nobody starts a demonstration again
        return take_part(terms, keys[person], lambda: reports[person], journal, transport)

    async def together() -> None:
        transport = SharedHttpTransport(new_client, connections=_CONNECTIONS)
        async with asyncio.TaskGroup() as group:
            for person in keys:
                group.create_task(part(person, transport))

    if len(members) == 1:
        (person,) = keys
        _at_once(part(person, HttpTransport(new_client())))
    else:
        allow_files(2 * len(members) + _FILES_BESIDE)
        asyncio.run(together())


def _at_once(work: Coroutine[Any, Any, object]) -> None:
    """A coroutine that never waits for another, run without an event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("a member alone in a process must have a transport that waits by itself.")
