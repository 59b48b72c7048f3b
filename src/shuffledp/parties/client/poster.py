"""Poster of a survey that anybody may answer: one page to print, with the questions, the link and its QR code."""

from html import escape

from shuffledp.core.text import printable
from shuffledp.parties.client.bundle import allowed, filled, source_of
from shuffledp.parties.client.link_codes import printed_code
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.survey import Collection


def poster(collection: Collection) -> str:
    """HTML page with the link of a collection, in the language of the task if its words exist, else in English.

    Guarantees:
        1. It loads nothing, and runs no script.

    Raises:
        InvalidParameterError: if the link is too long for a QR code.
    """
    language = collection.task.written.language or LANGUAGES[0]
    words, style, contact = PageWords.of(language), source_of("sheet.css"), collection.task.release.contact
    link = "" if collection.page is None else collection.page.link
    told = words.told("local_network") if collection.local else ""
    return filled(
        source_of("poster.html"),
        {
            "policy": f"default-src 'none'; style-src {allowed(style)}",
            "style": style,
            "own": words.language,
            "language": language,
            "title": escape(printable(collection.task.name)),
            "scan": escape(words.table["sheet"]["scan"]),
            "until": escape(words.told("until", date=collection.closes[:16].replace("T", " ") + " UTC")),
            "danger": escape(told),
            "short": escape(collection.shuffler.url if collection.local else ""),
            "link": escape(link),
            "code": printed_code(link),
            "contact": "" if contact is None else escape(words.told("contact", contact=printable(contact))),
        },
    )
