"""The page of a collection: one file that asks, randomizes, seals and sends, and that anybody may serve.

It is one file, so that what is served can be held against the digest in the invitation, byte by byte; and so that it
opens from the disk, to be looked at. It loads nothing, and its policy lets it speak to the shuffler alone, or to a
relay before it, and to the issuer where people answer by invitation.
"""

import hashlib
import json
import re
from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shuffledp.client.browser_randomizers import model_in_text, require_browser
from shuffledp.client.bundle import script_of, source_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import names_of, printable
from shuffledp.core.validate import invalid
from shuffledp.documents.statement_document import meaning_in_short
from shuffledp.survey import Collection, Column, WebPage

_MOST_BYTES = 150_000
_SCRIPT = re.compile(r"<(?=/?script|!--)", re.IGNORECASE)
_NO_ANSWER = "no answer"
_MARK = b'<script type="application/json" id="data">'


def with_page(collection: Collection, url: str) -> tuple[Collection, bytes]:
    """The collection with a page at an address, and the page, UTF-8.

    Guarantees:
        1. The page holds all that it needs, and names no other address to the browser than the
           shuffler's, or the relay's, and the issuer's.
        2. The collection that it completes by the digest in its link is the one returned here, to the byte.

    Args:
        collection: one without a page.
        url: where the page will be served.

    Raises:
        InvalidParameterError: for what the browser cannot do, see `require_browser`; another ``url`` than Collection
            takes; or a task of so many categories that the page is longer than 150,000 bytes.
    """
    require_browser(collection.task, collection.analyzer.key)
    if collection.directory is not None:
        raise invalid("absent where people answer on a page, which passes nothing on", directory="one")
    draft = replace(collection, page=WebPage(url=url, sha256=""))
    page = _page(draft).encode()
    if len(page) > _MOST_BYTES:
        raise InvalidParameterError(
            f"a task that is answered on a page must be short enough for one of {_MOST_BYTES:,} bytes; got "
            f"{len(page):,}."
        )
    return replace(draft, page=WebPage(url=url, sha256=hashlib.sha256(page).hexdigest())), page


def is_page(file: Path) -> bool:
    """Whether a file is a page that `with_page` made, of whichever collection."""
    with suppress(OSError):
        return _MARK in file.read_bytes()
    return False


def _page(draft: Collection) -> str:
    """The template with everything in its place."""
    style, script = source_of("page.css"), script_of("page.js")
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script),
        "style-src": _digest(style),
        "img-src": "data:",
        "connect-src": " ".join(_origins(draft)),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    parts = {
        "policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "title": escape(printable(draft.task.name)),
        "style": style,
        "data": _SCRIPT.sub(r"\\u003c", json.dumps(_data(draft), separators=(",", ":"))),
        "script": script,
    }
    return re.sub(r"\{(policy|title|style|data|script)\}", lambda found: parts[found[1]], source_of("page.html"))


def _origins(draft: Collection) -> list[str]:
    """To whom the page speaks: the shuffler, or a relay in its place; and whoever signs tokens."""
    issuer = [] if draft.issuer is None or draft.ready_made else [draft.issuer.url]
    addresses = [draft.relay or draft.shuffler.url, *issuer]
    return sorted({"{0.scheme}://{0.netloc}".format(urlsplit(each)) for each in addresses})


def _digest(source: str) -> str:
    """What a policy allows to run: this text, and no other."""
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _data(draft: Collection) -> dict[str, Any]:
    """What the script reads: the collection, and what Python knows how to say of it."""
    release = draft.task.release
    first, *others = draft.promised()
    alone = [each for each in others if each.guarantee.type == LocalDP.type]
    told = "If the shuffler tells the analyst who sent what, this is left:"
    remains = [f"{told} {each.sentence_of(each.guarantee)}" for each in alone]
    return {
        "collection": draft.canonical.decode(),
        "language": draft.task.written.language or "en",
        "contact": None if release.contact is None else printable(release.contact),
        "questions": [_question(column) for column in draft.task.columns],
        "sentences": [
            "Your answer never leaves this browser: it is randomized here, and only what that makes of it is sent, "
            f"encrypted so that nobody but {draft.analyzer.url} can read it.",
            f"{_received(draft)} cannot read it; it passes on the reports of at least {release.minimum_batch:,} people "
            f"together, in random order, and tells nobody who sent which.{_once(draft)}",
            f"This is promised, as long as what is listed at the end of this page holds: {_meaning(first)}",
        ],
        "promise": [first.sentence_of(first.guarantee), *remains],
        "trust": [
            [needed, any(each.is_danger and first.words_of(each) == needed for each in first.trust)]
            for needed in first.needs
        ],
        "check": [
            "Whoever serves this page could serve another one, which sends your answer as it is. So the invitation "
            "names the page by its SHA-256, the 64 characters that follow #page= in the link.",
            "To check it: curl -s ADDRESS | sha256sum, with the address up to the #. The file that comes opens from "
            "the disk, too: there it shows what it does, and sends nothing.",
        ],
    }


def _received(draft: Collection) -> str:
    """Who sees where it comes from."""
    if draft.relay is None:
        return f"{draft.shuffler.url} receives it. It sees from which address and when, but"
    return (
        f"{draft.relay} sees from which address and when, and passes it on sealed; {draft.shuffler.url} receives it "
        "from there, does not see your address, and"
    )


def _once(draft: Collection) -> str:
    """How it is seen to that people answer once, and what that tells of them."""
    if draft.issuer is None:
        return ""
    if draft.ready_made:
        return (
            f" {draft.issuer.url} has made the token by which you answer once, and can tell that it is yours: with the "
            "shuffler it can tell which report is yours, too."
        )
    return (
        f" {draft.issuer.url} learns that you answer, and when, and signs a token by which you answer once: it cannot "
        "read the token, which does not say who you are; but with the shuffler it could match the times."
    )


def _meaning(statement: PrivacyStatement) -> str:
    """What a statement means in a line; the statement itself where there is no such line."""
    return " ".join(each.text for each in meaning_in_short(statement)) or statement.sentence_of(statement.guarantee)


def _question(column: Column) -> dict[str, Any]:
    """A question, its fields, and how an answer is randomized."""
    model, has_missing = column.randomizer.randomizer().model, column.randomizer.missing_category
    names = [*column.randomizer.targets[:-1], _NO_ANSWER] if has_missing else column.randomizer.targets
    return {
        "text": printable(column.asked),
        "fields": _fields(column),
        "names": [printable(name) for name in names],
        "has_missing": has_missing,
        "model": model_in_text(model),
        "why": why(model),
    }


def _fields(column: Column) -> list[dict[str, Any]]:
    """What is asked for: an answer of some, of each of two columns, or a number in a range, or in bins."""
    section: Any = column.randomizer
    if section.categories_of_answers:
        columns = zip(column.inputs, section.categories_of_answers, strict=True)
        return [{"label": printable(name), "answers": [printable(x) for x in names_of(each)]} for name, each in columns]
    lower, upper = section.ends
    edges = {"edges": list(section.divided().edges)} if section.answers == "bin" else {}
    return [{"label": column.label, "lower": lower, "upper": upper, "clip": section.clips, **edges}]


def why(model: Any) -> str:
    """How the randomizer that a model describes changes an answer, in plain words.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> why(KaryRandomizedResponse(epsilon0=2.0, domain_size=3).model)[:66]
        'Your own answer is kept with a chance of about 78.7%; each other o'
    """
    response = getattr(model, "response", model)
    likely, other = (f"{100 * chance:.3g}%" for chance in (response.p, response.q))
    said: str = {
        "k-rr": f"Your own answer is kept with a chance of about {likely}; each other one takes its place with one of "
        f"about {other}.",
        "oue": f"Each answer is put on a list, or not, by itself: your own with a chance of {likely}, each other one "
        f"with a chance of about {other}. The list is sent.",
        "hadamard": f"A list of about half of all answers is sent. Your own is on it with a chance of about {likely}, "
        f"each other one with a chance of {other}.",
        "one-bit-mean": "Only one end of the range is sent. The nearer your number is to it, the likelier it is: "
        f"from about {other} at the other end to about {likely}.",
        "rounded-mean": f"Your number is rounded up or down, at random, to one of {response.domain_size:,} levels. "
        f"That level is kept with a chance of about {likely}; each other one takes its place with one of about "
        f"{other}.",
    }[model.kind]
    return said
