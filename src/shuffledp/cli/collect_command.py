"""The commands about a collection: `new` and `show` before it begins, `close` while it is open."""

from collections.abc import Callable
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.collection_options import (
    Analyzer,
    DirectoryFile,
    Every,
    FetchWithin,
    ForShow,
    Names,
    Passage,
    Result,
    Web,
    service_of,
)
from shuffledp.cli.ledger_command import reserving
from shuffledp.cli.options import (
    Force,
    Json,
    LedgerPath,
    Population,
    TaskFile,
    print_json,
    require_extra,
    show_document,
)
from shuffledp.cli.send_command import Certificates, CollectionFile
from shuffledp.cli.states_command import status_of
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError

if TYPE_CHECKING:
    import httpx

    from shuffledp.documents.blocks import Block
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.survey import Collection, Service

collect_app = typer.Typer(
    name="collect",
    help="Collections over a network: make one, show it, close it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_CODE = ".svg"  # how the file of a link as a QR code ends, beside its collection's
_DAYS_TO_FETCH = 30
_PATIENCE = 10.0  # seconds of retries if a service does not answer


@collect_app.callback()
def _collect() -> None:
    """Collections over a network: make one, show it, close it."""


def new(
    task: TaskFile,
    *,
    shuffler: Annotated[
        list[str], typer.Option(metavar="URL", help="Where reports are sent to; once for each host of a sum.")
    ],
    shuffler_key: Annotated[
        list[Path],
        typer.Option(metavar="FILE", readable=False, help="The shuffler's public key file; once for each, in order."),
    ],
    analyzer_key: Annotated[Path, typer.Option(metavar="FILE", readable=False, help="The analyzer's public key file.")],
    closes: Annotated[str, typer.Option(metavar="DATE", help="In UTC: the end of a day, or 2026-12-01T12:00:00Z.")],
    output: Annotated[Path, typer.Option(metavar="COLLECTION", help="The collection file to write.")],
    analyzer: Analyzer = None,
    fetch_within: FetchWithin = None,
    opens: Annotated[str | None, typer.Option(metavar="DATE", help="In UTC; at once if left out.")] = None,
    every: Every = None,
    directory: DirectoryFile = None,
    passage: Passage,
    web: Web = None,
    names: Names,
    result: Result = None,
    demonstration: ForShow = False,
    ledger: LedgerPath = None,
    population: Population = "",
    json: Json = False,
    force: Force = False,
) -> None:
    """Write the file of a collection: the task, both parties with their keys, and the dates.

    It is what people are invited to, and what both services are given. Nothing in it can be changed afterwards: the
    same task next week is another collection.
    """
    from shuffledp.core.instants import end_of_day, instant, written
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.parties.service.collection_terms import require_short
    from shuffledp.survey import Collection, PartyNames, Task

    shufflers = _shufflers(shuffler, shuffler_key)
    _check_addresses(analyzer=analyzer, issuer=passage.issuer, web=web)
    _check_pairs(issuer=passage.issuer, issuer_key=passage.issuer_key, page_name=names.page_name, web=web)
    listed = None if directory is None else Directory.read(directory)
    collection = Collection.new(
        Task.read(task),
        shuffler=shufflers[0],
        further_shufflers=tuple(shufflers[1:]),
        analyzer=service_of(analyzer or "", analyzer_key),
        opens=None if opens is None else written(instant(opens=opens)),
        closes=end_of_day(closes),
        every=every,
        fetch_by=_fetch_by(analyzer, fetch_within, end_of_day(closes)),
        directory=None if listed is None else listed.bound,
        **passage.fields,
        names=PartyNames(*astuple(names)),
        result=result,
        demonstration=demonstration,
        now=datetime.now(UTC),
    )
    require_short(collection)
    if listed is not None:
        _check_walk(collection, listed)
    with reserving(ledger, population) as reserve:
        collection = _write(collection, output, web, reserve, force=force)
    _show(collection, output, as_json=json, ledger=ledger)


def show(collection: CollectionFile, *, json: Json = False) -> None:
    """Show what a collection asks, who its parties are, until when it is open, and what it will guarantee.

    The fingerprints are those that both parties see of their own keys by `shuffledp keys show`.
    """
    from shuffledp.survey import Collection

    _show(Collection.read(collection), None, as_json=json)


def close(
    collection: CollectionFile,
    *,
    key: Annotated[
        Path,
        typer.Option(
            metavar="FILE", readable=False, help="The shuffler's private key file; of several, one's or the analyst's."
        ),
    ],
    ca: Certificates = None,
) -> None:
    """Close a collection before its date, which only the shuffler's key can; all hosts of a sum are told.

    What was taken in is shuffled and handed on if there are enough reports, and destroyed if there are not. Where there
    is an issuer, it is told, too: it signs no more, and forgets who has taken part.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.documents.collections.sending_document import status_document
    from shuffledp.files.key_files import read_key
    from shuffledp.parties.service.client import answer_to, new_client
    from shuffledp.parties.wire.closing import CLOSE_TYPE, CloseRequest
    from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey
    from shuffledp.survey import Collection

    read, held = Collection.read(collection), read_key(key)
    if not isinstance(held, (ShufflerKey, AnalyzerKey) if read.further_shufflers else ShufflerKey):
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
        raise RemoteProtocolError(
            "the issuer must be told that the collection is closed, or it goes on signing, and keeps who took part, "
            f"until the date. {untold}"
        )


def _close_at_all(collection: "Collection", body: bytes, client: "httpx.Client") -> list[RemoteProtocolError]:
    """Errors of hosts that could not be told to close; a single shuffler's error is raised at once."""
    from shuffledp.parties.service.client import answer_to
    from shuffledp.parties.wire.closing import CLOSE_TYPE

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


def _show(collection: "Collection", written: Path | None, *, as_json: bool, ledger: Path | None = None) -> None:
    from shuffledp.documents.blocks import told
    from shuffledp.documents.collections.collection_document import collection_as_dict, collection_document, next_steps
    from shuffledp.documents.document import Section

    if as_json:
        print_json(collection_as_dict(collection))
        return
    blocks = () if written is None else (*_looked_up(collection), *next_steps(collection, written))
    if ledger is not None:
        blocks = (*told(f"Its release is reserved in {ledger}, as entry {collection.id.hex()[:12]}."), *blocks)
    files = Section(anchor="files", title="Files", blocks=blocks)
    show_document(lambda: collection_document(collection).followed_by(files))


def _shufflers(urls: list[str], keys: list[Path]) -> "list[Service]":
    """Shufflers at these addresses with their keys, in their order."""
    for each in urls:
        _check_addresses(shuffler=each)
    if len(urls) != len(keys):
        raise InvalidParameterError(
            f"--shuffler and --shuffler-key must be given equally often; got {len(urls)} and {len(keys)}."
        )
    return list(map(service_of, urls, keys))


def _check_pairs(*, issuer: str | None, issuer_key: Path | None, page_name: str | None, web: str | None) -> None:
    """Refuse an option without the option that it needs."""
    if (issuer is None) != (issuer_key is None):
        raise InvalidParameterError("--issuer and --issuer-key must be given together, or neither of them.")
    if page_name is not None and web is None:
        raise InvalidParameterError("--page-name must be left out without --web, the address of the page.")


def _fetch_by(analyzer: str | None, days: int | None, closes: str) -> str | None:
    """Date at which batches that nobody has fetched are destroyed; None where the analyzer has an address."""
    from shuffledp.core.instants import instant, written
    from shuffledp.core.validate import integer_at_least

    if analyzer is not None:
        if days is not None:
            raise InvalidParameterError("--fetch-within must be left out with --analyzer, to whom batches are sent.")
        return None
    days = _DAYS_TO_FETCH if days is None else days
    integer_at_least(1, fetch_within=days)
    return written(instant(closes=closes) + timedelta(days=days))


def _check_addresses(**given: str | None) -> None:
    """Refuse an invalid address under the name of its option; later errors would name it "url"."""
    from shuffledp.survey.addresses import check_address

    for name, url in given.items():
        if url is not None:
            check_address(**{name: url})


def _check_walk(collection: "Collection", directory: "Directory") -> None:
    """Refuse an impossible walk before any file of it is written."""
    from shuffledp.parties.relay.terms import RelayTerms

    _ = RelayTerms(collection=collection, directory=directory).shuffler


def _write(
    collection: "Collection",
    output: Path,
    web: str | None,
    reserve: "Callable[[Collection], None]",
    *,
    force: bool,
) -> "Collection":
    """Write a collection, and its page if it has an address for one; returns the collection as written."""
    from shuffledp.files.writing import new_file
    from shuffledp.survey import WebPage

    if web is not None and output.suffix in (".html", _CODE):
        raise InvalidParameterError(f"--output must not be called as the page or the QR code beside it; got {output}.")
    if web is not None and collection.issuer is None:
        require_extra("service", "a QR code", ["segno"])
    with new_file(output, force=force, is_ours=_is_ours) as file:
        if web is not None:
            from shuffledp.parties.client.respondents_page import with_page

            collection, content = with_page(collection, web)
            WebPage.beside(file).write_bytes(content)
        if (page := collection.page) is not None and collection.issuer is None:
            from shuffledp.parties.client.link_codes import link_code

            file.with_suffix(_CODE).write_bytes(link_code(page.link))
        file.write_bytes(collection.canonical + b"\n")
        reserve(collection)
    return collection


def _looked_up(collection: "Collection") -> "tuple[Block, ...]":
    """A warning if parties with two host names share a network address, as far as this machine can tell."""
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


def _is_ours(file: Path) -> bool:
    """Whether a file is a collection, its page or the QR code of its link, which may be replaced."""
    from shuffledp.parties.client.link_codes import is_link_code
    from shuffledp.parties.client.respondents_page import is_page
    from shuffledp.survey import Collection

    if file.suffix == _CODE:
        return is_link_code(file)
    if file.suffix == ".html":
        return is_page(file)
    try:
        Collection.read(file)
    except InvalidParameterError:
        return False
    return True
