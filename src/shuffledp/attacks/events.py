"""Events by which an attacker decides: chosen on training runs, counted on others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.intervals import clopper_pearson, loss

__all__ = ["Event", "best_event"]

Scores = NDArray[np.float64]
_THRESHOLDS = 100  # closer to each other where the event is rare
_ROC_POINTS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """That a score is at least a threshold (or, with sign -1, at most), which is likelier with one of the data sets.

    Args:
        column: which score.
        sign: 1 or -1.
        threshold: on the score times the sign.
        likely: "first" or "second", the data set with which the event is the likelier one.
    """

    column: int
    sign: int
    threshold: float
    likely: str

    def count(self, first: Scores, second: Scores) -> tuple[int, int]:
        """How often the event comes with the likely data set, and how often with the other one."""
        likely, unlikely = self._signed(first, second)
        return int((likely >= self.threshold).sum()), int((unlikely >= self.threshold).sum())

    def roc(self, first: Scores, second: Scores) -> tuple[tuple[float, float], ...]:
        """False and true positive rates of this and of some tens of other thresholds, from (0, 0) to (1, 1)."""
        likely, unlikely = self._signed(first, second)
        thresholds = np.append(_thresholds(likely, unlikely, _ROC_POINTS), self.threshold)
        points = zip(_at_least(unlikely, thresholds), _at_least(likely, thresholds), strict=True)
        rates = {(float(mistaken) / len(unlikely), float(detected) / len(likely)) for mistaken, detected in points}
        return tuple(sorted(rates | {(0.0, 0.0), (1.0, 1.0)}))

    def _signed(self, first: Scores, second: Scores) -> tuple[Scores, Scores]:
        pair = (first, second) if self.likely == "first" else (second, first)
        return self.sign * pair[0][:, self.column], self.sign * pair[1][:, self.column]


def best_event(first: Scores, second: Scores, *, delta: float, tail: float) -> tuple[tuple[float, float], Event]:
    """The event that shows most on these runs, over scores, thresholds, sides and roles.

    That is the one with the largest lower limit of epsilon, and where no event shows anything, the one whose two rates
    differ by more than delta with the largest significance. Whatever is chosen here, limits from *other* runs hold as
    if it had been chosen in advance.

    Args:
        first: scores of runs with the first data set, shape (runs, scores).
        second: the same with the second one.
        delta: of the claim.
        tail: chance that one limit errs, see `shuffledp.attacks.intervals.clopper_pearson`.

    Returns:
        By how much it is best (both numbers on these runs, and too optimistic because it was chosen), and the event.
    """
    found = []
    for column in range(first.shape[1]):
        for sign in (1, -1):
            sides = {"first": sign * first[:, column], "second": sign * second[:, column]}
            thresholds = _thresholds(sides["first"], sides["second"], _THRESHOLDS)
            counts = {name: _at_least(side, thresholds) for name, side in sides.items()}
            for likely, other in (("first", "second"), ("second", "first")):
                merit = _merit(counts[likely], counts[other], len(first), delta=delta, tail=tail)
                best = max(range(len(thresholds)), key=merit.__getitem__)
                event = Event(column=column, sign=sign, threshold=float(thresholds[best]), likely=likely)
                found.append((merit[best], event))
    return max(found, key=lambda pair: pair[0])


def _merit(
    detected: NDArray[np.int64], mistaken: NDArray[np.int64], runs: int, *, delta: float, tail: float
) -> list[tuple[float, float]]:
    """For each event the epsilon that it shows, and by how many standard errors its rates differ beyond delta."""
    lower, upper = clopper_pearson(detected, runs, tail=tail)[0], clopper_pearson(mistaken, runs, tail=tail)[1]
    shown = np.maximum(loss(lower, upper, delta=delta), 0.0)
    rates = np.array([detected, mistaken]) / runs
    errors = np.sqrt((rates * (1 - rates)).sum(axis=0) / runs + 1 / runs**2)  # of one run at least
    return list(zip(shown.tolist(), ((rates[0] - delta - rates[1]) / errors).tolist(), strict=True))


def _thresholds(left: Scores, right: Scores, most: int) -> Scores:
    """All scores that occur, or if those are too many, some of them: close to each other where few are larger."""
    pooled = np.concatenate([left, right])
    distinct = np.unique(pooled)
    if len(distinct) <= most:
        return distinct
    ranks = np.geomspace(1, len(pooled), most).astype(np.int64)
    return np.unique(np.sort(pooled)[-ranks])


def _at_least(side: Scores, thresholds: Scores) -> NDArray[np.int64]:
    return len(side) - np.searchsorted(np.sort(side), thresholds, side="left").astype(np.int64)
