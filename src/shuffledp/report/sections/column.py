"""One private column of several: its estimates, and the way to the page that is about it alone."""

from dataclasses import replace

from shuffledp.report.parts import Section
from shuffledp.report.sections.estimates import estimates_section
from shuffledp.report.words import count_of, printable
from shuffledp.tasks import Outcome

__all__ = ["column_section"]

_MOST_ROWS_UNFOLDED = 12


def column_section(outcome: Outcome, folder: str) -> Section:
    """The picture and the table of a column.

    Args:
        outcome: of the column.
        folder: where its own page lies, beside this one; it also tells the pictures of several columns apart.
    """
    estimates, local = estimates_section(outcome), outcome.model.local
    (chart,) = estimates.charts
    context = {
        **estimates.context,
        "folder": folder,
        "value": outcome.task.value,
        "randomized": f"by {local.kind} with epsilon0\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{local.epsilon0:.4g}",
        "missing": count_of(outcome.flow.missing, "person", "people") if outcome.flow.missing else "",
        "chart": f"estimates-{folder}",
        "folded": len(estimates.context["rows"]) > _MOST_ROWS_UNFOLDED,
    }
    return Section(
        name="column",
        anchor=f"column-{folder}",
        title=printable(outcome.task.value),
        context=context,
        charts=(replace(chart, name=f"estimates-{folder}"),),
    )
