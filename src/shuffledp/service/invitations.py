"""Invitations: a secret for each invited person, which the issuer knows by its digest, and signs one token for.

Whoever makes them (`invited`) gives each person one file, and the issuer the digests in no order. A ready-made
invitation holds the token itself; whoever made it can tell whose that is.
"""

import csv
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from shuffledp.core.described import Described
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.survey import Collection, WebPage
from shuffledp.survey.section import read_whole
from shuffledp.wire.blind_rsa import blind_sign
from shuffledp.wire.keys import IssuerKey, from_text, in_text
from shuffledp.wire.tokens import PendingToken, Token, TokenResponse

CODE_BYTES = 16
_MOST = 1 << 26  # bytes of a file


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Invitation(Described):
    """What one person gets, and shows nobody: a code for the issuer, or a token; both in base64url.

    Args:
        collection: the id of the collection.
        code: of 16 bytes.
        token: ready-made.
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
        """The invitation in a file.

        Raises:
            InvalidParameterError: if it cannot be read, is none, or one to another collection; no message quotes it.
        """
        try:
            found = cls.from_dict(json.loads(read_whole(path, most=_MOST)))
        except OSError as error:
            raise InvalidParameterError(f"invitation must be readable; got {path}: {error.strerror}.") from None
        except (ValueError, RecursionError):
            raise InvalidParameterError(f"invitation must be a file that `tokens issue` wrote; got {path}.") from None
        if found.collection != in_text(collection.id):
            raise InvalidParameterError(f"invitation must be one to this collection; {path} is to another.")
        if (found.token is not None) != collection.ready_made:
            raise InvalidParameterError(
                f"invitation must have {'a token' if collection.ready_made else 'no token'}, as the collection says; "
                f"{path} has {'none' if collection.ready_made else 'one, by which its maker could name you'}."
            )
        return found

    def ready_token(self) -> Token | None:
        """The token that it holds; None where the issuer is to sign one.

        Raises:
            MalformedMessageError: if it is none.
        """
        return None if self.token is None else Token.decode(from_text(self.token, name="token"))

    def link(self, page: WebPage) -> str:
        """What the person opens in a browser, which sends nothing that follows the # to anybody."""
        return f"{page.link}&invitation={self.code or self.token}"

    def written(self) -> str:
        """Text of the file."""
        return json.dumps({key: value for key, value in self.to_dict().items() if value is not None}) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Invited(Described):
    """What the issuer is told: the digests of all codes of a collection, in order, so that they tell nothing of people.

    Args:
        collection: the id of the collection, in base64url.
        codes: SHA-256 of each code, in base64url.
        cancelled: the same of invitations that are good no more.
    """

    title: ClassVar[str] = "a list of the invited"
    collection: str
    codes: tuple[str, ...]
    cancelled: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """The list in a file.

        Raises:
            InvalidParameterError: if it cannot be read, or is none.
        """
        try:
            return cls.from_dict(json.loads(read_whole(path, most=_MOST)))
        except OSError as error:
            raise InvalidParameterError(f"invited must be readable; got {path}: {error.strerror}.") from None
        except (ValueError, RecursionError):
            raise InvalidParameterError(f"invited must be a file that `tokens issue` wrote; got {path}.") from None

    def written(self) -> str:
        """Text of the file."""
        return json.dumps({key: value for key, value in self.to_dict().items() if value or key != "cancelled"}) + "\n"


def read_people(path: Path) -> list[list[str]]:
    """The rows of a list of people, the header line first.

    Raises:
        InvalidParameterError: if it cannot be read, or has no header line and a row.
        InputDataError: if rows are not all of one length.
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
    """Write an invitation for each person, the list of people with theirs, and what the issuer is told.

    Args:
        folder: an empty one.
        people: as `read_people` found them.
        invitations: one for each of them.
        listed: what the issuer is told, as ``invited.json``; None for nothing.
        links: one for each of them, where they answer on a page.
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
    """Write a new file that its owner alone may read."""
    with open(_own(path), "w", encoding="utf-8") as file:
        file.write(text)


def _own(path: Path) -> int:
    """A new file that its owner alone may read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def digest_of(code: bytes) -> bytes:
    """Digest of a code, which is all that the issuer knows of it."""
    return hashlib.sha256(code).digest()


def invited(collection: Collection, people: int) -> tuple[list[Invitation], Invited]:
    """Invitations for this number of people, and what the issuer is told.

    Raises:
        InvalidParameterError: if the collection has no issuer, or tokens are ready-made.
    """
    if collection.issuer is None or collection.ready_made:
        raise InvalidParameterError("collection must have an issuer that signs blindly; it has none.")
    codes, name = [secrets.token_bytes(CODE_BYTES) for _ in range(people)], in_text(collection.id)
    digests = tuple(sorted(in_text(digest_of(code)) for code in codes))
    return [Invitation(collection=name, code=in_text(code)) for code in codes], Invited(collection=name, codes=digests)


def replaced(collection: Collection, codes: Sequence[str]) -> tuple[list[Invitation], Invited]:
    """New invitations in place of cancelled ones, and the list that tells the issuer of both.

    Args:
        collection: whose tokens are signed blindly.
        codes: of the invitations to be cancelled, in base64url.

    Raises:
        InvalidParameterError: if the collection has no issuer, or tokens are ready-made, which nobody can take back.
    """
    made, listed = invited(collection, len(codes))
    gone = tuple(sorted(in_text(digest_of(from_text(code, name="code"))) for code in codes))
    return made, replace(listed, cancelled=gone)


def code_of_link(link: str, page: WebPage) -> str:
    """The code of an invitation in a link to a page.

    Raises:
        InvalidParameterError: if it is no such link; the message does not quote it.
    """
    code = link.strip().removeprefix(f"{page.link}&invitation=")
    try:
        is_code = len(from_text(code, name="code")) == CODE_BYTES
    except InvalidParameterError:
        is_code = False
    if not is_code:
        raise InvalidParameterError(f"link must be that of an invitation to {page.url}; it is another, or cut off.")
    return code


def ready_made(collection: Collection, people: int, key: IssuerKey) -> list[Invitation]:
    """Invitations that hold their tokens.

    Raises:
        InvalidParameterError: if the collection does not say that tokens are ready-made, or names another key.
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
