"""Options that several commands share, and printing of results."""

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.documents.document import Document

_MOST_DIGITS = 4300  # limit of Python's own parser


def whole_number(typed: str | int) -> int:
    """A whole number in any usual spelling: 10000, 10_000 or 1e4."""
    with suppress(InvalidOperation):
        number = Decimal(str(typed))
        if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS and number == number.to_integral_value():
            return int(number)
    raise typer.BadParameter(f"{typed!r} is not a whole number, such as 10000, 10_000 or 1e4.")


def whole(help: str) -> Any:  # noqa: A002
    """An option that takes a whole number."""
    return typer.Option(parser=whole_number, metavar="NUMBER", help=help)


# Unreadable inputs are refused where they are opened, in one line; the parser of arguments would take three.
TaskFile = Annotated[
    Path, typer.Argument(metavar="TASK.toml", readable=False, help="The task, fixed before collection.")
]
TaskOrOptions = Annotated[
    Path | None, typer.Argument(metavar="[TASK.toml]", readable=False, help="A task, in place of options.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/schema.json) instead of text.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier output of the same name.")]
Seed = Annotated[
    int | None,
    whole("For experiments only: makes the run repeatable, withdraws its statements and marks its outputs."),
]
Earlier = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        help="The statement.json of an earlier release about the same people, named in the task; once for each.",
    ),
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        readable=False,
        help="Privacy ledger that counts this; what would exceed its cap is refused before anything is done.",
    ),
]
Population = Annotated[
    str, typer.Option(metavar="NAME", help="Whom it is about, of the ledger's populations; everybody if left out.")
]
People = Annotated[
    Path | None,
    typer.Option(
        readable=False, help="For a task with [groups], by or weight: a table of the people with their public columns."
    ),
]
OfColumn = Annotated[
    str | None, typer.Option("--value", metavar="COLUMN", help="For a task of several private columns: which one.")
]
NoFigures = Annotated[bool, typer.Option("--no-figures", help="Draw no pictures, neither on the page nor as files.")]

# Option names of randomizer parameters, where they differ from the library's.
PARAMETERS = {"domain_size": "categories", "delta0": "local_delta"}
# Options that describe a protocol without a task file.
Kind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="ldp (any randomizer of loss epsilon0; the default), k-rr, laplace, oue, ..."),
]
Epsilon0 = Annotated[float | None, typer.Option(help="Local privacy loss of one report, in nats.")]
Users = Annotated[int | None, whole("How many people take part.")]
Delta = Annotated[float | None, typer.Option(help="The remainder, such as 1e-6.")]
Categories = Annotated[int | None, whole("How many answers there are, for randomizers of categories.")]
Matrix = Annotated[
    Path | None,
    typer.Option(
        metavar="matrix.csv", readable=False, help="A finite randomizer: a row of probabilities for each input."
    ),
]
LocalDelta = Annotated[float | None, typer.Option(help="Local remainder, of any randomizer of loss epsilon0.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """Options that describe a protocol, as `account` takes them; None for each option left out."""

    randomizer: Kind = None
    epsilon0: Epsilon0 = None
    users: Users = None
    delta: Delta = None
    categories: Categories = None
    channel: Matrix = None
    local_delta: LocalDelta = None
    value: OfColumn = None


Honest = Annotated[float, typer.Option(help="Share of the people who do not collude with the analyst.")]
Published = Annotated[bool, typer.Option("--published-only", help="Leave out what only this project proves.")]


class Engine(StrEnum):
    """Engine that does the work: this machine, or PySpark."""

    ONE_MACHINE = "one-machine"
    SPARK = "spark"


OnEngine = Annotated[
    Engine, typer.Option("--engine", help="What does the work: spark takes tables that have outgrown one machine.")
]


def named(option: str) -> str:
    """An option as typed, such as --local-delta."""
    return f"--{option.replace('_', '-')}"


def require_extra(extra: str, what: str, packages: Sequence[str]) -> None:
    """Refuse a command whose packages are not installed; the error says how to install them."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidParameterError(
            f"{what} needs {' and '.join(missing)}, which must be installed: "
            f'pip install "shuffledp[cli,{extra}]" (in a source checkout: pip install ".[cli,{extra}]").'
        )


# ---- the screen ------------------------------------------------------------------------------------------------------


class Color(StrEnum):
    """Choice of when output is colored: if it goes to a terminal, always, or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Amount of text that a command prints, and its choice of colors."""

    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all there is to say: theorem, hypotheses, lower bounds, ...")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no text but warnings and errors.")] = False
    color: Annotated[Color, typer.Option(help="When to print in colors.")] = Color.AUTO

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise InvalidParameterError("--quiet must be left out beside --verbose, which prints more; got both.")


_SCREEN: ContextVar[Screen | None] = ContextVar("screen", default=None)


def on_screen(command: Callable[..., None]) -> Callable[..., None]:
    """Command with the options of `Screen` added, which hold while the command runs.

    A parameter whose type is a dataclass of options stands for all of them, in its place.
    """
    own, types = inspect.signature(command), command.__annotations__
    groups = {name: each for name, each in types.items() if isinstance(each, type) and is_dataclass(each)}
    options = {name: inspect.signature(each).parameters for name, each in (groups | {"": Screen}).items()}

    @wraps(command)
    def with_screen(**given: Any) -> None:
        made = {name: {each: given.pop(each) for each in inside} for name, inside in options.items()}
        held = _SCREEN.set(Screen(**made.pop("")))
        try:
            command(**given, **{name: groups[name](**inside) for name, inside in made.items()})
        finally:
            _SCREEN.reset(held)

    flat = [part for each in own.parameters.values() for part in options.get(each.name, {each.name: each}).values()]
    with_screen.__signature__ = own.replace(parameters=[*flat, *options[""].values()])  # type: ignore[attr-defined]
    alone = {name: each for name, each in types.items() if name not in groups}
    with_screen.__annotations__ = alone | {
        name: each for group in (*groups.values(), Screen) for name, each in group.__annotations__.items()
    }
    return with_screen


def screen() -> Screen:
    """Options of the running command on the amount of text and on colors."""
    return _SCREEN.get() or Screen()


def show_result(found: Any, document: "Callable[[], Document]", *, as_json: bool) -> None:
    """Print a result as one JSON object or as a document; ``document`` is called only if needed."""
    if as_json:
        print_json(found.to_dict())
    else:
        show_document(document)


def show_document(document: "Callable[[], Document]") -> None:
    """Print a document: in the terminal's width, or in whole lines into a pipe or file."""
    from rich.console import Console

    from shuffledp.documents.terminal import COLORS, show, whole_lines

    detail, color = screen().verbose, screen().color
    if screen().quiet:
        return
    if sys.stdout.isatty():
        show(document(), Console(highlight=False, **COLORS[color]), detail=detail)
    else:
        sys.stdout.write(whole_lines(document(), detail=detail, color=color))
        sys.stdout.flush()


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object, and no other text."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()  # a closed pipe fails here, where the error can still be reported
