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
    """ "The score is at least (or, with sign -1, at most) the threshold", which is likely with one of the data sets.

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
        """False and true positive rates of all the thresholds on the same score, from (0, 0) to (1, 1); some tens."""
        likely, unlikely = self._signed(first, second)
        thresholds = _thresholds(likely, unlikely, _ROC_POINTS)
        points = zip(_at_least(unlikely, thresholds), _at_least(likely, thresholds), strict=True)
        rates = {(float(mistaken) / len(unlikely), float(detected) / len(likely)) for mistaken, detected in points}
        return tuple(sorted(rates | {(0.0, 0.0), (1.0, 1.0)}))

    def _signed(self, first: Scores, second: Scores) -> tuple[Scores, Scores]:
        pair = (first, second) if self.likely == "first" else (second, first)
        return self.sign * pair[0][:, self.column], self.sign * pair[1][:, self.column]


def best_event(first: Scores, second: Scores, *, delta: float, tail: float) -> tuple[float, Event]:
    """The event whose lower limit of epsilon is largest on these runs, over scores, thresholds, sides and roles.

    Whatever is chosen here, limits from *other* runs hold as if it had been chosen in advance.

    Args:
        first: scores of runs with the first data set, shape (runs, scores).
        second: the same with the second one.
        delta: of the claim.
        tail: chance that one limit errs, see `shuffledp.attacks.intervals.clopper_pearson`.

    Returns:
        The lower limit on these runs, too optimistic because it was chosen, and the event.
    """
    found = []
    for column in range(first.shape[1]):
        for sign in (1, -1):
            sides = {"first": sign * first[:, column], "second": sign * second[:, column]}
            thresholds = _thresholds(sides["first"], sides["second"], _THRESHOLDS)
            limits = {
                name: clopper_pearson(_at_least(side, thresholds), len(side), tail=tail) for name, side in sides.items()
            }
            for likely, other in (("first", "second"), ("second", "first")):
                shown = loss(limits[likely][0], limits[other][1], delta=delta)
                best = int(np.argmax(shown))
                event = Event(column=column, sign=sign, threshold=float(thresholds[best]), likely=likely)
                found.append((float(shown[best]), event))
    return max(found, key=lambda pair: pair[0])


def _thresholds(left: Scores, right: Scores, most: int) -> Scores:
    """Scores that occur, from the largest down, in steps that grow with the rank."""
    pooled = np.sort(np.concatenate([left, right]))[::-1]
    ranks = np.geomspace(1, len(pooled), most).astype(np.int64) - 1
    return np.unique(pooled[ranks])


def _at_least(side: Scores, thresholds: Scores) -> NDArray[np.int64]:
    return len(side) - np.searchsorted(np.sort(side), thresholds, side="left").astype(np.int64)
