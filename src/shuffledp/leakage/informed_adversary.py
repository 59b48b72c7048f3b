"""Informed adversary, who knows all other people's values and sees a uniform shuffle.

All others hold known values, so that their reports have a known law; the target's report hides among them. If all
others hold one value with reports of law r, the histogram y has probability Mult(n, r)(y) sum_v R(x, v) y_v / (n r_v)
given the target's value x: the same sum as for independent values, with other scores.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.statement_terms import Kind
from shuffledp.core.table import Floats
from shuffledp.leakage.guess_scores import (
    Scores,
    check_mixtures,
    check_views,
    checked_gain,
    checked_prior,
    matrix_of,
    numbers_of,
)
from shuffledp.leakage.uniform_shuffle import BestExcess, best_guess, check_people, largest, missed
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.randomness.sources import RandomSource

Counts = tuple[int, ...]

_MOST_CELLS = 5_000_000
_MOST_WORK = 2_000_000_000
_MOST_SEARCH = 500_000_000
_LARGEST_POWER = 700.0  # largest exponent whose exponential is a float
_FEW_VALUES = 3
_PAIR = 2
_FEWER_KNOWN = (
    "The exact value would take too long, so this is a bound of it: as if all others' reports were known, except for "
    "others who hold one value."
)
ALL_EQUAL = "all others hold the same value, the one that tells the most"
KNOWN = "the others' values are known, and all who are counted randomize alike"
_HARDLY = 1e-140  # relative to a report's worth; the square of a score is still a float


def strong_vulnerability(
    prior: ArrayLike | None,
    channel: Channel,
    gain: ArrayLike | None = None,
    *,
    others: ArrayLike,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Vulnerability:
    """Vulnerability of one person behind a uniform shuffle, to an adversary who knows all other values.

    Args:
        prior: of the target's value; None is uniform.
        channel: the local randomizer of everybody.
        gain: what each guess (row) is worth for each value (column); None is 1 for the right value and 0 otherwise.
        others: how many of the others hold each value, one number for each input of the channel; below 10^10 together.
        method: as for `shuffledp.leakage.shuffled_vulnerability`; where others hold different values, there is one.
        source: randomness of "monte-carlo".

    Raises:
        InvalidParameterError: if an argument is out of range, or the best guess is worth less than 0 after something
            that can be seen, or beforehand.
        UnsupportedModelError: if the sum of the method that is asked for by name would take too long.

    References:
        Jurado et al. 2023, Section VI, for k-ary randomized response with p >= 1/k and a uniform prior; the general
        case is our own.

    Example:
        >>> flip = Channel([[0.8, 0.2], [0.2, 0.8]])
        >>> round(strong_vulnerability(None, flip, others=[200, 0]).value, 9)
        0.52111088
    """
    validate.instance_of(Channel, channel=channel)
    about = _about(channel, prior, gain)
    known = checked_others(others, len(channel.inputs))
    check_people(sum(known) + 1)
    found = _best(*about, known, method=method, source=source)
    return _vulnerability(about, found, (KNOWN,), right=gain is None)


def worst_strong_vulnerability(
    prior: ArrayLike | None,
    channel: Channel,
    gain: ArrayLike | None = None,
    *,
    num_users: int,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Vulnerability:
    """Largest `strong_vulnerability` over the others' values; exact where all of them can be tried.

    Where there are too many, or ``method`` is "quick", it is a lower bound: what is sure of the largest where all
    others hold one value, than which mixed values may tell slightly more. One of k values is held by a k-th of the
    others at least; if all other reports were known, what is left would be an upper bound, which is the value where not
    even others who hold one value can be evaluated well. An estimate by "monte-carlo" is one of the lower bound.

    The arguments are those of `strong_vulnerability`, ``num_users`` (from 1 to 10^10) in place of ``others``.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if the method is "quick", values are more than three, and one tells more than another.
    """
    validate.integer_at_least(1, num_users=num_users)
    check_people(int(num_users))
    validate.instance_of(Channel, channel=channel)
    size, others = len(channel.inputs), int(num_users) - 1
    every = method != "quick" and all_feasible(channel, others)
    alike = prior is None and gain is None and _values_are_alike(channel)
    if method == "quick" and not alike and size > _FEW_VALUES:
        raise UnsupportedModelError(f"it takes too long to try what the others may hold of {size} values.")
    tried = data_sets(size, others) if every else _all_equal_sets(1 if alike else size, size, others)
    about = _about(channel, prior, gain)
    found = [_best(*about, each, method=method, source=source) for each in tried]
    sampled = sum(each.kind is Kind.ESTIMATE for each in found)
    worst = largest(found)
    if every:
        return _vulnerability(about, worst, (KNOWN,), sampled=sampled, right=gain is None)
    if worst.kind is Kind.ESTIMATE:
        worst = replace(worst, upper=max(_local_excess(*about), worst.excess))
        return _vulnerability(about, worst, (KNOWN, ALL_EQUAL), sampled=sampled, right=gain is None)
    tried = _all_equal_sets(1 if alike else size, size, -(-others // size))  # others with one value, at least
    upper = max(_bound_among_fewer(about, tried, method), worst.lower)
    if worst.method == "pairs":
        worst = replace(worst, excess=upper, upper=upper, kind=Kind.UPPER_BOUND, note=_FEWER_KNOWN)
        return _vulnerability(about, worst, (KNOWN,), sampled=sampled, right=gain is None)
    worst = replace(worst, excess=worst.lower, upper=upper, kind=Kind.LOWER_BOUND, note="")
    return _vulnerability(about, worst, (KNOWN, ALL_EQUAL), sampled=sampled, right=gain is None)


def _bound_among_fewer(about: tuple[Floats, Floats, Floats], tried: list[Counts], method: str) -> float:
    """Upper bound on the excess from data sets with fewer other people, or from one report.

    The smaller bound counts.
    """
    alone = _local_excess(*about)
    try:
        return min(alone, max(_best(*about, each, method=method).upper for each in tried))
    except InvalidParameterError:  # the gain is valid only with more people
        return alone


def _about(channel: Channel, prior: ArrayLike | None, gain: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """Checked channel matrix, prior and gain as floats."""
    matrix = matrix_of(channel).astype(np.float64)
    given = checked_prior(prior, len(matrix)).astype(np.float64)
    worth = checked_gain(gain, len(matrix)).astype(np.float64)
    check_views((worth @ given)[:, None])
    return matrix, given, worth


def _best(matrix: Floats, prior: Floats, gain: Floats, known: Counts, **choices: Any) -> BestExcess:
    """Best guess of an adversary who knows the number of other people with each value, ``known``."""
    if sum(known) == 0:
        return BestExcess.exact(_local_excess(matrix, prior, gain), "one report")
    if sum(count > 0 for count in known) == 1:
        return _among_equals(matrix, prior, gain, known, **choices)
    if not _is_feasible(sum(known), matrix.shape[1]):
        return _among_some(matrix, prior, gain, known)
    return BestExcess.exact(_mixed_excess(matrix, prior, gain, known), "enumeration")


def all_feasible(channel: Channel, others: int) -> bool:
    """Whether all data sets of the given number of other people can be tried."""
    sets = math.comb(others + len(channel.inputs) - 1, others)
    return sets <= _MOST_SEARCH / _work(others, len(channel.outputs))


def data_sets(num_values: int, people: int) -> Iterator[Counts]:
    """All histograms of ``people`` over ``num_values`` values."""
    for bars in combinations(range(people + num_values - 1), num_values - 1):
        ends = (-1, *bars, people + num_values - 1)
        yield tuple(after - before - 1 for before, after in pairwise(ends))


def _all_equal_sets(number: int, size: int, others: int) -> list[Counts]:
    """Data sets in which all other people hold one value, for each of the first ``number`` values."""
    return [tuple(others if place == value else 0 for place in range(size)) for value in range(number)]


def _values_are_alike(channel: Channel) -> bool:
    """Whether values are interchangeable, as for k-ary randomized response."""
    matrix = channel.matrix.astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        return False
    response = np.full_like(matrix, matrix[0, -1])
    np.fill_diagonal(response, matrix[0, 0])
    return bool(np.allclose(matrix, response, rtol=1e-13, atol=0))


def _local_excess(matrix: Floats, prior: Floats, gain: Floats) -> float:
    return _excess((gain * prior) @ matrix, int(np.argmax(gain @ prior)))


def _excess(weighted: Floats, first: int) -> float:
    """Excess of the best guess after a view (column) over the best prior guess; views are checked first."""
    check_views(weighted)
    return excess_of_views(weighted, first)


def _among_equals(matrix: Floats, prior: Floats, gain: Floats, known: Counts, **choices: Any) -> BestExcess:
    """Best guess if all other people hold the same value."""
    law, people = matrix[int(np.flatnonzero(known)[0])], sum(known) + 1
    slots = ((1 / people, people),)

    def choose(found: Scores) -> BestExcess:
        check_mixtures(found, slots)
        return best_guess(found, slots, **choices)

    return best_among(matrix, prior, gain, law, choose)


def _among_some(matrix: Floats, prior: Floats, gain: Floats, known: Counts) -> BestExcess:
    """Upper bound on the excess, by an adversary who also knows other people's reports.

    Reports of people with one value stay unknown.
    """
    alike = [tuple(count if place == value else 0 for place in range(len(known))) for value, count in enumerate(known)]
    excess = min(_bound_among_fewer((matrix, prior, gain), [each], "auto") for each in alike if sum(each))
    return BestExcess(
        excess=excess, lower=0.0, upper=excess, kind=Kind.UPPER_BOUND, method="one value", note=_FEWER_KNOWN
    )


def _is_feasible(people: int, outputs: int) -> bool:
    """Whether the histograms of other people with different values can be enumerated."""
    return _power(people + 2, outputs - 1) <= _MOST_CELLS and _work(people, outputs) <= _MOST_WORK


def _mixed_excess(matrix: Floats, prior: Floats, gain: Floats, known: Counts) -> float:
    """Exact excess of the best guess, from the law of the other people's histogram.

    The law is built up person by person. Axis i counts report i; the count of the last report is implied.
    """
    outputs = matrix.shape[1]
    law = np.ones((1,) * (outputs - 1))
    for row, count in zip(matrix, known, strict=True):
        for _ in range(count):
            law = _with_another(law, row)
    views = np.array([_with_another(law, row).ravel() for row in matrix])
    weighted, first = gain * prior, int(np.argmax(gain @ prior))
    return min(_excess(weighted @ views, first), excess_of_views(weighted @ matrix, first))  # equal but for rounding


def _with_another(law: Floats, row: Floats) -> Floats:
    """Law of the histogram after one more person's report."""
    more = np.zeros(tuple(size + 1 for size in law.shape))
    inside = tuple(slice(0, size) for size in law.shape)
    more[inside] = row[-1] * law
    for axis, chance in enumerate(row[:-1].tolist()):
        if chance:
            more[(*inside[:axis], slice(1, None), *inside[axis + 1 :])] += chance * law
    return more


def _work(people: int, outputs: int) -> float:
    return _power(people + 2, outputs) / max(1, outputs - 1) * outputs


def _power(base: int, exponent: int) -> float:
    return float(base) ** exponent if exponent * math.log(base) < _LARGEST_POWER else math.inf


def checked_others(others: ArrayLike, size: int) -> Counts:
    """Checked histogram of all other people over ``size`` values."""
    numbers_of(others, "others")
    given = np.array(others)
    if given.shape != (size,) or given.dtype.kind not in "iu" or (given < 0).any():
        raise InvalidParameterError(
            f"others must be {size} whole numbers of people, 0 or more; got shape {given.shape} of {given.dtype}."
        )
    return tuple(given.tolist())


def _vulnerability(
    about: tuple[Floats, Floats, Floats],
    best: BestExcess,
    hypotheses: tuple[str, ...],
    *,
    right: bool,
    sampled: int = 1,
) -> Vulnerability:
    """Vulnerability from the best guess, with a hypothesis for each sampled estimate."""
    _, given, worth = about
    prior = float((worth @ given).max())
    return Vulnerability(
        value=prior + best.excess,
        lower=prior + best.lower,
        upper=prior + best.upper,
        kind=best.kind,
        prior=prior,
        method=best.method,
        hypotheses=hypotheses + (missed(sampled) if best.method == "monte-carlo" else ()),
        decay="zero" if best.upper == 0 else "unknown",
        excess=best.excess,
        counts_right=right,
        note=best.note,
        between=pair_of(given),
    )


def pair_of(prior: Floats) -> tuple[float, float] | None:
    """Prior probabilities of two values if all other values have probability 0, else None."""
    possible = prior[prior > 0].tolist()
    return (possible[0], possible[1]) if len(possible) == _PAIR else None


def best_among(
    matrix: Floats, prior: Floats, gain: Floats, law: Floats, choose: Callable[[Scores], BestExcess]
) -> BestExcess:
    """Excess of the best guess if ``law`` is the law of the others' reports; at most that of one report.

    The excess of one report is that of an adversary who knows the target's report. The matrix and the prior are the
    target's; ``choose`` is the best guess for reports that others send too.
    """
    weighted = (gain * prior) @ matrix
    first = int(np.argmax(gain @ prior))
    rare = _hardly_sent(weighted, law)
    found = Scores(law[~rare], weighted[:, ~rare] / law[~rare])
    best = choose(found)
    check_views(weighted[:, rare])
    shift = excess_of_views(weighted[:, rare], first)  # differences are summed, since sums may be far larger
    shift += float((found.values[found.best] - found.values[first]) @ found.chances)
    alone = excess_of_views(weighted, first)
    lower, excess, upper = (min(max(each + shift, 0.0), alone) for each in (best.lower, best.excess, best.upper))
    return replace(best, excess=excess, lower=lower, upper=upper)


def excess_of_views(weighted: Floats, first: int) -> float:
    """Excess of the best guess after each view (column) over a guess made before the view."""
    return float((weighted - weighted[first]).max(axis=0).sum())


def _hardly_sent(weighted: Floats, law: Floats) -> NDArray[np.bool_]:
    """Mask of reports that other people send never or almost never.

    Almost never is a probability of at most 1e-140 times the report's worth relative to the largest one.
    """
    sizes = np.abs(weighted).max(axis=0)
    most = sizes.max()
    rare: NDArray[np.bool_] = law <= _HARDLY * (sizes / most if most > 0 else sizes)
    return rare
