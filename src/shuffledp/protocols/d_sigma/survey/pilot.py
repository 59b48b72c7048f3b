"""Pilot of a task with groups: a few people's answers and public columns, to choose a shuffle.

A pilot is data: its people must not answer the collection, and whoever holds it has seen their answers. From public
columns alone a pilot has made-up answers.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.table import Floats, Integers, Table
from shuffledp.protocols.d_sigma.survey.grouped_section import GroupedSection
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.randomness.replayable import SeededSource
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey.columns import Column

_BINS = 8  # of a column of numbers, as a feature
_MOST_CATEGORIES = 64  # of a feature
_WIDTH_OF_BUMPS = 0.3  # of made-up answers: each is common around a place of its own along the order
FEWEST = 50  # people


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """People of a pilot, with their answers and public columns.

    Args:
        answers: numbers of the task's answers, shape (people,).
        grouping: the groups by the task's own table ``[groups]``, with coordinates if there are any.
        public: the public columns.
        made_up: whether the answers are made up.
    """

    answers: Integers
    grouping: Grouping
    public: Table
    made_up: bool

    @property
    def points(self) -> Floats:
        """Places to learn from: coordinates, or the numbers of people's own groups."""
        if self.grouping.coordinates is not None:
            return self.grouping.coordinates
        return self.grouping.groups.own.astype(np.float64)[:, None]

    def features(self, section: GroupsSection) -> Integers | None:
        """Public columns not used for groups, as category numbers, shape (people, columns).

        None without any.
        """
        others = [name for name in self.public.columns if name not in section.public_columns]
        coded = [_coded(np.asarray(self.public[name])) for name in others]
        kept = [column for column in coded if 1 < column.max(initial=0) + 1 <= _MOST_CATEGORIES]
        return np.column_stack(kept) if kept else None


def _coded(column: NDArray[Any]) -> Integers:
    """Category numbers from 0 on; columns of many values are put into bins of equal counts."""
    if column.dtype.kind in "iuf":
        distinct = np.unique(column[~np.isnan(column)] if column.dtype.kind == "f" else column)
        if distinct.size > _MOST_CATEGORIES:
            edges = np.nanquantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])
            return np.searchsorted(edges, column, side="right").astype(np.int64)
    found = np.unique(column.astype(np.str_), return_inverse=True)[1]
    return found.astype(np.int64)


def section_with_groups(column: Column) -> tuple[GroupedSection, GroupsSection]:
    """Tables ``[shuffler]`` and ``[groups]`` of a task; refused without groups."""
    section = column.shuffler
    if not isinstance(section, GroupedSection) or section.groups is None:
        raise InvalidParameterError(
            f"the task must have a table [groups]: nothing is to be chosen for a {section.kind!r} shuffle, and `plan` "
            "without this says what it promises. Of n people shuffled uniformly together, all or those of one place, "
            "a report's slot is named with a chance of at most e^(2 epsilon0) / (e^(2 epsilon0) + n - 1)."
        )
    return section, section.groups


def section_of(column: Column) -> tuple[GroupedSection, GroupsSection]:
    """Tables ``[shuffler]`` and ``[groups]`` of a task that can be explored; refused for other tasks."""
    section, groups = section_with_groups(column)
    model = column.randomizer.randomizer().model
    if not isinstance(model, FrequencyModel) or model.kind != "k-rr":
        raise InvalidParameterError(
            "[randomizer] must be of kind 'k-rr' to be explored, since attacks read reports that are answers; got "
            f"kind={model.kind!r}. Explore with k-rr and the same epsilon0: the shuffle is chosen alike."
        )
    return section, groups


def made_up_answers(order: Integers, num_values: int, source: RandomSource | None = None) -> Integers:
    """Made-up answers that can be learned: the commonest answer changes along the order.

    Args:
        order: the reference order.
        num_values: of answers, 2 or more.
        source: what draws them; None is a fixed seed, so that everybody makes up the same.
    """
    draw = np.random.Generator(
        (SeededSource(0) if source is None else source).substream("made-up answers").bit_generator  # type: ignore[arg-type]
    )
    along = np.empty(order.size)
    along[order] = np.linspace(0, 1, order.size)
    peaks = np.linspace(0, 1, num_values)
    weights = np.exp(-((along[:, None] - peaks) ** 2) / (2 * _WIDTH_OF_BUMPS**2))
    passed = np.cumsum(weights, axis=1)
    found: Integers = (draw.random(order.size)[:, None] * passed[:, -1:] > passed).sum(axis=1)
    return found


def require_enough(people: int) -> None:
    """Refuse a pilot of fewer people than a result needs."""
    if people < FEWEST:
        raise InvalidParameterError(f"a pilot must have at least {FEWEST} people; got {people}.")


def stretches(order: Integers, starts: Integers, length: float) -> Integers:
    """Index from 0 of each person's stretch: about ``length`` successive ranks inside one block."""
    size = max(1, math.ceil(length))
    sizes = np.diff(starts)
    inside = np.arange(order.size) - np.repeat(starts[:-1], sizes)
    of_rank = np.cumsum((inside % size) == 0) - 1
    found = np.empty(order.size, dtype=np.int64)
    found[order] = of_rank
    return found
