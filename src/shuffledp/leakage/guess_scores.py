"""Scores of guesses: the evidence of each report for each guess, for all kinds of shuffles.

With the prior pi of a person's value x, the local channel R, the gain g(w, x) of the guess w, and the law q of one
report, a report v that is the person's own is worth

    c[w, v] = sum over x of pi(x) R(x, v) g(w, x) / q(v)

to the guess w. By Bayes' rule the expected gain after seeing shuffled reports is the expectation of the largest, over
w, weighted mean of c[w, z_j] over the reports z_j.
"""

from dataclasses import dataclass
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats

Slots = tuple[tuple[float, int], ...]  # (weight, how many slots have it)

_EQUAL = 1e-12  # relative to the report's largest score: difference that counts as rounding
_ROUNDING = 4e-15
_OFF_ROUND = 1.2345  # sizes of columns are powers of 2 times this, so that no round number lies between two of them
_MOST_COMPARED = 64  # most guesses that are compared in pairs
_SUM_TOLERANCE = 1e-9
_NO_LOSS = 1e-9  # relative to the largest score: a negative value above this is rounding
_MOST_NODES = 1_000
_MOST_VARIABLES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Law of one report, with the score of each report for each guess."""

    chances: NDArray[Any]  # q, shape (reports,), above 0; sums to 1
    values: NDArray[Any]  # c, shape (guesses, reports)

    @property
    def prior(self) -> Any:
        """Expected gain of the best guess before a view is seen."""
        return (self.values @ self.chances).max()

    @property
    def best(self) -> int:
        """Index of the first guess with the largest expected gain before a view is seen."""
        return int(np.argmax((self.values @ self.chances).astype(np.float64)))

    def reduced(self) -> "Scores":
        """Scores without dominated guesses; reports with equal evidence are merged.

        The best guess beforehand comes first. As floats; entries that agree to 1e-12 of the largest one for the same
        report are taken for equal. So no expectation changes by more than 1e-12 of that of the largest score, however
        unlikely a report is.
        """
        chances, values = self.chances.astype(np.float64), self.values.astype(np.float64)
        _, first = np.unique(_rounded(values, _sizes(values)), axis=0, return_index=True)
        values = values[np.sort(first)]
        order = np.argsort(-(values @ chances), kind="stable")
        values = values[order]
        if len(values) <= _MOST_COMPARED:
            values = values[_undominated(values)]
        sizes = _sizes(values)
        alike = np.vstack([_rounded(values - values[:1], sizes), sizes])
        _, place = np.unique(alike, axis=1, return_inverse=True)
        place = place.ravel()
        mass = np.bincount(place, weights=chances)
        merged = np.array([np.bincount(place, weights=chances * row) for row in values]) / mass
        return Scores(mass, merged)


def scores(matrix: NDArray[Any], prior: NDArray[Any], gain: NDArray[Any]) -> Scores:
    """Scores of reports with this channel, prior and gain, if other people have the same prior.

    They are exact for fractions.

    Shapes are (values, reports), (values,) and (guesses, values).
    """
    weighted = (gain * prior) @ matrix
    chances = prior @ matrix
    kept = chances > 0
    return Scores(chances[kept], weighted[:, kept] / chances[kept])


def scores_of(channel: Channel, prior: ArrayLike | None, gain: ArrayLike | None) -> Scores:
    """Scores of a channel's outputs, from a checked prior and a checked gain."""
    size = len(channel.inputs)
    return scores(matrix_of(channel), checked_prior(prior, size), checked_gain(gain, size))


def decay(found: Scores) -> str:
    """Rate at which leakage falls with the number of people in a uniform shuffle.

    "zero" if one of the guesses that are best beforehand is best for every report; "inverse-square-root" if two of
    them differ; else "exponential".
    """
    values, chances = found.values.astype(np.float64), found.chances.astype(np.float64)
    means, slack = values @ chances, _EQUAL * np.abs(values).max(axis=0)
    tied = values[means >= means.max() - slack @ chances]
    if any((row >= values.max(axis=0) - slack).all() for row in tied):
        return "zero"
    return "inverse-square-root" if (np.ptp(tied, axis=0) > slack).any() else "exponential"


def checked_prior(prior: ArrayLike | None, size: int) -> NDArray[Any]:
    """Checked prior over ``size`` values, uniform if None; fractions must sum to exactly 1.

    Fractions stay fractions.
    """
    if prior is None:
        return np.full(size, 1 / size)
    given = numbers_of(prior, "prior")
    if given.shape != (size,):
        raise InvalidParameterError(f"prior must be {size} probabilities; got prior.shape={given.shape}.")
    if not all(each >= 0 for each in given):
        raise InvalidParameterError("prior must be probabilities of 0 or more.")
    total = given.sum()
    if given.dtype == object and total != 1:
        raise InvalidParameterError("prior must sum to exactly 1, because it holds fractions; got another sum.")
    if not abs(total - 1) <= _SUM_TOLERANCE:
        raise InvalidParameterError("prior must sum to 1; got another sum.")
    return given if given.dtype == object else given / total


def checked_gain(gain: ArrayLike | None, size: int) -> NDArray[Any]:
    """Checked gain of guesses about ``size`` values; the identity (right or wrong) if None."""
    if gain is None:
        return np.eye(size)
    given = numbers_of(gain, "gain")
    if given.ndim != 2 or given.shape[1] != size or not given.shape[0]:
        raise InvalidParameterError(
            f"gain must be a table with a row for each guess and {size} columns; got gain.shape={given.shape}."
        )
    if not np.isfinite(given.astype(np.float64)).all():
        raise InvalidParameterError("gain must have finite entries.")
    return given


def numbers_of(entries: ArrayLike, name: str) -> NDArray[Any]:
    """Array of exact fractions or of floats; entries other than numbers are refused."""
    validate.unmasked(**{name: entries})
    try:
        table = np.array(entries)
        if table.dtype.kind not in "biufO" or not all(isinstance(each, Real) for each in table.flat):
            raise TypeError
        floats = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must be numbers, in rows of one length.") from None
    exact = table.dtype == object and table.ndim and all(isinstance(each, Rational) for each in table.flat)
    return table if exact else floats


def matrix_of(channel: Channel) -> NDArray[Any]:
    """Matrix of a channel in floats, with rows that sum to 1 up to the last digit."""
    if channel.is_exact:
        return channel.matrix
    normalized: NDArray[Any] = channel.matrix / channel.matrix.sum(axis=1, keepdims=True)
    return normalized


def _sizes(values: Floats) -> Floats:
    """Approximate size of each column's largest entry; columns equal up to rounding get equal sizes."""
    largest = np.abs(values).max(axis=0)
    known = np.where(largest > 0, largest, 1.0)
    out: Floats = np.exp2(np.ceil(np.log2(known / _OFF_ROUND)))
    return out


def _rounded(values: Floats, sizes: Floats) -> Floats:
    out: Floats = np.round(values / sizes, 12) + 0.0
    return out


def _undominated(values: Floats) -> NDArray[np.bool_]:
    """Mask of rows that no other row dominates, up to rounding of each column."""
    kept = np.ones(len(values), dtype=np.bool_)
    slack = _ROUNDING * np.abs(values).max(axis=0)
    for row in reversed(range(len(values))):
        others = values[kept & (np.arange(len(values)) != row)]
        kept[row] = not (others >= values[row] - slack).all(axis=1).any()
    return kept


def check_views(worth: Floats) -> None:
    """Check that the best guess (row) is worth 0 or more after every possible view (column)."""
    if worth.size and (worth.max(axis=0) < -_NO_LOSS * float(np.abs(worth).max())).any():
        _refuse()


def check_mixtures(found: Scores, slots: Slots | None = None) -> None:
    """Check that the best guess is worth 0 or more after every view of reports in these slots.

    Slots may have any weights if ``slots`` is None.

    By a linear program over mixtures of reports and, if one of them is worth less than 0, over whole numbers of reports
    unless there are enough weights to come close to any mixture.
    """
    values = found.values.astype(np.float64)
    if (values >= 0).all(axis=1).any():
        return
    least = -_NO_LOSS * float(np.abs(values).max())
    if _least(values, ((1.0, 1),), whole=False) >= least:
        return
    if slots is None or len(slots) * values.shape[1] > _MOST_VARIABLES or _least(values, slots, whole=True) < least:
        _refuse()


def _refuse() -> None:
    raise InvalidParameterError(
        "gain must have a guess worth 0 or more for every view; got one whose best guess is worth less, before or "
        "after some view. Add a constant, or a guess that is worth 0."
    )


def _least(values: Floats, slots: Slots, *, whole: bool) -> float:
    """Smallest gain of the best guess over all reports; -infinity if the search is too long."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size, kinds = values.shape[1], len(slots)
    heights = np.hstack([*(weight * values for weight, _ in slots), -np.ones((len(values), 1))])
    filled = np.hstack([np.kron(np.eye(kinds), np.ones(size)), np.zeros((kinds, 1))])
    counts = [count for _, count in slots]
    solved = milp(
        np.append(np.zeros(size * kinds), 1.0),
        constraints=[LinearConstraint(heights, ub=0.0), LinearConstraint(filled, counts, counts)],
        integrality=np.append(np.full(size * kinds, int(whole)), 0),
        bounds=Bounds(np.append(np.zeros(size * kinds), -np.inf), np.inf),
        options={"node_limit": _MOST_NODES, "mip_rel_gap": 0.0},
    )
    return float(solved.fun) if solved.status == 0 else -np.inf
