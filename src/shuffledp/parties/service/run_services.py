"""Runs of services until the process is asked to end, with their stores opened and closed in order."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.http.certificates import check_pair
from shuffledp.parties.http.event_log import EventLog, Happened
from shuffledp.parties.http.serving import Endpoint, listen, serve_all
from shuffledp.parties.http.web_pages import AppWithPages, read_pages
from shuffledp.parties.issuer.invited_lists import FileStates, Lists, read_lists, state_of_lists
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer, issuer_app
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.service.analyzer_app import analyzer_app
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.collection_at_analyzer import CollectionAtAnalyzer
from shuffledp.parties.service.collection_at_shuffler import CollectionAtShuffler
from shuffledp.parties.service.collection_terms import host_of, store_of
from shuffledp.parties.service.config import AnalyzerConfig, IssuerConfig, ListeningConfig, ShufflerConfig, named_keys
from shuffledp.parties.service.fetcher import fetching_key, run_fetching
from shuffledp.parties.service.forwarder import Forwarder, party_client
from shuffledp.parties.service.local_intake import LocalIntake
from shuffledp.parties.service.shuffler_app import metrics_app, shuffler_app
from shuffledp.parties.store.database import StorageError
from shuffledp.parties.wire.keys import IssuerKey, in_text
from shuffledp.survey import Collection

_SECONDS_BETWEEN_COUNTS = 60.0
_SECONDS_BETWEEN_LISTS = 5.0


async def run_shuffler(config: ShufflerConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run a shuffler until the process is asked to end.

    Args:
        config: configuration of the shuffler.
        log: log of events.
        ready: called with the address as soon as the service answers.

    Raises:
        InvalidParameterError: if the key is not the collections', a served page differs from the one that its
            collection names, or an address is in use.
        LocalProtocolError: if another process uses the same state.
        StorageError: if the disk cannot be written to.
    """
    key, gateway_keys, collections = config.read_key(), config.read_gateway_keys(), config.read_collections()
    read = [collection for collection, _ in collections]
    pages = read_pages(zip(read, map(Path, config.collections), strict=True))
    served: list[CollectionAtShuffler] = []
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(party_client(config.analyzer_certificates))
        for collection, beside in collections:
            named_keys([key], collection.hosts[host_of(collection, key)].key)
            if collection.gateway is not None:
                named_keys(gateway_keys, collection.gateway)
            host, place = host_of(collection, key), Path(config.state) / collection.id.hex()
            store = store_of(collection, host, place, most=collection.most)
            served.append(CollectionAtShuffler(collection, store, key, beside=beside, log=log))
            stack.push_async_callback(served[-1].close)
        app = LocalIntake(shuffler_app(served, log=log, gateway_keys=gateway_keys), served, log=log)
        endpoints = [endpoint_of(config, AppWithPages(app, read, pages))]
        stack.callback(endpoints[0].listening.close)  # if nothing comes to serve by it
        if config.metrics is not None:
            endpoints.append(Endpoint(app=metrics_app(served), listening=listen(config.metrics, name="metrics")))
        working = [each.run() for each in served]
        sending = [Forwarder(each, client, log=log).run() for each in served if not each.collection.analyzer.fetches]
        await serve_until_asked(endpoints, [*working, *sending], log, ready)


async def run_analyzer(config: AnalyzerConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run an analyzer until the process is asked to end; arguments and errors as in `run_shuffler`."""
    keys, collections = config.read_keys(), config.read_collections()
    named = [named_keys(keys, collection.analyzer.key) for collection, _ in collections]
    Path(config.releases).mkdir(parents=True, exist_ok=True)
    store = BatchStore(Path(config.state))
    try:
        served = [
            CollectionAtAnalyzer(
                collection,
                theirs,
                store,
                Path(config.releases) / Path(file).stem,
                log=log,
                earlier=[Path(each) for each in config.earlier.get(file, ())],
            )
            for (collection, _), theirs, file in zip(collections, named, config.collections, strict=True)
        ]
        endpoint = endpoint_of(config, analyzer_app(served, keys, log=log))
        left = [each.release() for each in served]  # left when an earlier process ended
        async with party_client(config.shuffler_certificates, name="shuffler_certificates") as client:
            fetching = [
                run_fetching(each, fetching_key(keys, each.collection), client, log=log)
                for each in served
                if each.collection.analyzer.fetches
            ]
            await serve_until_asked([endpoint], [*left, *fetching], log, ready)
    finally:
        store.close()


async def run_issuer(config: IssuerConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run an issuer until the process is asked to end; arguments and errors as in `run_shuffler`."""
    keys, collections = config.read_keys(), config.read_collections()
    named = [_issuing_key(keys, collection) for collection, _ in collections]
    if len({key.public for key in named}) != len(named):
        raise InvalidParameterError("keys must each be of one collection: of two, tokens of one fit the other.")
    store = IssuerStore(Path(config.state))
    try:
        served = [
            CollectionAtIssuer(collection, key, store, log=log)
            for (collection, _), key in zip(collections, named, strict=True)
        ]
        read = [collection for collection, _ in collections]
        app = AppWithPages(issuer_app(served, log=log), read, {}, way="token-request")
        seen_first = await _take_lists(config.invited, served)
        following = _follow_lists(config.invited, seen_first, served, log)
        await serve_until_asked([endpoint_of(config, app)], [_forget_ended(served), following], log, ready)
    finally:
        store.close()


def _issuing_key(keys: Sequence[IssuerKey], collection: Collection) -> IssuerKey:
    """Private key that signs the tokens of a collection."""
    if collection.issuer is None or collection.ready_made:
        raise InvalidParameterError("collections must have an issuer that signs blindly; one has none.")
    return named_keys(keys, collection.issuer.key)[0]


async def _take_lists(places: Sequence[str], served: Sequence[CollectionAtIssuer]) -> FileStates | None:
    """Give each collection its invitations; returns the state of the files, to notice later changes.

    Raises:
        InvalidParameterError: if a list cannot be read; then no collection is told.
    """
    now = state_of_lists(places)
    found = read_lists(places)
    for each in served:
        await each.take(found.get(in_text(each.collection.id), Lists()))
    return now


async def _follow_lists(
    places: Sequence[str], known: FileStates | None, served: Sequence[CollectionAtIssuer], log: EventLog
) -> None:
    """Read lists of invitations again when they change; until a list is whole, the earlier lists hold."""
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN_LISTS)
        now = state_of_lists(places)
        if now == known:
            continue
        try:
            known = await _take_lists(places, served)
            log(Happened.LISTS_TAKEN)
        except InvalidParameterError:
            known = now
            log(Happened.LISTS_REFUSED)
        except StorageError:
            log.at_first(Happened.STORAGE_FAILED)


async def _forget_ended(served: Sequence[CollectionAtIssuer]) -> None:
    """Destroy the stored invitations of collections as soon as the collections have ended."""
    while True:
        for each in served:
            await each.forget()
        await asyncio.sleep(_SECONDS_BETWEEN_COUNTS)


def endpoint_of(config: ListeningConfig, app: Any) -> Endpoint:
    """Endpoint of an application at the address of a configuration, with its certificate and limits."""
    if config.certificate is not None:
        check_pair(*config.certificate)
    return Endpoint(app=app, listening=listen(config.listen), certificate=config.certificate, limits=config.connections)


async def serve_until_asked(
    endpoints: Sequence[Endpoint],
    work: Iterable[Coroutine[Any, Any, None]],
    log: EventLog,
    ready: Callable[[str], None],
) -> None:
    """Serve with background work until asked to end; failed work ends the process.

    The supervisor of the process restarts it.
    """
    host, port = endpoints[0].listening.getsockname()[:2]

    def answering() -> None:
        log(Happened.STARTED)
        ready(f"{host}:{port}")

    def renewed(is_taken: bool) -> None:
        log(Happened.CERTIFICATE_TAKEN if is_taken else Happened.CERTIFICATE_REFUSED)

    async def counting() -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_COUNTS)
            log.flush()

    serving = asyncio.create_task(serve_all(endpoints, ready=answering, renewed=renewed))
    tasks = [asyncio.create_task(each) for each in (*work, counting())]
    waiting = {serving, *tasks}
    try:
        while not serving.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        for each in (serving, *tasks):
            each.cancel()
        for each in (serving, *tasks):
            with suppress(asyncio.CancelledError):
                await each
        log.flush()
        log(Happened.STOPPED)
