"""Pages for respondents at a shuffler: pages elsewhere may call it, and it may serve pages itself.

A page is a file beside its collection's, with the digest that the collection has; nothing else is served. A browser
may send reports only from the page's address in the collection.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import Collection, WebPage

UPLOADS = "reports"  # a page's way to the shuffler, below the address of its collection
PLACE = "/pages/"  # below the shuffler's address
_DEVICES = ("camera", "microphone", "geolocation", "display-capture", "payment", "usb")  # devices that no page needs
HEADERS = {
    "content-security-policy": "frame-ancestors 'none'",  # a rule that the page itself cannot set
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "permissions-policy": ", ".join(f"{each}=()" for each in _DEVICES),
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
}
_SECONDS_REMEMBERED = "600"


def read_pages(collections: Iterable[tuple[Collection, Path]]) -> dict[str, bytes]:
    """Pages that the shuffler serves, by path, for collections whose page is at its address.

    Args:
        collections: collections, each with its file.

    Raises:
        InvalidParameterError: if a page is not beside its collection, or its digest differs.
    """
    pages = {}
    for collection, file in collections:
        path = _own_path(collection)
        if path is None or collection.page is None:
            continue
        try:
            page = WebPage.beside(file).read_bytes()
        except OSError as error:
            raise InvalidParameterError(
                f"the page of a collection must be beside it; got {WebPage.beside(file)}: {error.strerror}."
            ) from None
        if hashlib.sha256(page).hexdigest() != collection.page.sha256:
            raise InvalidParameterError(
                f"the page must have the digest that its collection names; {WebPage.beside(file)} has another."
            )
        pages[path] = page
    return pages


def _own_path(collection: Collection) -> str | None:
    """Path of a collection's page if the shuffler serves it; None otherwise."""
    own = f"{collection.shuffler.url}{PLACE}"
    if collection.page is None or not collection.page.url.startswith(own):
        return None
    return collection.page.url.removeprefix(collection.shuffler.url)


class AppWithPages:
    """Web application that also serves pages, and that browsers may call from pages of other origins.

    Args:
        app: application for all other requests.
        collections: collections of the application.
        pages: pages of `read_pages`; an issuer serves none.
        way: path that a page may call, below the address of its collection.
    """

    def __init__(
        self, app: ASGIApp, collections: Iterable[Collection], pages: Mapping[str, bytes], *, way: str = UPLOADS
    ) -> None:
        self._app, self._pages = app, pages
        self._callers: dict[str, tuple[str, bool]] = {}  # origin by path, and whether it shows tokens or invitations
        for each in collections:
            self.add(each, way)

    def add(self, collection: Collection, way: str = UPLOADS) -> None:
        """Let a collection's page call this path, except for uploads that must go through a relay."""
        if collection.page is not None and (way != UPLOADS or not collection.is_oblivious):
            self._callers[f"{collection.path}/{way}"] = collection.page.origin, collection.issuer is not None

    def remove(self, collection: Collection, way: str = UPLOADS) -> None:
        """Refuse calls of this path from the page of a collection from now on."""
        self._callers.pop(f"{collection.path}/{way}", None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path, method = scope.get("path", ""), scope.get("method", "")
        if path in self._pages and method in ("GET", "HEAD"):
            await Response(self._pages[path], 200, HEADERS, "text/html")(scope, receive, send)
            return
        origin, is_authorized = self._callers.get(path, ("", False))
        if not origin:
            await self._app(scope, receive, send)
        elif method == "OPTIONS":
            await _permission(origin, is_authorized)(scope, receive, send)
        else:
            await self._app(scope, receive, _heard_from(origin, send))


def _permission(origin: str, is_authorized: bool) -> Response:
    """Answer to a browser's preflight request; with tokens, it allows the authorization header."""
    allowed = {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "content-type, authorization" if is_authorized else "content-type",
        "access-control-max-age": _SECONDS_REMEMBERED,
    }
    return Response(b"", 204, allowed)


def _heard_from(origin: str, send: Send) -> Send:
    """Wrapped ``send`` that also allows a page of this origin to read the answer."""

    async def send_with_origin(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["access-control-allow-origin"] = origin
        await send(message)

    return send_with_origin
