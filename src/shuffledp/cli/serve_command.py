"""The commands that run the parties of a collection: `serve` with a role, or `serve all`."""

import json
import shutil
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.collection_options import Transport, TransportName
from shuffledp.cli.options import Force, TaskFile, require_extra, screen, show_document
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.parties.service.config import ListeningConfig

serve_app = typer.Typer(
    name="serve",
    help="Run a party of collections, or all of them for show.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Config = Annotated[
    Path, typer.Option(metavar="FILE", readable=False, help="Where it listens, its state, key and collections (TOML).")
]
Certificate = Annotated[
    str | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate chain, without a proxy that has one.")
]
CertificateKey = Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="Its private key.")]
NEEDED = ["httpx", "starlette", "uvicorn"]


def shuffler(*, config: Config, tls_cert: Certificate = None, tls_key: CertificateKey = None) -> None:
    """Take encrypted reports in, mix them, hand them on, and forget.

    Whatever is acknowledged is on the disk. Ends when the process is asked to, and goes on from there.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.service.config import ShufflerConfig
    from shuffledp.parties.service.run_services import run_shuffler

    run_service(run_shuffler, ShufflerConfig.read(config), tls_cert, tls_key)


def analyzer(*, config: Config, tls_cert: Certificate = None, tls_key: CertificateKey = None) -> None:
    """Open the batches of collections, and write their releases."""
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.service.config import AnalyzerConfig
    from shuffledp.parties.service.run_services import run_analyzer

    run_service(run_analyzer, AnalyzerConfig.read(config), tls_cert, tls_key)


def issuer(*, config: Config, tls_cert: Certificate = None, tls_key: CertificateKey = None) -> None:
    """Sign one token for each invitation, without seeing it.

    Signing is not constant-time: run it on a machine that it shares with nobody.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.service.config import IssuerConfig
    from shuffledp.parties.service.run_services import run_issuer

    run_service(run_issuer, IssuerConfig.read(config), tls_cert, tls_key)


def mix(
    *,
    config: Annotated[
        Path, typer.Option(metavar="FILE", readable=False, help="Where it listens, its state, url and policy (TOML).")
    ],
    list_: Annotated[
        bool, typer.Option("--list", help="List its collections, and what remains of each, in place of serving.")
    ] = False,
    new_code: Annotated[
        bool, typer.Option("--new-code", help="Print a code for one more registrant, in place of serving.")
    ] = False,
    end: Annotated[
        str | None, typer.Option(metavar="ID", help="End this collection, so that nothing of it is released.")
    ] = None,
    tls_cert: Certificate = None,
    tls_key: CertificateKey = None,
) -> None:
    """Mix for others: take collections that they register, hand their answers over mixed, and forget.

    --list, --new-code and --end work beside a running mix.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.documents.collections.mix_document import listed_document
    from shuffledp.parties.mix.mix_config import MixConfig
    from shuffledp.parties.mix.mix_folder import MixFolder
    from shuffledp.parties.mix.run_mix import listed, run_mix

    read = MixConfig.read(config)
    if new_code:
        if read.register != "codes":
            raise InvalidParameterError("--new-code must be left out where register is not 'codes'.")
        typer.echo(MixFolder(Path(read.state)).new_code())
    elif end is not None:
        MixFolder(Path(read.state)).ask_to_end(end)
    elif list_:
        show_document(lambda: listed_document(listed(read)))
    else:
        run_service(run_mix, read, tls_cert, tls_key)


def relay(*, config: Config, tls_cert: Certificate = None, tls_key: CertificateKey = None) -> None:
    """Pass sealed requests on to a shuffler, who then does not see who sends: a relay of Oblivious HTTP.

    It leads to the gateways that its file names, keeps nothing, and must be run by somebody else than the shuffler.
    """
    require_extra("service", "serving", NEEDED)
    from shuffledp.parties.service.oblivious_relay import RelayConfig, run_oblivious_relay

    run_service(run_oblivious_relay, RelayConfig.read(config), tls_cert, tls_key)


def all_roles(
    task: TaskFile,
    *,
    output: Annotated[Path, typer.Option(help="Folder to make: the release, as `run` writes it.")],
    input: Annotated[  # noqa: A002
        Path | None,
        typer.Option(readable=False, help="Answers of a simulated crowd: CSV with a header line, or Parquet."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Needed: nobody is protected by one who plays all parties.")
    ] = False,
    web: Annotated[bool, typer.Option("--web", help="Ask on a page, too, until a line is entered here.")] = False,
    transport: Transport = TransportName.DIRECT,
    force: Force = False,
) -> None:
    """Show how a collection works: all parties on this machine, with temporary keys and a simulated crowd.

    With --transport token there is an issuer, too, and a link for each of three people; with oblivious, a relay.
    One operator plays everybody, and sees the answers: nobody is protected by it.
    """
    require_extra("service", "serving", NEEDED)
    if not demo:
        raise InvalidParameterError("--demo must be given: one who plays all parties protects nobody.")
    if input is None and not web:
        raise InvalidParameterError("--input must be a table of a simulated crowd, unless people answer at --web.")
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.collections.sending_document import demonstrated, demonstration_ahead, demonstration_open
    from shuffledp.files import new_folder
    from shuffledp.files.devices import randomize_each
    from shuffledp.parties.service.demonstration import demonstration
    from shuffledp.survey import Task

    asked = Task.read(task)
    show_document(lambda: demonstration_ahead(asked))
    with new_folder(output, force=force) as folder, TemporaryDirectory(prefix="shuffledp-demo-") as place:
        sent = None if input is None else randomize_each(asked, input)
        crowd = 0 if sent is None else sent.num_users
        with demonstration(asked, Path(place), web=web, transport=transport.value, crowd=crowd) as parties:
            if sent is not None:
                with watching("people") as watch:
                    parties.send(sent, progress=partial(watch.progress, "sending"))
            if links := parties.links():
                show_document(lambda: demonstration_open(links))
                sys.stdin.readline()
            release = parties.release()
        shutil.copytree(release, folder, dirs_exist_ok=True)
        found = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    left_out = 0 if sent is None else sent.left_out
    show_document(lambda: demonstrated(found, left_out, output))


def run_service(
    service: "Callable[..., Coroutine[Any, Any, None]]",
    config: "ListeningConfig",
    certificate: str | None,
    key: str | None,
) -> None:
    """Run a service, with its log on the error stream, until a signal ends the process."""
    from shuffledp.parties.http.event_log import EventLog
    from shuffledp.parties.http.serving import run

    if certificate is not None or key is not None:
        config = replace(config, tls_certificate=certificate, tls_key=key)
    log: EventLog = EventLog(_write_line)
    log.instead_of_others()
    run(service(config, log=log, ready=_ready), speaks_tls=config.certificate is not None)


def _write_line(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


def _ready(address: str) -> None:
    if not screen().quiet:
        typer.echo(f"Listening at {address} until the process is asked to end.")
        sys.stdout.flush()
