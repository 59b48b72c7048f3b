"""The commands that work on answers: `run`, its stages `randomize`, `shuffle` and `analyze`, and `demo`."""

import sys
from collections.abc import Callable, Sequence
from json import loads as json_of
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli.ledger_command import counting, require_real
from shuffledp.cli.options import (
    Earlier,
    Engine,
    Force,
    Json,
    LedgerPath,
    NoFigures,
    OnEngine,
    Population,
    Seed,
    TaskFile,
    screen,
    show_result,
    whole,
)
from shuffledp.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from shuffledp.documents.document import Document
    from shuffledp.files.reading import Input, TableFiles
    from shuffledp.randomness.sources import RandomSource
    from shuffledp.survey import Outcome, Task

Answers = Annotated[
    list[Path],
    typer.Option(
        readable=False,
        help="Answers: CSV with a header line, or Parquet; a folder of such files, or one file each time; - is CSV on "
        "standard input.",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        help="Folder to make: release.html, estimates.csv, statement.json, release.parquet; for several columns a "
        "folder of these for each, beside a page and a statement about all."
    ),
]
_RELEASE = "release"  # the folder of the demo's output that holds the release
_FEWEST, _MOST = 100, 10_000_000  # people of the demo


def run(
    task: TaskFile,
    *,
    input: Answers,  # noqa: A002
    output: Folder,
    engine: OnEngine = Engine.ONE_MACHINE,
    earlier: Earlier = None,
    ledger: LedgerPath = None,
    population: Population = "",
    no_figures: NoFigures = False,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Randomize, shuffle and analyze a table of answers.

    Whoever runs this plays all parties and sees the raw answers.
    """
    from shuffledp.files import new_folder
    from shuffledp.survey import Task

    require_real(ledger, seed)
    with new_folder(output, force=force) as folder:
        asked = Task.read(task)
        _warn_of_release(output, asked)
        with counting(ledger, asked, population) as counted:
            further: dict[str, Any] = {"earlier": earlier or (), "engine": engine, "counted": counted}
            outcome, document = _run(task, input, folder, seed, not no_figures, **further)
    show_release(outcome, document, output, as_json=json)


def randomize(
    task: TaskFile,
    *,
    input: Answers,  # noqa: A002
    output: Annotated[Path, typer.Option(help="File of reports to write (Parquet); a folder, for several columns.")],
    engine: OnEngine = Engine.ONE_MACHINE,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Stage 1, on the devices: answers in, reports out.

    The reports are still in the order of the people: they are for the shuffler only.
    """
    _stage("randomize", task, input, output, seed=seed, engine=engine, force=force, as_json=json)


def shuffle(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(readable=False, help="File (or folder) of reports, as `randomize` wrote it.")],  # noqa: A002
    output: Annotated[Path, typer.Option(help="File of the view to write (Parquet); a folder, for several columns.")],
    engine: OnEngine = Engine.ONE_MACHINE,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Stage 2, at the shuffler: reports in, the view out.

    The order of the view tells nothing.
    """
    _stage("shuffle", task, [input], output, seed=seed, engine=engine, force=force, as_json=json, beside=task.parent)


def analyze(
    task: TaskFile,
    *,
    input: Annotated[Path, typer.Option(readable=False, help="File (or folder) of the view, as `shuffle` wrote it.")],  # noqa: A002
    output: Folder,
    engine: OnEngine = Engine.ONE_MACHINE,
    earlier: Earlier = None,
    ledger: LedgerPath = None,
    population: Population = "",
    no_figures: NoFigures = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Stage 3, at the analyst: the view in, the release out."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.release_document import write_release
    from shuffledp.files import new_folder, stages
    from shuffledp.survey import Task

    asked = Task.read(task)
    with new_folder(output, force=force) as folder:
        _warn_of_release(output, asked)
        with counting(ledger, asked, population, are_seen=True) as counted:
            if engine is Engine.SPARK:
                outcome = _on_spark("analyze_on", asked, input, folder, earlier=earlier or ())
            else:
                given: dict[str, Any] = {"earlier": earlier or (), "beside": task.parent}
                with watching() as watch:
                    outcome = stages.analyze(asked, input, folder, watch=watch, **given)
            outcome, document = write_release(counted(outcome, folder), folder, figures=not no_figures)
    show_release(outcome, document, output, as_json=json)


def demo(
    output: Annotated[Path, typer.Option(help="Folder to make.")] = Path("shuffledp-demo"),
    people: Annotated[int, whole(f"Number of made-up people, from {_FEWEST:,} to {_MOST:,}.")] = 20_000,
    *,
    no_figures: NoFigures = False,
    json: Json = False,
    seed: Seed = None,
    force: Force = False,
) -> None:
    """Run the whole flow on a survey of made-up people."""
    from shuffledp.core.validate import invalid
    from shuffledp.demo import write_survey
    from shuffledp.files import new_folder

    if not _FEWEST <= people <= _MOST:
        raise invalid(f"from {_FEWEST:,} to {_MOST:,}", people=people)
    with new_folder(output, force=force, is_ours=_is_demo) as folder:
        task_file, survey = write_survey(folder, people=people)
        with new_folder(folder / _RELEASE, force=False) as release:
            outcome, document = _run(task_file, [survey], release, seed, not no_figures, demonstration=True)
    show_release(outcome, document, output / _RELEASE, as_json=json)


def _run(
    task_file: Path,
    answers: Sequence[Path],
    folder: Path,
    seed: int | None,
    figures: bool,
    *,
    earlier: Sequence[Path] = (),
    engine: Engine = Engine.ONE_MACHINE,
    demonstration: bool = False,
    counted: "Callable[[Outcome, Path], Outcome]" = lambda outcome, _: outcome,
) -> "tuple[Outcome, Document]":
    """The outcome of all stages, and the last page written."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.release_document import write_release
    from shuffledp.files import stages
    from shuffledp.survey import Task

    task, beside = Task.read(task_file), task_file.parent
    given = _held(answers)
    if engine is Engine.SPARK:
        outcome = _on_spark("run_on", task, _in_files(given), folder, seed=seed, earlier=earlier)
        return write_release(counted(outcome, folder), folder, figures=figures)
    further: dict[str, Any] = {"earlier": earlier, "beside": beside, "demonstration": demonstration}
    with watching() as watch:
        outcome = stages.run(task, given, folder, source=_source(seed), watch=watch, **further)
    return write_release(counted(outcome, folder), folder, figures=figures)


def _on_spark(done: str, task: "Task", taken: "Path | TableFiles", place: Path, **further: Any) -> Any:
    """Result of one function of the Spark engine, in a session that uses the output's private folder."""
    from shuffledp import distributed
    from shuffledp.cli.progress_bars import watching

    quiet = not screen().verbose
    with watching("tasks") as watch, distributed.session_at(place.parent, quiet=quiet) as session:
        return getattr(distributed, done)(session, task, taken, place, watch=watch, **further)


def _in_files(given: "Input") -> "Path | TableFiles":
    """The input as files, which workers read by themselves."""
    from shuffledp.files.reading import TableFiles

    if not isinstance(given, Path | TableFiles):
        raise InvalidParameterError("--input must be files where --engine is spark; got -.")
    return given


def show_release(outcome: "Outcome", document: "Document", folder: Path, *, as_json: bool) -> None:
    """Print a release, and where its files are."""
    from shuffledp.documents.release_document import with_places

    show_result(outcome, lambda: with_places(document, outcome, folder), as_json=as_json)


def _warn_of_release(output: Path, task: "Task") -> None:
    """Warn if a folder holds a release of the same task, which a new release replaces but does not undo."""
    try:
        held = json_of((output / "statement.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(held, dict) and held.get("task_sha256") == task.sha256 and not held.get("seeded"):
        sys.stderr.write(
            f"shuffledp: WARNING: {output} holds a release of the same task. Of people who are in both, the two tell "
            "more than either states: what has been released stays known. To count both, write into another folder, "
            "and give the statement.json of this one by --earlier.\n"
        )


def _stage(
    name: str,
    task_file: Path,
    taken: Sequence[Path],
    output: Path,
    *,
    seed: int | None,
    engine: Engine,
    force: bool,
    as_json: bool,
    **further: Path,
) -> None:
    """Run one stage from its input file (or folder) to its output; warns about files that hold secrets.

    On an engine the other is always a folder, of parts.
    """
    from shuffledp.cli.progress_bars import watching
    from shuffledp.documents.document import Document
    from shuffledp.documents.flow_document import secret_file, stage_section
    from shuffledp.files import is_stage, new_file, new_folder, stages
    from shuffledp.survey import Task

    task = Task.read(task_file)
    _require_apart(taken, output)
    if not task.in_blocks:
        _require_parquet(output)
    of_files = task.in_blocks or engine is Engine.SPARK
    made = new_folder(output, force=force, is_ours=is_stage) if of_files else new_file(output, force=force)
    given = _held(taken) if name == "randomize" else taken[0]
    with made as place:
        if engine is Engine.SPARK:
            outcome = _on_spark(f"{name}_on", task, _in_files(given), place, seed=seed)
        else:
            source = _source(seed)
            if source is not None and name != "randomize":
                # Its own substream: with the seed of `randomize`, the order must not repeat the reports' random words.
                source = source.substream(name)
            with watching() as watch:
                outcome = getattr(stages, name)(task, given, place, source=source, watch=watch, **further)
    columns = list(zip(task.stage_files(output), outcome.columns.values(), strict=True))
    sections = tuple(stage_section(name, column, str(path)) for path, column in columns)
    show_result(outcome, lambda: Document(sections=sections), as_json=as_json)
    for path, column in columns:
        if column.is_secret:
            sys.stderr.write(f"shuffledp: WARNING: {secret_file(str(path))}\n")


def _held(answers: Sequence[Path]) -> "Input":
    """The answers; from standard input they are held in memory only."""
    from shuffledp.files.reading import CsvInMemory
    from shuffledp.files.table_files import table_files

    if Path("-") not in answers:
        return table_files(answers)
    if len(answers) > 1:
        raise InvalidParameterError("--input must be - alone, or files alone; got both.")
    if sys.stdin is None:  # Python sets it to None if it is closed
        raise InvalidParameterError("--input must be a table where standard input is closed; got -.")
    return CsvInMemory.of(sys.stdin.buffer)


def _is_demo(folder: Path) -> bool:
    """Whether a folder holds only files written by `demo`."""
    from shuffledp.demo import is_survey
    from shuffledp.files import is_release

    entries = {entry.name for entry in folder.iterdir()}
    return entries == {"survey.csv", "task.toml", _RELEASE} and is_release(folder / _RELEASE) and is_survey(folder)


def _require_apart(inputs: Sequence[Path], output: Path) -> None:
    """Refuse an output that is one of the inputs, under any name, or lies in an input folder."""
    for taken in inputs:
        try:
            same = output.exists() and output.samefile(taken)
            inside = taken.is_dir() and output.resolve().parent.samefile(taken)
        except OSError:
            return  # opening the path will report the error
        if same:
            raise InvalidParameterError(f"output must be another file than input; got output={str(output)!r}.")
        if inside:
            raise InvalidParameterError(f"output must be outside the folder of input; got output={str(output)!r}.")


def _require_parquet(output: Path) -> None:
    """Refuse an output whose name has the ending of a format other than Parquet."""
    if output.suffix.lower() not in ("", ".parquet", ".pq"):
        raise InvalidParameterError(
            "output must be the name of a Parquet file, such as reports.parquet: reports and views are written in no "
            f"other format; got output={str(output)!r}."
        )


def _source(seed: int | None) -> "RandomSource | None":
    from shuffledp.randomness.replayable import SeededSource

    return None if seed is None else SeededSource(seed)
