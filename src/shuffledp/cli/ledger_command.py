"""The commands of a privacy ledger: a cap on all releases about the same people, and its use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Json, LedgerPath, Population, TaskFile, print_json, show_document, whole
from shuffledp.cli.send_command import Certificates
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.survey import Collection, Outcome, Task
    from shuffledp.survey.ledgers.ledger import Ledger

ledger_app = typer.Typer(
    name="ledger",
    help="Keep all releases about the same people within a cap.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
LedgerFileName = Annotated[Path, typer.Argument(metavar="LEDGER", readable=False, help="What `ledger new` has made.")]
Written = Annotated[
    Path, typer.Option("--ledger", metavar="FILE", readable=False, help="The ledger, which `ledger new` has made.")
]


@ledger_app.callback()
def _ledger() -> None:
    """Keep all releases about the same people within a cap."""


def new(
    *,
    cap: Annotated[float, typer.Option(help="Epsilon of all releases together, in nats.")],
    delta: Annotated[float, typer.Option(help="The remainder of all releases together, such as 1e-5.")],
    releases: Annotated[int, whole("How many releases are foreseen; each may leave a part of delta.")] = 1000,
    population: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A part of the people, fixed now; parts have no member in common."),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
) -> None:
    """Begin a ledger, whose cap holds for all releases together, even if results decide on the next.

    Keep the file, and a copy of each newer one: a ledger that is lost cannot be made anew.
    """
    from shuffledp.documents.ledger_document import ledger_document
    from shuffledp.files.ledger_file import new_ledger

    made = new_ledger(output, cap=cap, delta=delta, releases=releases, populations=tuple(population or ()))
    show_document(lambda: ledger_document(made))


def plan(
    task: TaskFile,
    *,
    weeks: Annotated[int, whole("How many releases of the task are planned: 2 or more, such as 52.")],
    ledger: Written,
    population: Population = "",
) -> None:
    """Reserve several releases of a task at once, so that none of them is refused later.

    Each is reserved at its worst, for as few honest people as it may be released with.
    """
    from shuffledp.documents.ledger_document import entry_document
    from shuffledp.files.ledger_file import opened_ledger
    from shuffledp.files.ledger_use import planned_total, reserve
    from shuffledp.survey import Task

    if weeks < 2:
        raise InvalidParameterError(
            f"--weeks must be 2 or more: a single release is reserved by the command that makes it; got {weeks}."
        )
    asked = Task.read(task)
    with opened_ledger(ledger) as file:
        mark = reserve(file, asked, count=weeks, population=population)
        entry, now = file.ledger.entries[mark.entry], file.ledger
    total = planned_total(asked, weeks, delta=now.terms.delta)
    said = "" if total is None else f"By themselves these {weeks} lose together epsilon = {total:.4g}."
    show_document(lambda: entry_document(entry, now, said))


def add(
    statement: Annotated[
        Path,
        typer.Argument(metavar="STATEMENT", readable=False, help="The statement.json of a release made elsewhere."),
    ],
    *,
    ledger: Written,
    population: Population = "",
    exceed: Annotated[
        bool, typer.Option("--exceed", help="Write it down although it does not fit: then the cap holds no more.")
    ] = False,
) -> None:
    """Count a release that was made elsewhere, or that a collection has ended with.

    What has happened counts, also if it does not fit: then it takes --exceed, so that no mistake ends a ledger. Without
    it nothing is written, and the exit code is 7 both times.
    """
    from shuffledp.documents.ledger_document import entry_document
    from shuffledp.files.ledger_file import opened_ledger
    from shuffledp.files.ledger_use import charge_release

    with opened_ledger(ledger) as file:
        entry = charge_release(file, statement, population=population, exceed=exceed)
        now, plan = file.ledger, entry.reserved.of_plan
    said = f"It takes the place of one release of the declared plan {plan[:12]}." if plan else ""
    show_document(lambda: entry_document(entry, now, said))


def show(
    ledger: LedgerFileName,
    *,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page with a picture of the budget, too.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what may be quoted, how much of the budget is taken by which release, and what fits next."""
    from shuffledp.documents.ledger_document import ledger_as_dict, ledger_document
    from shuffledp.files.ledger_file import read_ledger_file

    found = read_ledger_file(ledger)
    if page is not None:
        _write_page(found, page)
    if json:
        print_json(ledger_as_dict(found))
    else:
        show_document(lambda: ledger_document(found))


def void(
    entry: Annotated[str, typer.Argument(metavar="ID", help="Of the entry, or how it begins.")],
    *,
    ledger: Written,
    collection: Annotated[
        Path | None,
        typer.Option(
            metavar="COLLECTION", readable=False, help="Its file: the shuffler is asked if it destroyed all reports."
        ),
    ] = None,
    ca: Certificates = None,
    reason: Annotated[str, typer.Option(help="Why nobody can have seen a report.")] = "taken back by hand",
) -> None:
    """Take back a reservation of which nobody can have seen a report.

    That is what is left of a declared plan, or a collection whose shuffler destroyed all reports. A run that was killed
    stays, and so does any other collection: add its statement.
    """
    from shuffledp.core.validate import one_line
    from shuffledp.documents.ledger_document import entry_document
    from shuffledp.files.ledger_file import opened_ledger
    from shuffledp.files.ledger_use import found_entry
    from shuffledp.files.ledger_use import void as take_back

    one_line(reason=reason)
    destroyed = "" if collection is None else _destroyed(collection, ca)
    with opened_ledger(ledger) as file:
        id_ = found_entry(file.ledger, entry)
        ended, now = take_back(file, id_, reason=reason, destroyed=id_ == destroyed), file.ledger
    show_document(lambda: entry_document(ended, now))


@contextmanager
def counting(
    ledger: Path | None, task: "Task", population: str, *, are_seen: bool = False
) -> "Iterator[Callable[[Outcome, Path], Outcome]]":
    """Context of a run that a ledger counts: its release is reserved first, and taken back on failure.

    Yields:
        Function that writes the ledger's mark into the files of a release, and the release into the ledger.
    """
    _require_ledger(ledger, population)
    if ledger is None:
        yield lambda outcome, _: outcome
        return
    from shuffledp.files.ledger_use import spending

    with spending(ledger, task, population=population, are_seen=are_seen) as counted:
        yield counted


@contextmanager
def reserving(ledger: Path | None, population: str = "") -> "Iterator[Callable[[Collection], None]]":
    """Context that yields a function to reserve a collection's release in a ledger, if one is given.

    The collection's files are written inside.
    """
    _require_ledger(ledger, population)
    if ledger is None:
        yield lambda _: None
        return
    from shuffledp.files.ledger_use import inviting

    with inviting(ledger, population=population) as reserve:
        yield reserve


def require_real(ledger: LedgerPath, seed: int | None) -> None:
    """Refuse a seeded run with a ledger, since a ledger counts only real releases."""
    if ledger is not None and seed is not None:
        raise InvalidParameterError("--seed must be left out beside --ledger: a seeded run promises nothing.")


def _destroyed(collection: Path, ca: Path | None) -> str:
    """Id of a collection whose shuffler says that it destroyed all reports; empty for any other collection."""
    from shuffledp.cli.states_command import status_of
    from shuffledp.survey import Collection

    read = Collection.read(collection)
    return read.id.hex() if status_of(read, ca)["phase"] == "destroyed" else ""


def _require_ledger(ledger: Path | None, population: str) -> None:
    """Refuse a population without a ledger."""
    if population and ledger is None:
        raise InvalidParameterError(f"--population must be left out without --ledger; got population={population!r}.")


def _write_page(found: "Ledger", page: Path) -> None:
    from shuffledp.documents.ledger_document import ledger_document
    from shuffledp.documents.page import page_of
    from shuffledp.files import new_file

    with new_file(page, force=True, is_ours=lambda path: path.suffix == ".html") as place:
        place.write_bytes(page_of(ledger_document(found)))
