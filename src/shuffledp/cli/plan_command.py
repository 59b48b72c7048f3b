"""The commands before a collection: `plan`, `planner` and `audit`."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli.options import (
    Earlier,
    Force,
    Json,
    People,
    TaskFile,
    require_extra,
    screen,
    show_result,
    whole,
)
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.cli.wanted_command import WantedOptions, is_sought, show_sought

Statistics = Annotated[
    bool, typer.Option("--statistics", help="Draw views by sufficient statistics: fast; the code is not tested.")
]
Leakage = Annotated[bool, typer.Option("--leakage", help="Also guess answers, and count how often guesses are right.")]
REFUTED, NOTHING_AUDITED = 5, 6  # exit codes


def plan(
    task: TaskFile,
    *,
    users: Annotated[int | None, whole("People who will take part, if the task does not say.")] = None,
    input: People = None,  # noqa: A002
    earlier: Earlier = None,
    table: Annotated[bool, typer.Option("--table", help="Of a network shuffle: list all rounds, and parts.")] = False,
    error: Annotated[
        float | None,
        typer.Option(help="How many people lead to intervals of this half-width: 0.02 is two points of a share."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Beside --error or --weeks: which epsilon0, for this central loss; with [groups]: which alpha."
        ),
    ] = None,
    weeks: Annotated[
        int | None, whole("Plan for the same people answering every week: what all weeks lose together.")
    ] = None,
    wanted: WantedOptions,
    output: Annotated[
        Path | None, typer.Option(help="Folder to make, with plan.html: the page of the release, without estimates.")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Say what to expect of a task before anybody is asked.

    Or, with --error, how many people that takes; or, with --weeks, what asking the same people again costs; or, for a
    task with [groups], which alpha, radius and mechanism do what is wanted. Prints the report size, the
    errors, the guarantees, and which other randomizer would do better.
    """
    given = {"input": input, "earlier": earlier, "table": table or None, "output": output}
    if is_sought(task, wanted, epsilon, {"error": error, "weeks": weeks, **given}):
        return show_sought(task, input, wanted, epsilon, users=users, as_json=json)
    if weeks is not None:
        return _plan_weeks(task, users, weeks, epsilon, {"error": error, **given}, as_json=json)
    if error is not None or epsilon is not None:
        return _plan_people(task, error, epsilon, {"users": users, **given}, as_json=json)
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.protocol_options import check_people, read_surroundings
    from shuffledp.documents.blocks import Role, told
    from shuffledp.documents.document import Section
    from shuffledp.documents.plans.plan_document import plan_document
    from shuffledp.documents.plans.plan_page import PLAN_PAGE, is_plan, plan_page
    from shuffledp.files import new_folder
    from shuffledp.survey import Task
    from shuffledp.survey import plan as plan_of

    asked = Task.read(task)
    _require_rounds(asked.shuffler.needs_graph, table=table)
    check_people(asked, input)
    with ExitStack() as stack:
        folder = None if output is None else stack.enter_context(new_folder(output, force=force, is_ours=is_plan))
        watch = stack.enter_context(watching(""))
        around = read_surroundings(asked, task.parent, users=users, people=input, progress=watch.progress)
        progress = partial(watch.progress, "accounting for rounds")
        found = plan_of(asked, users, earlier=earlier or (), progress=progress, **around)
        if folder is not None:
            (folder / PLAN_PAGE).write_bytes(plan_page(found, table=table))
    where = () if output is None else told(f"Page: {output / PLAN_PAGE}", role=Role.PATH)
    files = Section(anchor="files", title="Files", blocks=where)
    return show_result(found, lambda: plan_document(found, table=table).followed_by(files), as_json=json)


def _require_rounds(has_rounds: bool, *, table: bool) -> None:
    """Refuse --table where there are no rounds to list."""
    if table and not has_rounds:
        raise InvalidParameterError(
            "--table must be left out but for a task with a 'network' shuffle, of which it lists rounds and parts. "
            "`shuffledp account TASK.toml --table` lists theorems."
        )


def _plan_people(
    task: Path, error: float | None, epsilon: float | None, given: Mapping[str, object], *, as_json: bool
) -> None:
    """Print the number of people that a task needs for a wanted error."""
    from shuffledp.documents.plans.plan_document import people_document
    from shuffledp.survey import Task, people_for_error

    if error is None:
        raise InvalidParameterError(
            "--error or --weeks must be given beside --epsilon; `shuffledp calibrate` finds the epsilon0 for a number "
            "of people."
        )
    asked = Task.read(task)
    if asked.shuffler.needs_groups:
        raise InvalidParameterError(
            "--error must be left out for a task with [groups], whose errors depend on where people are: ask "
            "--epsilon, --slot-chance or --blur, with --input, for an alpha."
        )
    _require_left_out(given, "--error, which asks how many people it takes")
    found = people_for_error(asked, half_width=error, target_epsilon=epsilon)
    show_result(found, lambda: people_document(found), as_json=as_json)


def _plan_weeks(
    task: Path,
    users: int | None,
    weeks: int,
    epsilon: float | None,
    given: Mapping[str, object],
    *,
    as_json: bool,
) -> None:
    """Print the loss of people who answer every week, and the errors of estimates."""
    from shuffledp.documents.plans.weeks_document import weeks_document
    from shuffledp.survey import Task, plan_weeks

    _require_left_out(given, "--weeks, which plans a uniform shuffle of the same people every week")
    found = plan_weeks(Task.read(task), users, num_weeks=weeks, target_epsilon=epsilon)
    show_result(found, lambda: weeks_document(found), as_json=as_json)


def _require_left_out(given: Mapping[str, object], beside: str) -> None:
    """Refuse options that have no effect beside another option."""
    for name, value in given.items():
        if value is not None:
            raise InvalidParameterError(f"--{name} must be left out beside {beside}.")


def planner(
    *,
    port: Annotated[int, typer.Option(help="On this machine's loopback interface; 0 is any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address of the page.")] = False,
) -> None:
    """Compare all shufflers side by side in the browser.

    What a task would guarantee and cost, until Ctrl-C is pressed. The page is served to this machine alone.
    """
    require_extra("planner", "the page", ["starlette", "uvicorn"])
    import webbrowser

    from shuffledp.planner.planner_server import serve

    def ready(address: str) -> None:
        if not screen().quiet:
            typer.echo(f"The planner is at {address} until you press Ctrl-C.")
        if not no_browser:
            webbrowser.open(address)

    serve(port=port, ready=ready)


def audit(
    task: TaskFile,
    *,
    users: Annotated[int | None, whole("People to play, if the task does not say, or fewer.")] = None,
    trials: Annotated[int | None, whole("Runs that count, with each of two data sets.")] = None,
    confidence: Annotated[float, typer.Option(help="With which all limits hold together.")] = 0.99,
    statistics: Statistics = False,
    leakage: Leakage = False,
    input: People = None,  # noqa: A002
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Page to write, such as audit.html.")] = None,
    json: Json = False,
    seed: Annotated[int | None, whole("Makes the audit repeatable.")] = None,
    force: Force = False,
) -> None:
    """Attack the pipeline of a task, on invented answers.

    What attacks show is held against every statement. Exits with 0 if statements were audited and all of those stood,
    with 5 if one is refuted, with 6 if none was audited, or those that stood could hardly have been refuted by so few
    trials.
    """
    from shuffledp.attacks import Mode
    from shuffledp.cli.progress_bars import watching
    from shuffledp.cli.protocol_options import check_people, read_surroundings
    from shuffledp.documents.audit_document import audit_document, is_audit_page
    from shuffledp.documents.blocks import Role, told
    from shuffledp.documents.document import Section
    from shuffledp.files.writing import new_file
    from shuffledp.randomness.replayable import SeededSource
    from shuffledp.survey import Task, audit_task

    asked = Task.read(task)
    check_people(asked, input)
    if output is not None and output.suffix.lower() != ".html":
        raise InvalidParameterError(f"output must be the name of a page, ending in .html; got output={str(output)!r}.")
    with ExitStack() as stack:
        # Checked before the runs, which may take minutes: the place must be writable.
        page = None if output is None else stack.enter_context(new_file(output, force=force, is_ours=is_audit_page))
        watch = stack.enter_context(watching("runs"))
        around = read_surroundings(asked, task.parent, users=users, people=input, progress=watch.progress)
        audited = audit_task(
            asked,
            users,
            trials=trials,
            confidence=confidence,
            mode=Mode.STATISTICS if statistics else Mode.PIPELINE,
            leakage=leakage,
            source=None if seed is None else SeededSource(seed),
            progress=watch.progress,
            **around,
        )
        document = audit_document(audited)
        if page is not None:
            from shuffledp.documents.page import page_of

            page.write_bytes(page_of(document))
    where = () if output is None else told(f"\nPage: {output}", role=Role.PATH)
    files = Section(anchor="files", title="Files", blocks=where)
    show_result(audited, lambda: document.followed_by(files), as_json=json)
    if audited.refuted:
        raise typer.Exit(REFUTED)
    if not audited.audited:
        raise typer.Exit(NOTHING_AUDITED)
