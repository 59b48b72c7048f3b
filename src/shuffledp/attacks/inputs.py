"""The data sets between which an attacker is to tell, and the worst ones known for each family of randomizers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp._described import Described
from shuffledp._validate import integer_at_least, invalid
from shuffledp.models import FrequencyModel, LocalModel, MeanModel
from shuffledp.randomizers import SplitAndMixModel

__all__ = ["NeighboringInputs", "worst_inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboringInputs(Described):
    """Two data sets that differ in one person's answer. They are invented: no person's answer is in them.

    Args:
        first: that person's answer in the first data set, as the randomizer takes it.
        second: that answer in the second data set; another one.
        others: what everybody else answers, in both.
        holders: for two orders of the same answers: who hold the first answer, and who the second, in the first data
            set; the other way round in the second. An audit of such claims fills it in; none for one person's answer.
        person: whose answer it is, where people are not all alike; the first one's if nothing is said.

    Raises:
        InvalidParameterError: if the two answers are equal, or there is no such person.
    """

    first: Any
    second: Any
    others: Any
    holders: tuple[tuple[int, ...], ...] = ()
    person: int = 0

    def __post_init__(self) -> None:
        integer_at_least(0, person=self.person)
        if np.array_equal(self.first, self.second):
            raise invalid("different from first", second=self.second)

    def answers(self, which: str, num_users: int) -> NDArray[Any]:
        """One data set as a column: ``which`` is "first" or "second"; one row per person."""
        common = np.result_type(*(np.asarray(answer) for answer in (self.first, self.second, self.others)))
        column = np.array([self.others] * num_users, dtype=common)  # or a whole number of others would cut off digits
        if not self.holders:
            column[self.person] = getattr(self, which)
            return column
        here, there = self.holders if which == "first" else self.holders[::-1]
        column[list(here)], column[list(there)] = self.first, self.second
        return column


def worst_inputs(model: LocalModel) -> tuple[NeighboringInputs, ...]:
    """Where the attacks of this package do best; empty for a family of randomizers that none is known for.

    The audit tries both roles of the two answers, so that "others = second" would repeat "others = first".
    """
    if isinstance(model, FrequencyModel):
        third = [2] if model.domain_size > 2 else []
        return tuple(NeighboringInputs(first=0, second=1, others=others) for others in (*third, 0))
    if isinstance(model, MeanModel) and model.dimension == 1:
        lower, upper = model.lower, model.upper
        middle = lower + (upper - lower) / 2
        return tuple(NeighboringInputs(first=lower, second=upper, others=others) for others in (middle, lower))
    if isinstance(model, MeanModel):
        axis = np.eye(2, model.dimension)
        north, east = (tuple(row.tolist()) for row in axis)
        south = tuple((-axis[0]).tolist())
        return tuple(NeighboringInputs(first=north, second=south, others=others) for others in (east, north))
    if isinstance(model, SplitAndMixModel):
        return _worst_of_shares(model)
    return ()


def _worst_of_shares(model: SplitAndMixModel) -> tuple[NeighboringInputs, ...]:
    """As far apart as the range allows, while others are in the middle, or answer like the first person."""
    lower, upper = model.lower, model.upper
    middle = lower + (upper - lower) // 2 if model.integer else lower + (upper - lower) / 2
    if model.dimension == 1:
        return tuple(NeighboringInputs(first=lower, second=upper, others=others) for others in (middle, lower))
    low, half, high = ((each,) * model.dimension for each in (lower, middle, upper))
    if model.l1_bounded:
        low, high = ((upper,) + (0.0,) * (model.dimension - 1), (0.0, upper) + (0.0,) * (model.dimension - 2))
        half = (0.0,) * model.dimension
    return tuple(NeighboringInputs(first=low, second=high, others=others) for others in (half, low))
