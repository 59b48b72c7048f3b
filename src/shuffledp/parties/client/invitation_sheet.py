"""Invitations to print: one page with a QR code for each invited person.

Each code is a secret of one person. So the page is secret, too: only who hands out the codes may have it.
"""

from collections.abc import Iterable
from html import escape

from shuffledp.core.text import printable
from shuffledp.parties.client.bundle import filled
from shuffledp.parties.client.link_codes import printed_code
from shuffledp.parties.client.printed_page import parts_of, template_of, words_of
from shuffledp.survey import Collection

_CARD = "<!-- card -->\n"  # stands before and after a person's card in the template


def invitation_sheet(collection: Collection, links: Iterable[tuple[str, str]], *, again: bool = False) -> str:
    """HTML page of invitations to print, in the language of the task or else in English.

    Guarantees:
        1. It loads nothing, and runs no script.
        2. Each link stands on it once as a code and once as text, beside the person's name.

    Args:
        collection: collection of the invitations.
        links: name (any text) and link for each invited person.
        again: whether it reminds people who were invited before.

    Raises:
        InvalidParameterError: if a link is too long for a QR code.
    """
    texts = words_of(collection).table["sheet"]
    parts = {name: escape(text) for name, text in texts.items()} | parts_of(collection)
    parts["reminder"] = parts["reminder"] if again else ""
    top, card, bottom = template_of("sheet.html").split(_CARD)
    cards = (
        filled(card, parts | {"name": escape(printable(name)), "link": escape(link), "code": printed_code(link)})
        for name, link in links
    )
    return "".join([filled(top, parts), *cards, filled(bottom, parts)])
