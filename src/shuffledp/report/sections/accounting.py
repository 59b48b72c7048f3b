"""Epsilon against the number of users, for this task: every theorem that applies, and what would be stated."""

import math

import numpy as np

from shuffledp.report.bounds import bounds_chart
from shuffledp.report.curves import Curves
from shuffledp.report.parts import Section
from shuffledp.report.words import count, number
from shuffledp.tasks import Outcome

__all__ = ["accounting_section"]


_SHARE = "All of this is about this release of this column alone: a share of the sum that is promised above."


def accounting_section(outcome: Outcome) -> Section | None:
    """Chart and table of what each theorem says; None if one report may say everything, and for groups and graphs."""
    task, people = outcome.task, outcome.model.num_users
    if math.isinf(outcome.model.local.epsilon0) or task.groups is not None or task.shuffler.needs_graph:
        return None
    curves = Curves.over_users(task.model, people=people, delta=task.release.delta)
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    flat = bool(np.ptp(curves.stated) == 0)
    place = list(curves.values).index(people)
    upper, lower = float(curves.stated[place]), float(curves.unreachable[place])
    context = {
        "upper": number(upper, "at most"),
        "lower": number(lower, "at least") if lower > 0 else None,
        "ratio": number(upper / lower, "at most") if lower > 0 else None,
        "rows": curves.curves,
        "number": number,
        "people": count(people),
        "share": _SHARE if len(outcome.statements[0].parts) > 1 else "",
        "delta": f"{task.release.delta:g}",
        "epsilon0": number(curves.epsilon0),
        "flat": flat,
        "withdrawn": withdrawn,
    }
    title = "Only the local guarantee" if flat else "More people, more privacy"
    charts = (bounds_chart(curves, name="accounting", who="this task", withdrawn=withdrawn),)
    return Section(name="accounting", title=title, context=context, charts=charts)
