"""Every theorem together about a protocol, in words, a table and pictures: how much shuffling buys."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shuffledp.accounting import THEOREMS, Examination, Theorem
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Status
from shuffledp.core.text import in_digits
from shuffledp.core.validate import one_of
from shuffledp.documents.account_document import best_possible, bracket_of
from shuffledp.documents.bounds_chart import bounds_chart, stacked_chart
from shuffledp.documents.curves import Curve, Curves
from shuffledp.documents.document import (
    Block,
    Cell,
    Column,
    Document,
    Medium,
    Picture,
    Role,
    Section,
    Table,
    Text,
    told,
)
from shuffledp.documents.drawing import draw
from shuffledp.documents.page import page_of
from shuffledp.documents.words import NOTHING, count, number
from shuffledp.randomizers import family_of

if TYPE_CHECKING:
    from shuffledp.survey import ColumnOutcome

_SHARE = "All of this is about this release of this column alone: a share of the sum that is promised above."
ENDINGS = (".html", ".svg", ".png")
_FIGURE = "How much shuffling buys"
_PAGE = Medium.PAGE


def theorems_table(curves: Sequence[Curve], caption: str) -> Table:
    """What each theorem says about a protocol, and from how many users on it applies."""
    rows = []
    for curve in curves:
        theorem = curve.theorem
        name = Cell(text=theorem.id, note=theorem.citation, code=True)
        if curve.here is None:
            when = f"from {count(curve.start)} users on" if curve.start else "no"
            rows.append((name, Cell(text=NOTHING), Cell(text=when, note=curve.reason)))
        else:
            relation = theorem.kind.relation
            value = Cell(before=relation, text=number(curve.here, relation), bold=True)
            rows.append((name, value, Cell(text="yes")))
    heads = (Column("Theorem"), Column("Epsilon"), Column("Applies"))
    return Table(caption, heads, tuple(rows), look="theorems", label="Table of theorems", on=_PAGE)


def accounting_section(outcome: "ColumnOutcome") -> Section | None:
    """Chart and table of what each theorem says; None if one report may say everything, and for groups and graphs."""
    task, people = outcome.column, outcome.model.num_users
    if math.isinf(outcome.model.local.epsilon0) or task.groups is not None or task.shuffler.needs_graph:
        return None
    curves = Curves.over_users(task.model, people=people, delta=task.release.delta)
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    flat = bool(np.ptp(curves.stated) == 0)
    chart = bounds_chart(curves, name="accounting", who="this task", withdrawn=withdrawn)
    seedless = ", for a run without a seed" if withdrawn else ""
    blocks = (
        *told(_SHARE if len(outcome.statements[0].parts) > 1 else "", on=_PAGE),
        *_amplified(curves, people, task.release.delta, flat=flat),
        Picture(chart, on=_PAGE),
        theorems_table(curves.curves, f"What each theorem says about {count(people)} users{seedless}"),
    )
    title = "Only the local guarantee" if flat else "More people, more privacy"
    return Section(anchor="accounting", title=title, blocks=blocks)


def _amplified(curves: Curves, people: int, delta: float, *, flat: bool) -> Iterable[Block]:
    """What shuffling makes of the local loss."""
    epsilon0 = f"epsilon0 = {number(curves.epsilon0)}"
    if flat:
        local = f"Whatever the number of users, only the local guarantee of {epsilon0} is known to hold for this task."
        return told(local, on=_PAGE)
    hides = (
        "A shuffled report hides among the others. What can be stated about this task depends on how many take part, "
        f"here at delta\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{delta:g}; one report by itself has {epsilon0}."
    )
    place = list(curves.values).index(people)
    upper, lower = float(curves.stated[place]), float(curves.unreachable[place])
    best = best_possible(lower, upper, upper / lower, f" for {count(people)} users") if lower > 0 else ""
    return told(hides, best, on=_PAGE)


def figure_of(found: Examination, ending: str, *, published_only: bool = False) -> bytes:
    """All theorems about one release together, against the number of users, the local loss and delta, as a file.

    Args:
        found: what is known about the protocol, whose place is marked.
        ending: ".html" for a page with a table; ".svg" or ".png" for one picture of all panels.
        published_only: whether to leave out the promises that only this project proves.

    Returns:
        What such a file holds; the same for the same numbers.

    Raises:
        InvalidParameterError: for another ending, or if nobody loses anything, whatever changes.
    """
    one_of(ENDINGS, figure=ending)
    panels = _panels(found, published_only=published_only)
    if ending == ".html":
        return page_of(_figure_document(found, panels))
    chart = stacked_chart(panels, name="bounds", title=_summary(found) + _one_release(found), who="here")
    return draw(chart).as_file(ending, heading=_FIGURE)


def _figure_document(found: Examination, panels: Sequence[Curves]) -> Document:
    """The promise, a picture for each panel, and every theorem."""
    pictures: list[Block] = []
    for curves in panels:
        chart = bounds_chart(curves, name=f"bounds-{curves.axis}", who="here", releases=found.releases)
        pictures += [Text(chart.title, Role.HEADING), Picture(chart, has_files=False)]
    caption = f"What each theorem says about {count(found.counted.num_users)} users at delta = {found.delta:g}"
    blocks = (
        Text(found.upper.guarantee.text(found.upper.kind.relation), Role.LEAD),
        *_emphasized(found),
        *pictures,
        theorems_table(panels[0].curves, caption + _one_release(found)),
    )
    return Document(
        title=_FIGURE,
        kicker="Accounting, without any data",
        summary=_summary(found),
        sections=(Section(anchor="bounds", title="All theorems", blocks=blocks),),
    )


def _panels(found: Examination, *, published_only: bool) -> tuple[Curves, ...]:
    """A panel for each of the three that can change and has anything to show; the loss of a matrix cannot change."""
    model, wanted = found.counted, cast(dict[str, Any], {"delta": found.delta})
    wanted["theorems"] = [each for each in THEOREMS if not (published_only and _is_own(each))]
    describe = family_of(model.local)
    panels = [Curves.over_users(lambda users: _with_users(model, users), people=model.num_users, **wanted)]
    if describe is not None:
        panels.append(Curves.over_epsilon0(describe, model, **wanted))
    panels.append(Curves.over_delta(model, **wanted))
    drawn = tuple(curves for curves in panels if curves.drawn)
    if not drawn:
        raise InvalidParameterError(
            "figure must be left out where every epsilon is 0: there is nothing to draw; got a randomizer with "
            f"epsilon0={model.local.epsilon0:g}."
        )
    return drawn


def _is_own(theorem: Theorem) -> bool:
    """Whether it is a promise that only this project proves."""
    return theorem.kind.promises and theorem.status is Status.OWN_PROOF


def _with_users(model: ProtocolModel, users: int) -> ProtocolModel:
    return replace(model, shuffle=cast(Any, replace)(model.shuffle, num_users=users))


def _summary(found: Examination) -> str:
    return (
        f"{found.model.local.kind}, epsilon0 = {number(found.model.local.epsilon0)}, "
        f"{count(found.counted.num_users)} users, delta = {found.delta:g}"
    )


def _one_release(found: Examination) -> str:
    """What tells numbers about one release from a promise about several."""
    return ", for one release" if found.releases > 1 else ""


def _emphasized(found: Examination) -> Iterable[Text]:
    """The bracket with its ends in bold, where there are two."""
    if found.slack is None or found.epsilon_lower is None:
        return ()
    ends = in_digits(found.epsilon_lower, "at least"), in_digits(found.epsilon_upper, "at most")
    return (Text(bracket_of(found), bold=ends),)
