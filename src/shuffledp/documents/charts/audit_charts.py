"""Pictures of an audit: claims beside the attack's limits, and the attacker's error rates."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks import Finding, Verdict
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.text import in_digits
from shuffledp.documents.charts.chart import Axis, Band, Chart, Dots, Line, Mark, Note, Panel, Rows, Spans
from shuffledp.survey.task_audit import LeakageFinding

_ROW = 58  # pixels
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
    """Claimed epsilon (at order alpha) and delta; an infinite epsilon for other kinds of claims."""
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
    """Chart of claims beside the limits that the strongest attack shows; one pair of axes for each unit."""
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
        panels=tuple(_claims(unit, each) for unit, each in panels.items()),
    )


def _claims(unit: str, bars: list[Bar]) -> Panel:
    """Panel of the claims in one unit, with a row for each claim."""
    last = 1.12 * max(end for bar in bars for end in (bar.claimed, *bar.shown) if math.isfinite(end))
    return Panel(
        x=Axis(label=unit, ends=(0.0, last)),
        y=Rows(names=tuple(bar.label for bar in bars), pitch=(_ROW, _ROW)),
        marks=tuple(mark for row, bar in enumerate(bars) for mark in _marks(bar, row, last)),
    )


def _marks(bar: Bar, row: int, last: float) -> Iterator[Mark]:
    """Marks of one claim: attack's limits, measured value, and claim; an infinite limit ends at the axis."""
    color, (measured, lower, upper) = "vermilion" if bar.refuted else "green", bar.shown
    yield Spans(at=[row], low=[lower], high=[min(upper, last)], color=color, width=15, strength=0.3)
    if math.isfinite(measured):
        yield Dots(x=[measured], y=[row], color=color, edge=color)
    top = row - 0.33
    yield Spans(at=[bar.claimed], low=[top], high=[row + 0.33], color="ink", upright=True)
    offset, align = (-4, "right") if bar.claimed > last / 2 else (4, "left")  # the side with room for the text
    text = f"claimed {in_digits(bar.claimed, bar.relation, digits=3)}"
    yield Note(text, (bar.claimed, top), (offset, 10), align=align)


def roc_chart(finding: Finding, *, name: str) -> Chart:
    """Chart of the attacker's true against false positive rates, with the area that the claim allows."""
    return Chart(
        name=name,
        title=f"Right against wrong guesses: {_about(finding)}",
        description="True positive rate over false positive rate, on held-out runs, below the limit that is claimed.",
        caption="Line: the attack's rates for other thresholds, on runs that had no part in choosing it. Dot: the "
        "event that decides, with its limits, and only these count: they are all that is corrected for noise. If the "
        "claim is true, every attack stays in the shaded area up to noise. The diagonal is guessing.",
        panels=(_rates(finding),),
    )


def _rates(finding: Finding) -> Panel:
    """Panel of the attacker's rates for all events and for the deciding event, with the claim's limit."""
    wrong, (epsilon, delta) = np.linspace(0, 1, 401), loss_and_delta(finding)
    top, bottom = _allowed(wrong, epsilon, delta), 1 - _allowed(1 - wrong, epsilon, delta)
    marks: tuple[Mark, ...] = (
        Band(x=wrong, low=bottom, high=top),
        Line(x=wrong, y=top),
        Line(x=(0, 1), y=(0, 1), color="line", width=1.2),
    )
    if (found := finding.evidence) is not None:
        color = "vermilion" if finding.verdict is Verdict.REFUTED else "green"
        rates, x, y = np.array(found.roc), found.false_positive_rate, found.true_positive_rate
        (left, right), (low, high) = found.false_positive_limits, found.true_positive_limits
        marks += (
            Line(x=rates[:, 0], y=rates[:, 1], color=color, width=2),
            Spans(at=[y], low=[left], high=[right], color=color, width=1.2),
            Spans(at=[x], low=[low], high=[high], color=color, width=1.2, upright=True),
            Dots(x=[x], y=[y], color=color, edge=color),
        )
    y_axis = Axis(label="true positive rate", ends=(0, 1.02), ticks=(6, 6))
    return Panel(
        x=Axis(label="false positive rate", ends=(0, 1), ticks=(6, 6)),
        y=y_axis,
        marks=marks,
        height=(430, 344),
        is_square=True,
    )


def _allowed(wrong: NDArray[np.float64], epsilon: float, delta: float) -> NDArray[np.float64]:
    """Largest true positive rate that a claim allows at each false positive rate."""
    by_event = math.exp(min(epsilon, 700.0)) * wrong + delta
    by_complement = 1 - math.exp(-epsilon) * (1 - delta - wrong)
    return np.clip(np.minimum(by_event, by_complement), 0, 1)
