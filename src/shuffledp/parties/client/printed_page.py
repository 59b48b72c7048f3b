"""Pages of a collection to print: their common head and parts, and the poster for an open link."""

from html import escape

from shuffledp.core.text import printable
from shuffledp.parties.client.bundle import allowed, filled, source_of
from shuffledp.parties.client.link_codes import printed_code
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.survey import Collection


def words_of(collection: Collection) -> PageWords:
    """Words of a page to print, in the language of the task or else in English."""
    return PageWords.of(collection.task.written.language or LANGUAGES[0])


def template_of(name: str) -> str:
    """Template of a page to print: the common head, then the body from a file in ``js/``."""
    return source_of("printed_head.html") + source_of(name)


def parts_of(collection: Collection) -> dict[str, str]:
    """Parts that all pages to print have, as HTML by the name of their placeholder.

    Args:
        collection: collection of the page; its name, closing time and contact stand on it.

    Returns:
        The style and the policy that allows it alone, ``own`` (language of our words) and ``language`` (of the task's),
        and the texts ``title``, ``until`` and ``contact``; the last is empty where the task names none.
    """
    words, style, contact = words_of(collection), source_of("sheet.css"), collection.task.release.contact
    return {
        "policy": f"default-src 'none'; style-src {allowed(style)}",
        "style": style,
        "own": words.language,
        "language": collection.task.written.language or LANGUAGES[0],
        "title": escape(printable(collection.task.name)),
        "until": escape(words.told("until", date=collection.closes[:16].replace("T", " ") + " UTC")),
        "contact": "" if contact is None else escape(words.told("contact", contact=printable(contact))),
    }


def poster(collection: Collection) -> str:
    """Poster of an open survey: questions, link and QR code on one page, in the task's language.

    Guarantees:
        1. It loads nothing, and runs no script.

    Raises:
        InvalidParameterError: if the link is too long for a QR code.
    """
    words = words_of(collection)
    link = "" if collection.page is None else collection.page.link
    told = words.told("local_network") if collection.local else ""
    return filled(
        template_of("poster.html"),
        parts_of(collection)
        | {
            "scan": escape(words.table["sheet"]["scan"]),
            "danger": escape(told),
            "short": escape(collection.shuffler.url if collection.local else ""),
            "link": escape(link),
            "code": printed_code(link),
        },
    )
