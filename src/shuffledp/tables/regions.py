"""Regions for estimates by place: public labels, points or groups as they are, or joined where there are too many."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import ReidentificationBound, reidentification_bound
from shuffledp.analyzers import RegionalAnalyzer
from shuffledp.errors import HypothesisError, InputDataError, UnsupportedModelError
from shuffledp.estimates import Estimate
from shuffledp.flow import View
from shuffledp.models import ProtocolModel
from shuffledp.shufflers import MallowsShuffler, NoisySortShuffler, SlotShuffler
from shuffledp.table import Table
from shuffledp.tables.cells import cells_of
from shuffledp.tables.lists import read_named_lists
from shuffledp.tables.shuffling import shuffler_for
from shuffledp.tasks import GroupedSection, Grouping, Regional, Task, mixing_of

__all__ = ["Regions", "regional_of", "regions_of"]

Integers = NDArray[np.int64]
Places = tuple[Integers, tuple[Mapping[str, Any], ...]]  # the region of each slot, and what each region is

_MOST_REGIONS = 128
_MOST_ROWS = 20_000
_MOST_COMPARED = 100_000
_LEAST_IN_CELL = 50
_UNMIXED = {"shuffled": "no"}  # said of a place whose people are alone, where others are not


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """What estimates by place are about.

    Args:
        of_slot: the number of the region of each slot; -1 where few people are far away from all others.
        where: a public description of each region.
        is_at_slots: whether the slots' public columns tell which region they are in.
    """

    of_slot: Integers
    where: tuple[Mapping[str, Any], ...]
    is_at_slots: bool


def regional_of(task: Task, view: View, shuffler: SlotShuffler | None, beside: Path) -> Regional:
    """Estimates by region from a view, and what the shuffle did to the groups.

    Args:
        task: one with groups.
        view: what the shuffler released.
        shuffler: what made the view; None makes it again from the public columns in the view.
        beside: the folder of the task file.

    Raises:
        InputDataError: if the view describes another shuffle than that of the task's groups.
    """
    made_by = shuffler or shuffler_for(task, view.label_table, view.shuffle.num_users, beside)
    groups = made_by.groups if isinstance(made_by, MallowsShuffler | NoisySortShuffler) else None
    if groups is None or task.groups is None or not isinstance(task.shuffler, GroupedSection):
        raise InputDataError("the view must be of a shuffle with groups; the task has none.")
    shuffler = cast(SlotShuffler, made_by)
    if shuffler.prepare().model != view.shuffle:
        raise InputDataError("the view must be of the shuffle that the task's groups lead to; it describes another.")
    coordinates = None
    if task.groups.columns and view.label_table is not None:
        coordinates = np.column_stack([view.label_table[name] for name in task.groups.columns])
    most = max(2, min(_MOST_REGIONS, _MOST_ROWS // len(task.targets)))
    regions = regions_of(task, view.label_table, shuffler, beside, most)
    count, rows = len(regions.where), len(regions.where) * len(task.targets)
    left_out = regions.of_slot < 0
    analyzers = {
        "where": (*regions.where, *([{}] if left_out.any() else [])),
        "regions": np.where(left_out, count, regions.of_slot),
        "level": task.release.level,
    }
    found = []
    for mixing in (shuffler, None):
        analyzer = RegionalAnalyzer(shuffler=mixing, **cast(Any, analyzers))
        found.append(_first(analyzer.estimate(analyzer.summarize(view)), rows))
    model = ProtocolModel(local=view.reports.model, shuffle=view.shuffle)
    names = tuple(task.targets[row % len(task.targets)] for row in range(rows))
    return Regional(
        estimate=found[0].with_targets(names),
        unshuffled_error=np.minimum(found[1].standard_error, found[0].standard_error),
        people=np.bincount(regions.of_slot[~left_out], minlength=count),
        mixing=mixing_of(Grouping(groups, coordinates), task.groups, shuffler),
        left_out=int(left_out.sum()),
        of_slot=None if regions.is_at_slots else regions.of_slot,
        **_hidden(model, shuffler, groups.sizes[groups.own[~_alone(shuffler)]]),
    )


def _first(estimate: Estimate, rows: int) -> Estimate:
    """Without the last rows, which are about the slots that are in no region."""
    parts = ("target", "estimate", "standard_error", "sampling_error", "where")
    kept: dict[str, Any] = {
        name: None if (column := getattr(estimate, name)) is None else column[:rows] for name in parts
    }
    return replace(estimate, **kept)


def _hidden(model: ProtocolModel, shuffler: SlotShuffler, sizes: Integers) -> dict[str, ReidentificationBound]:
    """The odds of naming the slot of a report from the largest and smallest group, and from the middle of the order.

    Args:
        model: the protocol.
        shuffler: what shuffled.
        sizes: of the groups of people who are not alone.
    """
    try:
        found = {"hidden_by_group": reidentification_bound(model)}
    except (HypothesisError, UnsupportedModelError):
        return {}
    if sizes.size and sizes.min() < found["hidden_by_group"].group_size:
        found["hidden_by_smallest"] = reidentification_bound(model, group_size=int(sizes.min()))
    order, starts = shuffler.prepare().order, shuffler.prepare().starts
    middle = order.size // 2
    block = int(np.searchsorted(starts, middle, side="right"))
    if starts[block] - starts[block - 1] > _MOST_COMPARED:
        return found
    try:
        costs = shuffler.swap_costs(int(order[middle]))
    except UnsupportedModelError:
        return found
    return found | {"hidden_by_all": reidentification_bound(model, swap_costs=costs)}


def regions_of(task: Task, public: Table | None, shuffler: SlotShuffler, beside: Path, most: int) -> Regions:
    """About so many regions at most: the labels, places or groups of the task, or stretches of the reference order.

    No region that is joined from several holds both people who are alone and others.

    Args:
        task: one with groups.
        public: the public columns, one row per person.
        shuffler: what shuffles.
        beside: the folder of the task file.
        most: number of regions.
    """
    section, columns = task.groups, {} if public is None else dict(public.columns)
    order, alone = shuffler.prepare().order, _alone(shuffler)
    if section is not None and section.columns:
        points = np.column_stack([columns[name] for name in section.columns])
        metric, radius = section.metric or "euclidean", section.radius or 0.0
        cells = cells_of(points, alone, most, metric=metric, radius=radius)
        named = [{name: _short(value) for name, value in zip(section.columns, at, strict=True)} for at in cells.places]
        return _marked(cells.of_person, tuple(named), alone, is_at_slots=True)
    named_by = [section.column] if section is not None and section.column else list(task.public)
    if named_by:
        return _marked(*_labels(named_by[0], columns[named_by[0]], alone, most), alone, is_at_slots=True)
    groups = getattr(shuffler, "groups", None)
    if section is not None and section.lists is not None and groups is not None:
        own, of_slot = np.unique(groups.own, return_inverse=True)
        if own.size <= most:
            names = list(read_named_lists(beside / section.lists))
            where = tuple({"group": names[number]} for number in own.tolist())
            return _marked(of_slot, where, alone, is_at_slots=False)
    return _marked(*_along(order, alone, most), alone, is_at_slots=False)


def _alone(shuffler: SlotShuffler) -> NDArray[np.bool_]:
    """Who is the only one in a block."""
    prepared = shuffler.prepare()
    sizes = np.diff(prepared.starts)
    alone = np.empty(prepared.order.size, dtype=np.bool_)
    alone[prepared.order] = np.repeat(sizes == 1, sizes)
    return alone


def _marked(
    of_slot: Integers, where: tuple[Mapping[str, Any], ...], alone: NDArray[np.bool_], *, is_at_slots: bool
) -> Regions:
    """With a mark at places whose people are all alone, where not everybody is."""
    shown = of_slot >= 0
    mixed = np.bincount(of_slot[shown & ~alone], minlength=len(where))
    if mixed.any():
        where = tuple(dict(each) | ({} if people else _UNMIXED) for each, people in zip(where, mixed, strict=True))
    return Regions(of_slot=of_slot, where=where, is_at_slots=is_at_slots)


def _labels(name: str, column: NDArray[Any], alone: NDArray[np.bool_], most: int) -> Places:
    """The labels of a column; or stretches of them, and those of people who are alone together."""
    labels, of_slot = np.unique(column.astype(np.str_), return_inverse=True)
    if labels.size <= most:
        return of_slot, tuple({name: str(label)} for label in labels)
    mixed = np.bincount(of_slot[~alone], minlength=labels.size) > 0
    region = np.empty(labels.size, dtype=np.int64)
    where: list[Mapping[str, Any]] = []
    for kind in (mixed, ~mixed):
        if kind.any():
            room = most if kind is mixed else max(1, round(most * kind.sum() / labels.size))
            joined, ends = _stretches(np.bincount(of_slot, minlength=labels.size)[kind], room)
            region[kind] = joined + len(where)
            some = labels[kind]
            where += [{f"{name} from": str(some[first]), f"{name} to": str(some[last])} for first, last in ends]
    return region[of_slot], tuple(where)


def _along(order: Integers, alone: NDArray[np.bool_], most: int) -> Places:
    """Stretches of the reference order, by numbers, and all who are alone together."""
    mixed = order[~alone[order]]
    of_slot = np.empty(order.size, dtype=np.int64)
    where: list[Mapping[str, Any]] = []
    if mixed.size:
        room = min(most, max(1, mixed.size // _LEAST_IN_CELL))
        of_slot[mixed], ends = _stretches(np.ones(mixed.size, dtype=np.int64), room)
        where = [{"place": f"cell {number + 1}"} for number in range(len(ends))]
    if alone.any():
        of_slot[alone] = len(where)
        where.append({"place": "people who are alone"})
    return of_slot, tuple(where)


def _stretches(people: Integers, most: int) -> tuple[Integers, list[tuple[int, int]]]:
    """Consecutive items joined so that about as many people are in each stretch."""
    cells = np.minimum((np.cumsum(people) - people) * most // people.sum(), most - 1)
    _, joined = np.unique(cells, return_inverse=True)
    first = np.flatnonzero(np.diff(joined, prepend=-1))
    last = np.append(first[1:], joined.size) - 1
    return joined.astype(np.int64), list(zip(first.tolist(), last.tolist(), strict=True))


def _short(value: float) -> float:
    return float(f"{value:.6g}")
