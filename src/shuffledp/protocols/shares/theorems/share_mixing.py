"""Mixing of additive shares in imperfect buffers: bound on the distance from perfect mixing, for any number of users.

n users each split a residue mod q into m shares that are uniform but for their sum, and send k of them to each of m / k
buffers. Where the shares stand is drawn independently of them, by a joint law under which exchanging two items of
different users in one buffer changes the probability by a factor of at most exp(gamma). Buffers may depend on each
other; with k = 1 they are rounds. Of some buffers the analyst may be told who sent what.

**Theorem.** Given the residues, the law of what all buffers put out is within total variation sqrt(g(n)) / 2 of the
uniform law on all m n residues of the same total, where g = h - 1, h(1) = 1, and for the other N

    h(N) = 1 + q sum over s = 1 .. N-1 of C(N-1, s-1) W(N, s) h(N-s),
    W(N, s) = product over buffers of 1 / Z(k' N, k' s),

with k' = 0 for buffers that are told, k for the others, and, where none is told, k - 1 for one of them; then W may also
be C(N, s) over the product of all Z(k N, k s). `buffer_weights` says what Z is. The proof, and how h is bounded by
cells of numbers, are in docs/proofs.md, "Additive shares in imperfect buffers". Users who tell the analyst what they
know leave such a law for the others: n is the number of those others.

References:
    Ghazi, Kumar, Manurangsi, Nelson, Zhou 2023, Lemmas 4.2 to 4.13, whose constants are sharpened (docs/errata.md).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.theorems.buffer_weights import (
    RELATIVE,
    BufferWeights,
    log_binomial_above,
    log_sum,
    ways_to_hide,
)

MOST_USERS = 10**9

_EXACT_UP_TO = 1000  # up to this number binomial coefficients fit a float
_EXACT_FIRST = 400  # numbers computed exactly where there are more than these
_GROWTH = 1.06  # of cells
_STEP = 2e-11  # bound on the rounding of a logarithm in the exact recursion; as much again for each 20 rounds
_FEW = 250  # numbers computed exactly where a buffer holds several shares of each user
_FEW_SHARES = 4000  # and at most so many shares, unless there are fewer numbers than
_FEWEST = 60

_FALLING = -0.1  # at or below this log Y a cell's own numbers are taken to be falling
_SLOWEST = 1e-3  # smallest rate of falling that is tried


def mixing_distance(num_users: int, num_messages: int, imperfection: float, modulus: int, **buffers: int) -> float:
    """Upper bound on the total variation distance to perfectly mixed shares of an equal total; at most 1.

    The arguments, options and errors are those of `log_mixing_bound`; the distance is half of the bound's root.

    Example:
        >>> round(mixing_distance(1000, 7, 0.5, 63_000), 6)
        1.8e-05
    """
    logarithm = log_mixing_bound(num_users, num_messages, imperfection, modulus, **buffers)
    return min(1.0, math.exp(min(logarithm / 2, 1.0)) / 2 * (1 + 1e-14))


def log_mixing_bound(
    num_users: int,
    num_messages: int,
    imperfection: float,
    modulus: int,
    *,
    shares_per_buffer: int = 1,
    told_buffers: int = 0,
) -> float:
    """Logarithm of an upper bound on g(n), the theorem's distance from perfect mixing, for all laws of the buffers.

    That is an upper bound on E[q^(C-1)] - 1 over these laws.

    Guarantees:
        1. At least log g(n) of the exact recursion, and g(n) is at least the expectation of every such protocol.
        2. Falls as ``num_messages`` grows.

    Args:
        num_users: n, those who keep their permuted places secret; from 1 to a billion.
        num_messages: m, messages of each, 1 or more; without told buffers all but one are as good as promised.
        imperfection: gamma, 0 or more.
        modulus: q, 1 or more.
        shares_per_buffer: k, of each user in one buffer; it divides ``num_messages``.
        told_buffers: of how many buffers, whichever they are, the analyst is told who sent what.

    Returns:
        A natural logarithm, since the bound may leave the floats; minus infinity for one user.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> log_mixing_bound(2, 3, 0.0, 2) >= math.log(0.5)
        True
    """
    validate.integer_at_least(1, num_users=num_users, num_messages=num_messages, modulus=modulus)
    validate.integer_at_least(1, shares_per_buffer=shares_per_buffer)
    validate.integer_at_least(0, told_buffers=told_buffers)
    validate.nonnegative(imperfection=imperfection)
    if num_users > MOST_USERS:
        raise invalid(f"at most {MOST_USERS}", num_users=num_users)
    buffers, left = divmod(num_messages, shares_per_buffer)
    if left:
        raise invalid(f"a divisor of num_messages={num_messages}", shares_per_buffer=shares_per_buffer)
    if told_buffers > buffers:
        raise invalid(f"at most {buffers}, the number of buffers", told_buffers=told_buffers)
    closeness = math.exp(-imperfection) * (1 - 1e-15)
    ways = ways_to_hide(buffers, int(shares_per_buffer), int(told_buffers), closeness if imperfection else 1.0)
    return min(_evaluated(int(num_users), way, int(modulus)) for way in ways)


@lru_cache(maxsize=256)
def _evaluated(num_users: int, weights: BufferWeights, modulus: int) -> float:
    log_modulus = math.log(modulus) * (1 + 1e-15)
    rounds = weights.rounds
    if rounds is not None:
        if num_users <= _EXACT_UP_TO:
            return float(_exact(num_users, rounds, weights.closeness, log_modulus)[-1])
        exact = _exact(_EXACT_FIRST, rounds, weights.closeness, log_modulus)
    else:
        exact = _exact_of(min(num_users, _few(weights)), weights, log_modulus)
        if num_users == exact.size:
            return float(exact[-1])
    return _Cells(num_users, weights, log_modulus, np.logaddexp(0.0, exact)).last()


def _few(weights: BufferWeights) -> int:
    return min(_FEW, max(_FEWEST, _FEW_SHARES // weights.most_shares))


def _exact_of(largest: int, weights: BufferWeights, log_modulus: float) -> Floats:
    """Upper bounds on log(h(N) - 1), h as in the theorem, for N = 1 .. largest.

    All sums G are taken term by term.
    """
    log_g, log_h = np.full(largest, -np.inf), np.zeros(largest)
    for users, ways, weight in weights.numbers(largest):
        log_g[users - 1] = _up(log_modulus + log_sum(ways + weight + log_h[: users - 1][::-1]))
        log_h[users - 1] = _up(float(np.logaddexp(0.0, log_g[users - 1])))
    return log_g


def _exact(largest: int, rounds: int, closeness: float, log_modulus: float) -> Floats:
    """Upper bounds on log(h(N) - 1) for N = 1 .. largest, by the recursion without cells.

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
        log_g[users - 1] = log_modulus + log_sum(logs) + slack
        log_h[users - 1] = np.logaddexp(0.0, log_g[users - 1]) + slack
        before, last = last, row
    return log_g


class _Cells:
    """Upper bounds on log h(N), h as in the theorem, for cells of numbers N: single numbers, then growing ranges."""

    def __init__(self, num_users: int, weights: BufferWeights, log_modulus: float, exact: Floats) -> None:
        self.weights, self.log_modulus = weights, log_modulus
        first = list(range(1, exact.size + 2))
        while first[-1] < num_users:
            first.append(min(max(first[-1] + 1, math.floor(first[-1] * _GROWTH)), num_users))
        self.first = np.array(first, dtype=np.float64)
        self.final = np.append(self.first[1:] - 1, num_users)
        self.bounds = np.full(len(first), np.inf)
        self.bounds[: exact.size] = exact
        self.num_exact = exact.size

    def last(self) -> float:
        """Bound on log(h(n) - 1) at the last number, after all earlier cells."""
        slope = _Slope(settled=float(self.bounds[self.num_exact - 1]))
        for cell in range(self.num_exact, self.first.size - 1):
            self.bounds[cell], slope = self._bound(cell, slope)
        return self._sums(self.first.size - 1).known

    def _bound(self, cell: int, before: "_Slope") -> tuple[float, "_Slope"]:
        """Bound on log h(N) for all numbers N of a cell, with the slope of its fall."""
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
        weights += self.weights.above(smallest, largest, low, high)
        from_cell = np.searchsorted(self.first, low - largest, side="right") - 1
        largest_since = np.maximum.accumulate(self.bounds[:cell][::-1])[::-1]
        return _Sums(
            sizes=largest,
            rest_small=_up(log_sum(weights + log_binomial_above(high - 1, largest) + self.bounds[:parts])),
            part_small=weights + log_binomial_above(high - 1, largest - 1),
            since=largest_since[from_cell],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Upper bounds on the sums of the recursion for one cell, as logarithms.

    For each cell of s: the largest s (``sizes``), its sum without h (``part_small``), and a bound on h(N - s) from
    earlier cells (``since``); ``rest_small`` is the sum over t.
    """

    sizes: Floats
    rest_small: float
    part_small: Floats
    since: Floats

    @property
    def own(self) -> float:
        """Logarithm of the factor Y, where h(N) <= K + Y max h(M) over smaller M of the cell."""
        return _up(log_sum(self.part_small))

    @property
    def known(self) -> float:
        """Logarithm of K - 1, where h(N) <= K + Y max h(M) over smaller M of the cell."""
        return _up(float(np.logaddexp(self.rest_small, log_sum(self.part_small + self.since))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slope:
    """Bound h(A + i) <= S + D exp(-rate i) in a cell from A on.

    S and D are given by their logarithms.
    """

    settled: float
    falling: float = -math.inf
    rate: float = 0.0
    length: float = 1.0

    @property
    def top(self) -> float:
        """Logarithm of the bound's largest value in the cell."""
        return _up(float(np.logaddexp(self.settled, self.falling)))

    @property
    def end(self) -> float:
        """Logarithm of the bound's value just after the cell."""
        return _up(float(np.logaddexp(self.settled, self.falling - self.rate * self.length)))

    def followed_by(self, sums: _Sums, length: float) -> "_Slope":
        """Slope of the bound in the next cell, if log Y is well below 0.

        By the induction in the text above.
        """
        near = sums.sizes < self.length
        rate = max(-sums.own - 1.0, 0.0) if near.any() else 0.0
        while rate > 0 and _up(log_sum(sums.part_small[near] + rate * sums.sizes[near])) > 0:
            rate = rate / 2 if rate > _SLOWEST else 0.0
        falling = self.end if rate >= self.rate else self.top
        far = np.logaddexp(sums.since[~near], falling) + sums.part_small[~near]
        settled = np.logaddexp(0.0, sums.rest_small)
        settled = np.logaddexp(settled, log_sum(far)) if far.size else settled
        settled = _up(float(settled) - math.log(-math.expm1(sums.own)))
        return _Slope(settled=settled, falling=falling, rate=rate, length=length)


def _up(logarithm: float) -> float:
    return logarithm + RELATIVE * (abs(logarithm) + 100)
