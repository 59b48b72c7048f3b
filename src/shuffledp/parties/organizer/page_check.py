"""Comparison of the page at a link with the digest in the link, from any machine."""

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import replace

import httpx

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.survey import Collection, WebPage

_LINK = re.compile(r"(?P<url>[^#]+)#page=(?P<sha256>[0-9a-f]{64})(?:&invitation=[A-Za-z0-9_-]+)?")
_LONGEST = 1 << 20  # bytes of a page
_PERHAPS = "If the survey has closed, and nothing is asked there, it may be the result, which a mix shows in its place."
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
    """Collection inside the page now at the address, after the page's digest is compared with the link's.

    None if it is a page of another version, whose content is not known here.

    Args:
        page: address and digest.
        client: client that follows no redirects.

    Raises:
        RemoteProtocolError: if there is no page, or another one.
    """
    content = _fetched(page.url, client)
    found = hashlib.sha256(content).hexdigest()
    data = _DATA.search(content.decode("utf-8", errors="replace"))
    if found != page.sha256:
        raise RemoteProtocolError(
            f"the page at {page.url} must be the one that the link names; it is ANOTHER ONE, with SHA-256 {found}. "
            "Whoever answers there may send the answer as it is: tell everybody who has the link."
            + ("" if data else f" {_PERHAPS}")
        )
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        draft = Collection.from_dict(json.loads(json.loads(data[1] if data else "")["collection"]))
        return replace(draft, page=page)
    return None


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
        raise RemoteProtocolError(f"the page must be at {url}; nothing answers there.") from None
    return bytes(content)
