"""Pictures of an audit: claims beside what attacks show, and how often an attacker is right and wrong."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks import Evidence, Finding, Verdict
from shuffledp.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.report.drawing import LIGHT, NARROW, annotate, new_figure
from shuffledp.report.parts import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["claims_chart", "loss_and_delta", "roc_chart"]

_ROW, _LABEL = 58, 11  # pixels
_NAMES = {"local-dp": "one report", "central-dp": "what is released", "d-sigma": "order in groups"}


def loss_and_delta(finding: Finding) -> tuple[float, float]:
    """What is claimed: epsilon (of orders alpha), and delta; infinite where the claim is of another kind."""
    claim = finding.statement.guarantee
    if isinstance(claim, DSigmaPrivacy):
        return claim.alpha, claim.delta
    return (claim.epsilon, claim.delta) if isinstance(claim, DifferentialPrivacy) else (math.inf, 0.0)


def claims_chart(findings: Sequence[Finding], *, name: str) -> Chart:
    """For each audited claim its epsilon, and the limits of what the strongest attack shows."""
    return Chart(
        name=name,
        title="Claims beside attacks",
        description="For each claim a tick at its epsilon, and a bar between the limits of what the attack shows.",
        caption="Tick: what is claimed to be the most. Bar: between the limits of what the strongest attack shows; "
        "dot: what was measured. A claim is refuted if the whole bar lies to the right of its tick.",
        draw=partial(_draw_claims, tuple(findings)),
    )


def _draw_claims(findings: Sequence[Finding], width: int) -> "Figure":
    narrow = width <= NARROW
    left = 100 if narrow else 170
    height = _ROW * len(findings) + 70
    figure, axes = new_figure(width, height, left=left, right=24, top=20, bottom=48)
    shown = [(finding, finding.evidence) for finding in findings if finding.evidence is not None]
    ends = (_finite(end) for _, evidence in shown for end in (evidence.epsilon_lower, evidence.epsilon_upper))
    most = max(*(loss_and_delta(finding)[0] for finding, _ in shown), *ends)
    axes.set(xlim=(0, 1.12 * most), ylim=(len(shown) - 0.4, -0.6), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.set_xlabel("epsilon", labelpad=6)
    for row, (finding, evidence) in enumerate(shown):
        color = LIGHT["vermilion"] if finding.verdict is Verdict.REFUTED else LIGHT["green"]
        _draw_claim(axes, row, finding, evidence, color)
        axes.annotate(
            _NAMES.get(finding.statement.guarantee.type, finding.statement.guarantee.type),
            (0, row),
            xytext=(-10, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            annotation_clip=False,
        )
    return figure


def _draw_claim(axes: "Axes", row: int, finding: Finding, evidence: Evidence, color: str) -> None:
    claimed, _ = loss_and_delta(finding)
    upper = min(evidence.epsilon_upper, axes.get_xlim()[1])  # an infinite one reaches to the end of the axis
    axes.barh(row, upper - evidence.epsilon_lower, left=evidence.epsilon_lower, height=0.26, color=color, alpha=0.3)
    if math.isfinite(evidence.epsilon):
        axes.plot([evidence.epsilon], [row], "o", markersize=7, color=color)
    axes.vlines(claimed, row - 0.33, row + 0.33, color=LIGHT["ink"], linewidth=2.5)
    annotate(axes, f"claimed {claimed:.3g}", (claimed, row - 0.33), (-4, 4), ha="right", va="bottom", fontsize=_LABEL)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def roc_chart(finding: Finding, *, name: str) -> Chart:
    """How often the attacker is right against how often wrong, and the area that the claim leaves to anybody."""
    about = _NAMES.get(finding.statement.guarantee.type, finding.statement.guarantee.type)
    return Chart(
        name=name,
        title=f"Right against wrong guesses: {about}",
        description="True positive rate over false positive rate, on held-out runs, below the limit that is claimed.",
        caption="Line: the attack's rates for other thresholds, on runs that had no part in choosing it. Dot: the "
        "event that decides, with its limits. No attack may leave the shaded area if the claim is true; the "
        "diagonal is guessing.",
        draw=partial(_draw_roc, finding),
    )


def _draw_roc(finding: Finding, width: int) -> "Figure":
    size = min(width, 430)
    figure, axes = new_figure(width, size, left=56, right=max(24, width - size), top=20, bottom=48)
    evidence, (epsilon, delta) = finding.evidence, loss_and_delta(finding)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.grid()
    axes.tick_params(length=0, pad=7)  # apart, where both axes begin with 0
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
    """The largest true positive rate at a false positive rate: by the event, and by its complement."""
    by_event = math.exp(min(epsilon, 700.0)) * wrong + delta
    by_complement = 1 - math.exp(-epsilon) * (1 - delta - wrong)
    return np.clip(np.minimum(by_event, by_complement), 0, 1)
