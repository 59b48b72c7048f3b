"""The commands about the state of collections: `collect status` and `collect forget`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.options import Json, print_json, require_extra, show_document
from shuffledp.cli.send_command import Certificates
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError, UnreachableError

if TYPE_CHECKING:
    from shuffledp.survey import Collection

_PATIENCE, _PATIENCE_OF_EACH = 10.0, 1.0  # seconds of retries if a service does not answer; among several
_FILES = ("*.collection", "*/*.collection")


def status(
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", readable=False, help="A collection file; with --all a folder.")
    ],
    *,
    all_: Annotated[
        bool, typer.Option("--all", help="Of all collection files in a folder, and in the folders in it.")
    ] = False,
    ca: Certificates = None,
    json: Json = False,
) -> None:
    """Ask the shuffler whether a collection is open, and whether enough have answered; never how many."""
    from shuffledp.documents.collections.sending_document import status_document
    from shuffledp.survey import Collection

    if all_:
        _status_of_all(collection, ca, as_json=json)
        return
    read = Collection.read(collection)
    found = status_of(read, ca)
    if json:
        print_json({"collection": read.id.hex()} | found)
    else:
        show_document(lambda: status_document(read, found))


def status_of(collection: "Collection", ca: Path | None, *, patience: float = _PATIENCE) -> dict[str, Any]:
    """The shuffler's answer about the state of a collection."""
    require_extra("service", "asking", ["httpx"])
    from shuffledp.parties.service import client

    with client.new_client(certificates=ca) as asking:
        return client.status_of(collection, asking, patience=patience)


def _status_of_all(folder: Path, ca: Path | None, *, as_json: bool) -> None:
    """Show the state of each collection in a folder; silent hosts do not stop the others."""
    from shuffledp.documents.collections.sending_document import statuses_document
    from shuffledp.survey import Collection

    files = sorted({each for pattern in _FILES for each in folder.glob(pattern)})
    if not files:
        raise InvalidParameterError(f"--all must be given with a folder of collection files; {folder} has none.")
    found: list[tuple[Path, Collection, dict[str, Any]]] = []
    silent = 0
    for file in files:
        read = Collection.read(file)
        try:
            found.append((file, read, status_of(read, ca, patience=_PATIENCE_OF_EACH)))
        except RemoteProtocolError:
            found.append((file, read, {"phase": "no answer", "at_least_minimum": None}))
            silent += 1
    if as_json:
        several = [{"file": str(file), "collection": read.id.hex()} | each for file, read, each in found]
        print_json({"collections": several})
    else:
        show_document(lambda: statuses_document(found))
    if silent:
        raise UnreachableError(f"all shufflers must answer; {silent} of {len(files)} collections got no answer.")


def forget(
    *,
    config: Annotated[
        Path,
        typer.Option(metavar="FILE", readable=False, help="The configuration of a shuffler, analyzer or issuer."),
    ],
) -> None:
    """Remove what a service keeps of ended collections that its configuration names no more, and list what stays.

    Take them out of `collections` first, and start the service again; an analyzer or an issuer is stopped meanwhile.
    Releases, keys and collection files are never removed.
    """
    require_extra("service", "forgetting", ["starlette"])
    from shuffledp.documents.collections.sending_document import forgotten_document
    from shuffledp.parties.kit.old_states import config_of, forget

    read = config_of(config)
    states = list(forget(read))
    show_document(lambda: forgotten_document([(each.collection, each.held, each.stays) for each in states]))
