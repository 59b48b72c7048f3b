"""Pictures of an audit: claims beside the attack's limits, and rates at which an attacker is right and wrong."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks import Finding, Verdict
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.text import in_digits
from shuffledp.documents.document import Chart
from shuffledp.documents.drawing import LIGHT, NARROW, annotate, new_figure, new_figures
from shuffledp.survey.task_audit import LeakageFinding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ROW, _LABEL = 58, 11  # pixels
_CHANCE = "chance of a right guess"
_NAMES = {"local-dp": "one report", "central-dp": "what is released", "d-sigma": "order in groups"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One audited claim, ready to draw.

    Args:
        label: what the claim is about.
        unit: what is claimed to be no more: "epsilon", "alpha" or a chance.
        claimed: how much, rounded by its ``relation``.
        shown: what the attack measured (infinite if there is no such number), and its lower and upper limit.
        refuted: whether the limits contradict the claim.
    """

    label: str
    unit: str
    claimed: float
    relation: str
    shown: tuple[float, ...]
    refuted: bool


def loss_and_delta(finding: Finding) -> tuple[float, float]:
    """Claimed epsilon (at order alpha) and delta; infinite for another kind of claim."""
    claim = finding.statement.guarantee
    if isinstance(claim, DSigmaPrivacy):
        return claim.alpha, claim.delta
    return (claim.epsilon, claim.delta) if isinstance(claim, DifferentialPrivacy) else (math.inf, 0.0)


def bars_of(findings: Iterable[Finding], leakage: LeakageFinding | None) -> list[Bar]:
    """Bars for all claims that were attacked."""
    bars = []
    for finding in findings:
        if (found := finding.evidence) is not None:
            measured, claimed = (found.epsilon, found.epsilon_lower, found.epsilon_upper), loss_and_delta(finding)[0]
            relation, refuted = finding.statement.kind.relation, finding.verdict is Verdict.REFUTED
            bars.append(Bar(_about(finding), finding.symbol, claimed, relation, shown=measured, refuted=refuted))
    if leakage is not None and (guessed := leakage.guessing) is not None and leakage.verdict is not Verdict.NOT_AUDITED:
        shown, relation = (guessed.success, *guessed.success_limits), "exactly" if guessed.exact else "at most"
        refuted = leakage.verdict is Verdict.REFUTED
        bars.append(Bar("guesses", _CHANCE, guessed.claimed, relation, shown=shown, refuted=refuted))
    return bars


def _about(finding: Finding) -> str:
    return _NAMES.get(finding.statement.guarantee.type, finding.statement.guarantee.type)


def claims_chart(bars: Iterable[Bar], *, name: str) -> Chart:
    """Each claim beside the limits that the strongest attack shows; one pair of axes for each unit."""
    panels: dict[str, list[Bar]] = {}
    for bar in bars:
        panels.setdefault(bar.unit, []).append(bar)
    guessed = " (one that is exact also if it lies to the left, where no better guesses exist)" * (_CHANCE in panels)
    return Chart(
        name=name,
        title="Claims beside attacks",
        description="For each claim a tick at what is claimed, and a bar between the limits of what the attack shows.",
        caption="Tick: what is claimed to be the most. Bar: between the limits of what the strongest attack shows; "
        f"dot: what was measured. A claim is refuted if the whole bar lies to the right of its tick{guessed}.",
        draw=partial(_draw_claims, tuple((unit, tuple(each)) for unit, each in panels.items())),
    )


def _draw_claims(panels: Sequence[tuple[str, Sequence[Bar]]], width: int) -> "Figure":
    left = 100 if width <= NARROW else 170
    # Panels of one figure have equal heights, set by the fullest one.
    height = _ROW * max(len(bars) for _, bars in panels) + 70
    figure, places = new_figures(len(panels), width, height, left=left, right=24, top=20, bottom=48)
    for axes, (unit, bars) in zip(places, panels, strict=True):
        most = max(end for bar in bars for end in (bar.claimed, *bar.shown) if math.isfinite(end))
        axes.set(xlim=(0, 1.12 * most), ylim=(len(bars) - 0.4, -0.6), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.tick_params(length=0)
        axes.set_xlabel(unit, labelpad=6)
        for row, bar in enumerate(bars):
            _draw_bar(axes, row, bar)
    return figure


def _draw_bar(axes: "Axes", row: int, bar: Bar) -> None:
    color = LIGHT["vermilion"] if bar.refuted else LIGHT["green"]
    measured, lower, upper = bar.shown
    upper = min(upper, axes.get_xlim()[1])  # an infinite limit ends at the axis
    axes.barh(row, upper - lower, left=lower, height=0.26, color=color, alpha=0.3)
    if math.isfinite(measured):
        axes.plot([measured], [row], "o", markersize=7, color=color)
    axes.vlines(bar.claimed, row - 0.33, row + 0.33, color=LIGHT["ink"], linewidth=2.5)
    left = bar.claimed > axes.get_xlim()[1] / 2  # side of the tick with room for the text
    place, side = ((-4, 4), "right") if left else ((4, 4), "left")
    claimed = f"claimed {in_digits(bar.claimed, bar.relation, digits=3)}"
    annotate(axes, claimed, (bar.claimed, row - 0.33), place, ha=side, va="bottom", fontsize=_LABEL)
    annotate(axes, bar.label, (0, row), (-10, 0), ha="right")


def roc_chart(finding: Finding, *, name: str) -> Chart:
    """True against false positive rate of the attacker, and the area that the claim allows to any attacker."""
    return Chart(
        name=name,
        title=f"Right against wrong guesses: {_about(finding)}",
        description="True positive rate over false positive rate, on held-out runs, below the limit that is claimed.",
        caption="Line: the attack's rates for other thresholds, on runs that had no part in choosing it. Dot: the "
        "event that decides, with its limits, and only these count: they are all that is corrected for noise. If the "
        "claim is true, every attack stays in the shaded area up to noise. The diagonal is guessing.",
        draw=partial(_draw_roc, finding),
    )


def _draw_roc(finding: Finding, width: int) -> "Figure":
    size = min(width, 430)
    figure, axes = new_figure(width, size, left=56, right=max(24, width - size), top=20, bottom=48)
    evidence, (epsilon, delta) = finding.evidence, loss_and_delta(finding)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.grid()
    axes.tick_params(length=0, pad=7)  # keeps the zeros of both axes apart
    axes.set_xlabel("false positive rate", labelpad=4)
    annotate(axes, "true positive rate", (0, 1), (-40, 12), xycoords="axes fraction", color=LIGHT["soft"], ha="left")
    wrong = np.linspace(0, 1, 401)
    top, bottom = _allowed(wrong, epsilon, delta), 1 - _allowed(1 - wrong, epsilon, delta)
    axes.fill_between(wrong, bottom, top, color=LIGHT["blue"], alpha=0.1, linewidth=0)
    axes.plot(wrong, top, color=LIGHT["blue"], linewidth=1.5)
    axes.plot([0, 1], [0, 1], color=LIGHT["line"], linewidth=1.2)
    if evidence is not None:
        color = LIGHT["vermilion"] if finding.verdict is Verdict.REFUTED else LIGHT["green"]
        rates = np.array(evidence.roc)
        axes.plot(rates[:, 0], rates[:, 1], color=color, linewidth=2)
        here = (evidence.false_positive_rate, evidence.true_positive_rate)
        axes.plot(*([each] for each in here), "o", markersize=8, color=color, zorder=5)
        (left, right), (low, high) = evidence.false_positive_limits, evidence.true_positive_limits
        axes.hlines(here[1], left, right, color=color, linewidth=1.2)
        axes.vlines(here[0], low, high, color=color, linewidth=1.2)
    return figure


def _allowed(wrong: NDArray[np.float64], epsilon: float, delta: float) -> NDArray[np.float64]:
    """Largest true positive rate at a false positive rate, by the event or by its complement."""
    by_event = math.exp(min(epsilon, 700.0)) * wrong + delta
    by_complement = 1 - math.exp(-epsilon) * (1 - delta - wrong)
    return np.clip(np.minimum(by_event, by_complement), 0, 1)
