"""Mixing of additive shares by rounds of imperfect shuffles: a bound for every number of users.

n users each split a residue mod q into m shares that are uniform but for their sum, and send one share in each of m
rounds. A round's permutation is drawn independently of the others and of the shares. A shuffle is *gamma-imperfect* if
Pr[a] <= exp(gamma d(a, b)) Pr[b] for all permutations a, b with the Cayley distance d. Let all rounds but one be so.

**Theorem.** Given the residues, the law of all rounds' outputs is within total variation sqrt(g(n)) / 2 of the uniform
law on all m n residues of the same total, where g = h - 1, h(1) = 1, and for the other N, with r = m - 1,

    h(N) = 1 + q sum over s = 1 .. N-1 of C(N-1, s-1) Z(N, s)^(-r) h(N-s),
    Z(N, s) = G(s, N-s),   G(s, t) = sum over j of C(s, j) C(t, j) x^j,   x = exp(-gamma).

The proof, and how h is bounded by cells of numbers, are in docs/proofs.md, "Additive shares in imperfect rounds". Users
who tell the analyst what they know leave an imperfect shuffle of the others: n is the number of those others.

References:
    Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Lemmas 4.2 to 4.13, whose constants are sharpened (docs/errata.md).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.evaluators.binomial import stirling_error
from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid

MOST_USERS = 10**9

_EXACT_UP_TO = 1000  # up to this number binomial coefficients fit a float
_EXACT_FIRST = 400  # numbers computed exactly where there are more than these
_GROWTH = 1.06  # of cells
_SUMMED = 48  # up to here G is summed; beyond, its largest term is a bound
_STEP = 2e-11  # bound on the rounding of a logarithm in the exact recursion; as much again for each 20 rounds
_RELATIVE = 1e-13  # bound on the rounding of a binomial's logarithm, relative to its size and to 1

_FALLING = -0.1  # at or below this log Y a cell's own numbers are taken to be falling
_SLOWEST = 1e-3  # smallest rate of falling that is tried


def mixing_bound(num_users: int, num_messages: int, imperfection: float, modulus: int) -> float:
    """Upper bound on E[q^(C-1)] - 1 over all shuffles of this imperfection, by the theorem above.

    Guarantees:
        1. At least g(n) of the exact recursion, which is at least the expectation of every such protocol.
        2. Falls as ``num_messages`` grows.

    Args:
        num_users: n, those who keep their permuted places secret; from 1 to a billion.
        num_messages: m, messages of each, 1 or more; all rounds but one are as good as promised.
        imperfection: gamma, 0 or more.
        modulus: q, 1 or more.

    Returns:
        A number of 0 or more; infinity where it leaves the floats.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> mixing_bound(2, 3, 0.0, 2) >= 0.5
        True
    """
    logarithm = log_mixing_bound(num_users, num_messages, imperfection, modulus)
    return math.exp(logarithm) * (1 + 1e-15) if logarithm < 709 else math.inf


def mixing_distance(num_users: int, num_messages: int, imperfection: float, modulus: int) -> float:
    """Upper bound on the total variation distance to perfectly mixed shares of the same total; at most 1.

    The arguments are those of `mixing_bound`; the answer is half of its root.
    """
    logarithm = log_mixing_bound(num_users, num_messages, imperfection, modulus)
    return min(1.0, math.exp(min(logarithm / 2, 1.0)) / 2 * (1 + 1e-14))


def log_mixing_bound(num_users: int, num_messages: int, imperfection: float, modulus: int) -> float:
    """Natural logarithm of `mixing_bound`, which may overflow a float; minus infinity for one user."""
    validate.integer_at_least(1, num_users=num_users, num_messages=num_messages, modulus=modulus)
    validate.nonnegative(imperfection=imperfection)
    if num_users > MOST_USERS:
        raise invalid(f"at most {MOST_USERS}", num_users=num_users)
    return _evaluated(int(num_users), int(num_messages), float(imperfection), int(modulus))


@lru_cache(maxsize=128)
def _evaluated(num_users: int, num_messages: int, imperfection: float, modulus: int) -> float:
    rounds, log_modulus = num_messages - 1, math.log(modulus) * (1 + 1e-15)
    closeness = math.exp(-imperfection) * (1 - 1e-15)
    if num_users <= _EXACT_UP_TO:
        return float(_exact(num_users, rounds, closeness, log_modulus)[-1])
    exact = _exact(_EXACT_FIRST, rounds, closeness, log_modulus)
    return _Cells(num_users, rounds, closeness, log_modulus, np.logaddexp(0.0, exact)).last()


def _exact(largest: int, rounds: int, closeness: float, log_modulus: float) -> Floats:
    """Upper bounds on log(h(N) - 1) for N = 1 .. largest, by the recursion itself.

    Z comes from sums of positive numbers: with D(s, t) = G(s, t) - G(s-1, t), D(s, t) = D(s, t-1) + x G(s-1, t-1).
    """
    before, last = np.zeros(largest + 1), np.zeros(largest + 1)  # Z(N-2, .) and Z(N-1, .)
    rises, binomials = np.zeros(largest + 1), np.zeros(largest + 1)  # D by its s, for the N at hand; C(N-1, .)
    before[0], last[:2], binomials[0] = 1.0, 1.0, 1.0
    log_g, log_h = np.full(largest, -np.inf), np.zeros(largest)
    slack = _STEP * (1 + rounds / 20)
    for users in range(2, largest + 1):
        rises[1:users] += closeness * before[: users - 1]
        row = np.zeros(largest + 1)
        row[0], row[1 : users + 1] = 1.0, last[:users] + rises[1 : users + 1]
        binomials[1:users] += binomials[: users - 1].copy()
        logs = np.log(binomials[1:users]) - rounds * np.log(row[1:users]) + log_h[: users - 1]
        log_g[users - 1] = log_modulus + _log_sum(logs) + slack
        log_h[users - 1] = np.logaddexp(0.0, log_g[users - 1]) + slack
        before, last = last, row
    return log_g


class _Cells:
    """Bounds H on log h, cell by cell: single numbers where they are known exactly, then growing cells."""

    def __init__(self, num_users: int, rounds: int, closeness: float, log_modulus: float, exact: Floats) -> None:
        self.rounds, self.closeness, self.log_modulus = rounds, closeness, log_modulus
        first = list(range(1, exact.size + 2))
        while first[-1] < num_users:
            first.append(min(max(first[-1] + 1, math.floor(first[-1] * _GROWTH)), num_users))
        self.first = np.array(first, dtype=np.float64)
        self.final = np.append(self.first[1:] - 1, num_users)
        self.bounds = np.full(len(first), np.inf)
        self.bounds[: exact.size] = exact
        self.num_exact = exact.size

    def last(self) -> float:
        """Bound on log(h(n) - 1), after the bounds on log h in all earlier cells."""
        slope = _Slope(settled=float(self.bounds[self.num_exact - 1]))
        for cell in range(self.num_exact, self.first.size - 1):
            self.bounds[cell], slope = self._bound(cell, slope)
        return self._sums(self.first.size - 1).known

    def _bound(self, cell: int, before: "_Slope") -> tuple[float, "_Slope"]:
        """Bound on log h for all numbers of a cell, and the slope of its fall inside."""
        sums = self._sums(cell)
        length = self.final[cell] - self.first[cell] + 1
        known = np.logaddexp(0.0, sums.known)
        bound = known + length * max(sums.own, 0.0) + math.log(length)
        if sums.own < _FALLING:
            bound = min(bound, known - math.log(-math.expm1(sums.own)))
        bound = min(_up(bound), _up((self.final[cell] - 1) * self.log_modulus))
        flat = _Slope(settled=float(bound), length=length)
        if sums.own >= _FALLING:
            return float(bound), flat
        slope = before.followed_by(sums, length)
        return min(float(bound), slope.top), slope if slope.end < bound else flat

    def _sums(self, cell: int) -> "_Sums":
        low, high = self.first[cell], self.final[cell]
        parts = int(np.searchsorted(self.first, high // 2, side="right"))
        smallest, largest = self.first[:parts], np.minimum(self.final[:parts], high // 2)
        weights = np.log(largest - smallest + 1) + self.log_modulus
        weights -= self.rounds * _log_g_below(smallest, low - largest, self.closeness)
        from_cell = np.searchsorted(self.first, low - largest, side="right") - 1
        largest_since = np.maximum.accumulate(self.bounds[:cell][::-1])[::-1]
        return _Sums(
            sizes=largest,
            rest_small=_up(_log_sum(weights + _log_binomial_above(high - 1, largest) + self.bounds[:parts])),
            part_small=weights + _log_binomial_above(high - 1, largest - 1),
            since=largest_since[from_cell],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Sums of the recursion for the numbers of one cell, as logarithms of upper bounds.

    For each cell of s: the largest s (``sizes``), its sum without h (``part_small``), and a bound on h(N - s) from
    earlier cells (``since``); ``rest_small`` is the sum over t.
    """

    sizes: Floats
    rest_small: float
    part_small: Floats
    since: Floats

    @property
    def own(self) -> float:
        """Logarithm of Y."""
        return _up(_log_sum(self.part_small))

    @property
    def known(self) -> float:
        """Logarithm of K - 1."""
        return _up(float(np.logaddexp(self.rest_small, _log_sum(self.part_small + self.since))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slope:
    """Bound h(A + i) <= S + D exp(-rate i) in a cell of some length from A on, by logarithms of S and D."""

    settled: float
    falling: float = -math.inf
    rate: float = 0.0
    length: float = 1.0

    @property
    def top(self) -> float:
        """Largest value in the cell, as a logarithm."""
        return _up(float(np.logaddexp(self.settled, self.falling)))

    @property
    def end(self) -> float:
        """Value just after the cell, as a logarithm."""
        return _up(float(np.logaddexp(self.settled, self.falling - self.rate * self.length)))

    def followed_by(self, sums: _Sums, length: float) -> "_Slope":
        """Slope of the next cell, by the induction in the text above, where log Y is well below 0."""
        near = sums.sizes < self.length
        rate = max(-sums.own - 1.0, 0.0) if near.any() else 0.0
        while rate > 0 and _up(_log_sum(sums.part_small[near] + rate * sums.sizes[near])) > 0:
            rate = rate / 2 if rate > _SLOWEST else 0.0
        falling = self.end if rate >= self.rate else self.top
        far = np.logaddexp(sums.since[~near], falling) + sums.part_small[~near]
        settled = np.logaddexp(0.0, sums.rest_small)
        settled = np.logaddexp(settled, _log_sum(far)) if far.size else settled
        settled = _up(float(settled) - math.log(-math.expm1(sums.own)))
        return _Slope(settled=settled, falling=falling, rate=rate, length=length)


def _up(logarithm: float) -> float:
    return logarithm + _RELATIVE * (abs(logarithm) + 100)


def _log_sum(logs: Floats) -> float:
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).sum()))


def _log_g_below(fewer: Floats, others: Floats, closeness: float) -> Floats:
    """Lower bounds on log G(s, t), for s one by one from 1 on, and then of cells; at least 0."""
    if closeness == 0:
        return np.zeros(fewer.size)
    out = np.empty(fewer.size)
    few = int(np.searchsorted(fewer, min(_SUMMED, float(others.min())), side="right"))
    if few:
        chosen = np.arange(fewer[few - 1] + 1)[None, :]
        terms = _log_term_below(fewer[:few, None], others[:few, None], np.minimum(chosen, fewer[:few, None]), closeness)
        terms[chosen > fewer[:few, None]] = -np.inf
        out[:few] = np.logaddexp.reduce(terms, axis=1)
    one, other = fewer[few:], others[few:]
    # The largest term is about where C(s, j) C(t, j) x^j stops rising; any j gives a lower bound.
    total = (one + other) * closeness
    best = 2 * one * other * closeness / (total + np.sqrt(total**2 + 4 * (1 - closeness) * one * other * closeness))
    out[few:] = _log_term_below(one, other, np.clip(np.rint(best), 0, np.minimum(one, other)), closeness)
    return np.maximum(out * (1 - _RELATIVE) - _RELATIVE, 0.0)


def _log_term_below(one: Floats, other: Floats, chosen: Floats, closeness: float) -> Floats:
    size = log_binomial(one, chosen) + log_binomial(other, chosen)
    loss = chosen * -math.log(closeness)
    return size - loss - 4 * _RELATIVE * (size + loss + 1)


def _log_binomial_above(whole: float, chosen: Floats) -> Floats:
    value = log_binomial(np.full(chosen.size, whole), chosen)
    return value + _RELATIVE * (value + 1)


def log_binomial(whole: Floats, chosen: Floats) -> Floats:
    """Logarithm of the binomial coefficient C(n, k) of whole floats, by the saddle-point form.

    Good to 1e-13, of itself and of 1.
    """
    whole, chosen = np.broadcast_arrays(whole, chosen)
    rest = whole - chosen
    inner = (chosen > 0) & (rest > 0)
    n, k, left = (np.where(inner, each, 2.0 if place == 0 else 1.0) for place, each in enumerate((whole, chosen, rest)))
    entropy = k * np.log(n / k) + np.where(k < left, -left * np.log1p(-k / n), left * np.log(n / left))
    corrections = stirling_error(n) - stirling_error(k) - stirling_error(left)
    value = entropy + np.log(n / (2 * math.pi * k * left)) / 2 + corrections
    return np.where(inner, np.maximum(value, 0.0), 0.0)
