"""Weights of the recursion on shares in buffers, from the chance that a set of people keeps its places.

With x = exp(-gamma), a law that changes by a factor of at most exp(gamma) where two items are exchanged takes a people
among a + b to given places with a probability of at most 1 / G(a, b), where

    G(a, b) = Z(a + b, a) = sum over j of C(a, j) C(b, j) x^j.

A buffer that holds k shares of each of N users, s of whom keep together, counts with 1 / Z(k N, k s).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.evaluators.binomial import stirling_error
from shuffledp.core.table import Floats

RELATIVE = 1e-13  # bound on the rounding of a binomial's logarithm, relative to its size and to 1

_SUMMED = 48  # up to here G is summed; beyond, its largest term is a bound
_DEVIATIONS = 9  # terms of G so many standard deviations around the largest are summed; the others are left out


def ways_to_hide(buffers: int, shares: int, told: int, closeness: float) -> tuple["BufferWeights", ...]:
    """Weights of each valid recursion; each gives a bound, and the smallest bound may be used.

    Args:
        buffers: how many there are.
        shares: of each user in each of them.
        told: of how many it is known who sent what.
        closeness: x, from 0 to 1.
    """
    if told:
        return (BufferWeights(((shares, buffers - told),), closeness),)
    one_named = BufferWeights(((shares, buffers - 1), (shares - 1, 1)), closeness)
    if shares == 1:  # then the other one is never less
        return (one_named,)
    return one_named, BufferWeights(((shares, buffers),), closeness, free=True)


@dataclass(frozen=True, slots=True)
class BufferWeights:
    """Weights W(N, s) of one recursion.

    Args:
        hiding: pairs of the shares of each user that count in a buffer, and the number of such buffers.
        closeness: x, from 0 to 1.
        free: whether nothing is told, and a factor C(N, s) counts what the set may be swapped with.
    """

    hiding: tuple[tuple[int, int], ...]
    closeness: float
    free: bool = False

    @property
    def rounds(self) -> int | None:
        """Number of buffers, if each holds one share of a user; None otherwise."""
        return None if self.free or self.most_shares > 1 else sum(count * shares for shares, count in self.hiding)

    @property
    def most_shares(self) -> int:
        """Largest number of shares that one user has in any of the counted buffers."""
        return max(shares for shares, count in self.hiding if count or len(self.hiding) == 1)

    def numbers(self, largest: int) -> Iterator[tuple[int, Floats, Floats]]:
        """Terms of the recursion for each N from 2 on: N, and logarithms of C(N-1, s-1) and of W(N, s).

        For s = 1 .. N-1; the logarithm of W(N, s) is rounded up.
        """
        logs = _log_factorials(self.most_shares * largest)
        for users in range(2, largest + 1):
            sets = np.arange(1, users)
            half = sets[: users // 2]
            weight = np.zeros(half.size)
            for shares, count in self.hiding:
                if shares and count:
                    weight -= count * _log_g_summed(shares * half, shares * (users - half), self.closeness, logs)
            if self.free:
                weight += logs[users] - logs[half] - logs[users - half] + RELATIVE * (1 + users)
            ways = logs[users - 1] - logs[sets - 1] - logs[users - sets]
            yield users, ways, np.concatenate([weight, weight[: users - 1 - half.size][::-1]])

    def above(self, smallest: Floats, largest: Floats, low: float, high: float) -> Floats:
        """Upper bounds on log W(N, s) for ranges of N and of s or N - s.

        N goes from ``low`` to ``high``, and s, or N - s, from ``smallest`` to ``largest``.
        """
        weight = np.zeros(smallest.size)
        for shares, count in self.hiding:
            if shares and count:
                weight -= count * log_g_below(shares * smallest, shares * (low - largest), self.closeness)
        return weight + log_binomial_above(high, largest) if self.free else weight


def _log_factorials(largest: int) -> Floats:
    numbers = np.maximum(np.arange(largest + 1, dtype=np.longdouble), 1)
    return np.asarray(np.cumsum(np.log(numbers)), dtype=np.float64)


def _log_g_summed(one: np.ndarray, other: np.ndarray, closeness: float, logs: Floats) -> Floats:
    """Lower bounds on log G(one, other), by the terms around the largest one.

    Nowhere is ``one`` above ``other``.
    """
    if closeness == 0:
        return np.zeros(one.size)
    best = np.clip(np.rint(_largest_term(one, other, closeness)), 0, one)
    with np.errstate(divide="ignore"):
        curvature = 2 / best + 1 / (one - best) + 1 / (other - best)
    reach = math.ceil(_DEVIATIONS / math.sqrt(float(curvature.min()))) + 8
    chosen = best.astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    outside = (chosen < 0) | (chosen > one[:, None])
    chosen = np.clip(chosen, 0, one[:, None])
    terms = (
        chosen * math.log(closeness) - 2 * logs[chosen] - logs[one[:, None] - chosen] - logs[other[:, None] - chosen]
    )
    terms[outside] = -np.inf
    size = logs[one] + logs[other]
    largest = terms.max(axis=1)
    found: Floats = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1)) + size - 1e-15 * (size + 100)
    return np.maximum(found, 0.0)


def _largest_term(one: Floats, other: Floats, closeness: float) -> Floats:
    """Approximate j of the largest term C(one, j) C(other, j) x^j."""
    total = (one + other) * closeness
    return 2 * one * other * closeness / (total + np.sqrt(total**2 + 4 * (1 - closeness) * one * other * closeness))


def log_sum(logs: Floats) -> float:
    """Logarithm of a sum of numbers, from their logarithms."""
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).sum()))


def log_g_below(fewer: Floats, others: Floats, closeness: float) -> Floats:
    """Lower bounds on log G(fewer, others), ascending in ``fewer``; at least 0."""
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
    best = _largest_term(one, other, closeness)  # any place gives a lower bound
    out[few:] = _log_term_below(one, other, np.clip(np.rint(best), 0, np.minimum(one, other)), closeness)
    return np.maximum(out * (1 - RELATIVE) - RELATIVE, 0.0)


def _log_term_below(one: Floats, other: Floats, chosen: Floats, closeness: float) -> Floats:
    size = log_binomial(one, chosen) + log_binomial(other, chosen)
    loss = chosen * -math.log(closeness)
    return size - loss - 4 * RELATIVE * (size + loss + 1)


def log_binomial_above(whole: float, chosen: Floats) -> Floats:
    """Upper bounds on the logarithm of C(whole, chosen)."""
    value = log_binomial(np.full(chosen.size, whole), chosen)
    return value + RELATIVE * (value + 1)


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
