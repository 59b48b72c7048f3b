"""Regions for estimates by place: public labels and points as they are, or joined where there are too many of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import ReidentificationBound, reidentification_bound
from shuffledp.analyzers import RegionalAnalyzer
from shuffledp.errors import HypothesisError, InputDataError, UnsupportedModelError
from shuffledp.flow import View
from shuffledp.models import ProtocolModel
from shuffledp.shufflers import MallowsShuffler, NoisySortShuffler, SlotShuffler
from shuffledp.table import Table
from shuffledp.tables.shuffling import shuffler_for
from shuffledp.tasks import GroupedSection, Grouping, Regional, Task, mixing_of

__all__ = ["regional_of", "regions_of"]

Integers = NDArray[np.int64]
Places = tuple[Integers, tuple[Mapping[str, Any], ...]]  # the region of each slot, and what each region is

_MOST_REGIONS = 128
_MOST_ROWS = 20_000
_MOST_COMPARED = 100_000


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
    region, where = regions_of(task, view.label_table, shuffler.prepare().order, most)
    found = []
    for mixing in (shuffler, None):
        analyzer = RegionalAnalyzer(regions=region, shuffler=mixing, where=where, level=task.release.level)
        found.append(analyzer.estimate(analyzer.summarize(view)))
    by_group, by_all = _hidden(ProtocolModel(local=view.reports.model, shuffle=view.shuffle), shuffler)
    names = tuple(task.targets[row % len(task.targets)] for row in range(len(found[0].target)))
    return Regional(
        estimate=found[0].with_targets(names),
        unshuffled_error=found[1].standard_error,
        people=np.bincount(region, minlength=len(where)),
        mixing=mixing_of(Grouping(groups, coordinates), task.groups, shuffler),
        hidden_by_group=by_group,
        hidden_by_all=by_all,
    )


def _hidden(
    model: ProtocolModel, shuffler: SlotShuffler
) -> tuple[ReidentificationBound | None, ReidentificationBound | None]:
    """The odds of naming the slot of a report from the largest group, and of one from the middle of the order."""
    try:
        by_group = reidentification_bound(model)
    except (HypothesisError, UnsupportedModelError):
        return None, None
    order, starts = shuffler.prepare().order, shuffler.prepare().starts
    middle = order.size // 2
    block = int(np.searchsorted(starts, middle, side="right"))
    if starts[block] - starts[block - 1] > _MOST_COMPARED:
        return by_group, None
    try:
        return by_group, reidentification_bound(model, swap_costs=shuffler.swap_costs(int(order[middle])))
    except UnsupportedModelError:
        return by_group, None


def regions_of(task: Task, public: Table | None, order: Integers, most: int) -> Places:
    """At most so many regions: the labels or places that groups are made from, or stretches of the reference order.

    Args:
        task: one with groups.
        public: the public columns, one row per person.
        order: the reference order.
        most: number of regions.
    """
    section, columns = task.groups, {} if public is None else dict(public.columns)
    if section is not None and section.columns:
        return _cells(section.columns, np.column_stack([columns[name] for name in section.columns]), most)
    named = [section.column] if section is not None and section.column else list(task.public)
    for name in named[:1]:
        labels, region = np.unique(columns[name].astype(np.str_), return_inverse=True)
        if labels.size <= most:
            return region, tuple({name: str(label)} for label in labels)
        joined, ends = _stretches(np.bincount(region), most)
        return joined[region], tuple(
            {f"{name} from": str(labels[first]), f"{name} to": str(labels[last])} for first, last in ends
        )
    region = np.empty(order.size, dtype=np.int64)
    joined, ends = _stretches(np.ones(order.size, dtype=np.int64), min(most, max(1, order.size // 50)))
    region[order] = joined
    return region, tuple({"ranks from": first, "ranks to": last} for first, last in ends)


def _stretches(people: Integers, most: int) -> tuple[Integers, list[tuple[int, int]]]:
    """Consecutive items joined so that about as many people are in each stretch."""
    cells = np.minimum((np.cumsum(people) - people) * most // people.sum(), most - 1)
    _, joined = np.unique(cells, return_inverse=True)
    first = np.flatnonzero(np.diff(joined, prepend=-1))
    last = np.append(first[1:], joined.size) - 1
    return joined.astype(np.int64), list(zip(first.tolist(), last.tolist(), strict=True))


def _cells(names: tuple[str, ...], points: NDArray[np.float64], most: int) -> Places:
    """Places, or cells of about as many people each, cut across their longer side until they are few enough."""
    places, of_person = np.unique(points, axis=0, return_inverse=True)
    of_person = of_person.ravel()
    people = np.bincount(of_person)
    parts = [np.arange(len(places))]
    if len(places) <= most:
        parts = list(np.arange(len(places))[:, None])
    else:
        while len(parts) * 2 <= most:
            parts = [half for part in parts for half in _halves(places, people, part)]
    cell = np.empty(len(places), dtype=np.int64)
    for number, part in enumerate(parts):
        cell[part] = number
    where = [np.average(places[part], axis=0, weights=people[part]) for part in parts]
    described = tuple(
        {name: float(f"{value:.6g}") for name, value in zip(names, center, strict=True)} for center in where
    )
    return cell[of_person], described


def _halves(places: NDArray[np.float64], people: Integers, part: Integers) -> list[Integers]:
    if part.size < 2:
        return [part]
    side = int(np.argmax(np.ptp(places[part], axis=0)))
    along = part[np.argsort(places[part, side], kind="stable")]
    half = int(np.searchsorted(np.cumsum(people[along]), people[along].sum() / 2)) + 1
    half = min(max(half, 1), along.size - 1)
    return [along[:half], along[half:]]
