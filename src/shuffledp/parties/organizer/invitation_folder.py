"""Folder of invitations: a file, link, card and mail for each person, and the list for the issuer."""

import csv
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.client.invitation_mails import invitation_mail, mail_column
from shuffledp.parties.client.invitation_sheet import invitation_sheet
from shuffledp.parties.issuer.invitations import Invitation, Invited, read_people, write_all, write_secret
from shuffledp.parties.wire.keys import from_text
from shuffledp.survey import Collection

PEOPLE, SHEET, MAILS = "people.csv", "print.html", "mails"
_BESIDE = ("invitation", "link")  # columns that a list of people gets
_PRIVATE = 0o700

Rows = Sequence[Sequence[str]]


def write_invitations(
    folder: Path,
    collection: Collection,
    rows: Rows,
    made: Sequence[Invitation],
    listed: Invited | None,
    *,
    sheet: bool,
    mails: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write new invitations of a collection into an empty folder.

    Args:
        folder: empty folder.
        collection: collection of the invitations.
        rows: people as `read_people` returns them, header first.
        made: one invitation per person.
        listed: list for the issuer; None for no list.
        sheet: whether to write cards to print, where people answer on a page.
        mails: whether to write a mail for each person, where the list has a column for addresses.
        progress: told the number of cards made.
    """
    page = collection.page
    links = [] if page is None else [each.link(page) for each in made]
    write_all(folder, rows, made, listed, links=links)
    if page is not None:
        people = [[*row, link] for row, link in zip(rows[1:], links, strict=True)]
        _write_links(folder, collection, rows[0], people, sheet=sheet, mails=mails, progress=progress)


def write_again(folder: Path, collection: Collection, invitations: Path, *, absent: frozenset[bytes] | None) -> int:
    """Write invitations again as reminders into an empty folder; return the number of reminders.

    Args:
        folder: empty folder.
        collection: collection with a page.
        invitations: folder that `write_invitations` wrote.
        absent: digests of the invitations that were not used; None for all invitations.

    Raises:
        InvalidParameterError: if that folder is not as it was written.
    """
    header, *rows = read_people(invitations / PEOPLE)
    if tuple(header[-2:]) != _BESIDE:
        raise InvalidParameterError(f"{invitations / PEOPLE} must be as it was written, with {' and '.join(_BESIDE)}.")
    kept = [row for row in rows if absent is None or _digest(invitations / row[-2], collection) in absent]
    people = [[*row[:-2], row[-1]] for row in kept]
    with open(folder / PEOPLE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*header[:-2], header[-1]], *people])
    (folder / PEOPLE).chmod(0o600)
    if people:
        _write_links(folder, collection, header[:-2], people, sheet=True, mails=True, again=True)
    return len(people)


def _digest(file: Path, collection: Collection) -> bytes:
    """Digest of a file's invitation, as the issuer's list has it."""
    code = Invitation.read(file, collection).code
    if code is None:
        raise InvalidParameterError(f"{file} must be an invitation with a code; it holds a ready-made token.")
    return hashlib.sha256(from_text(code, name="code")).digest()


def _write_links(
    folder: Path,
    collection: Collection,
    header: Sequence[str],
    people: Rows,
    *,
    sheet: bool,
    mails: bool,
    again: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write cards and mails for people; the last field of each row is the person's link."""
    if sheet:
        named = _counted([(row[0], row[-1]) for row in people], progress)
        write_secret(folder / SHEET, invitation_sheet(collection, named, again=again))
    place = mail_column(header) if mails else None
    if place is not None:
        (folder / MAILS).mkdir(mode=_PRIVATE)
        for number, row in enumerate(people, start=1):
            name = f"{number:0{len(str(len(people)))}}.eml"
            write_secret(folder / MAILS / name, invitation_mail(collection, row[place], row[-1], again=again).decode())


def _counted(links: Sequence[tuple[str, str]], progress: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """Links, passed on unchanged; before each link, ``progress`` is told the number of earlier links."""
    for number, each in enumerate(links):
        progress(number)
        yield each
