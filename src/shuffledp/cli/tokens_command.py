"""The commands about tokens: `tokens issue` makes invitations, and `tokens replace` renews them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Json, print_json, require_extra, show_document
from shuffledp.cli.send_command import CollectionFile
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.issuer.invitations import Invitation, Invited
    from shuffledp.survey import Collection

tokens_app = typer.Typer(
    name="tokens",
    help="Tokens, so that each invited person answers once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NewFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to make: an invitation for each.")]
NoSheet = Annotated[
    bool, typer.Option("--no-sheet", help="Leave out print.html, where each link to a page is a QR code, too.")
]


@tokens_app.callback()
def _tokens() -> None:
    """Tokens, so that each invited person answers once."""


def issue(
    collection: CollectionFile,
    *,
    people: Annotated[
        Path, typer.Option(metavar="list.csv", readable=False, help="Who is invited: a header line, a row for each.")
    ],
    output: NewFolder,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="The issuer's private key, where tokens are ready-made."),
    ] = None,
    no_sheet: NoSheet = False,
    json: Json = False,
) -> None:
    """Make an invitation for each person, and a list for the issuer that tells nothing of them.

    An invitation is a secret of one person: a code, for which the issuer signs one token that it cannot read. Where the
    collection says that tokens are ready-made, it holds the token, and whoever made it can tell whose it is. Where
    people answer on a page, each has a link, and a QR code of it on a sheet to print, print.html.
    """
    from shuffledp.documents.collections.sending_document import invited_document
    from shuffledp.files.key_files import read_key
    from shuffledp.parties.issuer import invitations
    from shuffledp.parties.wire.keys import IssuerKey
    from shuffledp.survey import Collection

    read, rows = Collection.read(collection), invitations.read_people(people)
    if (key is not None) != read.ready_made:
        wanted = (
            "given where tokens are ready-made" if read.ready_made else "left out: tokens are signed blindly, later"
        )
        raise InvalidParameterError(f"--key must be {wanted}.")
    sheet = _needs_sheet(read, output, no_sheet=no_sheet)
    listed = None
    if key is None:
        made, listed = invitations.new_invitations(read, len(rows) - 1)
    else:
        held = read_key(key)
        if not isinstance(held, IssuerKey):
            raise InvalidParameterError(f"--key must be an issuer's; got {key}, a key of another role.")
        made = invitations.ready_made_invitations(read, len(rows) - 1, held)
    _write(read, output, rows, made, listed, sheet=sheet)
    if json:
        print_json({"collection": read.id.hex(), "invitations": len(made), "ready_made": read.ready_made})
    else:
        ready = key is not None
        show_document(lambda: invited_document(len(made), output, ready_made=ready, page=read.page, sheet=sheet))


def replace(
    collection: CollectionFile,
    *,
    invitation: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", readable=False, help="One that is to be good no more; once for each."),
    ] = None,
    link: Annotated[
        list[str] | None, typer.Option(metavar="LINK", help="The same, as the link that a person has; once for each.")
    ] = None,
    output: NewFolder,
    no_sheet: NoSheet = False,
    json: Json = False,
) -> None:
    """Cancel invitations, and make another in the place of each: for links that were lost, or used up by mistake.

    They are good no more as soon as the issuer has the list. If one was used before, its holder may answer twice: the
    `fakes` of the task must cover that. The issuer's log says how many they are.
    """
    from shuffledp.documents.collections.sending_document import replaced_document
    from shuffledp.parties.issuer import invitations
    from shuffledp.survey import Collection

    read, files, links = Collection.read(collection), invitation or [], link or []
    if read.issuer is None or read.ready_made:
        raise InvalidParameterError(
            "collection must have an issuer that signs blindly: nobody can take a ready-made token back."
        )
    if links and read.page is None:
        raise InvalidParameterError("--link must be left out: nobody answers this collection on a page.")
    codes = [invitations.Invitation.read(file, read).code or "" for file in files]
    codes += [invitations.code_of_link(each, read.page) for each in links if read.page is not None]
    if not codes or len(set(codes)) != len(codes):
        raise InvalidParameterError("--invitation and --link must name one or more invitations, all different.")
    sheet = _needs_sheet(read, output, no_sheet=no_sheet)
    made, listed = invitations.replacements(read, codes)
    names = [*map(str, files), *(f"link {number + 1}" for number in range(len(links)))]
    _write(read, output, [["replaces"], *([name] for name in names)], made, listed, sheet=sheet)
    fakes = min(column.people.fakes for column in read.task.columns)
    if json:
        print_json({"collection": read.id.hex(), "invitations": len(made), "cancelled": len(codes), "fakes": fakes})
    else:
        show_document(lambda: replaced_document(len(made), output, fakes=fakes, page=read.page, sheet=sheet))


def _needs_sheet(collection: "Collection", output: Path, *, no_sheet: bool) -> bool:
    """Whether a sheet to print will be written; refused if its packages are missing or the output exists."""
    sheet = collection.page is not None and not no_sheet
    if sheet:
        require_extra("service", "printing QR codes (--no-sheet: do without)", ["segno"])
    if output.exists():
        raise InvalidParameterError(
            f"--output must be a folder that does not exist yet: no invitation is ever replaced; got {str(output)!r}."
        )
    return sheet


def _write(
    collection: "Collection",
    output: Path,
    rows: Sequence[Sequence[str]],
    made: "Sequence[Invitation]",
    listed: "Invited | None",
    *,
    sheet: bool,
) -> None:
    """Write a folder of invitations for the people of a table, whose first row is the header."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.files.writing import new_folder
    from shuffledp.parties.organizer.invitation_folder import write_invitations

    with new_folder(output, is_ours=lambda _: False) as folder, watching("people") as watch:
        write_invitations(
            folder,
            collection,
            rows,
            made,
            listed,
            sheet=sheet,
            progress=lambda number: watch.progress("QR codes", number, len(made)),
        )
