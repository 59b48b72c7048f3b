"""The commands about kits, the folders of a collection's parties: `kit new`, `kit add`, and `doctor`."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Force, require_extra
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError

if TYPE_CHECKING:
    from shuffledp.parties.kit.doctor import Finding
    from shuffledp.survey import Collection

kit_app = typer.Typer(
    name="kit", help="Folders with which each party sets up its machine.", no_args_is_help=True, rich_markup_mode=None
)
KitFolder = Annotated[Path, typer.Argument(metavar="KIT", help="The folder that `kit new` made.")]
Host = Annotated[str | None, typer.Option(metavar="HOST", help="Name of its machine, such as a.example.org.")]


@kit_app.callback()
def _kit() -> None:
    """Folders with which each party sets up its machine."""


def new(
    output: Annotated[Path, typer.Argument(metavar="KIT", help="Folder to make, with a folder for each party.")],
    *,
    shuffler: Host = None,
    mix: Host = None,
    analyzer: Host = None,
    issuer: Host = None,
    relay: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Name of a relay's machine; twice for two, either will do.")
    ] = None,
    page: Host = None,
    post_office: Host = None,
    force: Force = False,
) -> None:
    """Make a folder for each party: configuration, unit, proxy and steps, to be copied to its machine.

    Without --analyzer the analyst needs no server, and fetches what was mixed. Keys are made by whoever uses them.
    With --mix in the place of --shuffler: a host that shuffles for surveys that others make by `survey new --kit`.
    """
    require_extra("service", "a kit", ["starlette"])
    from shuffledp.files import new_folder
    from shuffledp.parties.kit.folders import is_untouched, make_kit
    from shuffledp.parties.kit.party_roles import SECOND_RELAY, Parties

    if len(relay or ()) > 2:
        raise InvalidParameterError(f"--relay must be given twice at most; got {len(relay or ())} hosts.")
    first, second, *_ = [*(relay or []), None, None]
    named = {"shuffler": shuffler, "mix": mix, "issuer": issuer, "relay": first, SECOND_RELAY: second, "page": page}
    hosts = {role: host for role, host in (named | {"post-office": post_office}).items() if host is not None}
    if mix is None or analyzer is not None:
        hosts["analyzer"] = analyzer or ""
    parties = Parties(hosts=hosts)
    with new_folder(output, force=force, is_ours=is_untouched) as folder:
        make_kit(folder, parties)
    for role in parties.hosts:
        typer.echo(f"{output / role}: give it to whoever is the {role}; README.md has the steps.")
    _say_next(output)


def add(
    kit: KitFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="ROLE.key.pub, or a collection file.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier key of the same role.")] = False,
) -> None:
    """Take a party's public key into a kit, or give the collection file to the folders of all parties."""
    require_extra("service", "a kit", ["starlette"])
    from shuffledp.parties.kit.folders import add_collection, add_key

    if file.suffix == ".key":
        raise InvalidParameterError(f"a kit must hold public keys alone: give it {file}.pub; {file} stays where it is.")
    if file.suffix == ".pub":
        add_key(kit, file, force=force)
        typer.echo(f"{file.name} is in the kit.")
        _say_next(kit)
    else:
        roles = add_collection(kit, file)
        typer.echo(f"{file.name} is in the folders of {', '.join(roles)}. Give them to their parties.")


def _say_next(kit: Path) -> None:
    from shuffledp.parties.kit.folders import collect_command, missing_keys, parties_of

    if missing := missing_keys(kit):
        typer.echo(f"Next: shuffledp kit add {kit} ROLE.key.pub, for {', '.join(missing)}.")
        return
    parties = parties_of(kit)
    main = parties.main
    if main == "post-office":
        typer.echo(
            f"Before: shuffledp relay directory MEMBER.key.pub ... --key operator.key --output "
            f"{kit / main / 'members.directory'}"
        )
    typer.echo(f"Next: {collect_command(kit)}")
    if set(parties.hosts) == {"mix"}:
        typer.echo(
            "Or a sum over several institutions, each with a kit of its own: --sum and, once for each, "
            f"--mix {parties.url(main)} --code CODE, in place of --kit."
        )
    if main != "mix":
        typer.echo(f"Then: shuffledp kit add {kit} {kit / 'survey.collection'}")


def doctor(
    place: Annotated[
        str, typer.Argument(metavar="KIT|URL|FILE", help="A kit, a service's address, a collection, or a proxy's file.")
    ],
    *,
    test: Annotated[
        bool, typer.Option("--test", help="Send a test report the whole way; the release counts it apart.")
    ] = False,
    invitation: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="With --test: an invitation to spend, where each needs one."),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Certificates to trust, in place of the system's."),
    ] = None,
) -> None:
    """Examine a service, the parties of a kit, or a proxy's file.

    Names, certificates, clocks, limits, and the way of a report, as seen from outside; of a file of nginx or Caddy on
    its own machine what it logs, passes on and refuses, with the line to change.

    Each failure says what was seen, and what to change. Nothing is counted; with --test the shuffler takes in a report
    which the analyzer alone can tell from people's, and throws away.
    """
    require_extra("service", "asking", ["httpx"])
    from shuffledp.parties.kit.trial_report import examine_by_test, require_test
    from shuffledp.survey import Collection

    findings, read = _findings(place, ca)
    if test:
        if read is None:
            raise InvalidParameterError("--test must be left out but for a kit, or a file NAME.collection.")
        collection: Collection = read()
        require_test(collection, is_invited=invitation is not None)
        findings = chain(findings, examine_by_test(collection, ca=ca, invitation=invitation))
    elif invitation is not None:
        raise InvalidParameterError("--invitation must be left out without --test.")
    wrong = 0
    for each in findings:
        wrong += not each.is_well
        mark, change = ("ok", "") if each.is_well else ("WRONG", f" -> {each.change}")
        typer.echo(f"{mark:<6}{each.party}: {each.seen}{change}")
    if wrong:
        raise RemoteProtocolError(f"everything must be well; {wrong} of what was looked at is not.")


def _findings(place: str, ca: Path | None) -> "tuple[Iterable[Finding], Callable[[], Collection] | None]":
    """Findings about an address, a file or a kit, and a function that reads its collection, if it has one."""
    from shuffledp.parties.kit import doctor
    from shuffledp.survey import Collection
    from shuffledp.survey.addresses import check_address

    path = Path(place)
    if place.startswith(("https://", "http://")):
        check_address(url=place)
        return doctor.examine_url(place, ca=ca), None
    if path.suffix == ".collection":
        collection = Collection.read(path)
        return doctor.examine_parties(collection, ca=ca), lambda: collection
    if path.is_file():
        return doctor.examine_file(path), None
    return doctor.examine_kit(path, ca=ca), partial(doctor.collection_of, path)
