"""The page of a release: sections in order, one self-contained HTML file, and its charts as files beside it."""

from collections.abc import Iterable
from pathlib import Path

from shuffledp.report.drawing import draw_files
from shuffledp.report.parts import Section
from shuffledp.report.rendering import render_page
from shuffledp.report.sections import SECTIONS, column_section, reproduction_section, statement_section
from shuffledp.report.words import count_of, sent, shortened
from shuffledp.tasks import JointOutcome, Outcome

__all__ = ["write_joint_page", "write_page"]

PAGE = "release.html"
_LONGEST_HEADING = 50


def write_page(outcome: Outcome, directory: Path) -> tuple[str, ...]:
    """Write ``release.html`` and its charts as SVG and PNG files.

    The page names no person, no answer and no path; it loads nothing from anywhere and needs no JavaScript. The same
    outcome gives the same bytes.

    Args:
        outcome: what came of a task.
        directory: where to write; made if absent, and files of the same names are replaced.

    Returns:
        The names of the files written, the page first.

    Guarantees:
        1. Text from the task is shown as text, whatever it contains.
        2. A withdrawn statement is marked as such on the page and on every chart.
    """
    sections = [section for make in SECTIONS if (section := make(outcome)) is not None]
    summary = f"{sent(outcome.model, outcome.flow.released)} about the private column"
    files = {PAGE: _page(outcome, sections, summary=summary, values=[outcome.task.value])}
    mark = "WITHDRAWN: nothing is promised" if _withdrawn(outcome) else None
    for chart in (chart for section in sections for chart in section.charts):
        files |= draw_files(chart, heading=shortened(outcome.task.name, _LONGEST_HEADING), mark=mark)
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return tuple(files)


def write_joint_page(joint: JointOutcome, directory: Path) -> tuple[str, ...]:
    """Write ``release.html`` of several private columns, beside the folders with the pages of the single columns.

    It opens with what holds for one person over all columns, shows the estimates of each, and leads to their pages.
    Otherwise as `write_page`, but the charts are not written again as files.

    Args:
        joint: what came of a task.
        directory: where the folders of the columns are.

    Returns:
        The name of the file written.
    """
    columns = [column_section(outcome, folder) for folder, outcome in joint.columns.items()]
    sections = [statement_section(joint), *columns, reproduction_section(joint)]
    summary = count_of(len(columns), "private column:", "private columns, answered by the same people:")
    values = [column.task.value for column in joint.columns.values()]
    (directory / PAGE).write_bytes(_page(joint, sections, summary=summary, values=values))
    return (PAGE,)


def _page(outcome: Outcome | JointOutcome, sections: Iterable[Section], *, summary: str, values: list[str]) -> bytes:
    """The HTML of the page; ``values`` are the private columns, which come after the summary."""
    return render_page(
        sections,
        name=outcome.task.name,
        kicker=_kicker(outcome),
        summary=summary,
        values=values,
        withdrawn=_withdrawn(outcome),
    )


def _kicker(outcome: Outcome | JointOutcome) -> str:
    """What kind of release this is, in three words."""
    headline = outcome.statements[0].guarantee
    if _withdrawn(outcome):
        return "Trial run, not private"
    if headline.is_trivial:
        return "Not private"
    return "Weakly private release" if headline.weakness else "Private release"


def _withdrawn(outcome: Outcome | JointOutcome) -> str | None:
    """Why nothing is promised, in words; None if something is."""
    reasons = [statement.withdrawn.text for statement in outcome.statements if statement.withdrawn]
    if not reasons and outcome.seeded:
        return "the randomness can be replayed"
    return reasons[0] if reasons else None
