"""Epsilon against the number of users, for this task: every theorem that applies, and what would be stated."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import THEOREMS, Theorem
from shuffledp.models import ProtocolModel
from shuffledp.report.drawing import LIGHT, NARROW, new_figure, text_width
from shuffledp.report.parts import Chart, Section
from shuffledp.report.words import count, number, short_count
from shuffledp.statements import Kind
from shuffledp.tasks import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "Curves", "accounting_section"]

_POINTS = 25
_DECADES_BELOW, _DECADES_ABOVE, _LEAST_DECADES = 1, 3, 5
_FARTHEST = 10**9  # users up to which we look for the first number at which a theorem applies
_LABEL = 11  # pixels

Describe = Callable[[int], ProtocolModel]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """What one theorem says about this task for each number of users.

    Args:
        theorem: the theorem.
        epsilon: shape (users,), NaN where it does not apply or says nothing.
        here: epsilon at the task's own number of users, or None.
        reason: the hypothesis that fails there, or ""; one that more users do not mend comes first.
        start: the least number of users at which it applies; None if there is none up to a billion.
    """

    theorem: Theorem
    epsilon: NDArray[np.float64]
    here: float | None
    reason: str
    start: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """All theorems over one range of numbers of users.

    Args:
        users: shape (users,), ascending; the task's own number is among them.
        people: the task's own number.
        epsilon0: the local loss.
        curves: one for each theorem in the registry.
        stated: shape (users,), the smallest of the applicable upper bounds.
    """

    users: NDArray[np.int64]
    people: int
    epsilon0: float
    curves: tuple[Curve, ...]

    @classmethod
    def of(cls, describe: Describe, *, people: int, delta: float) -> "Curves":
        """Evaluate every theorem, from a tenth of the people to a thousand times as many."""
        lowest = max(math.floor(math.log10(people)) - _DECADES_BELOW, 0)
        highest = max(math.floor(math.log10(people)) + _DECADES_ABOVE, _LEAST_DECADES)
        starts = {theorem.id: _first(theorem, describe, delta) for theorem in THEOREMS}
        inside = [start for start in starts.values() if start and 10**lowest < start < 10**highest]
        grid = np.logspace(lowest, highest, _POINTS).round().astype(np.int64)
        # Both sides of every number at which a theorem begins to apply, so that steps are drawn as steps.
        users = np.unique([*grid, *inside, *(start - 1 for start in inside), people])
        curves = tuple(_curve(theorem, describe, users, people, delta, starts[theorem.id]) for theorem in THEOREMS)
        return cls(users=users, people=people, epsilon0=describe(people).local.epsilon0, curves=curves)

    @property
    def stated(self) -> NDArray[np.float64]:
        """The smallest upper bound that applies at each number of users."""
        return np.fmin.reduce([curve.epsilon for curve in self.curves if curve.theorem.kind.promises])

    @property
    def unreachable(self) -> NDArray[np.float64] | None:
        """The largest lower bound at each number of users."""
        lower = [curve.epsilon for curve in self.curves if curve.theorem.kind is Kind.LOWER_BOUND]
        return np.fmax.reduce(lower) if lower else None


def accounting_section(outcome: Outcome) -> Section:
    """Chart and table of what each theorem says."""
    task, people = outcome.task, outcome.model.num_users
    curves = Curves.of(task.model, people=people, delta=task.release.delta)
    withdrawn = any(statement.withdrawn for statement in outcome.release.statements)
    drawn = [curve for curve in curves.curves if np.isfinite(curve.epsilon).any()]
    caption = "Thick line: what would be stated; the dot is this task. "
    if any(curve.theorem.kind is Kind.LOWER_BOUND for curve in drawn):
        caption += "Dashed: a lower bound; the truth lies in the shaded band. "
    if withdrawn:
        caption += "The run on this page is withdrawn: none of this holds for it. "
    chart = Chart(
        name="accounting",
        title="Epsilon against the number of users",
        description=(
            f"Both axes are logarithmic. Curves for {', '.join(curve.theorem.id for curve in drawn)}; the numbers at "
            f"{count(people)} users are in the table below."
        ),
        caption=caption.strip(),
        draw=partial(_draw, curves, hollow=withdrawn),
    )
    context = {
        "rows": curves.curves,
        "number": number,
        "people": count(people),
        "delta": f"{task.release.delta:g}",
        "epsilon0": number(curves.epsilon0),
        "flat": not any(curve.start for curve in curves.curves if curve.theorem.id != "local-dp"),
        "withdrawn": withdrawn,
    }
    return Section(name="accounting", title="More people, more privacy", context=context, charts=(chart,))


def _failing(theorem: Theorem, model: ProtocolModel, delta: float) -> dict[str, str]:
    """The hypotheses that do not hold, by name."""
    return {each.name: each.text for each in theorem.hypotheses(model, delta=delta) if not each.holds}


def _first(theorem: Theorem, describe: Describe, delta: float) -> int | None:
    """The least number of users at which the hypotheses hold, if more users never break them."""
    low, high = 0, _FARTHEST
    if _failing(theorem, describe(high), delta):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _failing(theorem, describe(middle), delta) else (low, middle)
    return high


def _curve(
    theorem: Theorem, describe: Describe, users: NDArray[np.int64], people: int, delta: float, start: int | None
) -> Curve:
    def epsilon(number: int) -> float:
        model = describe(number)
        found = math.nan if _failing(theorem, model, delta) else theorem.epsilon(model, delta=delta)
        return found if found > 0 else math.nan  # 0 says nothing, and has no place on a logarithmic axis

    failing = _failing(theorem, describe(people), delta)
    never = _failing(theorem, describe(_FARTHEST), delta)
    values = np.array([epsilon(int(number)) for number in users])
    here = None if failing else theorem.epsilon(describe(people), delta=delta)
    reason = next((failing[name] for name in failing if name in never), next(iter(failing.values()), ""))
    return Curve(theorem=theorem, epsilon=values, here=here, reason=reason, start=start)


def _draw(curves: Curves, width: int, *, hollow: bool) -> "Figure":
    """Thin curves for theorems, a thick one for what is stated, labels at their ends, a dot at this task."""
    narrow = width <= NARROW
    names = [_label(curve.theorem.id, narrow) for curve in curves.curves if np.isfinite(curve.epsilon).any()]
    right = max(text_width(line, _LABEL) for name in names for line in name.splitlines()) + 12
    figure, axes = new_figure(width, 340 if narrow else 420, left=44, right=right, top=14, bottom=48)
    _set_axes(axes, curves, narrow=narrow)
    stated, unreachable = curves.stated, curves.unreachable
    if unreachable is not None:
        axes.fill_between(curves.users, unreachable, stated, color=LIGHT["blue"], alpha=0.1, linewidth=0)
    for curve in curves.curves:
        lower = curve.theorem.kind is Kind.LOWER_BOUND
        style = {"color": LIGHT["vermilion"], "linestyle": (0, (5, 3))} if lower else {"color": LIGHT["soft"]}
        axes.plot(curves.users, _within(axes, curve.epsilon), linewidth=1.3, **style)
    axes.plot(curves.users, stated, color=LIGHT["blue"], linewidth=3)
    _label_ends(axes, curves, narrow=narrow)
    _mark_task(axes, curves, hollow=hollow)
    return figure


def _within(axes: "Axes", values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a curve that is below the top: above the local loss a bound is of no use."""
    return np.where(values <= axes.get_ylim()[1], values, math.nan)


def _set_axes(axes: "Axes", curves: Curves, *, narrow: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    finite = [curve.epsilon[np.isfinite(curve.epsilon)] for curve in curves.curves]
    least = min([curves.epsilon0 / 20, *(values.min() for values in finite if len(values))])
    axes.set(xscale="log", yscale="log", xlim=(curves.users[0], curves.users[-1]))
    axes.set_ylim(least / 1.3, curves.epsilon0 * 1.6)
    axes.grid(which="major")
    axes.tick_params(which="both", length=0)
    axes.xaxis.set_major_locator(LogLocator(numticks=6 if narrow else 12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    decades = math.log10(curves.epsilon0 / least)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("number of users", labelpad=6)
    axes.set_ylabel("epsilon", labelpad=2)


def _label(name: str, narrow: bool) -> str:
    """A theorem's name, on two lines where there is little room."""
    hyphens = [place for place, character in enumerate(name) if character == "-"]
    if not narrow or not hyphens:
        return name
    middle = min(hyphens, key=lambda place: abs(place - len(name) / 2)) + 1
    return f"{name[:middle]}\n{name[middle:]}"


def _label_ends(axes: "Axes", curves: Curves, *, narrow: bool) -> None:
    """The theorems' names at the right ends of their curves, moved apart where they would overlap."""
    ends = []
    for curve in curves.curves:
        shown = _within(axes, curve.epsilon)
        if np.isfinite(shown).any():
            last = int(np.flatnonzero(np.isfinite(shown))[-1])
            color = LIGHT["vermilion"] if curve.theorem.kind is Kind.LOWER_BOUND else LIGHT["ink"]
            height = float(axes.transData.transform((1, shown[last]))[1])
            ends.append((height, _label(curve.theorem.id, narrow), color))
    ends.sort()
    top = -math.inf
    for wanted, name, color in ends:
        half = (1.2 * _LABEL * len(name.splitlines()) + 3) / 2
        height = max(wanted, top + half)
        top = height + half
        place = (1, axes.transAxes.inverted().transform((0, height))[1])
        axes.annotate(
            name,
            place,
            xycoords="axes fraction",
            xytext=(6, 0),
            linespacing=1.1,
            textcoords="offset points",
            va="center",
            fontsize=_LABEL,
            color=color,
            annotation_clip=False,
        )


def _mark_task(axes: "Axes", curves: Curves, *, hollow: bool) -> None:
    """A line down from the dot to the axis, and what it is, in the empty lower corner."""
    here = float(curves.stated[curves.users == curves.people][0])
    axes.vlines(curves.people, axes.get_ylim()[0], here, color=LIGHT["blue"], linewidth=1)
    face = LIGHT["paper"] if hollow else LIGHT["blue"]
    axes.plot(
        [curves.people],
        [here],
        "o",
        color=LIGHT["blue"],
        markersize=10,
        markerfacecolor=face,
        markeredgecolor=LIGHT["blue"] if hollow else LIGHT["paper"],
        markeredgewidth=1.5,
        zorder=5,
    )
    axes.annotate(
        f"this task:\n{count(curves.people)} users",
        (curves.people, axes.get_ylim()[0]),
        xytext=(6, 8),
        textcoords="offset points",
        va="bottom",
        linespacing=1.35,
        fontsize=_LABEL,
        color=LIGHT["blue"],
        fontweight="bold",
        annotation_clip=False,
    )
