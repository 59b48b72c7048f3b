"""The command that puts a task's statements to the test: `audit`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import (
    Force,
    Json,
    People,
    TaskFile,
    show_result,
)

Statistics = Annotated[
    bool, typer.Option("--statistics", help="Draw views by sufficient statistics: fast; the code is not tested.")
]
Leakage = Annotated[bool, typer.Option("--leakage", help="Also guess answers, and count how often guesses are right.")]
REFUTED, NOTHING_AUDITED = 5, 6  # exit codes


def audit(
    task: TaskFile,
    *,
    users: Annotated[int | None, typer.Option(help="People to play, if the task does not say, or fewer.")] = None,
    trials: Annotated[int | None, typer.Option(help="Runs that count, with each of two data sets.")] = None,
    confidence: Annotated[float, typer.Option(help="With which all limits hold together.")] = 0.99,
    statistics: Statistics = False,
    leakage: Leakage = False,
    input: People = None,  # noqa: A002
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Page to write, such as audit.html.")] = None,
    json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Makes the audit repeatable.")] = None,
    force: Force = False,
) -> None:
    """Attack the pipeline of a task, on invented answers, and hold what attacks show against every statement.

    Exits with 0 if statements were audited and all of those stood, with 5 if one is refuted, with 6 if none was
    audited, or those that stood could hardly have been refuted by so few trials.
    """
    from shuffledp.attacks import Mode
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.protocol_options import check_people, read_surroundings
    from shuffledp.core.errors import InvalidParameterError
    from shuffledp.documents.audit_document import audit_document
    from shuffledp.documents.document import Role, Section, told
    from shuffledp.documents.page import is_audit_page, page_of
    from shuffledp.files.writing import new_file
    from shuffledp.randomness.replayable import SeededSource
    from shuffledp.survey import Task, audit_task

    asked = Task.read(task)
    check_people(asked, input)
    if output is not None and output.suffix.lower() != ".html":
        raise InvalidParameterError(f"output must be the name of a page, ending in .html; got output={str(output)!r}.")
    with ExitStack() as stack:
        # Before the runs, which may take minutes: a place that cannot be written to is known at once.
        page = None if output is None else stack.enter_context(new_file(output, force=force, is_ours=is_audit_page))
        watch = stack.enter_context(watching("runs"))
        grouping, graphs = read_surroundings(asked, task.parent, users=users, people=input, progress=watch.progress)
        audited = audit_task(
            asked,
            users,
            trials=trials,
            confidence=confidence,
            mode=Mode.STATISTICS if statistics else Mode.PIPELINE,
            leakage=leakage,
            grouping=grouping,
            graphs=graphs,
            source=None if seed is None else SeededSource(seed),
            progress=watch.progress,
        )
        document = audit_document(audited)
        if page is not None:
            page.write_bytes(page_of(document))
    where = () if output is None else told(f"\nPage: {output}", role=Role.PATH)
    files = Section(anchor="files", title="Files", blocks=where)
    show_result(audited, lambda: document.followed_by(files), as_json=json)
    if audited.refuted:
        raise typer.Exit(REFUTED)
    if not audited.audited:
        raise typer.Exit(NOTHING_AUDITED)
