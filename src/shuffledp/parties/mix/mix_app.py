"""Mix host over HTTP: its page and terms, registrations, organizers' requests, and collections' pages.

All else (uploads, phases, batches) is answered as by any shuffler. Nothing that a stranger wrote is served: a page is
made by this software, and a result is data that it renders.
"""

import json
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shuffledp.documents.collections.mix_document import mix_document
from shuffledp.documents.collections.published_document import published_document
from shuffledp.documents.page import page_of
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import (
    Problem,
    Refused,
    application,
    authorization,
    check_closing,
    ok_response,
    whole_body,
)
from shuffledp.parties.http.web_pages import HEADERS, UPLOADS, AppWithPages
from shuffledp.parties.issuer.issuer_app import LONGEST_TOKEN_REQUEST
from shuffledp.parties.mix.collection_at_mix import CollectionAtMix
from shuffledp.parties.mix.mix_host import MixHost
from shuffledp.parties.service.served_collections import MOST_BYTES
from shuffledp.parties.service.shuffler_app import GATEWAY, status_response
from shuffledp.parties.wire.close_request import CLOSE_TYPE
from shuffledp.parties.wire.grammar import UPLOAD_ERRORS_TYPE, UPLOAD_TYPE
from shuffledp.parties.wire.keys import in_text
from shuffledp.parties.wire.mix_terms import COLLECTION_PAGES, MIX_TYPE
from shuffledp.parties.wire.organizer_requests import COLLECTION_TYPE, ORGANIZER_TYPE, RequestKind
from shuffledp.parties.wire.published_result import MOST_RESULT_BYTES
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE, KEY_REQUEST_BYTES
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, ISSUANCE_RESPONSE

MOST_COLLECTION_BYTES = 1 << 18  # of a collection file
_MOST_LIST_BYTES = 1 << 22  # of a list of invitations
_BESIDE = 1 << 10  # bytes of an organizer's request besides its content
_TOKENS, _CREATED, _HTML = "token-request", 201, "text/html"
_GONE = b"<!DOCTYPE html><title>Ended</title><p>The operator of this mix has ended this survey. Nothing is released.\n"
_LATER = b"<!DOCTYPE html><title>Later</title><p>The result of this survey will be here. People answer elsewhere.\n"


class MixApp:
    """Web application of a mix host.

    Guarantees:
        1. After a good answer, a registration, a list, a result or a close is on the disk.
        2. Where each page has a host name of its own, nothing else is served there.
        3. No answer depends on the number of reports, except on whether they are enough.

    Args:
        host: all collections.
        shuffler: application of the shuffler for `MixHost.served`.
        log: log of events.
    """

    def __init__(self, host: MixHost, shuffler: ASGIApp, *, log: EventLog) -> None:
        self._host, self._shuffler = host, shuffler
        self._app = application(self._routes(), log=log, tries=[host.try_to_store])
        self._app.router.default = shuffler
        self._called = AppWithPages(self._inside, (), {})
        for each in host:
            self._changed(each, True)
        host.changed.append(self._changed)

    def _routes(self) -> list[Route]:
        one = "/collections/{id}"
        return [
            Route("/", self._home, methods=["GET"]),
            Route("/mix", self._terms, methods=["GET"]),
            Route("/collections", self._register, methods=["POST"]),
            Route("/issuer-keys", self._issuer_key, methods=["POST"]),
            Route(one, self._status, methods=["GET"]),
            Route(f"{one}/close", self._close, methods=["POST"]),
            Route(f"{one}/{UPLOADS}", self._late, methods=["POST"]),
            Route(f"{one}/fetch", self._of_shuffler, methods=["POST"]),
            Route(f"{one}/{RequestKind.AGREE}", self._of_shuffler, methods=["POST"]),
            Route(f"{one}/{_TOKENS}", self._token, methods=["POST"]),
            Route(f"{one}/{RequestKind.INVITED}", self._invited, methods=["POST"]),
            Route(f"{one}/{RequestKind.ABSENT}", self._absent, methods=["POST"]),
            Route(f"{one}/{RequestKind.RESULT}", self._results, methods=["GET"]),
            Route(f"{one}/{RequestKind.RESULT}", self._publish, methods=["POST"]),
            Route(f"{COLLECTION_PAGES}{{place}}", self._page, methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1").lower()
        if self._host.has_host(host):
            at = self._host.at_page(host, scope["path"])
            is_good = at is not None and scope["method"] in ("GET", "HEAD")
            answer = self._shown(at) if at is not None and is_good else self._host.unknown.response()
            await answer(scope, receive, send)
            return
        await self._called(scope, receive, send)

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: an upload by the shuffler's application, any other request by the mix's."""
        is_upload = self._host.served.at_path(scope["path"], relayed=False)[0] is not None
        if scope["path"] == GATEWAY and not self._host.is_open:  # nobody knows for whom a sealed request is
            await Problem.UNAVAILABLE.response()(scope, receive, send)
        else:
            await (self._shuffler if is_upload else self._app)(scope, receive, send)

    def _changed(self, at: CollectionAtMix, comes: bool) -> None:
        change = self._called.add if comes else self._called.remove
        for way in (UPLOADS, _TOKENS):
            change(at.collection, way)

    def _of(self, request: Request) -> CollectionAtMix:
        return self._host.find(request.path_params["id"])

    # ---- for everybody ----------------------------------------------------------------------------------------------

    @cached_property
    def _about(self) -> bytes:
        return page_of(mix_document(self._host.terms))

    async def _home(self, _: Request) -> Response:
        return Response(self._about, 200, HEADERS, _HTML)

    async def _terms(self, _: Request) -> Response:
        return ok_response(json.dumps(self._host.terms.to_dict()).encode(), MIX_TYPE)

    async def _page(self, request: Request) -> Response:
        at = self._host.at_page("", request.url.path)
        if at is None:
            raise Refused(self._host.unknown)
        return self._shown(at)

    def _shown(self, at: CollectionAtMix) -> Response:
        """Page of a collection, where people answer, and later read the result."""
        page = at.registered.page()
        if at.was_ended_by_operator:
            page = _GONE
        elif results := at.published():
            told = [(each.day, each.statement) for each in results]
            page = page_of(published_document(at.collection, told, at.registered.promised))
        return Response(page or _LATER, 200, HEADERS, _HTML)

    async def _status(self, request: Request) -> Response:
        return status_response(self._of(request).status)

    async def _late(self, request: Request) -> Response:
        at = self._of(request)
        body = await whole_body(request.scope, request.receive, media_type=UPLOAD_TYPE, most=MOST_BYTES)
        return ok_response(at.refuse_late(body), UPLOAD_ERRORS_TYPE)

    async def _token(self, request: Request) -> Response:
        at, most = self._of(request), LONGEST_TOKEN_REQUEST
        body = await whole_body(request.scope, request.receive, media_type=ISSUANCE_REQUEST, most=most)
        if at.at_issuer is None:
            raise Refused(Problem.NOT_AUTHORIZED)
        return ok_response(await at.at_issuer.sign(authorization(request.scope), body), ISSUANCE_RESPONSE)

    async def _of_shuffler(self, request: Request) -> Response:
        if self._of(request).has_ended:
            raise Refused(Problem.COLLECTION_ENDED)
        return _PassedResponse(self._shuffler)

    # ---- for registrants --------------------------------------------------------------------------------------------

    async def _register(self, request: Request) -> Response:
        body = await whole_body(request.scope, request.receive, media_type=COLLECTION_TYPE, most=MOST_COLLECTION_BYTES)
        registrant = self._host.registrant(authorization(request.scope), request.url.path, body)
        await self._host.register(registrant, body)
        return Response(b"", _CREATED, media_type=COLLECTION_TYPE)

    async def _issuer_key(self, request: Request) -> Response:
        body = await whole_body(request.scope, request.receive, media_type=ISSUER_KEY_TYPE, most=KEY_REQUEST_BYTES)
        registrant = self._host.registrant(authorization(request.scope), request.url.path, body)
        made = await self._host.issuer_key(registrant, body)
        return ok_response(json.dumps(made.to_dict()).encode(), MIX_TYPE)

    # ---- for analysts -----------------------------------------------------------------------------------------------

    async def _close(self, request: Request) -> Response:
        at = self._of(request)
        await check_closing(request, at.collection, at.request_key)
        await at.stop_intake()
        return ok_response(b"", CLOSE_TYPE)

    async def _invited(self, request: Request) -> Response:
        at = self._of(request)
        await at.invite(at.request(await _asked(request, _MOST_LIST_BYTES), RequestKind.INVITED).content)
        return ok_response(b"", ORGANIZER_TYPE)

    async def _absent(self, request: Request) -> Response:
        at = self._of(request)
        at.request(await _asked(request, 0), RequestKind.ABSENT)
        return ok_response(json.dumps({"absent": await at.absent()}).encode(), MIX_TYPE)

    async def _publish(self, request: Request) -> Response:
        at = self._of(request)
        await at.publish(at.request(await _asked(request, MOST_RESULT_BYTES), RequestKind.RESULT))
        return ok_response(b"", ORGANIZER_TYPE)

    async def _results(self, request: Request) -> Response:
        at = self._of(request)
        told = [] if at.was_ended_by_operator else [in_text(each.encode()) for each in at.results]
        return ok_response(json.dumps({"results": told}).encode(), MIX_TYPE)


async def _asked(request: Request, most: int) -> bytes:
    """Body of an organizer's request, with a content of at most ``most`` bytes."""
    return await whole_body(request.scope, request.receive, media_type=ORGANIZER_TYPE, most=most + _BESIDE)


class _PassedResponse(Response):
    """Response to a request that is passed on to another application."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the other application."""
        await self._app(scope, receive, send)
