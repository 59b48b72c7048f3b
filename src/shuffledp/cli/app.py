"""The commands and their options. Heavy imports wait until a command runs, so that ``--help`` is instant."""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from shuffledp.cli import (
    collect_command,
    collect_new_command,
    keys_command,
    kit_command,
    ledger_command,
    relay_command,
    serve_command,
    states_command,
    survey_command,
    survey_new_command,
    tokens_command,
)
from shuffledp.cli.account_command import account, calibrate
from shuffledp.cli.difference_command import difference
from shuffledp.cli.graph_command import design, graph_app, inspect
from shuffledp.cli.init_command import init
from shuffledp.cli.leakage_command import leakage
from shuffledp.cli.options import PARAMETERS, named, on_screen
from shuffledp.cli.plan_command import audit, plan, planner
from shuffledp.cli.release_command import analyze, demo, randomize, run, shuffle
from shuffledp.cli.send_command import send
from shuffledp.core.errors import (
    AgreementError,
    BatchTooSmallError,
    BudgetExceededError,
    ContradictionError,
    InputDataError,
    ShuffleDPError,
    UnreachableError,
)
from shuffledp.core.text import printable
from shuffledp.protocols import commands

EXIT_CODES = {
    ContradictionError: 1,
    BatchTooSmallError: 4,
    InputDataError: 3,
    BudgetExceededError: 7,
    AgreementError: 8,
    UnreachableError: 9,
    ShuffleDPError: 2,
}

app = typer.Typer(
    name="shuffledp",
    help="The shuffle model of differential privacy: randomize on the device, shuffle, analyze, and know what is "
    "guaranteed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    init,
    plan,
    planner,
    run,
    randomize,
    shuffle,
    analyze,
    difference,
    account,
    calibrate,
    leakage,
    audit,
    demo,
    send,
):
    app.command()(on_screen(command))
for of_family in commands():
    app.command()(on_screen(of_family))
app.command()(on_screen(kit_command.doctor))
for about_graphs in (inspect, design):
    graph_app.command()(on_screen(about_graphs))
for about_keys in (keys_command.new, keys_command.show, keys_command.rotate):
    keys_command.keys_app.command()(on_screen(about_keys))
for about_collections in (
    collect_new_command.new,
    collect_command.show,
    states_command.status,
    collect_command.close,
    collect_command.fetch,
    states_command.forget,
):
    collect_command.collect_app.command()(on_screen(about_collections))
for about_kits in (kit_command.new, kit_command.add):
    kit_command.kit_app.command()(on_screen(about_kits))
for role in (
    serve_command.shuffler,
    serve_command.analyzer,
    serve_command.issuer,
    serve_command.relay,
    serve_command.mix,
):
    serve_command.serve_app.command()(on_screen(role))
serve_command.serve_app.command("all")(on_screen(serve_command.all_roles))
for about_relays in (
    relay_command.join,
    relay_command.directory,
    relay_command.serve,
    relay_command.run,
    relay_command.release,
    relay_command.demo,
):
    relay_command.relay_app.command()(on_screen(about_relays))
tokens_command.tokens_app.command()(on_screen(tokens_command.issue))
tokens_command.tokens_app.command()(on_screen(tokens_command.replace))
for about_surveys in (
    survey_new_command.new,
    survey_command.status,
    survey_command.check,
    survey_command.remind,
    survey_command.close,
    survey_command.finish,
):
    survey_command.survey_app.command()(on_screen(about_surveys))
for about_ledgers in (
    ledger_command.new,
    ledger_command.plan,
    ledger_command.add,
    ledger_command.show,
    ledger_command.void,
):
    ledger_command.ledger_app.command()(on_screen(about_ledgers))
for group in (
    survey_command.survey_app,
    graph_app,
    keys_command.keys_app,
    kit_command.kit_app,
    collect_command.collect_app,
    serve_command.serve_app,
    relay_command.relay_app,
    tokens_command.tokens_app,
    ledger_command.ledger_app,
):
    app.add_typer(group)


def run_app(asked: Sequence[int] = ()) -> None:
    """Run the command line; each failure is one line and an exit code, and shows no answer.

    Args:
        asked: the signals that have asked the process to end; then their number is the exit code, whatever a library
            below makes of the interruption.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a task may have letters that the terminal does not
    try:
        _run_quietly(asked)
    except ShuffleDPError as error:
        _fail(_in_options(str(error)), next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind)))
    except MemoryError:
        _fail("there is not enough memory for this.", 1)
    except OSError as error:
        sys.stdout = io.StringIO()  # otherwise Python fails to print the rest at exit, and complains
        reason = os.strerror(error.errno) if error.errno else "the operating system gives no reason"
        _fail(
            f"printing, or reading, failed: {reason} ({_place(error)}). Outputs that are in their place are whole.", 1
        )
    except Exception as error:
        _fail(f"this is a bug, please report it: {_place(error)}. No message is shown: it might quote an answer.", 1)


def _run_quietly(asked: Sequence[int]) -> None:
    """Run a command; after a signal to end, the exit code is the signal's."""
    try:
        app(prog_name="shuffledp")  # also for ``python -m shuffledp``
    except BaseException:
        if not asked:
            raise
    if asked:
        sys.exit(128 + asked[0])


def _in_options(message: str) -> str:
    """Error message of the library, with a typed option's name in place of its parameter's name."""
    name, must, rest = message.partition(" must ")
    option = named({**PARAMETERS, "num_users": "users", "orders": "renyi"}.get(name, name))
    if option in {each.partition("=")[0] for each in sys.argv}:
        return f"{option}{must}{rest.replace(f'got {name}=', 'got ', 1)}"
    return message


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(message.splitlines())
    with suppress(OSError):  # the error stream may be closed
        sys.stderr.write(f"shuffledp: {printable(line)}\n")  # a file's name may hold control sequences
    sys.exit(code)


def _place(error: Exception) -> str:
    """Type of an error and its place in this library, without its text."""
    package = Path(__file__).parents[1]
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(package)
    ]
    where = f" at {Path(frames[-1].filename).relative_to(package)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    """The shuffle model of differential privacy: randomize on the device, shuffle, analyze, know what is guaranteed."""
    if show:
        from shuffledp._version import __version__

        typer.echo(f"shuffledp {__version__}")
        raise typer.Exit
