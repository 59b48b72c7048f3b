"""The command `collect new`: the file of a collection, for services of one's own or registered at mixes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.collect_command import show_collection
from shuffledp.cli.collection_options import (
    Analyzer,
    DirectoryFile,
    Every,
    FetchWithin,
    ForShow,
    MixOptions,
    NameOptions,
    PassageOptions,
    Result,
    Web,
    published_key,
    service_of,
)
from shuffledp.cli.ledger_command import reserving
from shuffledp.cli.options import Force, Json, LedgerPath, Population, TaskFile, require_extra
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError

if TYPE_CHECKING:
    from shuffledp.parties.organizer.mix_client import MixClient
    from shuffledp.parties.organizer.registration import Mixes
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.survey import Collection, Service, Task

_CODE = ".svg"  # how the file of a link as a QR code ends, beside its collection's
_DAYS_TO_FETCH = 30
_BY_MIX = "mix"  # in the place of the page's address


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of a collection at services that were set up for it, in place of a mix."""

    shuffler: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Where reports are sent to; once for each host of a sum.")
    ] = None
    shuffler_key: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", readable=False, help="The shuffler's public key file; once for each, in order."),
    ] = None
    analyzer: Analyzer = None
    fetch_within: FetchWithin = None
    directory: DirectoryFile = None


def new(
    task: TaskFile,
    *,
    services: ServiceOptions,
    at: MixOptions,
    analyzer_key: Annotated[Path, typer.Option(metavar="FILE", readable=False, help="The analyzer's public key file.")],
    closes: Annotated[str, typer.Option(metavar="DATE", help="In UTC: the end of a day, or 2026-12-01T12:00:00Z.")],
    output: Annotated[Path, typer.Option(metavar="COLLECTION", help="The collection file to write.")],
    opens: Annotated[str | None, typer.Option(metavar="DATE", help="In UTC; at once if left out.")] = None,
    every: Every = None,
    passage: PassageOptions,
    web: Web = None,
    names: NameOptions,
    result: Result = None,
    demonstration: ForShow = False,
    ledger: LedgerPath = None,
    population: Population = "",
    json: Json = False,
    force: Force = False,
) -> None:
    """Write the file of a collection: the task, both parties with their keys, and the dates.

    It is what people are invited to, and what both services are given. Nothing in it can be changed afterwards: the
    same task next week is another collection. With --mix it is registered there, so that people can answer at once.
    """
    from shuffledp.core.instants import end_of_day, instant, written
    from shuffledp.parties.service.collection_terms import require_short
    from shuffledp.survey import PartyNames, Task

    _check_addresses(analyzer=services.analyzer, issuer=passage.issuer, web=None if at.mix and web == _BY_MIX else web)
    _check_pairs(issuer=passage.issuer, issuer_key=passage.issuer_key, page_name=names.page_name, web=web)
    fields = {
        **passage.fields,
        "closes": end_of_day(closes),
        "opens": None if opens is None else written(instant(opens=opens)),
        "every": every,
        "names": PartyNames(*astuple(names)),
        "result": result,
        "demonstration": demonstration,
    }
    with ExitStack() as stack:
        mixes = None if at == MixOptions() else stack.enter_context(_reached(at, services))
        if mixes is None:
            collection = _for_services(Task.read(task), services, analyzer_key, fields)
        else:
            collection = _for_mixes(Task.read(task), mixes, analyzer_key, fields)
            web = mixes.page_url(collection.nonce) if web == _BY_MIX else web
        require_short(collection)
        reserve, refused = stack.enter_context(reserving(ledger, population)), list[RemoteProtocolError]()

        def then(made: "Collection") -> None:
            reserve(made)
            if mixes is not None:
                refused.extend(_refusals(made, mixes, output))

        collection = _write(collection, output, web, then, force=force)
        if refused:  # the file stays, which is needed to take it back
            raise refused[0]
    show_collection(collection, output, as_json=json, registered=mixes is not None, ledger=ledger)


def _reached(at: MixOptions, services: ServiceOptions) -> AbstractContextManager["Mixes"]:
    """Context with a connection to the mixes; options that do not fit ``--mix`` are refused."""
    if at.mix is None:
        raise InvalidParameterError("--code, --key and --ca must be left out without --mix.")
    if services != ServiceOptions():
        raise InvalidParameterError(
            "--shuffler, --shuffler-key, --analyzer, --fetch-within and --directory must be left out with --mix, which "
            "takes the answers in by keys of its own, until the analyst fetches them."
        )
    require_extra("service", "asking", ["httpx"])
    return at.reached()


def _refusals(made: "Collection", mixes: "Mixes", output: Path) -> list[RemoteProtocolError]:
    """Register a collection; return the error of a mix that refused after other mixes had accepted.

    It says where the collection stands, and how the analyst takes it back.
    """
    from shuffledp.documents.words import listed

    have: list[MixClient] = []
    try:
        mixes.register(made, have)
    except RemoteProtocolError as error:
        if not have:
            raise
        told = (
            f"{error} It stands at {listed([each.url for each in have])}; nobody has its file. Take it back by "
            f"shuffledp collect close {output} --key KEY, the analyst's, and make another one."
        )
        return [type(error)(told)]
    return []


def _for_mixes(task: "Task", mixes: "Mixes", analyzer_key: Path, fields: dict[str, Any]) -> "Collection":
    """Collection of a task at mixes, which is not registered yet."""
    mixes.check(people=task.people.expected or 0, closes=fields["closes"])
    return mixes.collection(task, published_key(analyzer_key), **fields)


def _for_services(task: "Task", services: ServiceOptions, analyzer_key: Path, fields: dict[str, Any]) -> "Collection":
    """Collection of a task at services of one's own."""
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.survey import Collection

    if services.shuffler is None or services.shuffler_key is None:
        raise InvalidParameterError(
            "--shuffler URL and --shuffler-key FILE must be given, of whoever takes the answers in, or --mix URL, of a "
            "mix that somebody else runs."
        )
    shufflers = _shufflers(services.shuffler, services.shuffler_key)
    listed = None if services.directory is None else Directory.read(services.directory)
    collection = Collection.new(
        task,
        shuffler=shufflers[0],
        further_shufflers=tuple(shufflers[1:]),
        analyzer=service_of(services.analyzer or "", analyzer_key),
        fetch_by=_fetch_by(services.analyzer, services.fetch_within, fields["closes"]),
        directory=None if listed is None else listed.bound,
        now=datetime.now(UTC),
        **fields,
    )
    if listed is not None:
        _check_walk(collection, listed)
    return collection


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
    """Refuse an impossible walk before any file of the collection is written."""
    from shuffledp.parties.relay.terms import RelayTerms

    _ = RelayTerms(collection=collection, directory=directory).shuffler


def _write(
    collection: "Collection",
    output: Path,
    web: str | None,
    then: "Callable[[Collection], None]",
    *,
    force: bool,
) -> "Collection":
    """Write a collection, and its page if ``web`` gives an address; return the collection as written.

    With all files in place ``then`` is called; if it fails, there are none.
    """
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
        then(collection)
    return collection


def _is_ours(file: Path) -> bool:
    """Whether a file may be replaced: it is a collection, a respondents' page, or the QR code of a link."""
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
