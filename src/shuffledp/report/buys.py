"""How much shuffling buys: a page or a picture about a protocol that nobody has run yet."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from shuffledp._validate import one_of
from shuffledp.accounting import THEOREMS, Examination, Theorem
from shuffledp.errors import InvalidParameterError
from shuffledp.models import ProtocolModel
from shuffledp.randomizers import family_of
from shuffledp.report.bounds import bounds_chart, stacked_chart
from shuffledp.report.curves import Curves
from shuffledp.report.drawing import draw_files
from shuffledp.report.parts import Section
from shuffledp.report.rendering import render_page
from shuffledp.report.words import count, number
from shuffledp.statements import Status

__all__ = ["ENDINGS", "draw_bounds"]

ENDINGS = (".html", ".svg", ".png")
_TITLE = "How much shuffling buys"


def draw_bounds(found: Examination, ending: str, *, published_only: bool = False) -> bytes:
    """All theorems about one release together, against the number of users, the local loss and delta.

    Args:
        found: what is known about the protocol, whose place is marked.
        ending: ".html" for a page with a table; ".svg" or ".png" for a picture.
        published_only: whether to leave out the promises that only this project proves.

    Returns:
        What such a file holds; the same for the same numbers.

    Raises:
        InvalidParameterError: for another ending, or if nobody loses anything, whatever changes.
    """
    one_of(ENDINGS, figure=ending)
    theorems = [
        theorem
        for theorem in THEOREMS
        if not (published_only and theorem.kind.promises and theorem.status is Status.OWN_PROOF)
    ]
    panels = _panels(found.counted, found.delta, theorems)
    if ending == ".html":
        return _page(found, panels)
    chart = stacked_chart(panels, name="bounds", title=_summary(found) + _one_release(found), who="here")
    return draw_files(chart, heading=_TITLE)[f"bounds{ending}"]


def _panels(model: ProtocolModel, delta: float, theorems: Sequence[Theorem]) -> tuple[Curves, ...]:
    """A panel for each of the three that can change and has anything to show; the loss of a matrix cannot change."""
    wanted: dict[str, Any] = {"delta": delta, "theorems": theorems}
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


def _page(found: Examination, panels: tuple[Curves, ...]) -> bytes:
    charts = {
        curves.axis: bounds_chart(curves, name=f"bounds-{curves.axis}", who="here", releases=found.releases)
        for curves in panels
    }
    context = {
        "found": found,
        "number": number,
        "rows": panels[0].curves,
        "names": [chart.name for chart in charts.values()],
        "titles": {chart.name: chart.title for chart in charts.values()},
        "people": count(found.counted.num_users),
        "delta": f"{found.delta:g}",
        "one_release": _one_release(found),
    }
    section = Section(name="bounds", title="All theorems", context=context, charts=tuple(charts.values()))
    return render_page(
        [section], name=_TITLE, kicker="Accounting, without any data", summary=_summary(found), has_files=False
    )
