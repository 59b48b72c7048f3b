"""A mix host in this process, without sockets; collections for it, and how they are registered."""

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from parties.client.answering import asking
from parties.service.at_work import Logged
from shuffledp.core.instants import written
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.mix.mix_app import MixApp
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.mix.mix_host import MixHost
from shuffledp.parties.service.shuffler_app import shuffler_app
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.parties.wire.mix_terms import MixPolicy, MixTerms
from shuffledp.parties.wire.organizer_requests import COLLECTION_TYPE, ORGANIZER_TYPE, OrganizerRequest, RequestKind
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.published_result import PublishedResult
from shuffledp.survey import Collection, Service

URL = "https://mix.example.org"
UNVOUCHED = {"unvouched": True}  # epsilon0 alone is promised, which takes no computing


@dataclass
class Mixing:
    """A mix at work, and how it is asked."""

    host: MixHost
    client: httpx.AsyncClient
    code: str
    logged: Logged = field(default_factory=Logged)

    @property
    def terms(self):
        return self.host.terms

    async def post(self, path, content, media_type, **headers):
        return await self.client.post(path, content=content, headers={"content-type": media_type, **headers})

    async def register(self, collection, *, shown=None):
        """The answer to a registration, with a good code unless another header field is shown."""
        body = collection if isinstance(collection, bytes) else collection.canonical
        shown = f"Bearer {self.code}" if shown is None else shown
        return await self.post("/collections", body, COLLECTION_TYPE, **({"authorization": shown} if shown else {}))

    async def send(self, collection, *submissions):
        """The errors by the ids of those that were refused."""
        answer = await self.post(f"{collection.path}/reports", UploadRequest(submissions).encode(), UPLOAD_TYPE)
        assert answer.status_code == 200, answer.text
        return {each.id: each.error for each in UploadResponse.decode(answer.content).refused}

    async def ask(self, asked, collection, key, content=b"", *, now=None):
        """The answer to a request that this key signs."""
        request = OrganizerRequest.by(key, asked, collection.id, now or datetime.now(UTC), content)
        return await self.post(f"{collection.path}/{asked}", request.encode(), ORGANIZER_TYPE)

    async def publish(self, collection, key, statement, *, now=None):
        made = PublishedResult.by(key, collection.id, now or datetime.now(UTC), statement)
        return await self.post(f"{collection.path}/{RequestKind.RESULT}", made.request.encode(), ORGANIZER_TYPE)

    async def page(self, collection):
        """What is served at the page's address."""
        return await self.client.get(collection.page.url)

    def at(self, collection):
        """The collection at the mix; None if it is unknown there."""
        return next((each for each in self.host if each.collection.id == collection.id), None)


@asynccontextmanager
async def mixing(folder, *, policy=None, registrants=(), clock=time.time, opened=True, **further):
    """A mix on a folder, without its background work; opened again, it goes on where it was."""
    state, logged = MixFolder(folder / "mix"), Logged()
    log = EventLog(logged.write)
    (key, published), (gateway_key, gateway) = state.shuffler_key(), state.gateway_key()
    given = {"url": URL, "register": "codes", "pages": "path", "tokens": True} | further
    terms = MixTerms(shuffler=published, gateway=gateway, policy=policy or MixPolicy(), **given)
    host = MixHost(terms, state, key, registrants=frozenset(registrants), log=log, clock=clock)
    try:
        if opened:
            await host.open()
        shuffler = shuffler_app(host.served, log=log, gateway_keys=[gateway_key], tries=[host.try_to_store])
        transport = httpx.ASGITransport(app=MixApp(host, shuffler, log=log), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=terms.url) as client:
            yield Mixing(host, client, state.new_code(), logged)
    finally:
        await host.close()


class Survey:
    """A collection for a mix, with its analyst's key.

    Args:
        terms: of the mix.
        page: "mix", an address elsewhere, or None.
        further: of the collection, in place of the usual.
    """

    def __init__(self, terms, *, page="mix", asked=None, days=1.0, fetch_days=7.0, key=None, **further: Any):
        now = datetime.now(UTC)
        self.key = key or AnalyzerKey.generate()
        closes = now + timedelta(days=days)
        draft = Collection.new(
            asked or asking(people=UNVOUCHED),
            **{
                "shuffler": Service(url=terms.url, key=terms.shuffler),
                "analyzer": Service(key=PublishedKey.of(self.key, active_from=written(now))),
                "closes": written(closes),
                "fetch_by": written(closes + timedelta(days=fetch_days)),
                "now": now,
            }
            | further,
        )
        self.collection, self.html = draft, b""
        if page is not None:
            url = terms.page_url(draft.nonce) if page == "mix" else page
            self.collection, self.html = with_page(draft, url)

    def otherwise(self, **further):
        """The same collection but for some fields, without the digest that its page would then have."""
        return replace(self.collection, **further)
