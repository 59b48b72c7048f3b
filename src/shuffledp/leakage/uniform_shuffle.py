"""Leakage of a uniform shuffle of independent people's reports, for any channel and any gain.

**Theorem.** If the permutation is independent of the data and puts the target's report into slot j with probability
w_j, the posterior vulnerability is E[max over guesses of the sum over slots of w_j c[guess, z_j]], with independent
reports z_j of law q and the scores c of `shuffledp.leakage.guess_scores`. For a uniform shuffle it is
E[max over guesses of the mean of c[guess, z]] over all n reports.

Proof. Given the target's value x, reports z have probability sum_j w_j R(x, z_j) prod_{i != j} q(z_i)
= prod_i q(z_i) sum_j w_j R(x, z_j) / q(z_j). Multiply by pi(x) g(guess, x), sum over x, and take the best guess.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.core.table import Floats
from shuffledp.leakage.expected_maximum import (
    CONFIDENCE,
    by_convolution,
    by_normal_limit,
    by_sampling,
    exact_mean_best,
    expected_excess,
    num_states,
)
from shuffledp.leakage.guess_scores import (
    Scores,
    Slots,
    check_mixtures,
    check_views,
    checked_gain,
    checked_prior,
    decay,
    scores,
    scores_of,
)
from shuffledp.leakage.max_load import BinClass, expected_largest
from shuffledp.leakage.maximum_bounds import Interval, by_fullest_bin, by_pairs, without_losers
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.randomness.sources import RandomSource

METHODS = ("auto", "quick", "enumeration", "max-load", "convolution", "gaussian", "monte-carlo")

_FEW_STATES, _MOST_STATES = 2e5, 3e7
_QUICK_STATES, _QUICK_PEOPLE = 1e6, 15_000  # about half a second
_MOST_BINS, _QUICK_BINS = 50_000, 2_000  # most people for bounds by fullest bins
_TIGHT = 1e-3
_EXACT_TO = 1e-12  # relative to the excess of one report
_MOST_EXACT = 200_000
MOST_PEOPLE = 10**10
_LEAST_FOR_A_PATTERN = 3
_ALIKE = 1e-11
_OVERFLOWS = "The exact value needs larger numbers than floats are, so this is a bound of it: of one report by itself."
_LESS_EFFORT = "This is a bound, found with little effort: 'auto' may find the exact value, 'monte-carlo' estimates it."
INDEPENDENT = (
    "the values of all who are counted are drawn independently from the prior, and all of them randomize alike"
)
ABOUT_THE_TARGET = "what a guess is worth depends on the target's value only"
OBLIVIOUS = "the order is drawn independently of the data, and only its result is seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class BestExcess:
    """Expected excess of the best guess over the best prior guess, with its bounds and its method."""

    excess: float
    lower: float
    upper: float
    kind: Kind
    method: str
    note: str = ""

    @classmethod
    def exact(cls, excess: float, method: str) -> "BestExcess":
        """Best guess with an exactly known excess."""
        return cls(excess=excess, lower=excess, upper=excess, kind=Kind.EXACT, method=method)


def shuffled_vulnerability(
    prior: ArrayLike | None,
    channel: Channel,
    gain: ArrayLike | None = None,
    *,
    num_users: int,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Vulnerability:
    """Vulnerability of one person behind a uniform shuffle of reports, if values are independent.

    Args:
        prior: of every person's value, one probability for each input of the channel; None is uniform.
        channel: the local randomizer of everybody.
        gain: what each guess (row) is worth for each value (column); None is 1 for the right value and 0 otherwise.
        num_users: n, from 1 to 10^10.
        method: "auto" takes the first that is exact and fast enough of "enumeration" (of histograms) and "max-load" (if
            each guess is favored by one report), for all guesses or those that ever win. Else the value is an upper
            bound with a lower one: by "convolution" for two guesses (about 1e-6 apart), by fullest bins or pairs of
            guesses for more. "quick" makes less effort where more would take half a second. By name only, estimates:
            "gaussian" (two guesses), and "monte-carlo" with an interval of confidence 99.9%.
        source: randomness of "monte-carlo"; None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range, the method does not apply, or the best guess is worth
            less than 0 after something that can be seen, or beforehand.
        UnsupportedModelError: if the sum of the method that is asked for by name would take too long.

    References:
        Our own; for k-ary randomized response and a uniform prior Jurado et al. 2023, Theorem 22.

    Example:
        >>> from fractions import Fraction
        >>> flip = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
        >>> round(shuffled_vulnerability(None, flip, num_users=3).value, 6)
        0.625
    """
    validate.integer_at_least(1, num_users=num_users)
    check_people(int(num_users))
    validate.instance_of(Channel, channel=channel)
    found = scores_of(channel, prior, gain)
    slots: Slots = ((1 / int(num_users), int(num_users)),)
    check_mixtures(found, slots)
    best = best_guess(found, slots, method=method, source=source)
    assumed = (INDEPENDENT, ABOUT_THE_TARGET, OBLIVIOUS)
    return as_vulnerability(found, best, hypotheses=assumed, decay=decay(found), counts_right=gain is None)


def shuffled_fraction(prior: ArrayLike, channel: Channel, gain: ArrayLike | None = None, *, num_users: int) -> Fraction:
    """Exact value of `shuffled_vulnerability` as a fraction, from a channel of fractions.

    The arguments are those of `shuffled_vulnerability`, all of fractions.

    Raises:
        InvalidParameterError: if an argument is out of range or not of fractions.
        UnsupportedModelError: if there are more than 200,000 histograms.
    """
    validate.integer_at_least(1, num_users=num_users)
    validate.instance_of(Channel, channel=channel)
    size = len(channel.inputs)
    given, worth = checked_prior(prior, size), np.array(np.eye(size, dtype=np.int64), dtype=object)
    worth = worth if gain is None else checked_gain(gain, size)
    if not (channel.is_exact and given.dtype == object and worth.dtype == object):
        raise InvalidParameterError("prior, channel and gain must all be of fractions; use shuffled_vulnerability.")
    found = scores(channel.matrix, given, worth)
    slots: Slots = ((1.0, int(num_users)),)
    if num_states(len(found.chances), slots, found.chances.astype(np.float64)) > _MOST_EXACT:
        raise UnsupportedModelError(
            f"an exact fraction needs at most {_MOST_EXACT} histograms; use shuffled_vulnerability, right to 1e-12."
        )
    check_mixtures(found, ((1 / int(num_users), int(num_users)),))
    return exact_mean_best(found.chances, found.values, int(num_users))


def best_guess(found: Scores, slots: Slots, *, method: str = "auto", source: RandomSource | None = None) -> BestExcess:
    """Expected excess of the best guess, for slots with these weights, which sum to 1."""
    validate.one_of(METHODS, method=method)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        small = found.reduced()
        if method in ("auto", "quick"):
            best = _automatic(small, slots, quick=method == "quick")
        else:
            best = _by_name(small, slots, method, source)
        return best if _is_finite(best) else _as_if_alone(small)


def check_people(num_users: int) -> None:
    """Check that floats can count this number of people."""
    if num_users > MOST_PEOPLE:
        raise validate.invalid(
            f"at most {MOST_PEOPLE:,}, beyond which what is learned is not evaluated (more people tell less)",
            num_users=num_users,
        )


def _is_finite(best: BestExcess) -> bool:
    """Whether the result is finite; an upper end without a bound may be infinite.

    Then nothing overflowed.
    """
    return math.isfinite(best.excess) and math.isfinite(best.lower) and not math.isnan(best.upper)


def _as_if_alone(small: Scores) -> BestExcess:
    """Upper bound on the excess by an adversary who knows the target's report."""
    alone = float((small.values - small.values[0]).max(axis=0) @ small.chances)
    if not math.isfinite(alone):
        raise InvalidParameterError("gain must have entries of usual size; sums of these overflow.")
    return BestExcess(excess=alone, lower=0.0, upper=alone, kind=Kind.UPPER_BOUND, method="one report", note=_OVERFLOWS)


def _automatic(small: Scores, slots: Slots, *, quick: bool) -> BestExcess:
    """Best guess, exact if there are few enough guesses to try, else between bounds.

    Guesses that cannot win are not counted.
    """
    chosen, contenders, added, most = _chosen(small, slots, quick=quick), small, 0.0, math.inf
    if chosen in (None, "convolution"):
        contenders, added, most = without_losers(small, slots)
        chosen = _chosen(contenders, slots, quick=quick)
    note = _LESS_EFFORT if quick else _too_long(small, slots)
    if chosen == "enumeration":
        return _by_name(contenders, slots, chosen, None)
    if chosen == "max-load":
        with suppress(UnsupportedModelError):  # too many bins
            return _by_name(contenders, slots, chosen, None)
    if chosen == "convolution":
        known = Interval(*by_convolution(contenders.chances, contenders.values, slots), chosen)
    else:
        known = _between(contenders, slots, quick=quick)
    alone = float((small.values - small.values[0]).max(axis=0) @ small.chances)
    uppers = {known.method: known.upper + added, "exponential": most, "one report": alone}
    method = min(uppers, key=lambda name: uppers[name])
    upper = uppers[method]
    lower = min(known.lower, upper)
    return BestExcess(excess=upper, lower=lower, upper=upper, kind=Kind.UPPER_BOUND, method=method, note=note)


def _between(small: Scores, slots: Slots, *, quick: bool) -> Interval:
    """Bounds on the excess by fullest bins, by pairs of guesses, or the tighter ends of both."""
    people = sum(count for _, count in slots)
    bins = None
    if len(slots) == 1 and people <= (_QUICK_BINS if quick else _MOST_BINS):
        bins = by_fullest_bin(small, people)
    if bins is not None and bins.upper <= (1 + _TIGHT) * bins.lower:
        return bins
    pairs = by_pairs(small, slots, quick=quick)
    if bins is None:
        return pairs
    best = min(bins, pairs, key=lambda each: each.upper)
    return replace(best, lower=min(best.upper, max(bins.lower, pairs.lower)))


def _too_long(small: Scores, slots: Slots) -> str:
    """Reason why a value is only a bound, with the feasible number of people for a uniform shuffle."""
    start = "The exact value would take too long, so this is a bound of it"
    feasible = f"; enumerating all that can be seen is feasible for up to {_feasible(small):,} people"
    return f"{start}{feasible if len(slots) == 1 else ''}; the method 'monte-carlo' estimates it."


def _feasible(small: Scores) -> int:
    """Largest number of people for whom all histograms of reports can be enumerated."""

    def states(people: int) -> float:
        return num_states(len(small.chances), ((1 / people, people),), small.chances) * len(small.values)

    return bisect_right(range(MOST_PEOPLE), _MOST_STATES, lo=2, key=states) - 1


def _by_name(small: Scores, slots: Slots, chosen: str, source: RandomSource | None) -> BestExcess:
    chances, values = small.chances, small.values
    if chosen == "monte-carlo":
        excess, lower, upper = by_sampling(chances, values, slots, source)
        return BestExcess(excess=excess, lower=lower, upper=upper, kind=Kind.ESTIMATE, method=chosen)
    if chosen in ("convolution", "gaussian") and len(values) != 2:
        raise InvalidParameterError(f"method={chosen!r} is for two guesses of which neither is always better.")
    if chosen == "convolution":
        lower, upper = by_convolution(chances, values, slots)
        return BestExcess(excess=upper, lower=lower, upper=upper, kind=Kind.UPPER_BOUND, method=chosen)
    if chosen == "gaussian":
        excess = by_normal_limit(chances, values, slots)
        return BestExcess(excess=excess, lower=0.0, upper=float("inf"), kind=Kind.ESTIMATE, method=chosen)
    if chosen == "enumeration":
        return _by_enumeration(small, slots)
    return BestExcess.exact(_by_max_load(small, slots), chosen)


def largest(found: Sequence[BestExcess]) -> BestExcess:
    """Largest excess of several best guesses, with the largest lower and the largest upper limit."""
    best = max(found, key=lambda each: each.excess)
    sampled = [each for each in found if each.kind is Kind.ESTIMATE]
    kind, method = (sampled[0].kind, sampled[0].method) if sampled else (best.kind, best.method)
    lower, upper = max(each.lower for each in found), max(each.upper for each in found)
    return BestExcess(
        excess=best.excess, lower=min(lower, best.excess), upper=upper, kind=kind, method=method, note=best.note
    )


def missed(samples: int = 1) -> tuple[str, ...]:
    """Hypothesis in words: the largest chance that any of ``samples`` intervals misses the truth."""
    return (f"the interval misses the truth with probability {samples * (1 - CONFIDENCE):.1g} at most",)


def as_vulnerability(
    found: Scores, best: BestExcess, *, hypotheses: tuple[str, ...], decay: str, counts_right: bool
) -> Vulnerability:
    """Vulnerability from a best guess, with its prior and its assumptions."""
    prior = float(found.prior)
    highest = max(prior, float(found.values.astype(np.float64).max(axis=0) @ found.chances.astype(np.float64)))
    check_views(np.array([[prior]]))
    value = min(prior + best.excess, highest)
    return Vulnerability(
        value=value,
        lower=min(prior + best.lower, value) if best.lower < best.upper else value,
        upper=min(prior + best.upper, highest) if best.upper >= best.excess else highest,
        kind=best.kind,
        prior=prior,
        method=best.method,
        hypotheses=hypotheses + (missed() if best.method == "monte-carlo" else ()),
        decay=decay,
        excess=best.excess,
        counts_right=counts_right,
        note=best.note,
    )


def _chosen(small: Scores, slots: Slots, *, quick: bool) -> str | None:
    """First feasible method that is exact, or tight for two guesses; None without such a method."""
    states = num_states(len(small.chances), slots, small.chances) * len(small.values)
    if len(small.values) == 1 or states <= _FEW_STATES:
        return "enumeration"
    if len(slots) == 1 and _pattern(small) is not None and not (quick and _is_slow(small, slots)):
        return "max-load"
    if states <= (_QUICK_STATES if quick else _MOST_STATES):
        return "enumeration"
    return "convolution" if len(small.values) == 2 else None


def _is_slow(small: Scores, slots: Slots) -> bool:
    """Whether the exact sum over the fullest bin's load is slow.

    It is for bins of several kinds together with very many people.
    """
    pattern = _pattern(small)
    alike = pattern is not None and max(np.ptp(small.chances), np.ptp(pattern[1])) <= _ALIKE
    return sum(count for _, count in slots) > _QUICK_PEOPLE and not alike


def _by_enumeration(small: Scores, slots: Slots) -> BestExcess:
    if len(small.values) == 1:
        return BestExcess.exact(0.0, "enumeration")
    states = num_states(len(small.chances), slots, small.chances) * len(small.values)
    if states > _MOST_STATES:
        limit = f" (up to {_feasible(small):,} people are feasible)" if len(slots) == 1 else ""
        raise InvalidParameterError(f"method must be another one: an enumeration would take too long{limit}.")
    found, missing = expected_excess(small.chances, small.values, slots)
    excess = max(found, 0.0)  # this order keeps nan
    if missing <= _EXACT_TO * float((small.values - small.values[0]).max(axis=0) @ small.chances):
        return BestExcess.exact(excess, "enumeration")
    upper, note = excess + missing, "What is very unlikely to be seen is left out, and counts as if it told the most."
    return BestExcess(excess=upper, lower=excess, upper=upper, kind=Kind.UPPER_BOUND, method="enumeration", note=note)


def _by_max_load(small: Scores, slots: Slots) -> float:
    pattern = _pattern(small) if len(slots) == 1 else None
    if pattern is None:
        raise InvalidParameterError(
            "method='max-load' needs a uniform shuffle, and guesses favored by one report each."
        )
    ((weight, count),) = slots
    base, extra, owner = pattern
    cells: dict[tuple[float, float], int] = {}
    for chance, worth in zip(small.chances, extra, strict=True):
        # Cells that are equal up to rounding are one kind: k of them cost as much as one.
        key = (float(f"{chance:.13g}"), float(f"{worth:.13g}") if owner is not None else 0.0)
        cells[key] = cells.get(key, 0) + 1
    kinds = tuple(BinClass(chance, number, worth) for (chance, worth), number in cells.items())
    total = sum(kind.probability * kind.count for kind in kinds)
    kinds = tuple(BinClass(kind.probability / total, kind.count, kind.weight) for kind in kinds)
    best = weight * (count * float(base @ small.chances) + expected_largest(count, kinds))
    return max(best - weight * count * float(small.prior), 0.0)


def _pattern(small: Scores) -> tuple[Floats, Floats, NDArray[np.int64] | None] | None:
    """Score of each report for most guesses, and extra score for one guess; None for other scores.

    Then the largest sum is the sum of these scores plus the largest, over guesses, of what is added times load.
    """
    values = small.values
    if len(values) < _LEAST_FOR_A_PATTERN:
        return None
    ordered = np.sort(values, axis=0)
    tolerance = 1e-11 * np.abs(values).max(axis=0)
    if (ordered[-2] - ordered[0] > tolerance).any():
        return None
    extra = ordered[-1] - ordered[-2]
    owner = values.argmax(axis=0)
    favoring = owner[extra > tolerance]
    if np.unique(favoring).size != favoring.size or favoring.size < len(values) - 1:
        return None
    return ordered[-2], np.where(extra > tolerance, extra, 0.0), owner
