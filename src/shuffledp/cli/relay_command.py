"""The commands of a relay: `join` and `directory` before it, `serve`, `run` and `release` in it, and `demo`."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Earlier, Force, Json, print_json, require_extra, show_document, whole
from shuffledp.cli.send_command import AnalystKeys, Certificates, CollectionFile, read_analyst_keys
from shuffledp.cli.serve_command import NEEDED, Certificate, CertificateKey, Config, run_service
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.parties.relay.journal import Journal
    from shuffledp.parties.relay.member import Transport
    from shuffledp.parties.relay.member_keys import MemberKey
    from shuffledp.parties.relay.terms import RelayTerms

DirectoryFile = Annotated[
    Path, typer.Option(metavar="DIRECTORY", readable=False, help="The members; the one that the collection names.")
]
Shared = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", readable=False, help="A folder that all share, in place of the post office."),
]
Patience = Annotated[
    float, typer.Option(help="Seconds for which others, and a post office that is away, are waited for.")
]

relay_app = typer.Typer(
    name="relay",
    help="Walks of real reports, which members pass on themselves.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@relay_app.callback()
def _relay() -> None:
    """Walks of real reports, which members pass on themselves."""


def join(
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="A pseudonym, by which other members know you.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The private file to write; FILE.pub is your entry.")],
    json: Json = False,
) -> None:
    """Make a member's keys, and the signed entry to send to whoever makes the directory.

    The private file stays where it is. One pair of files is good for one person and one directory.
    """
    from shuffledp.documents.collections.collection_document import member_document
    from shuffledp.parties.relay.member_keys import MemberKey

    entry = MemberKey.generate().write(output, name)
    if json:
        print_json({"name": entry.name, "fingerprint": entry.fingerprint, "entry": entry.to_dict()})
        return
    paths = f"Private: {output} (keep it to yourself)", f"Entry: {output}.pub (for the operator of the directory)"
    show_document(lambda: member_document(entry.name, entry.fingerprint, *paths))


def directory(
    entries: Annotated[
        list[Path] | None, typer.Argument(metavar="[ENTRY...]", readable=False, help="Entries of members to list.")
    ] = None,
    *,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="The operator's private key, of a shuffler.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="DIRECTORY", help="The directory to write.")] = None,
    known: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIRECTORY", readable=False, help="A directory whose members are listed too."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A member of it to leave out; once for each.")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Sign the list of members; or, with --from alone, show one.

    `collect new --directory` fixes it in a collection. A member who leaves is left out of a new directory, for a new
    collection: of one that has begun nobody can be taken off.
    """
    from shuffledp.files.writing import new_file
    from shuffledp.parties.relay.directory import Directory

    before = None if known is None else Directory.read(known)
    if key is None and output is None and not entries and not without and before is not None:
        _show(before, as_json=json)
        return
    made = _signed(before, entries or [], without or [], key, output)
    with new_file(output or Path(), force=force, is_ours=_is_directory) as file:
        file.write_bytes(made.canonical + b"\n")
    _show(made, f"Written: {output}. Send it to all members, and to the analyst.", as_json=json)


def _signed(
    before: "Directory | None", entries: list[Path], without: list[str], key: Path | None, output: Path | None
) -> "Directory":
    """The directory of all these members, signed."""
    from shuffledp.files.key_files import read_key
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.parties.relay.member_keys import Entry
    from shuffledp.parties.wire.keys import ShufflerKey

    if key is None or output is None:
        raise InvalidParameterError("--key and --output must be given to sign a directory; or --from alone to show it.")
    if without and before is None:
        raise InvalidParameterError("--from must be given with --without, which leaves out members of a directory.")
    held = read_key(key)
    if not isinstance(held, ShufflerKey):
        raise InvalidParameterError(f"--key must be a key that signs, of a shuffler; got {key}, an analyzer's.")
    kept = () if before is None else before.without(without)
    return Directory.signed([*kept, *map(Entry.read, entries)], held)


def _show(found: "Directory", *paths: str, as_json: bool) -> None:
    from shuffledp.documents.collections.collection_document import directory_document

    members = [(each.name, each.fingerprint) for each in found.entries]
    if as_json:
        listed = [{"name": name, "fingerprint": fingerprint} for name, fingerprint in members]
        print_json({"fingerprint": found.fingerprint, "sha256": found.bound.sha256, "members": listed})
    else:
        show_document(lambda: directory_document(found.fingerprint, members, found.bound.sha256, *paths))


def _is_directory(file: Path) -> bool:
    """Whether a file is a directory, which may be replaced."""
    from shuffledp.parties.relay.directory import Directory

    try:
        Directory.read(file)
    except InvalidParameterError:
        return False
    return True


def serve(*, config: Config, tls_cert: Certificate = None, tls_key: CertificateKey = None) -> None:
    """Run the post office: take members' letters, and hand them out.

    It needs no key, and nobody trusts it with more than to be there. Ends when the process is asked to.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.relay.post_office_config import PostOfficeConfig, run_post_office

    run_service(run_post_office, PostOfficeConfig.read(config), tls_cert, tls_key)


def run(
    collection: CollectionFile,
    *,
    directory: DirectoryFile,
    key: Annotated[Path, typer.Option(metavar="FILE", readable=False, help="Your private key file.")],
    value: Annotated[
        list[str] | None, typer.Option(metavar="ANSWER", help="Your answer. Left out, it is asked for.")
    ] = None,
    folder: Shared = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where this machine remembers what it holds and has sent.")
    ] = None,
    ca: Certificates = None,
    patience: Patience = 3600.0,
    pace: Annotated[
        float, typer.Option(help="Seconds after each stage at which your letters of the next leave, whatever you hold.")
    ] = 1.0,
) -> None:
    """Take part: randomize your answer, pass reports on in every round, and hand in what has come to you at the end.

    If the process ends, start it again: it goes on from where it was, and sends nothing twice otherwise.
    """
    require_extra("service", "taking part", ["httpx"])
    from shuffledp.documents.collections.collection_document import handed_in_document
    from shuffledp.parties.relay.journal import Journal
    from shuffledp.parties.relay.member_keys import MemberKey
    from shuffledp.parties.service.device_memory import state_folder

    terms, held = _terms(collection, directory), MemberKey.read(key)
    person = terms.directory.place_of(held.identity)
    journal = Journal(terms, person, state_folder().parent / "relays" if state is None else state)
    try:
        report = _own_report(terms, journal, value or [])
        with _transport(terms, held, folder, ca, patience) as transport:
            refused = asyncio.run(_take_part(terms, held, report, journal, transport, pace=pace))
    finally:
        journal.close()
    show_document(lambda: handed_in_document(terms.collection, refused))


def release(
    collection: CollectionFile,
    *,
    directory: DirectoryFile,
    key: AnalystKeys,
    output: Annotated[Path, typer.Option(help="Folder to make: the release, as `run` writes it.")],
    earlier: Earlier = None,
    folder: Shared = None,
    ca: Certificates = None,
    patience: Patience = 3600.0,
    json: Json = False,
    force: Force = False,
) -> None:
    """Open what all members handed in, when they have, and write the release."""
    require_extra("service", "asking", ["httpx"])
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.release_command import show_release
    from shuffledp.parties.relay.relay_release import gather_hand_ins, write_relay_release

    terms = _terms(collection, directory)
    keys = read_analyst_keys(key)
    with _transport(terms, None, folder, ca, patience) as transport:
        found = asyncio.run(gather_hand_ins(terms, transport, keys))
    with watching() as watch:
        outcome, page = write_relay_release(terms, found, keys, output, earlier=earlier or (), watch=watch, force=force)
    show_release(outcome, page, output, as_json=json)


def demo(
    *,
    output: Annotated[Path, typer.Option(help="Folder to make: the release, as `run` writes it.")],
    people: Annotated[int, whole("How many members, each a process of its own.")] = 40,
    rounds: Annotated[
        int | None, whole("Rounds of the walk; on an overlay as many as its addresses have digits.")
    ] = None,
    degree: Annotated[int | None, whole("Walk on a random graph with so many neighbors, not on an overlay.")] = None,
    onion: Annotated[
        bool, typer.Option("--onion", help="Put reports in layers of encryption, against members who collude.")
    ] = False,
    away: Annotated[int, whole("How many members leave for good after the set-up; a gate looks at who is left.")] = 0,
    processes: Annotated[int | None, whole("That members share; each has one of its own if left out.")] = None,
    force: Force = False,
) -> None:
    """Show how a relay works: members, post office and analyst as processes on this machine, with made-up answers.

    One operator plays everybody, and sees the answers: nobody is protected by it.
    """
    require_extra("service", "taking part", NEEDED)
    if away and processes is not None:
        raise InvalidParameterError("--processes must be left out with --away: each who leaves is a process that ends.")
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.release_command import show_release
    from shuffledp.documents.collections.sending_document import demonstration_ahead
    from shuffledp.parties.relay.relay_demonstration import demonstration, traffic_of
    from shuffledp.parties.relay.relay_release import write_relay_release
    from shuffledp.protocols.network.documents.traffic_document import traffic_document

    show_document(demonstration_ahead)
    with TemporaryDirectory(prefix="shuffledp-relay-") as place:
        started = demonstration(people, rounds, degree, Path(place), onion=onion, away=away)
        with watching("stages") as watch, started as parties:
            passing = partial(watch.progress, "passing on")
            parties.everybody_takes_part(passing, num_processes=processes, away=away)
            found = asyncio.run(parties.gather_hand_ins())
        outcome, page = write_relay_release(parties.terms, found, [parties.analyst], output, force=force)
        counted = parties.letters_sent()
    show_document(lambda: traffic_document(traffic_of(parties.terms), *counted))
    show_release(outcome, page, output, as_json=False)


def _terms(collection: Path, directory: Path) -> "RelayTerms":
    from shuffledp.parties.relay.directory import Directory
    from shuffledp.parties.relay.terms import RelayTerms
    from shuffledp.survey import Collection

    return RelayTerms(collection=Collection.read(collection), directory=Directory.read(directory))


def _own_report(terms: "RelayTerms", journal: "Journal", values: list[str]) -> "Callable[[], bytes]":
    """Maker of the member's own report; asks for the answer only if it is needed."""
    from shuffledp.cli.send_command import answers_typed
    from shuffledp.files.devices import randomize_each
    from shuffledp.parties.relay.sealed_hand_ins import sealed_report

    is_needed = not journal.is_done and journal.read() is None
    typed = answers_typed(terms.collection, values, [], ask=is_needed)
    return lambda: sealed_report(terms, randomize_each(terms.collection.task, typed).reports[0])


async def _take_part(
    terms: "RelayTerms",
    key: "MemberKey",
    report: "Callable[[], bytes]",
    journal: "Journal",
    transport: "Transport",
    *,
    pace: float,
) -> int:
    from shuffledp.cli.progress_bars import watching
    from shuffledp.parties.relay.member import take_part

    with watching("stages") as watch:
        progress = partial(watch.progress, "passing on")
        return await take_part(terms, key, report, journal, transport, pace=pace, progress=progress)


@contextmanager
def _transport(
    terms: "RelayTerms", key: "MemberKey | None", folder: Path | None, ca: Path | None, patience: float
) -> "Iterator[Transport]":
    """Transport of letters by a shared folder or by the post office; without a key only for receiving."""
    from shuffledp.core import validate
    from shuffledp.parties.relay.folder_transport import FolderTransport
    from shuffledp.parties.relay.http_transport import HttpTransport
    from shuffledp.parties.relay.post_office_client import HttpConnection, PostOfficeClient

    validate.nonnegative(patience=patience)
    if folder is not None and ca is not None:
        raise InvalidParameterError("--ca must be left out where letters go by --folder: no server is connected to.")
    if folder is not None:
        yield FolderTransport(terms, folder, patience=patience)
        return
    sign = (lambda _, said: key.signature(said)) if key is not None else None
    with closing(HttpConnection(terms.collection.shuffler.url, certificates=ca)) as connection:
        yield HttpTransport(PostOfficeClient(terms, connection, sign, patience=patience, patience_of_stage=patience))
