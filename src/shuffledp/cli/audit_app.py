"""The command that puts a task's statements to the test: `audit`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["audit"]

REFUTED, NOTHING_AUDITED = 5, 6  # exit codes


def audit(
    task: Annotated[Path, typer.Argument(metavar="TASK.toml", help="The task, fixed before collection.")],
    *,
    users: Annotated[int | None, typer.Option(help="People to play, if the task does not say, or fewer.")] = None,
    trials: Annotated[int | None, typer.Option(help="Runs that count, with each of two data sets.")] = None,
    confidence: Annotated[float, typer.Option(help="With which all limits hold together.")] = 0.99,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Draw views by sufficient statistics: fast; the code is not tested."),
    ] = False,
    leakage: Annotated[
        bool, typer.Option("--leakage", help="Also guess answers, and count how often guesses are right.")
    ] = False,
    input: Annotated[  # noqa: A002
        Path | None, typer.Option(help="For a task with [groups]: a table of the people with their public columns.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Page to write, such as audit.html.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object (docs/schema.json) instead of text.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Makes the audit repeatable.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier output of the same name.")] = False,
) -> None:
    """Attack the pipeline of a task, on invented answers, and hold what attacks show against every statement.

    Exits with 0 if statements were audited and all of those stood, with 5 if one is refuted, with 6 if none was
    audited, or those that stood could hardly have been refuted by so few trials.
    """
    from shuffledp.cli import audit_commands, audit_screen

    audited = audit_commands.audit(
        task,
        users=users,
        trials=trials,
        confidence=confidence,
        statistics=statistics,
        leakage=leakage,
        people=input,
        output=output,
        seed=seed,
        force=force,
    )
    audit_screen.show_audit(audited, output, as_json=json)
    if audited.refuted:
        raise typer.Exit(REFUTED)
    if not audited.audited:
        raise typer.Exit(NOTHING_AUDITED)
