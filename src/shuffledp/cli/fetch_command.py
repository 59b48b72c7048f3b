"""The command `collect fetch`: an analyst without a service fetches what the shuffler has mixed."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import Earlier, LedgerPath, require_extra, screen, show_document
from shuffledp.cli.send_command import AnalystKeys, Certificates, CollectionFile, read_analyst_keys
from shuffledp.core.errors import InvalidParameterError


def fetch(
    collection: CollectionFile,
    *,
    key: AnalystKeys,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where batches are kept, and the release is written.")],
    once: Annotated[bool, typer.Option("--once", help="Take what is there, and do not wait for the close.")] = False,
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
    found = asyncio.run(
        fetch_release(read, keys, folder, once=once, certificates=ca, earlier=earlier or (), waiting=Waiting(once))
    )
    if ledger is not None and found.releases:
        from shuffledp.files.ledger_use import charge_collection

        charge_collection(ledger, read, (folder / "statement.json" for folder in found.releases))
    show_document(lambda: fetched_document(read, found.releases, has_ended=found.has_ended, missing=found.missing))


class Waiting:
    """Notices on the error stream whenever the shuffler begins or ceases to answer."""

    def __init__(self, once: bool) -> None:
        self._said = once  # the last that was said; a wait of one request is not worth a word

    def __call__(self, is_reached: bool) -> None:
        """Print whether the shuffler answers, if that has changed."""
        if is_reached != self._said and not screen().quiet:
            line = "Waiting for the close. Stop it at any time, and run the same command again."
            typer.echo(line if is_reached else "The shuffler does not answer; trying again.", err=True)
        self._said = is_reached
