"""Invitations by mail: one draft for each invited person, to be opened in a mail program and sent.

Each message holds the secret of one person. It is a draft: this library sends no mail.
"""

from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP

from shuffledp.core.text import printable
from shuffledp.parties.client.page_words import LANGUAGES, PageWords
from shuffledp.survey import Collection

_COLUMNS = ("mail", "email", "e-mail")  # names of the column with addresses, in small letters


def mail_column(header: Sequence[str]) -> int | None:
    """Place of the column of mail addresses in the header line of a list of people; None if there is none."""
    named = [each.strip().lower() for each in header]
    return next((named.index(each) for each in _COLUMNS if each in named), None)


def invitation_mail(collection: Collection, address: str, link: str, *, again: bool = False) -> bytes:
    """Mail draft (RFC 5322) that invites one person, in the language of the task or else in English.

    Args:
        collection: collection of the invitation.
        address: where it goes, as the list of people has it; one that is none is left out.
        link: link of this person alone.
        again: whether it reminds of an invitation that was sent before.
    """
    language = collection.task.written.language or LANGUAGES[0]
    words, contact = PageWords.of(language), collection.task.release.contact
    sheet, name = words.table["sheet"], printable(collection.task.name)
    parts = (
        name,
        f"{sheet['open']}\n{link}",
        sheet["secret"],
        words.told("until", date=collection.closes[:16].replace("T", " ") + " UTC"),
        sheet["reminder"] if again else "",
        "" if contact is None else words.told("contact", contact=printable(contact)),
    )
    message = EmailMessage(policy=SMTP)
    if address.isascii() and address.isprintable() and address.count("@") == 1 and not set(' ,;<>"()\\') & set(address):
        message["To"] = address
    message["Subject"] = name
    message["X-Unsent"] = "1"  # mail programs open it as a draft
    message.set_content("\n\n".join(filter(None, parts)) + "\n", cte="quoted-printable")
    message["Content-Language"] = words.language
    return message.as_bytes()
