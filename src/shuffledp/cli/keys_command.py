"""The commands about keys: `keys new`, `keys show` and `keys rotate`."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import print_json, show_document, whole
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.wire.keys import PrivateKey
    from shuffledp.parties.wire.published_keys import PublishedKey

keys_app = typer.Typer(
    name="keys", help="Keys of the parties of a collection.", no_args_is_help=True, rich_markup_mode=None
)
KeyFile = Annotated[
    Path, typer.Argument(metavar="FILE", readable=False, help="A key: the private file, or the public one beside it.")
]
Output = Annotated[Path, typer.Option(metavar="FILE", help="The private file to write; FILE.pub is public.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


class KeyRole(StrEnum):
    """Role of the key's owner."""

    ANALYZER = "analyzer"
    SHUFFLER = "shuffler"
    GATEWAY = "gateway"
    ISSUER = "issuer"


class KemName(StrEnum):
    """Method by which reports are sealed to an analyzer's key."""

    X25519 = "x25519"
    HYBRID = "mlkem768-x25519"


@keys_app.callback()
def _keys() -> None:
    """Keys of the parties of a collection."""


def new(
    *,
    role: Annotated[
        KeyRole,
        typer.Option(
            help="analyzer: opens reports. shuffler: signs the batches that it sends on. gateway: of a shuffler, opens "
            "what comes through a relay. issuer: signs tokens, of one collection."
        ),
    ],
    output: Output,
    kem: Annotated[
        KemName, typer.Option(help="Of an analyzer: how reports are sealed; the longer name also by ML-KEM.")
    ] = KemName.X25519,
    json: Json = False,
) -> None:
    """Make a key: a private file that stays where it is, and a public one for everybody.

    People who compare the fingerprint that both parties print know that they have the same key.
    """
    from shuffledp.core.instants import written
    from shuffledp.files.key_files import write_key
    from shuffledp.parties.wire.keys import Role, new_key

    now = datetime.now(UTC)
    key = new_key(Role(role.value), kem=kem.value)
    published = _published(key, written(now))
    write_key(output, key, published)
    _show(published, now, *_written_files(output), as_json=json)


def show(file: KeyFile, *, json: Json = False) -> None:
    """Show the fingerprint of a key, what it is for, and whether it is used now.

    Where the private file is named, it is also made sure that both belong together.
    """
    from shuffledp.files.key_files import public_file, read_key, read_public

    published = read_public(file)
    if file != public_file(file):
        found = read_key(file, published.role)
        if (found.role, found.public) != (published.role, published.public):
            raise InvalidParameterError(
                f"{file} must be the private key of {public_file(file)}; it belongs to another public key."
            )
    _show(published, datetime.now(UTC), as_json=json)


def rotate(
    file: KeyFile,
    *,
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="The successor: written anew, or a key that was made before.")
    ],
    active_from: Annotated[
        str | None, typer.Option(metavar="DATE", help="When the successor takes over, in UTC; at once if left out.")
    ] = None,
    overlap: Annotated[int, whole("Days for which the old key is taken beside the new one.")] = 2,
    json: Json = False,
) -> None:
    """Name the successor of a key, and when it takes over.

    It can take over only in collections that name it: in those that are made afterwards. Of a successor that has been
    named the date is changed: to now, if a key has leaked.
    """
    from shuffledp.core.instants import instant, written
    from shuffledp.core.validate import integer_at_least
    from shuffledp.files.key_files import read_public, rewrite_public, write_key
    from shuffledp.parties.wire.keys import new_key

    integer_at_least(0, overlap=overlap)
    now, old = datetime.now(UTC), read_public(file)
    begins = written(now if active_from is None else instant(active_from=active_from))
    if output.exists():
        successor = replace(read_public(output), active_from=begins)
        followed = old.followed_by(successor, overlap=timedelta(days=overlap))
        rewrite_public(output, successor)
    else:
        key = new_key(old.role, kem=old.kem or "x25519", other_than={each[0] for each in old.several})
        successor = _published(key, begins)
        followed = old.followed_by(successor, overlap=timedelta(days=overlap))
        write_key(output, key, successor)
    rewrite_public(file, followed)
    _show(followed, now, *_written_files(output), as_json=json)


def _published(key: "PrivateKey", begins: str) -> "PublishedKey":
    from shuffledp.parties.wire.published_keys import PublishedKey

    return PublishedKey.of(key, active_from=begins)


def _written_files(path: Path) -> tuple[str, str]:
    return f"Private: {path} (keep it to yourself, with a copy of it)", f"Public: {path}.pub (for everybody)"


def _show(published: "PublishedKey", now: datetime, *paths: str, as_json: bool) -> None:
    from shuffledp.documents.collections.collection_document import key_as_dict, key_document

    if as_json:
        print_json(key_as_dict(published, now))
    else:
        show_document(lambda: key_document(published, now, *paths))
