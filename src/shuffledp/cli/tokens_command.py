"""The command about tokens: `tokens issue`, an invitation for each person."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Json, print_json, require_extra, show_document
from shuffledp.cli.send_command import CollectionFile
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.files import Watch

tokens_app = typer.Typer(
    name="tokens",
    help="Tokens, so that each invited person answers once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@tokens_app.callback()
def _tokens() -> None:
    """Tokens, so that each invited person answers once."""


def issue(
    collection: CollectionFile,
    *,
    people: Annotated[
        Path, typer.Option(metavar="list.csv", readable=False, help="Who is invited: a header line, a row for each.")
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to make: an invitation for each.")],
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="The issuer's private key, where tokens are ready-made."),
    ] = None,
    no_sheet: Annotated[
        bool, typer.Option("--no-sheet", help="Leave out print.html, where each link to a page is a QR code, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Make an invitation for each person, and a list for the issuer that tells nothing of them.

    An invitation is a secret of one person: a code, for which the issuer signs one token that it cannot read. Where the
    collection says that tokens are ready-made, it holds the token, and whoever made it can tell whose it is. Where
    people answer on a page, each has a link, and a QR code of it on a sheet to print, print.html.
    """
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.sending_document import invited_document
    from shuffledp.files.key_files import read_key
    from shuffledp.files.writing import new_folder
    from shuffledp.service import invitations
    from shuffledp.survey import Collection
    from shuffledp.wire.keys import IssuerKey

    read, rows = Collection.read(collection), invitations.read_people(people)
    page, sheet = read.page, read.page is not None and not no_sheet
    if sheet:
        require_extra("service", "printing QR codes (--no-sheet: do without)", ["segno"])
    if (key is not None) != read.ready_made:
        wanted = (
            "given where tokens are ready-made" if read.ready_made else "left out: tokens are signed blindly, later"
        )
        raise InvalidParameterError(f"--key must be {wanted}.")
    if output.exists():
        raise InvalidParameterError(
            f"--output must be a folder that does not exist yet: no invitation is ever replaced; got {str(output)!r}."
        )
    if key is None:
        made, listed = invitations.invited(read, len(rows) - 1)
    else:
        held = read_key(key)
        if not isinstance(held, IssuerKey):
            raise InvalidParameterError(f"--key must be an issuer's; got {key}, which is another's.")
        made, listed = invitations.ready_made(read, len(rows) - 1, held), None
    links = [] if page is None else [each.link(page) for each in made]
    with new_folder(output, is_ours=lambda _: False) as folder:
        invitations.write_all(folder, rows, made, listed, links=links)
        if sheet:
            from shuffledp.client.invitation_sheet import invitation_sheet

            with watching("people") as watch:
                named = _counted([(row[0], link) for row, link in zip(rows[1:], links, strict=True)], watch)
                invitations.write_secret(folder / "print.html", invitation_sheet(read, named))
    if json:
        print_json({"collection": read.id.hex(), "invitations": len(made), "ready_made": read.ready_made})
    else:
        show_document(lambda: invited_document(len(made), output, ready_made=key is not None, page=page, sheet=sheet))


def _counted(links: Sequence[tuple[str, str]], watch: "Watch") -> Iterator[tuple[str, str]]:
    """The same, while it is shown how far one is."""
    for number, each in enumerate(links):
        watch.progress("QR codes", number, len(links))
        yield each
