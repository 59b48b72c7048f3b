"""Sharpened cells of a plan: sizes at which the blur of a sort can be undone, and their larger errors."""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.planning.mechanism_choice import ExpectedError
from shuffledp.protocols.d_sigma.analyzers.regional import RegionalAnalyzer
from shuffledp.protocols.d_sigma.analyzers.sharpened_regions import WIDTH, inverse_of
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler

_MOST_CELLS = 64  # of the order, from its beginning on: further ones would err alike
_KEPT = 0.99  # share from which on a cell's reports stay in it, and nothing is blurred


@dataclass(frozen=True, slots=True, kw_only=True)
class SharpenedCells(Described):
    """Smallest cells for which a release can undo the blur of a sort with Laplace noise.

    Args:
        people: in each cell: two mean displacements.
        stretched: factor by which the standard error of such a cell exceeds that of as many reports of people who were
            drawn at random, at most: which reports land in a cell is chance.
    """

    people: int
    stretched: float

    def error(self, of_as_many: ExpectedError) -> float:
        """Upper bound on a cell's standard error, if as many reports of random people err by ``of_as_many``."""
        return self.stretched * math.hypot(of_as_many.standard_error, of_as_many.sampling_error)


def sharpened_cells(shuffler: SlotShuffler, displacement: float) -> SharpenedCells | None:
    """Smallest cells whose estimates can be sharpened; None without blur, or if it cannot be undone.

    Args:
        shuffler: what shuffles.
        displacement: mean number of ranks that a report moves.
    """
    if not isinstance(shuffler, NoisySortShuffler) or shuffler.noise != "laplace":
        return None
    order, people = shuffler.prepare().order, max(1, int(np.ceil(WIDTH * displacement)))
    count = min(order.size // people, _MOST_CELLS)
    if count < 2:
        return None
    cells = np.empty(order.size, dtype=np.int64)
    cells[order] = np.minimum(np.arange(order.size) // people, count - 1)
    blur = RegionalAnalyzer(regions=cells, shuffler=shuffler).blur
    if np.diag(blur).min() >= _KEPT:
        return None
    try:
        inverse = inverse_of(blur)
    except UnsupportedModelError:
        return None
    return SharpenedCells(people=people, stretched=float(np.sqrt((inverse[:-1] ** 2).sum(axis=1)).max()))
