"""Members as processes of this machine, with one or several members in each process.

Each is forked from a process that has loaded all code and data, and shares the memory that it does not write to.
To write little, a member alone in a process uses neither an event loop nor threads.
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
from shuffledp.parties.http.serving import allow_files
from shuffledp.parties.relay.http_transport import HttpTransport, SharedHttpTransport
from shuffledp.parties.relay.journal import Journal
from shuffledp.parties.relay.member import Transport, take_part
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.post_office_client import HttpConnection, PostOfficeClient
from shuffledp.parties.relay.terms import RelayTerms

PATIENCE = 3600.0  # seconds for which members wait for others on the same machine
_CONNECTIONS, _FILES_BESIDE = 16, 200  # for a process with several members
_NICE = 5  # the post office, for which all members wait, comes first


class Member(NamedTuple):
    """Member's keys and sealed report at the start."""

    key: MemberKey
    report: bytes  # sealed


class Processes:
    """Processes forked from this one, which are killed when this one ends."""

    def __init__(self) -> None:
        self._running: list[int] = []

    def start(self, several: Sequence[Callable[[], None]]) -> None:
        """Fork a process for each of these functions; a process whose function raises an error has failed."""
        gc.collect()
        gc.freeze()  # otherwise garbage collection would write to all shared memory
        try:
            for work in several:
                self._running.append(_forked(work))
        finally:
            gc.unfreeze()

    def wait(self) -> int:
        """Number of failed processes, once all have ended."""
        failed = 0
        while self._running:
            _, status = os.waitpid(self._running[-1], 0)
            self._running.pop()
            failed += status != 0
        return failed

    def kill(self, first: int) -> None:
        """Kill the first ``first`` processes that still run; killed processes do not count as failed."""
        leaving, self._running = self._running[:first], self._running[first:]
        for each in leaving:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        for each in leaving:
            os.waitpid(each, 0)


def _forked(work: Callable[[], None]) -> int:
    """Process id of a fork that runs ``work``, without the set-up of `multiprocessing`."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        os.nice(_NICE)
        work()
        status = 0
    except* (ShuffleDPError, KeyboardInterrupt):
        pass  # the number of failures is reported once
    except* BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def run_members(terms: RelayTerms, members: Sequence[Member], folder: Path) -> None:
    """Run the parts of some members from the states in their journals.

    Args:
        terms: terms of the relay.
        members: one member, or several that take turns.
        folder: folder of the journals.

    Raises:
        RemoteProtocolError: if a member cannot hand in; for several members, in an exception group.
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
    """Run a coroutine that never has to wait, without an event loop."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("a member alone in a process must have a transport that waits by itself.")
