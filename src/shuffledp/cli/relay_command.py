"""The commands of a relay, whose members pass reports on themselves: `relay join`, `relay directory`, and so on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Force, Json, print_json, show_document
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.relay.directory import Directory

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
    from shuffledp.documents.collection_document import member_document
    from shuffledp.relay.member_keys import MemberKey

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
    from shuffledp.relay.directory import Directory

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
    """The directory of all these members."""
    from shuffledp.files.key_files import read_key
    from shuffledp.relay.directory import Directory
    from shuffledp.relay.member_keys import Entry
    from shuffledp.wire.keys import ShufflerKey

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
    from shuffledp.documents.collection_document import directory_document

    members = [(each.name, each.fingerprint) for each in found.entries]
    if as_json:
        listed = [{"name": name, "fingerprint": fingerprint} for name, fingerprint in members]
        print_json({"fingerprint": found.fingerprint, "sha256": found.bound.sha256, "members": listed})
    else:
        show_document(lambda: directory_document(found.fingerprint, members, found.bound.sha256, *paths))


def _is_directory(file: Path) -> bool:
    """Whether a file is a directory, which may be replaced by another."""
    from shuffledp.relay.directory import Directory

    try:
        Directory.read(file)
    except InvalidParameterError:
        return False
    return True
