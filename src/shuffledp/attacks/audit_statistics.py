"""Statistics of an audit: Clopper-Pearson intervals, the best distinguishing event, and power analysis; all exact."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

Limits = tuple[NDArray[np.float64], NDArray[np.float64]]

LARGEST_EXPONENT = 700.0  # beyond, exp overflows
_DECIMALS = 2  # decimals of a number without limits
POWER = 0.9  # probability with which a detectable loss is found

_QUANTILES = (np.arange(200) + 0.5) / 200  # quantiles of the number of mistakes, of equal weight
_STEPS = 25  # of a bisection between losses
_BEYOND = 20.0  # search range above the claim: chance never produces such an excess
_MOST_RUNS = 10**12  # the search for a number of runs ends here
Scores = NDArray[np.float64]
_THRESHOLDS = 100  # denser where the event is rare
_ROC_POINTS = 40


def clopper_pearson(successes: ArrayLike, runs: int, *, tail: float) -> Limits:
    """Clopper-Pearson limits of a probability, each wrong with probability ``tail`` (below 1/2) at most.

    Lower and upper limits have the shape of ``successes``, counts in independent runs.

    References:
        Clopper, Pearson 1934; the limits as quantiles of beta distributions.
    """
    counts = np.asarray(successes, dtype=np.float64)
    # At 0 and at ``runs`` one quantile does not exist, and the limit is 0 or 1.
    lower = np.where(counts > 0, betaincinv(np.maximum(counts, 1), runs - counts + 1, tail), 0.0)
    upper = np.where(counts < runs, betaincinv(counts + 1, np.maximum(runs - counts, 1), 1 - tail), 1.0)
    return lower, upper


def loss(detected: ArrayLike, mistaken: ArrayLike, *, delta: float) -> NDArray[np.float64]:
    """Epsilon that one event shows, log((detected - delta) / mistaken).

    It solves detected <= e^epsilon mistaken + delta.

    It may be negative: minus infinity where ``detected`` is at most ``delta``; it is infinity where only ``mistaken``
    is 0. These are probabilities of the event where it is likely and where it is not, of any shape.
    """
    gain = np.maximum(np.asarray(detected, dtype=np.float64) - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(gain > 0, np.log(np.where(gain > 0, gain, 1.0)) - np.log(mistaken), -np.inf)


def runs_needed(epsilon: float, delta: float, *, tail: float) -> float:
    """Smallest number of runs in which an attack without errors could show more than ``epsilon``.

    The runs are with each data set.

    With u = tail^(1/runs), the lower limit of a chance that never failed is u and the upper limit of one that never
    came is 1 - u. So (u - delta) / (1 - u) must exceed e^epsilon, for a finite epsilon and a delta below 1.
    """
    # 1 - u = (1 - delta) / (e^epsilon + 1), in the form that does not overflow.
    missing = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return math.log(tail) / math.log1p(-missing) if missing > 0 else math.inf


def most_shown(runs: int, delta: float, *, tail: float) -> float:
    """Largest epsilon that ``runs`` runs with each data set could show; the inverse of `runs_needed`."""
    never_failed = tail ** (1 / runs)
    return max(0.0, float(loss(never_failed, 1 - never_failed, delta=delta)))


def to_width(value: float, lower: float, upper: float, *, percent: bool = False) -> str:
    """Measured number as text, with digits down to about a tenth of the width between its limits.

    Example:
        >>> to_width(0.123456, 0.10, 0.15), to_width(0.123456, 0.1230, 0.1239, percent=True)
        ('0.12', '12.35%')
    """
    if math.isinf(value):
        return "inf"
    factor = 100 if percent else 1
    width = factor * (upper - lower)
    decimals = _DECIMALS if not 0 < width < math.inf else max(0, -round(math.log10(width / 10)))
    return f"{factor * value:.{decimals}f}{'%' * percent}"


def others_of(detected: float, mistaken: float) -> float:
    """Number m of false answers of a randomized response that has the event's two probabilities.

    The response has m + 1 answers. k-ary randomized response sends the truth with p = e^epsilon q and each of m = k - 1
    other reports with q, so that m = (1 - p) / q. It is 1 at the corner of all that (epsilon, delta) allows, where an
    event shows most, and taken for 1 where the event is never mistaken.
    """
    return max(1.0, (1 - detected) / mistaken) if mistaken > 0 else 1.0


def chance_to_refute(
    claimed: float, true: float, runs: int, delta: float, *, tail: float, others: float = 1.0
) -> float:
    """Power: the probability of refuting a claim by an event that reveals the whole true loss.

    The event comes with q = (1 - delta) / (e^true + others) where it is the less likely, and with e^true q + delta
    where it is likely. With ``others = 1`` that is randomized response of one bit. No event of this loss should be
    refuted more probably: larger rates of mistakes are measured better, and a larger one cannot show all of the loss.

    The losses are 0 or more, ``runs`` are with each of two data sets, ``tail`` is as in `clopper_pearson`, and
    ``others`` is the shape of the event, see `others_of`.
    """
    from scipy.stats import binom  # slow to import

    odds = math.exp(-min(true, LARGEST_EXPONENT))
    mistaken = (1 - delta) * odds / (1 + others * odds)
    detected = (1 - delta) / (1 + others * odds) + delta
    at_most = clopper_pearson(binom.ppf(_QUANTILES, runs, mistaken), runs, tail=tail)[1]
    needed = np.minimum(delta + math.exp(min(claimed, LARGEST_EXPONENT)) * at_most, 1.0)
    # The lower limit of a count is above a probability if even larger counts would be that improbable there.
    return float(np.mean(np.where(needed < 1, binom.sf(binom.isf(tail, runs, needed), runs, detected), 0.0)))


def least_found(claimed: float, runs: int, delta: float, *, tail: float, others: float = 1.0) -> float:
    """Detectable loss: the smallest true loss at which these runs refute a claim with probability ``POWER``.

    The arguments are those of `chance_to_refute`.

    Returns:
        Above ``claimed``; infinity if not even an event that never errs could refute it.
    """
    if most_shown(runs, delta, tail=tail) <= claimed:
        return math.inf
    missed, found = claimed, claimed + _BEYOND + math.log(others)
    for _ in range(_STEPS):
        middle = (missed + found) / 2
        enough = chance_to_refute(claimed, middle, runs, delta, tail=tail, others=others) >= POWER
        missed, found = (missed, middle) if enough else (middle, found)
    return found


def trials_to_tell(claimed: float, true: float, runs: int, delta: float, *, tail: float) -> int | None:
    """Number of trials with which the best possible event refutes a claim with probability ``POWER``.

    None if ``runs`` are enough, else more than them, and at most about 10^12; arguments as of `chance_to_refute`.
    """

    def enough(trials: int) -> bool:
        return chance_to_refute(claimed, true, trials, delta, tail=tail) >= POWER

    if enough(runs):
        return None
    few, many = runs, 2 * runs
    while many < _MOST_RUNS and not enough(many):
        few, many = many, 2 * many
    while many - few > max(1, few // 1000):
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Event that the score in a ``column``, times ``sign`` (1 or -1), is at least a threshold.

    It is likelier with one of the data sets, "first" or "second".
    """

    column: int
    sign: int
    threshold: float
    likely: str

    def count(self, first: Scores, second: Scores) -> tuple[int, int]:
        """Numbers of runs with the event, first for the data set under which the event is likelier."""
        likely, unlikely = self._signed(first, second)
        return int((likely >= self.threshold).sum()), int((unlikely >= self.threshold).sum())

    def roc(self, first: Scores, second: Scores) -> tuple[tuple[float, float], ...]:
        """Pairs of false and true positive rates, from (0, 0) to (1, 1), at some tens of thresholds.

        The event's own threshold is one of these.
        """
        likely, unlikely = self._signed(first, second)
        thresholds = np.append(_thresholds(likely, unlikely, _ROC_POINTS), self.threshold)
        points = zip(_at_least(unlikely, thresholds), _at_least(likely, thresholds), strict=True)
        rates = {(float(mistaken) / len(unlikely), float(detected) / len(likely)) for mistaken, detected in points}
        return tuple(sorted(rates | {(0.0, 0.0), (1.0, 1.0)}))

    def _signed(self, first: Scores, second: Scores) -> tuple[Scores, Scores]:
        pair = (first, second) if self.likely == "first" else (second, first)
        return self.sign * pair[0][:, self.column], self.sign * pair[1][:, self.column]


def best_event(first: Scores, second: Scores, *, delta: float, tail: float) -> tuple[tuple[float, float], Event]:
    """Event with the largest epsilon on these runs, over all scores, thresholds, sides and data sets.

    That is the one with the largest lower limit of epsilon, and where no event shows anything, the one whose two rates
    differ by more than delta with the largest significance. Whatever is chosen here, limits from *other* runs hold as
    if it had been chosen in advance. Beside it stands by how much it is best: both numbers on these runs, and too
    optimistic because it was chosen. Scores of either data set have shape (runs, scores).
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
    """Epsilon that each event shows, and the event's significance.

    That is the rates' difference beyond delta in standard errors.
    """
    lower, upper = clopper_pearson(detected, runs, tail=tail)[0], clopper_pearson(mistaken, runs, tail=tail)[1]
    shown = np.maximum(loss(lower, upper, delta=delta), 0.0)
    rates = np.array([detected, mistaken]) / runs
    errors = np.sqrt((rates * (1 - rates)).sum(axis=0) / runs + 1 / runs**2)  # at least that of one run
    return list(zip(shown.tolist(), ((rates[0] - delta - rates[1]) / errors).tolist(), strict=True))


def _thresholds(left: Scores, right: Scores, most: int) -> Scores:
    """Thresholds to try: all different scores, or a selection with more of the large scores."""
    pooled = np.concatenate([left, right])
    distinct = np.unique(pooled)
    if len(distinct) <= most:
        return distinct
    ranks = np.geomspace(1, len(pooled), most).astype(np.int64)
    return np.unique(np.sort(pooled)[-ranks])


def _at_least(side: Scores, thresholds: Scores) -> NDArray[np.int64]:
    return len(side) - np.searchsorted(np.sort(side), thresholds, side="left").astype(np.int64)
