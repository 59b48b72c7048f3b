"""Comparison of the page at a link with the digest in the link, from any machine."""

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser

import httpx

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError, UnreachableError
from shuffledp.survey import Collection, WebPage

_LINK = re.compile(r"(?P<url>[^#]+)#page=(?P<sha256>[0-9a-f]{64})(?:&invitation=[A-Za-z0-9_-]+)?")
_LONGEST = 1 << 20  # bytes of a page
_STATIC = re.compile(
    "b|blockquote|body|caption|code|dd|details|div|dl|dt|em|figcaption|figure|footer|h[1-5]|head|header|html|li|main|"
    "meta|ol|p|pre|section|span|strong|style|summary|table|tbody|td|th|thead|title|tr|ul|wbr"
)  # elements that neither ask, nor lead anywhere, nor run anything
_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def page_of_link(link: str) -> WebPage:
    """Page that a link names; a personal invitation in the link is dropped.

    Raises:
        InvalidParameterError: for another text, which is not quoted, since it may be an invitation.
    """
    found = _LINK.fullmatch(link.strip())
    if found is None:
        raise InvalidParameterError(
            "LINK must be the whole link that people are invited by, with #page= and 64 characters; got another text."
        )
    return WebPage(url=found["url"], sha256=found["sha256"])


def check_page(page: WebPage, client: httpx.Client) -> Collection | None:
    """Collection in the page at an address, after the page's digest is checked against the link.

    None if it is a page of another version, whose content is not known here.

    Args:
        page: address and digest.
        client: client that follows no redirects.

    Raises:
        UnreachableError: if nothing answers.
        RemoteProtocolError: if there is no page, or another one.
    """
    content = _fetched(page.url, client)
    found = hashlib.sha256(content).hexdigest()
    data = _DATA.search(content.decode("utf-8", errors="replace"))
    if found != page.sha256:
        what = f"the page at {page.url} must be the one that the link names"
        if _asks_nothing(content):
            raise RemoteProtocolError(
                f"{what}, where people answer; nobody can answer at the one that is there, which has no script, no "
                "form and no link. After the close a mix shows the result in its place: open the link, and read it."
            )
        raise RemoteProtocolError(
            f"{what}; it is ANOTHER ONE, with SHA-256 {found}. Whoever answers there may send the answer as it is: "
            "tell everybody who has the link."
        )
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        draft = Collection.from_dict(json.loads(json.loads(data[1] if data else "")["collection"]))
        return replace(draft, page=page)
    return None


def _asks_nothing(content: bytes) -> bool:
    """Whether a page has only text, tables and styles, so that people cannot answer there."""
    looking = _Static()
    looking.feed(content.decode("utf-8", errors="replace"))
    looking.close()
    return looking.is_static and bool(content)


class _Static(HTMLParser):
    """Parser of a page that checks whether the page is static."""

    def __init__(self) -> None:
        super().__init__()
        self.is_static = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Mark the page as not static if an element may run a script, load content or lead elsewhere."""
        leads = any(name in ("href", "src") or name.startswith("on") for name, _ in attrs)
        moves = ("http-equiv", "refresh") in [(name, (value or "").lower()) for name, value in attrs]
        self.is_static &= _STATIC.fullmatch(tag) is not None and not leads and not moves


def _fetched(url: str, client: httpx.Client) -> bytes:
    """Content at an address, fetched as by a browser on its first visit."""
    content = bytearray()
    try:
        with client.stream("GET", url, headers={"Cache-Control": "no-cache"}) as answer:
            if answer.status_code != httpx.codes.OK:
                raise RemoteProtocolError(f"the page must be at {url}; the answer there is {answer.status_code}.")
            for part in answer.iter_bytes():
                content += part
                if len(content) > _LONGEST:
                    break  # no page of ours is so long, so that the digest differs
    except httpx.HTTPError:
        raise UnreachableError(f"the page must be at {url}; nothing answers there. Try again later.") from None
    return bytes(content)
