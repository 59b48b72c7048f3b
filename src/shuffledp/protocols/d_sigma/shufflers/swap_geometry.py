"""Costs of exchanging two people, as distances along the reference order: who hides whom, and how well."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.caching import compiled
from shuffledp.core.table import Floats, Integers

_ROUND_UP = 1 + 1e-12
_FAR = 300.0  # a concentration beyond which nobody ever changes places
_ROUND_DOWN = 1 - 1e-9  # what running sums over a billion people lose to rounding is below it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwapGeometry:
    """Cost of exchanging the people at two ranks of a block: twice their distance minus a block's rebate.

    People of different blocks are never exchanged. A sort with Laplace noise has its positions, and no rebate; a block
    of Kendall's Mallows law has positions ``concentration`` apart, and that concentration as its rebate.

    Args:
        at: position of each rank, nondecreasing in a block.
        starts: the first rank of each block, and the number of people last.
        rebates: of each block, 0 or more; not above twice the distance of neighbors.
    """

    at: Floats
    starts: Integers
    rebates: Floats

    @classmethod
    def of_concentrations(cls, starts: Integers, concentrations: Floats) -> Self:
        """Geometry of blocks of Kendall's Mallows law; an infinite concentration means a person alone in the block."""
        thetas, sizes = np.minimum(concentrations, _FAR), np.diff(starts)
        inside = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        return cls(at=inside * np.repeat(thetas, sizes), starts=starts, rebates=thetas)

    @property
    def blocks(self) -> NDArray[np.int64]:
        """Block number of each rank, shape (people,)."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def costs(self, low: Integers, high: Integers) -> Floats:
        """Largest cost of exchanging two people of each window, given its first and last rank in one block."""
        found: Floats = np.maximum(2 * (self.at[high] - self.at[low]) * _ROUND_UP - self.rebates[self.blocks[low]], 0.0)
        return found

    def block_costs(self) -> Floats:
        """Largest cost of exchanging two people of each block, 0 for one person; shape (blocks,)."""
        return self.costs(self.starts[:-1], self.starts[1:] - 1)

    def crowds(self) -> Floats:
        """Number of people who hide the person at each rank, weighted by exp(-cost of the exchange), rounded down.

        It is sum over all others of exp(-cost): with it the odds of naming the slot of the person's report are at most
        exp(2 epsilon0) / crowd (Theorem 4.2, refined).
        """
        factors = np.exp(np.minimum(-2 * np.diff(self.at, prepend=self.at[0]), 0.0))  # blocks begin at 0 again
        factors[self.starts[:-1]] = 0.0
        sums = _both_ways(factors)
        found: Floats = sums * np.exp(self.rebates)[self.blocks] * _ROUND_DOWN
        return found

    def window_costs(self, size: int, together: int = 1) -> Floats:
        """Cost of the cheapest window of this size around each rank, in its block; infinite if no window fits.

        Windows hold the ``together`` ranks from this one on.
        """
        if size == 1:
            return np.zeros(self.at.size)
        found = least_window_costs(self.at, self.blocks, size, together)
        return np.maximum(found - self.rebates[self.blocks], 0.0)


@compiled
def _both_ways(factors: Floats) -> Floats:
    """Sum for each place, over all other places, of the product of the factors between the two.

    Factor k lies between places k - 1 and k.
    """
    found = np.zeros(factors.size)
    total = 0.0
    for place in range(1, factors.size):
        total = factors[place] * (1.0 + total)
        found[place] += total
    total = 0.0
    for place in range(factors.size - 2, -1, -1):
        total = factors[place + 1] * (1.0 + total)
        found[place] += total
    return found


def least_window_costs(at: Floats, blocks: NDArray[np.int64], size: int, together: int = 1) -> Floats:
    """Twice the width of the narrowest window of this size around each rank, in its block; infinite if none fits.

    Windows hold the ``together`` ranks from this one on; so many are no more than ``size``.
    """
    if size == 1:
        return np.zeros(at.size)
    first, last = slice(None, at.size - size + 1), slice(size - 1, None)
    costs = np.where(blocks[first] == blocks[last], 2 * (at[last] - at[first]) * _ROUND_UP, np.inf)
    padded = np.concatenate([np.full(size - 1, np.inf), costs, np.full(size - 1, np.inf)])
    return _least_of_runs(padded, size - together + 1)[together - 1 : together - 1 + at.size]


def _least_of_runs(values: Floats, length: int) -> Floats:
    """Minimum of each run of ``length`` successive values."""
    done, least = 1, values
    while done < length:
        step = min(done, length - done)
        least = np.minimum(least[:-step], least[step:])
        done += step
    return least


def whole_crowds(sizes: ArrayLike) -> Floats:
    """Number of others who hide a person in a block of each of these sizes, if exchanges are free."""
    return np.asarray((np.asarray(sizes, dtype=np.float64) - 1) * _ROUND_DOWN)


def named_with_at_most(crowds: Floats, epsilon0: float) -> Floats:
    """Largest chance of naming the slot of a report that a crowd of this size hides (Theorem 4.2, refined).

    Args:
        crowds: of `SwapGeometry.crowds`, 0 or more.
        epsilon0: local loss of the one pure randomizer of everybody.

    Example:
        >>> named_with_at_most(np.array([0.0, 1.0, 99.0]), 0.0).round(6).tolist()
        [1.0, 0.5, 0.01]
    """
    odds = math.exp(2 * epsilon0) if epsilon0 < 350 else math.inf
    with np.errstate(invalid="ignore"):
        found = np.where(np.isinf(odds) | (crowds == 0), 1.0, odds / (odds + crowds))
    return np.minimum(found * (1 + 1e-12), 1.0)
