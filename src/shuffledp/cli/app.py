"""The commands and their options. Heavy imports wait until a command runs, so that ``--help`` is instant."""

import io
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from shuffledp.cli.account_app import account, calibrate
from shuffledp.cli.audit_app import audit
from shuffledp.cli.graph_app import graph_app
from shuffledp.cli.leakage_app import leakage
from shuffledp.errors import BatchTooSmallError, InputDataError, ShuffleDPError

__all__ = ["app", "run_app"]

EXIT_CODES = {BatchTooSmallError: 4, InputDataError: 3, ShuffleDPError: 2}

app = typer.Typer(
    name="shuffledp",
    help="The shuffle model of differential privacy: randomize on the device, shuffle, analyze, and know what is "
    "guaranteed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(account)
app.command()(calibrate)
app.command()(audit)
app.command()(leakage)
app.add_typer(graph_app)

TaskFile = Annotated[Path, typer.Argument(metavar="TASK.toml", help="The task, fixed before collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/schema.json) instead of text.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier output of the same name.")]
Seed = Annotated[
    int | None,
    typer.Option(
        help="For experiments only: makes the run repeatable, withdraws its statements and marks its outputs."
    ),
]
Earlier = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="The statement.json of an earlier release about the same people, named in the task; once for each.",
    ),
]

_FOLDER = (
    "Folder to make: release.html, estimates.csv, statement.json, release.parquet; for several columns a folder of "
    "these for each, beside a page and a statement about all."
)


def run_app(asked: Sequence[int] = ()) -> None:
    """Run the command line; whatever goes wrong is one line and an exit code, and shows nobody's answer.

    Args:
        asked: the signals that have asked the process to end; then their number is the exit code, whatever a library
            below makes of the interruption.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know fewer letters than a task
    try:
        _run_quietly(asked)
    except ShuffleDPError as error:
        _fail(str(error), next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind)))
    except MemoryError:
        _fail("there is not enough memory for this.", 1)
    except Exception as error:
        _fail(f"this is a bug, please report it: {_place(error)}. No message is shown: it might quote an answer.", 1)


def _run_quietly(asked: Sequence[int]) -> None:
    """Run a command; once the process has been asked to end, nothing but that counts."""
    try:
        app()
    except BaseException:
        if not asked:
            raise
    if asked:
        sys.exit(128 + asked[0])


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(message.splitlines())
    # A file's name may hold what would command the terminal.
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)
    sys.stderr.write(f"shuffledp: {shown}\n")
    sys.exit(code)


def _place(error: Exception) -> str:
    """The type of an error and where in this library it arose, without its text."""
    package = Path(__file__).parents[1]
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(package)
    ]
    where = f" at {Path(frames[-1].filename).relative_to(package)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """The shuffle model of differential privacy: randomize on the device, shuffle, analyze, know what is guaranteed."""
    if show:
        from shuffledp._version import __version__

        typer.echo(f"shuffledp {__version__}")
        raise typer.Exit


@app.command()
def plan(
    task: TaskFile,
    *,
    users: Annotated[int | None, typer.Option(help="People who will take part, if the task does not say.")] = None,
    input: Annotated[  # noqa: A002
        Path | None, typer.Option(help="For a task with [groups]: a table of the people with their public columns.")
    ] = None,
    earlier: Earlier = None,
    table: Annotated[bool, typer.Option("--table", help="Of a network shuffle: list all rounds, and parts.")] = False,
    json: Json = False,
) -> None:
    """Say what to expect of a task before its collection.

    Prints the report size, the errors, the guarantees, and which other randomizer would do better.
    """
    from shuffledp.cli import commands, plan_screen

    found = commands.plan(task, users=users, people=input, earlier=earlier or (), table=table)
    plan_screen.show_plan(found, as_json=json, table=table)


@app.command()
def run(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(help="Answers: CSV with a header line, or Parquet.")],  # noqa: A002
    output: Annotated[Path, typer.Option(help=_FOLDER)],
    earlier: Earlier = None,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Randomize, shuffle and analyze a table of answers.

    Whoever runs this plays all parties and sees the raw answers.
    """
    from shuffledp.cli import commands, screen

    outcome = commands.run(task, input, output, earlier=earlier or (), seed=seed, force=force)
    screen.show_outcome(outcome, output, as_json=json)


@app.command()
def randomize(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(help="Answers: CSV with a header line, or Parquet.")],  # noqa: A002
    output: Annotated[Path, typer.Option(help="File of reports to write (Parquet); a folder, for several columns.")],
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Stage 1, on the devices: answers in, reports out.

    The reports are still in the order of the people: they are for the shuffler only.
    """
    from shuffledp.cli import commands, screen

    outcome = commands.randomize(task, input, output, seed=seed, force=force)
    screen.show_stage(outcome, output, as_json=json)


@app.command()
def shuffle(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(help="File (or folder) of reports, as `randomize` wrote it.")],  # noqa: A002
    output: Annotated[Path, typer.Option(help="File of the view to write (Parquet); a folder, for several columns.")],
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Stage 2, at the shuffler: reports in, the view out.

    The order of the view tells nothing.
    """
    from shuffledp.cli import commands, screen

    outcome = commands.shuffle(task, input, output, seed=seed, force=force)
    screen.show_stage(outcome, output, as_json=json)


@app.command()
def analyze(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(help="File (or folder) of the view, as `shuffle` wrote it.")],  # noqa: A002
    output: Annotated[Path, typer.Option(help=_FOLDER)],
    earlier: Earlier = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Stage 3, at the analyst: the view in, the release out."""
    from shuffledp.cli import commands, screen

    outcome = commands.analyze(task, input, output, earlier=earlier or (), force=force)
    screen.show_outcome(outcome, output, as_json=json)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder to make.")] = Path("shuffledp-demo"),
    people: Annotated[int, typer.Option(help="Number of made-up people.", min=100, max=10_000_000)] = 20_000,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Run the whole flow on a survey of made-up people."""
    from shuffledp.cli import commands, screen

    outcome, folder = commands.demo(output, people=people, seed=seed, force=force)
    screen.show_outcome(outcome, folder, as_json=json)
