"""A mix host in a thread of this process, at a port of this machine, as organizers and devices reach it."""

import asyncio
import threading
from contextlib import contextmanager

from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.serving import Endpoint, _config, _Server, listen
from shuffledp.parties.mix import page_inspection
from shuffledp.parties.mix.mix_app import MixApp
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.mix.mix_host import MixHost
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.wire.mix_terms import MixPolicy, MixTerms


@contextmanager
def mix_in_thread(folder, monkeypatch, *, port=0, **policy):
    """The address of a mix that anybody may use; what it inspects, it inspects here."""
    monkeypatch.setattr(page_inspection.PageInspector, "inspect", lambda _, content: page_inspection.inspected(content))
    listening = listen(f"127.0.0.1:{port}")
    url, started, asked = f"http://127.0.0.1:{listening.getsockname()[1]}", threading.Event(), []

    async def work():
        state, log = MixFolder(folder), EventLog(lambda _: None)
        (key, published), (gateway_key, gateway) = state.shuffler_key(), state.gateway_key()
        terms = MixTerms(
            url=url,
            shuffler=published,
            gateway=gateway,
            register="anybody",
            policy=MixPolicy(**policy),
            pages="path",
            tokens=True,
        )
        host = MixHost(terms, state, key, log=log)
        await host.open()
        shuffler = shuffler_app(host.served, log=log, gateway_keys=[gateway_key])
        server = _Server(_config(Endpoint(app=MixApp(host, shuffler, log=log), listening=listening)))
        asked.append(server)
        running = asyncio.create_task(host.run())
        started.set()
        await server.serve(sockets=[listening])
        running.cancel()
        await host.close()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    started.wait()
    try:
        yield url
    finally:
        asked[0].should_exit = True
        thread.join()
