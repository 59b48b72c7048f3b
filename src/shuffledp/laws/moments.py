"""Moments of Mallows laws: normalizing constants, inversions, positions and displacements."""

import math
from collections.abc import Callable

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.laws.mallows_sampling import DISTANCES

_SERIES = 1e-2  # below it closed forms lose digits, and two terms of a series are good to 1e-10 of the result
_NEGLIGIBLE = 50.0
_NEVER = 1e18


def log_partition(num_items: int, concentration: float, *, distance: str = "kendall") -> float:
    """Logarithm of the sum of exp(-concentration * distance) over all permutations; "log psi".

    Args:
        num_items: n, 0 or more.
        concentration: 0 or more, infinity included.
        distance: "kendall", "hamming" or "cayley".

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> round(math.exp(log_partition(3, 0.0)), 9)
        6.0
    """
    validate.integer_at_least(0, num_items=num_items)
    validate.nonnegative(concentration=concentration)
    validate.one_of(DISTANCES, distance=distance)
    if concentration == math.inf:
        return 0.0
    if concentration == 0:
        return math.lgamma(num_items + 1)
    if distance == "kendall":
        return math.fsum(_log_integers(num_items, concentration).tolist())
    if distance == "cayley":
        return math.fsum(np.log1p(np.arange(num_items) * math.exp(-concentration)).tolist())
    return _log_hamming(num_items, concentration)


def _log_hamming(num_items: int, theta: float) -> float:
    """Logarithm of exp(-theta n) times the sum over s of n! / s! (exp(theta) - 1)^s."""
    from scipy.special import gammaln, logsumexp

    counts = np.arange(num_items + 1)
    log_ratio = theta + math.log(-math.expm1(-theta))
    terms = math.lgamma(num_items + 1) - gammaln(counts + 1) + counts * log_ratio - theta * num_items
    return float(logsumexp(terms))


def _log_integers(count: int, theta: float) -> Floats:
    """Values of log((1 - q^m) / (1 - q)) for m = 1, ..., count.

    They are log constants of truncated geometric laws.
    """
    m = np.arange(1, count + 1, dtype=np.float64)
    if theta * count < 1e-12:
        return np.log(m)
    out: Floats = np.log(-np.expm1(-theta * m)) - math.log(-math.expm1(-theta))
    return out


def kendall_inversions(num_items: int, concentration: float) -> tuple[float, float]:
    """Mean and variance of the number of inversions, for Kendall's distance.

    That number is the distance from the identity. Sums of the means and variances of truncated geometric numbers, right
    to about 1e-9 of themselves.

    The arguments are those of `log_partition`, and so are the errors.

    Example:
        >>> kendall_inversions(10, 0.0)
        (22.5, 31.25)
    """
    validate.integer_at_least(0, num_items=num_items)
    validate.nonnegative(concentration=concentration)
    if concentration == math.inf:
        return 0.0, 0.0
    m = np.arange(1, num_items + 1, dtype=np.float64)
    span = concentration * m
    near = span < _SERIES
    small = min(concentration, _SERIES)  # what the series is for
    mean = (m - 1) / 2 - small * (m**2 - 1) / 12 + small**3 * (m**4 - 1) / 720
    variance = (m**2 - 1) / 12 - small**2 * (m**4 - 1) / 240
    theta, far = concentration, ~near
    if far.any():
        with np.errstate(over="ignore"):
            mean[far] = _over_expm1(theta) - m[far] * _over_expm1(span[far])
            variance[far] = _squared(theta) - m[far] ** 2 * _squared(span[far])
    return math.fsum(mean.tolist()), math.fsum(variance.tolist())


def _over_expm1(x: float | Floats) -> Floats:
    out: Floats = np.exp(-x) / -np.expm1(-x)
    return out


def _squared(x: float | Floats) -> Floats:
    """Value of exp(-x) / (1 - exp(-x))^2."""
    out: Floats = np.exp(-x) / np.expm1(-x) ** 2
    return out


def stay_probability(num_items: int, concentration: float, *, distance: str) -> float:
    """Probability that a given item stays in its place.

    Each other place is equally likely. For Cayley's distance it is 1 / (1 + (n - 1) exp(-theta)), and for Hamming's
    exp(theta) (1 - B) / n, where B is the probability of n under a Poisson law of mean exp(theta) - 1 that is cut off
    beyond n (Erlang's formula).

    The arguments are those of `log_partition`, n being 1 or more, and no "kendall"; so are the errors.

    Example:
        >>> stay_probability(4, 0.0, distance="hamming")
        0.25
    """
    validate.integer_at_least(1, num_items=num_items)
    validate.nonnegative(concentration=concentration)
    validate.one_of(("hamming", "cayley"), distance=distance)
    if num_items == 1 or concentration == math.inf:
        return 1.0
    if distance == "cayley":
        return 1 / (1 + (num_items - 1) * math.exp(-concentration))
    if concentration == 0:
        return 1 / num_items
    # With x = 1 / B, Erlang's recursion is x -> 1 + x count / mean; all terms are positive.
    fewer = math.exp(-concentration) / -math.expm1(-concentration)  # 1 / mean
    before = inverse = 1.0
    for count in range(1, num_items + 1):
        before, inverse = inverse, 1 + inverse * count * fewer
        if inverse > _NEVER:
            return math.exp(concentration) / num_items
    return min(1.0, (1 + fewer) * before / inverse)  # 1 - B is n / mean times the quotient of two x


def kendall_position_law(num_items: int, concentration: float, rank: int) -> Floats:
    """Law of the item w[rank] at a given rank, for Kendall's distance.

    It is also the law of the place where item ``rank`` lands. The draw before place ``rank`` takes an item that is
    below or above; so the law for m items follows from the one for m - 1 items, whose place is one less. Time O(n *
    rank); use n - 1 - rank and mirror if that is less.

    The arguments are those of `log_partition`, and a ``rank`` from 0 to n - 1; so are the errors.

    Example:
        >>> kendall_position_law(4, 0.0, 1).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    validate.integer_at_least(1, num_items=num_items)
    validate.nonnegative(concentration=concentration)
    validate.integer_at_least(0, rank=rank)
    if rank >= num_items:
        raise invalid(f"below num_items={num_items}", rank=rank)
    if rank > (num_items - 1) // 2:
        return kendall_position_law(num_items, concentration, num_items - 1 - rank)[::-1].copy()
    law = _truncated(num_items - rank, concentration)
    for size in range(num_items - rank + 1, num_items + 1):
        first = _truncated(size, concentration)
        at_most = np.cumsum(first)
        longer = np.zeros(size)
        longer[:-1] += law * (np.cumsum(first[::-1])[::-1][1:])
        longer[1:] += law * at_most[:-1]
        law = longer
    return law


def _truncated(size: int, concentration: float) -> Floats:
    if concentration == math.inf:
        concentration = 1e300  # infinity times 0 would be no number
    weights: Floats = np.exp(-concentration * np.arange(size))
    weights /= weights.sum()
    return weights


def kendall_corner_law(num_items: int, concentration: float, places: int, items: int) -> Floats:
    """Law of the number of items, among the first ``items`` items, in the first ``places`` places.

    For Kendall's distance. It is q-hypergeometric: proportional to [b, x]_q [n - b, a - x]_q q^((b - x)(a - x)), with a
    places and b items. It is given for x = 0, ..., min(a, b).

    The arguments are those of `log_partition` for a finite concentration, and a and b from 0 to n; so are the errors.

    Example:
        >>> kendall_corner_law(2, 0.0, 1, 1).tolist()
        [0.5, 0.5]
    """
    validate.integer_at_least(0, num_items=num_items, places=places, items=items)
    validate.nonnegative(concentration=concentration)
    if concentration == math.inf:
        raise invalid("finite", concentration=concentration)
    for name, value in (("places", places), ("items", items)):
        if value > num_items:
            raise invalid(f"at most num_items={num_items}", **{name: value})
    factorials = _log_factorials(num_items, concentration)
    law: Floats = np.zeros(min(places, items) + 1)
    law[::-1] = _lost(factorials, concentration, places, items, law.size)
    return law


def _log_factorials(count: int, theta: float) -> Floats:
    return np.concatenate(([0.0], np.cumsum(_log_integers(count, theta))))


def _lost(factorials: Floats, theta: float, a: int, b: int, cells: int) -> Floats:
    """Probabilities that min(a, b) - i items are in the places, for i = 0, ..., cells - 1."""
    n = factorials.size - 1
    x = min(a, b) - np.arange(cells, dtype=np.int64)
    x = x[(a - x) <= n - b]
    logs = (
        -factorials[x] - factorials[b - x] - factorials[a - x] - factorials[n - b - a + x] - theta * (b - x) * (a - x)
    )
    weights = np.zeros(cells)
    weights[: x.size] = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights


def kendall_kept_in_interval(num_items: int, concentration: float, start: int, stop: int) -> float:
    """Mean number of items from an interval of ranks that stay within the interval.

    The interval is start, ..., stop - 1. For Kendall's distance.

    The arguments are those of `log_partition` for a finite concentration, and ranks from 0 to n; so are the errors.

    Example:
        >>> kendall_kept_in_interval(4, 0.0, 1, 3)
        1.0
    """
    validate.integer_at_least(0, start=start)
    if start > stop:
        raise invalid(f"at least start={start}", stop=stop)

    def corner(places: int, items: int) -> float:
        law = kendall_corner_law(num_items, concentration, places, items)
        return float(law @ np.arange(law.size))

    return corner(stop, stop) - corner(start, stop) - corner(stop, start) + corner(start, start)


def kendall_mean_displacement(num_items: int, concentration: float) -> float:
    """Mean of ``abs(w[k] - k)`` over all ranks k and random permutations w, for Kendall's distance.

    Every cut between ranks is crossed by as many items upward as downward, and their number is q-hypergeometric. About
    2 log(2) / concentration if that is far above 1 and far below n. Time O(n * min(n, 3 / concentration)).

    The arguments are those of `log_partition`, n being 1 or more, and so are the errors.

    Example:
        >>> kendall_mean_displacement(2, 0.0)
        0.5
    """
    validate.integer_at_least(1, num_items=num_items)
    validate.nonnegative(concentration=concentration)
    if concentration == math.inf:
        return 0.0
    factorials = _log_factorials(num_items, concentration)
    reach = num_items
    if concentration > 0:
        # [m, d]_q < exp(pi^2 / (6 theta)), so d crossings have less than exp(pi^2 / (3 theta) - theta d^2) of it.
        reach = math.ceil(min(math.sqrt(3.3 + _NEGLIGIBLE * concentration) / concentration, num_items)) + 1
    crossings = 0.0
    for cut in range(1, num_items // 2 + 1):
        law = _lost(factorials, concentration, cut, cut, min(cut + 1, reach))
        mean = float(law @ np.arange(law.size))
        crossings += mean if 2 * cut == num_items else 2 * mean
    return 2 * crossings / num_items


def sampled_displacement(draw: Callable[[], Integers], num_draws: int) -> tuple[float, float]:
    """Mean of ``abs(w[k] - k)`` over independent draws and all ranks, with its standard error.

    The permutations w may have any law.

    Args:
        draw: gives a permutation of 0, ..., n - 1, for example ``lambda: sample_noisy_sort(positions)``.
        num_draws: 2 or more.

    Raises:
        InvalidParameterError: if ``num_draws`` is out of range.

    Example:
        >>> sampled_displacement(lambda: np.array([1, 0, 2]), 3)
        (0.6666666666666666, 0.0)
    """
    validate.integer_at_least(2, num_draws=num_draws)
    means = np.empty(int(num_draws))
    for number in range(means.size):
        permutation = draw()
        means[number] = np.abs(permutation - np.arange(permutation.size)).mean() if permutation.size else 0.0
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(means.size))
