"""Run of a mix host until the process is asked to end, and its operator's view of its state."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.serving import Endpoint, allow_files, listen
from shuffledp.parties.mix.mix_app import MixApp
from shuffledp.parties.mix.mix_config import MixConfig
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.mix.mix_host import MixHost
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.run_services import endpoint_of, serve_until_asked
from shuffledp.parties.service.shuffler_app import in_metrics, shuffler_app
from shuffledp.parties.wire.mix_terms import MixTerms

_FILES = 8192  # open files for the stores of collections, three for each


async def run_mix(config: MixConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run a mix host until the process is asked to end.

    Args:
        config: configuration of the mix.
        log: log of events.
        ready: called with the address as soon as the service serves all collections. It answers before: to requests
            about a collection that it has not taken up yet, to come again.

    Raises:
        InvalidParameterError: if a file is invalid, or an address is in use.
        LocalProtocolError: if another process uses the same state.
        StorageError: if the disk cannot be written to.
    """
    folder = MixFolder(Path(config.state))
    terms, (key, _), (gateway_key, _) = terms_by(config, folder), folder.shuffler_key(), folder.gateway_key()
    host = MixHost(terms, folder, key, registrants=config.read_registrants(), log=log)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(host.close)
        allow_files(_FILES)
        answering = asyncio.get_running_loop().create_future()
        shuffler = shuffler_app(host.served, log=log, gateway_keys=[gateway_key], tries=[host.try_to_store])
        endpoints = [endpoint_of(config, MixApp(host, shuffler, log=log))]
        stack.callback(endpoints[0].listening.close)  # if nothing comes to serve by it
        if config.metrics is not None:
            endpoints.append(Endpoint(app=mix_metrics_app(host), listening=listen(config.metrics, name="metrics")))

        async def work() -> None:
            await host.open()
            ready(await answering)
            await host.run()

        await serve_until_asked(endpoints, [work()], log, answering.set_result)


def terms_by(config: MixConfig, folder: MixFolder) -> MixTerms:
    """Terms that a mix publishes, with its keys; missing keys are made."""
    return MixTerms(
        url=config.url,
        shuffler=folder.shuffler_key()[1],
        gateway=folder.gateway_key()[1],
        register=config.register,
        policy=config.policy,
        pages=config.pages,
        tokens=config.tokens,
        contact=config.contact,
    )


def mix_metrics_app(host: MixHost) -> Starlette:
    """Web application that counts submissions and collections, for this machine alone."""

    async def metrics(_: Request) -> Response:
        total: Counter[Count] = Counter()
        for each in host.served:
            total.update(await each.counts())
        open_, ended = len(host.served), sum(each.has_ended for each in host)
        return PlainTextResponse(
            in_metrics("submissions", {name.value: total[name] for name in Count})
            + in_metrics("collections", {"open": open_, "ended": ended}, kind="gauge")
        )

    return Starlette(routes=[Route("/metrics", metrics)])


def listed(config: MixConfig) -> list[dict[str, object]]:
    """Collections of a mix on the disk, each with its remaining files; the mix may run meanwhile."""
    found = []
    for each in MixFolder(Path(config.state)).look():
        ended = each.ended()
        found.append(
            {
                "id": each.collection.id.hex(),
                "name": each.collection.task.name,
                "registrant": each.registrant,
                "since": each.since,
                "closes": each.collection.closes,
                "phase": "running" if ended is None else ended["phase"],
                "remains": each.remains(),
            }
        )
    return found
