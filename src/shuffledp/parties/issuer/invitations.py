"""Invitations: a secret for each invited person, for one signed token; the issuer has its digest.

Their maker (`new_invitations`) gives each person one file, and the issuer the sorted digests. A ready-made
invitation holds the token itself; its maker can link the token to the person.
"""

import csv
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from shuffledp.core.described import Described
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.keys import IssuerKey, from_text, in_text
from shuffledp.parties.wire.tokens import PendingToken, Token, TokenResponse
from shuffledp.survey import Collection, WebPage
from shuffledp.survey.section import read_whole

Issued = TypeVar("Issued", bound=Described)

CODE_BYTES = 16
_MOST = 1 << 26  # bytes of a list


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Invitation(Described):
    """Secret invitation of one person: a code for the issuer, or a token; both in base64url.

    Args:
        collection: id of the collection, in base64url.
        code: code of 16 bytes for the issuer.
        token: ready-made token.
    """

    title: ClassVar[str] = "an invitation"
    collection: str
    code: str | None = None
    token: str | None = None

    def __post_init__(self) -> None:
        if (self.code is None) == (self.token is None):
            raise InvalidParameterError("an invitation must have a code or a token, and not both.")
        if self.code is not None and len(from_text(self.code, name="code")) != CODE_BYTES:
            raise InvalidParameterError(f"code must be {CODE_BYTES} bytes in base64url; it is of another length.")

    @classmethod
    def read(cls, path: Path, collection: Collection) -> Self:
        """Invitation read from a file.

        Raises:
            InvalidParameterError: if the file is unreadable or no invitation to this collection; no message quotes it.
        """
        found = _issued(cls, path, "invitation")
        if found.collection != in_text(collection.id):
            raise InvalidParameterError(f"invitation must be one to this collection; {path} is to another.")
        if (found.token is not None) != collection.ready_made:
            raise InvalidParameterError(
                f"invitation must have {'a token' if collection.ready_made else 'no token'}, as the collection says; "
                f"{path} has {'none' if collection.ready_made else 'one, by which its maker could name you'}."
            )
        return found

    def ready_token(self) -> Token | None:
        """Ready-made token of the invitation; None if the issuer will sign a token.

        Raises:
            MalformedMessageError: if the text is no token.
        """
        return None if self.token is None else Token.decode(from_text(self.token, name="token"))

    def link(self, page: WebPage) -> str:
        """Link to the page; the invitation stands after the #, so that no server receives it."""
        return f"{page.link}&invitation={self.code or self.token}"

    def written(self) -> str:
        """Text of the invitation file."""
        return json.dumps({key: value for key, value in self.to_dict().items() if value is not None}) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Invited(Described):
    """List of invitations for the issuer: sorted digests of a collection's codes, without data of people.

    Args:
        collection: the id of the collection, in base64url.
        codes: SHA-256 of each code, in base64url.
        cancelled: SHA-256 of each code that is no longer valid, in base64url.
    """

    title: ClassVar[str] = "a list of the invited"
    collection: str
    codes: tuple[str, ...]
    cancelled: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """List of invitations read from a file.

        Raises:
            InvalidParameterError: if the file is unreadable, or no such list.
        """
        return _issued(cls, path, "invited")

    def written(self) -> str:
        """Text of the list file."""
        return json.dumps({key: value for key, value in self.to_dict().items() if value or key != "cancelled"}) + "\n"


def _issued(kind: type[Issued], path: Path, name: str) -> Issued:
    """Invitation or list in a file; errors name the parameter, and quote nothing from the file."""
    try:
        return kind.from_dict(json.loads(read_whole(path, most=_MOST)))
    except OSError as error:
        raise InvalidParameterError(f"{name} must be readable; got {path}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise InvalidParameterError(f"{name} must be a file that `tokens issue` wrote; got {path}.") from None


def read_people(path: Path) -> list[list[str]]:
    """Rows of a list of people, header line first.

    Raises:
        InvalidParameterError: if the file is unreadable, or lacks a header line or a row.
        InputDataError: if rows differ in length.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise InvalidParameterError(f"people must be readable; got {path}: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameterError(f"people must be a CSV file in UTF-8; got {path}.") from None
    if len(rows) < 2:
        raise InvalidParameterError(f"people must have a header line, and a row for each person; got {path}.")
    if len({len(row) for row in rows}) != 1:
        raise InputDataError(f"people must have as many fields in each row as in the header line; {path} has not.")
    return rows


def write_all(
    folder: Path,
    people: Sequence[Sequence[str]],
    invitations: Sequence[Invitation],
    listed: "Invited | None",
    *,
    links: Sequence[str] = (),
) -> None:
    """Write each person's invitation, the list of people with file names, and the issuer's list.

    Args:
        folder: empty folder.
        people: rows that `read_people` returned.
        invitations: one invitation per person.
        listed: list for the issuer, written as ``invited.json``; None for no list.
        links: one link per person, if people answer on a page.
    """
    width, rows = len(str(len(invitations))), [[*people[0], "invitation", *(["link"] if links else [])]]
    for number, (person, invitation) in enumerate(zip(people[1:], invitations, strict=True)):
        name = f"{number + 1:0{width}}.invitation"
        write_secret(folder / name, invitation.written())
        rows.append([*person, name, *links[number : number + 1]])
    with open(_own(folder / "people.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    if listed is not None:
        write_secret(folder / "invited.json", listed.written())


def write_secret(path: Path, text: str) -> None:
    """Write text to a new file that only its owner may read."""
    with open(_own(path), "w", encoding="utf-8") as file:
        file.write(text)


def _own(path: Path) -> int:
    """Handle of a new file that only its owner may read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def digest_of(code: bytes) -> bytes:
    """Digest of a code; the issuer knows only this digest, not the code."""
    return hashlib.sha256(code).digest()


def new_invitations(collection: Collection, people: int) -> tuple[list[Invitation], Invited]:
    """New invitations for this number of people, and the list for the issuer.

    Raises:
        InvalidParameterError: if the collection has no issuer, or tokens are ready-made.
    """
    if collection.issuer is None or collection.ready_made:
        raise InvalidParameterError("collection must have an issuer that signs blindly; it has none.")
    codes, name = [secrets.token_bytes(CODE_BYTES) for _ in range(people)], in_text(collection.id)
    digests = tuple(sorted(in_text(digest_of(code)) for code in codes))
    return [Invitation(collection=name, code=in_text(code)) for code in codes], Invited(collection=name, codes=digests)


def replacements(collection: Collection, codes: Sequence[str]) -> tuple[list[Invitation], Invited]:
    """New invitations in place of cancelled invitations, and a list of both for the issuer.

    Args:
        collection: collection whose tokens are signed blindly.
        codes: codes of the cancelled invitations, in base64url.

    Raises:
        InvalidParameterError: if the collection has no issuer, or tokens are ready-made, which cannot be cancelled.
    """
    made, listed = new_invitations(collection, len(codes))
    gone = tuple(sorted(in_text(digest_of(from_text(code, name="code"))) for code in codes))
    return made, replace(listed, cancelled=gone)


def code_of_link(link: str, page: WebPage) -> str:
    """Invitation code in a link to a page.

    Raises:
        InvalidParameterError: if the link is another; the message does not quote it.
    """
    code = link.strip().removeprefix(f"{page.link}&invitation=")
    try:
        is_code = len(from_text(code, name="code")) == CODE_BYTES
    except InvalidParameterError:
        is_code = False
    if not is_code:
        raise InvalidParameterError(f"link must be that of an invitation to {page.url}; it is another, or cut off.")
    return code


def ready_made_invitations(collection: Collection, people: int, key: IssuerKey) -> list[Invitation]:
    """Invitations that hold their ready-made tokens.

    Raises:
        InvalidParameterError: if the collection has no ready-made tokens, or names another key.
    """
    if collection.issuer is None or not collection.ready_made:
        raise InvalidParameterError("collection must say that its tokens are ready-made; it does not.")
    if key.public not in collection.issuer.key.several:
        raise InvalidParameterError("key must be the issuer's that the collection names; it is another.")
    return [
        Invitation(collection=in_text(collection.id), token=in_text(_token(collection, key).encode()))
        for _ in range(people)
    ]


def _token(collection: Collection, key: IssuerKey) -> Token:
    pending = PendingToken.new(collection.challenge, key.public)
    response = TokenResponse(blind_sign(key.private_key, pending.request.blinded_msg))
    return pending.finalize(collection.challenge, key.public, response)
