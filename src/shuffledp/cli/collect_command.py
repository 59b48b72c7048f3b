"""The commands about a collection, in the order of use: `show`, `close` and `fetch`."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Earlier, Json, LedgerPath, print_json, require_extra, screen, show_document
from shuffledp.cli.send_command import AnalystKeys, Certificates, CollectionFile, read_analyst_keys
from shuffledp.cli.states_command import status_of
from shuffledp.core.errors import (
    AgreementError,
    BatchTooSmallError,
    InvalidParameterError,
    RemoteProtocolError,
    ShuffleDPError,
    SpoiltReportsError,
)

if TYPE_CHECKING:
    import httpx

    from shuffledp.documents.blocks import Block
    from shuffledp.parties.service.awaited import Awaited
    from shuffledp.parties.service.fetched_release import FetchedRelease
    from shuffledp.parties.wire.keys import AnalyzerKey
    from shuffledp.survey import Collection

collect_app = typer.Typer(
    name="collect",
    help="Collections over a network: make one, show it, close it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_PATIENCE = 10.0  # seconds of retries if a service does not answer


@collect_app.callback()
def _collect() -> None:
    """Collections over a network: make one, show it, close it."""


def show(collection: CollectionFile, *, json: Json = False) -> None:
    """Show what a collection asks, who its parties are, until when it is open, and what it will guarantee.

    The fingerprints are those that both parties see of their own keys by `shuffledp keys show`.
    """
    from shuffledp.survey import Collection

    show_collection(Collection.read(collection), None, as_json=json)


def close(
    collection: CollectionFile,
    *,
    key: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="The shuffler's private key file, or of several one's; at mixes, or of several, the analyst's.",
        ),
    ],
    ca: Certificates = None,
) -> None:
    """Close a collection before its date, which only the shuffler's key can; all hosts of a sum are told.

    At a mix, or of several hosts, the analyst's key can, too.

    What was taken in is shuffled and handed on if there are enough reports, and destroyed if there are not. Where there
    is an issuer, it is told, too: it signs no more, and forgets who has taken part.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.sending_document import status_document
    from shuffledp.files.key_files import read_key
    from shuffledp.parties.service.client import answer_to, new_client
    from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
    from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey
    from shuffledp.survey import Collection

    read, held = Collection.read(collection), read_key(key)
    if not isinstance(held, (ShufflerKey, AnalyzerKey) if read.analyzer.fetches else ShufflerKey):
        raise InvalidParameterError(f"--key must be the shuffler's; got {key}, which is an analyzer's.")
    body = CloseRequest.by(held, read.id, datetime.now(UTC)).encode()
    with new_client(certificates=ca) as client:
        away = _close_at_all(read, body, client)
        found, untold = status_of(read, ca), None
        if found["phase"] == "open":
            raise RemoteProtocolError(
                f"{read.shuffler.url} must close the collection; it says that it is open. Run the same command again "
                "later."
            )
        if read.issuer is not None and not read.ready_made:
            try:
                answer_to(
                    client, "POST", f"{read.issuer.url}{read.path}/close", _PATIENCE, body=body, media_type=CLOSE_TYPE
                )
            except RemoteProtocolError as error:
                untold = error
    show_document(lambda: status_document(read, found))
    if away:
        raise away[0]
    if untold is not None:
        raise type(untold)(
            "the issuer must be told that the collection is closed, or it goes on signing, and keeps who took part, "
            f"until the date. {untold}"
        )


def _close_at_all(collection: "Collection", body: bytes, client: "httpx.Client") -> list[RemoteProtocolError]:
    """Close a collection at all hosts; return errors, but raise the error of a single shuffler."""
    from shuffledp.parties.service.client import answer_to
    from shuffledp.parties.wire.close_request import CLOSE_TYPE

    away = []
    for each in collection.hosts:
        url = f"{each.url}{collection.path}/close"
        try:
            answer_to(client, "POST", url, _PATIENCE, body=body, media_type=CLOSE_TYPE)
        except RemoteProtocolError as error:
            if not collection.further_shufflers:
                raise
            away.append(error)
    return away


def fetch(
    collection: CollectionFile,
    *,
    key: AnalystKeys,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where batches are kept, and the release is written.")],
    once: Annotated[bool, typer.Option("--once", help="Take what is there, and do not wait for the close.")] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Send the result to the mix, which shows it to people from then on.")
    ] = False,
    earlier: Earlier = None,
    ledger: LedgerPath = None,
    ca: Certificates = None,
) -> None:
    """Fetch what the shuffler has mixed, open it and write the release; the analyst needs no service.

    Waits until the collection is closed. Interrupted, or run again, it goes on where it was.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.sending_document import fetched_document
    from shuffledp.parties.service.fetched_release import fetch_release
    from shuffledp.survey import Collection

    read = Collection.read(collection)
    if not read.analyzer.fetches:
        raise InvalidParameterError(
            f"a collection must have been made without --analyzer to be fetched; batches of {collection} are sent to "
            f"{read.analyzer.url}."
        )
    keys = read_analyst_keys(key)
    if publish and once:
        raise InvalidParameterError("--publish must be left out with --once: a result comes after the close.")
    try:
        with resumable():
            fetching = fetch_release(
                read, keys, folder, once=once, certificates=ca, earlier=earlier or (), waiting=WaitingNotices(once=once)
            )
            found = asyncio.run(fetching)
    except (BatchTooSmallError, AgreementError, SpoiltReportsError) as error:
        if publish:
            publish_result(read, keys[0], error, ca)
        raise
    if ledger is not None and found.releases:
        from shuffledp.files.ledger_use import charge_collection

        charge_collection(ledger, read, (folder / "statement.json" for folder in found.releases))
    show_document(lambda: fetched_document(read, found.releases, has_ended=found.has_ended, missing=found.missing))
    if publish:
        publish_result(read, keys[0], found, ca)


def publish_result(
    collection: "Collection", key: "AnalyzerKey", found: "FetchedRelease | ShuffleDPError", ca: Path | None
) -> None:
    """Publish the result, or the fact that nothing was released, at the mix that shows results."""
    from shuffledp.documents.collections.survey_document import published_document
    from shuffledp.parties.organizer.mix_client import MixClient
    from shuffledp.parties.organizer.mix_survey import publish
    from shuffledp.parties.service.client import new_client

    with new_client(certificates=ca) as client:
        publish(collection, key, MixClient(collection.shuffler.url, client), found)
    show_document(lambda: published_document(collection, released=not isinstance(found, Exception)))


@contextmanager
def resumable() -> Iterator[None]:
    """Context of a command that goes on where it was; where a signal ends it, that is said."""
    try:
        yield
    except SystemExit:
        if not screen().quiet:
            typer.echo("Stopped. Run the same command again, and it goes on where it was.", err=True)
        raise


class WaitingNotices:
    """Notices on the error stream of what is waited for, whenever that changes."""

    def __init__(self, *, once: bool) -> None:
        self._is_quiet = once or screen().quiet  # a wait of one request is not worth a word
        self._hint, self._said = " Stop it at any time, and run the same command again.", ""

    def __call__(self, awaited: "Awaited") -> None:
        """Print what is waited for, if that is something else than before."""
        if (line := awaited.text) not in ("", self._said) and not self._is_quiet:
            typer.echo(line + self._hint, err=True)
            self._hint = ""
        self._said = line


def show_collection(
    collection: "Collection",
    written: Path | None,
    *,
    as_json: bool,
    registered: bool = False,
    ledger: Path | None = None,
) -> None:
    """Print a collection as JSON, or as text with the next steps for its files if they were written."""
    from shuffledp.documents.blocks import told
    from shuffledp.documents.collections.collection_document import collection_as_dict, collection_document, next_steps
    from shuffledp.documents.document import Section

    if as_json:
        print_json(collection_as_dict(collection))
        return
    blocks = (
        () if written is None else (*_looked_up(collection), *next_steps(collection, written, registered=registered))
    )
    if ledger is not None:
        blocks = (*told(f"Its release is reserved in {ledger}, as entry {collection.id.hex()[:12]}."), *blocks)
    files = Section(anchor="files", title="Files", blocks=blocks)
    show_document(lambda: collection_document(collection).followed_by(files))


def _looked_up(collection: "Collection") -> "tuple[Block, ...]":
    """A warning if this machine finds that parties with two host names share a network address."""
    from shuffledp.documents.blocks import Role, told
    from shuffledp.survey.parties import at_one_address

    pairs = at_one_address([url for role, url in collection.addresses.items() if url and role != "page"])
    return told(
        *(
            f"{first} and {second} have the same address of the network: if one operator runs both, it could see who "
            "sent which report. Two organizations may also share a provider; ask them."
            for first, second in pairs
        ),
        role=Role.DANGER,
    )
