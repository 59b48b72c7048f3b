"""Release by a command of an analyst who runs no service: batches are fetched, opened and released."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx

from shuffledp.core.errors import (
    AgreementError,
    BatchTooSmallError,
    InputDataError,
    RemoteProtocolError,
    SpoiltReportsError,
    UnreachableError,
)
from shuffledp.core.instants import instant
from shuffledp.parties.agreement.agreement_courier import Courier, HostStanding, at_once
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.pauses import Pauses
from shuffledp.parties.service.awaited import STEPS, Awaited
from shuffledp.parties.service.batch_release import release_folders, says_released, statement_in
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.fetcher import Fetcher, FetchOutcome, fetching_key
from shuffledp.parties.service.forwarder import FIRST_PAUSE, LONGEST_PAUSE, party_client
from shuffledp.parties.wire.fetch_request import LONGEST_WAIT
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.survey import Collection

_SECONDS_TO_ACKNOWLEDGE = 10.0
_LAST_SECONDS = 60.0  # for a request that is made when the time to fetch is over
STATE, RELEASE = "state", "release"  # folders in that of the command


@dataclass(frozen=True, slots=True)
class FetchedRelease:
    """Outcome of fetching a collection.

    Args:
        has_ended: whether the shuffler has no more batches.
        releases: content of ``statement.json`` by the folder of each release, in their order; empty if there is none.
        missing: batches that the shuffler made and did not hand over.
    """

    has_ended: bool
    releases: Mapping[Path, Mapping[str, Any]]
    missing: int


async def fetch_release(
    collection: Collection,
    keys: Sequence[AnalyzerKey],
    folder: Path,
    *,
    once: bool = False,
    certificates: Path | None = None,
    earlier: Sequence[Path] = (),
    waiting: Callable[[Awaited], None] = lambda _: None,
    close: bool = False,
) -> FetchedRelease:
    """Fetch the batches of a collection until it has ended, and write their release.

    Whatever is interrupted goes on where it was: batches are stored before they are acknowledged.

    Args:
        collection: collection whose analyzer has no address.
        keys: private keys of the analyzer.
        folder: folder of the state and the release, made if it is not there.
        once: take what is there now, in place of waiting for the end.
        certificates: file of certificates to trust in place of the system's.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        waiting: called before each wait, with what is waited for.
        close: whether hosts of a sum that still take shares are told to close, once they can be reached.

    Raises:
        InvalidParameterError: if the keys are not the collection's, or ``earlier`` does not fit the task.
        BatchTooSmallError: if fewer answered than make a batch.
        AgreementError: if the hosts of a sum never agree, or one keeps back what they have agreed on.
        SpoiltReportsError: if reports were opened, and make no release.
        InputDataError: if a release could not be written; or if the batches were fetched into another folder, or not in
            time.
        RemoteProtocolError: if the shuffler refuses, or what it sends is no batch of the collection.
        StorageError: if the disk did not take a batch.
        UnreachableError: if the shuffler does not answer; only with ``once``.
    """
    key, happened = fetching_key(keys, collection), _EventCounts()
    folder.mkdir(parents=True, exist_ok=True)
    store = BatchStore(folder / STATE)
    try:
        at_analyzer = CollectionAtAnalyzer(collection, keys, store, folder / RELEASE, log=happened, earlier=earlier)
        await at_analyzer.release()  # of batches that an earlier process took
        has_ended = await at_analyzer.has_ended()
        async with party_client(certificates, name="ca") as client:
            fetchers = [
                Fetcher(at_analyzer, key, client, log=happened, host=host) for host in range(len(collection.hosts))
            ]
            if has_ended:
                for each in fetchers:
                    await _acknowledge(each)
            elif await _agreed(collection, key, client, once=once, waiting=waiting, close=close):
                until = instant(fetch_by=collection.fetch_by) if collection.fetch_by and len(fetchers) > 1 else None
                found_all = await _all_fetched(fetchers, once=once, until=until, waiting=waiting)
                has_ended = all(each is FetchOutcome.ENDED for each in found_all)
                came = await store.thread.do(store.ended, collection.id)
                if len(fetchers) > 1 and (came if has_ended else not once):
                    _require_handed_over(collection, came, folder)
        found = _released(collection, folder / RELEASE)
        if has_ended and not found:
            if await store.thread.do(store.is_empty, collection.id):
                raise InputDataError(
                    "the shuffler must have batches of the collection; it has none any more. They were fetched into "
                    f"another folder than {folder}, or destroyed at {collection.fetch_by}, since nobody fetched them."
                )
            _refuse(collection, folder / RELEASE, await at_analyzer.has_ended(), happened)
        return FetchedRelease(has_ended, found, happened.counts[Happened.BATCH_MISSING])
    finally:
        store.close()


class _EventCounts(EventLog):
    """Log that only counts events, for a command's report at its end."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)
        self.counts: Counter[Happened] = Counter()

    def __call__(self, event: Happened, count: int = 1) -> None:
        """Add to the count of an event."""
        self.counts[event] += count


async def _agreed(
    collection: Collection,
    key: AnalyzerKey,
    client: httpx.AsyncClient,
    *,
    once: bool,
    waiting: Callable[[Awaited], None],
    close: bool,
) -> bool:
    """Whether the shufflers have agreed on the people whose shares are complete; True for one shuffler."""
    if not collection.further_shufflers:
        return True

    def told(standings: Sequence[HostStanding]) -> None:
        waiting(Awaited.between([each.url for each in collection.hosts], standings))

    return await Courier(collection, key, client).carry(once=once, waiting=told, close=close)


async def _all_fetched(
    fetchers: Sequence[Fetcher], *, once: bool, waiting: Callable[[Awaited], None], until: datetime | None
) -> list[FetchOutcome]:
    """Outcome of the last request to each shuffler; all are asked at once.

    No shuffler can keep the others waiting.
    """
    last: dict[Fetcher, FetchOutcome | None] = dict.fromkeys(fetchers, FetchOutcome.BATCH)
    step = STEPS if len(fetchers) > 1 else 0

    def told(fetcher: Fetcher, outcome: FetchOutcome | None) -> None:
        last[fetcher] = outcome
        silent = tuple(each.shuffler for each in fetchers if last[each] is None)
        behind = tuple(each.shuffler for each in fetchers if step and last[each] is FetchOutcome.NOTHING)
        waiting(Awaited(silent, behind, step))

    return await at_once(_fetched(each, once=once, until=until, waiting=partial(told, each)) for each in fetchers)


async def _fetched(
    fetcher: Fetcher,
    *,
    once: bool,
    waiting: Callable[[FetchOutcome | None], None],
    until: datetime | None = None,
) -> FetchOutcome:
    """Outcome of the last request for a batch: the collection's end, or no batch at an early stop.

    It stops early with ``once``, or after the time ``until``. Before each request ``waiting`` is told the outcome of
    the one before, None where nobody answered, at first as after a batch.
    """
    pauses, before = Pauses(FIRST_PAUSE, LONGEST_PAUSE), cast(FetchOutcome | None, FetchOutcome.BATCH)
    while True:
        waiting(before)
        try:
            async with asyncio.timeout(_seconds_until(until)):
                found = await fetcher.fetch(wait=0 if once else LONGEST_WAIT)
        except TimeoutError:
            return FetchOutcome.NOTHING
        except httpx.HTTPError:
            if once:
                raise UnreachableError(
                    f"{fetcher.shuffler} must answer; got: no answer. Run the same command again later."
                ) from None
            if _is_over(until):
                return FetchOutcome.NOTHING
            before = None
            await asyncio.sleep(pauses.next())
            continue
        pauses.begin_anew()
        before = found
        if found is FetchOutcome.ENDED or (found is FetchOutcome.NOTHING and (once or _is_over(until))):
            return found
        if found is FetchOutcome.NOTHING:  # at once perhaps, from one that lies
            await asyncio.sleep(FIRST_PAUSE)


def _seconds_until(until: datetime | None) -> float | None:
    """Time limit in seconds for a request to a host, by the time ``until``; None without such a time."""
    return None if until is None else max(_LAST_SECONDS, (until - datetime.now(UTC)).total_seconds())


def _is_over(until: datetime | None) -> bool:
    return until is not None and datetime.now(UTC) >= until


def _require_handed_over(collection: Collection, ended: Set[int], folder: Path) -> None:
    """Refuse a sum if some host has not handed over its batch, although all hosts have agreed.

    A host that has ended, or whose time is over, has none any more.
    """
    lacking = [
        each.url
        for host, each in enumerate(collection.hosts)
        if any(pool.number not in ended for pool in collection.pools_at(host))
    ]
    if lacking:
        raise AgreementError(
            f"all hosts must hand over what they have agreed on; {', '.join(lacking)} has not, and will not any more. "
            f"Unless it is in another folder than {folder}, it was destroyed, or is kept back. Nothing was released."
        )


async def _acknowledge(fetcher: Fetcher) -> None:
    """Acknowledge the last batch, in case an earlier process did not; no answer is needed."""
    with suppress(RemoteProtocolError, TimeoutError):
        async with asyncio.timeout(_SECONDS_TO_ACKNOWLEDGE):
            await _fetched(fetcher, once=True, waiting=lambda _: None)


def _told(collection: Collection, folder: Path) -> dict[Path, Mapping[str, Any]]:
    """Contents of the collection's ``statement.json`` files by folder, also where nothing was released."""
    found = {each: statement_in(each, collection) for each in release_folders(folder, collection)}
    return {each: said for each, said in found.items() if said is not None}


def _released(collection: Collection, folder: Path) -> dict[Path, Mapping[str, Any]]:
    """Statements of a collection's releases by folder: of each batch, and of all batches together."""
    return {each: said for each, said in _told(collection, folder).items() if says_released(said)}


def _refuse(collection: Collection, folder: Path, is_done: bool, happened: _EventCounts) -> None:
    """Raise the error of a collection that ended without a release."""
    if not is_done or happened.counts[Happened.RELEASE_FAILED]:
        raise InputDataError(
            "the release must be written, and could not be; the batches are kept. Try the command again."
        )
    if told := [*_told(collection, folder).values()]:
        reasons = " ".join(said["not_released"] for said in told)
        raise SpoiltReportsError(
            f"the reports must make a release, and do not: {reasons} Reports were seen: count what is in "
            f"{folder} by --earlier in other releases about the same people.",
            told[-1],
        )
    raise BatchTooSmallError(
        f"a release needs the reports of at least {collection.minimum} people; there were fewer, which the shuffler "
        "has destroyed, or fewer that the analyst's key opens. Nothing was released."
    )
