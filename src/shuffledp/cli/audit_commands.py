"""What `audit` does: read the task, call the library once, draw the page."""

from contextlib import ExitStack
from pathlib import Path

from shuffledp.attacks import Mode
from shuffledp.cli.screen import watching
from shuffledp.cli.surroundings import check_people, read_surroundings
from shuffledp.errors import InvalidParameterError
from shuffledp.report import is_audit_page, write_audit_page
from shuffledp.tables import new_file
from shuffledp.tasks import TaskAudit, audit_task, read_task
from shuffledp.testing import SeededSource

__all__ = ["audit"]


def audit(
    task_file: Path,
    *,
    users: int | None,
    trials: int | None,
    confidence: float,
    statistics: bool,
    leakage: bool,
    people: Path | None,
    output: Path | None,
    seed: int | None,
    force: bool,
) -> TaskAudit:
    """What attacks found; of the people only public columns are read."""
    task = read_task(task_file)
    check_people(task, people)
    if output is not None and output.suffix.lower() != ".html":
        raise InvalidParameterError(f"output must be the name of a page, ending in .html; got output={str(output)!r}.")
    with ExitStack() as stack:
        # Before the runs, which may take minutes: a place that cannot be written to is known at once.
        page = None
        if output is not None:
            page = stack.enter_context(new_file(output, force=force, is_ours=is_audit_page))
        watch = stack.enter_context(watching("runs"))
        grouping, graphs = read_surroundings(
            task, task_file.parent, users=users, people=people, progress=watch.progress
        )
        audited = audit_task(
            task,
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
        if page is not None:
            write_audit_page(audited, page)
    return audited
