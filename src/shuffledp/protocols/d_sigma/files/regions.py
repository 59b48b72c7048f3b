"""Regions for estimates by place: labels, points or groups, joined where there are too many."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Floats, Integers, Table
from shuffledp.files.people_files import read_named_lists
from shuffledp.protocols.d_sigma.analyzers.regional import NUM_DRAWS, RegionalAnalyzer, RegionalSummary
from shuffledp.protocols.d_sigma.files.naming_chances import household_naming_chances, naming_chances, people_alone
from shuffledp.protocols.d_sigma.files.sharpened_places import sharpened_places
from shuffledp.protocols.d_sigma.people.public_points import distances, distinct_rows, rows_of
from shuffledp.protocols.d_sigma.planning.group_losses import losses_by_size
from shuffledp.protocols.d_sigma.planning.group_mixing import mixing_of
from shuffledp.protocols.d_sigma.planning.order_composition import laws_of
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.grouped_section import groups_of
from shuffledp.protocols.d_sigma.survey.regional_result import RegionalResult
from shuffledp.survey import Column

Placed = tuple[Integers, tuple[Mapping[str, Any], ...]]  # the region of each slot, and the description of each region

SLOTS_AT_A_TIME = 1 << 18  # part size of a view near a reference order
_MOST_REGIONS = 128
_MOST_ROWS = 20_000
_LEAST_IN_CELL = 50
_UNMIXED = {"shuffled": "no"}  # mark of a place whose people are all alone, if others are not
_SHARE = 0.25  # largest width of a cell, as a share of the map's diagonal
_FEWEST = 0.1  # a distant place with a smaller share of the people of an average place is not shown
_FEWEST_DRAWS, _MOST_DRAWN = 4, 1 << 26  # fewest simulations, and most people in all of them together
_CORE = (0.01, 0.99)  # quantiles of each column between which the map lies


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """The region of each slot, and a public description of each region."""

    of_slot: NDArray[np.int16]  # -1 for few people far from all others
    where: tuple[Mapping[str, Any], ...]
    is_at_slots: bool  # whether the slots' public columns tell which region they are in


class PlacesInParts:
    """Estimates by region from a view in parts, with the mixing of the groups by the view's shuffle.

    A view of another task's shuffle is refused.

    The ``shuffler`` made the view, ``first`` is its first part, and ``beside`` the folder of the task file. `take` is
    given every part, the first one too.
    """

    def __init__(self, column: Column, first: View, shuffler: Shuffler, beside: Path) -> None:
        groups = shuffler.groups if isinstance(shuffler, MallowsShuffler | NoisySortShuffler) else None
        section = groups_of(column.shuffler)
        if groups is None or section is None:
            raise InputDataError("the view must be of a shuffle with groups; the task has none.")
        self._shuffler, self._groups, self._section = cast(SlotShuffler, shuffler), groups, section
        if self._shuffler.prepare().model != first.shuffle:
            raise InputDataError(
                "the view must be of the shuffle that the task's groups lead to; it describes another."
            )
        self._column, self._public = column, first.label_table
        self._model = ProtocolModel(local=first.reports.model, shuffle=first.shuffle).with_fakes(column.people.fakes)
        most = max(2, min(_MOST_REGIONS, _MOST_ROWS // len(column.targets)))
        self._regions = regions_of(column, self._public, self._shuffler, beside, most)
        self._left_out = int(np.count_nonzero(self._regions.of_slot < 0))
        self._unmixed = self._analyzer(None)
        self._summary: RegionalSummary | None = None

    def _analyzer(self, shuffler: SlotShuffler | None) -> RegionalAnalyzer:
        """Analyzer of the regions, with a last region for all slots outside of regions."""
        where, of_slot = self._regions.where, self._regions.of_slot
        return RegionalAnalyzer(
            regions=np.where(of_slot < 0, np.int16(len(where)), of_slot),
            where=(*where, *([{}] if self._left_out else [])),
            shuffler=shuffler,
            num_draws=max(_FEWEST_DRAWS, min(NUM_DRAWS, _MOST_DRAWN // of_slot.size)),
            level=self._column.release.level,
        )

    def take(self, view: View) -> View:
        """Count the reports of a part, and return the part."""
        part = self._unmixed.summarize(view)
        self._summary = part if self._summary is None else self._summary + part
        return view

    def regional(self) -> RegionalResult:
        """Regional results, after all parts are counted."""
        regions, shuffler, groups = self._regions, self._shuffler, self._groups
        targets, rows = self._column.targets, len(regions.where) * len(self._column.targets)
        summary = cast(RegionalSummary, self._summary)
        displaced = self._analyzer(shuffler)
        mixed, unmixed = (_first(each.estimate(summary), rows) for each in (displaced, self._unmixed))
        coordinates = None
        if self._section.columns and self._public is not None:
            coordinates = rows_of([self._public[name] for name in self._section.columns])
        mixing = mixing_of(groups, shuffler, coordinates=coordinates, metric=self._section.metric)
        return RegionalResult(
            estimate=mixed.with_targets(tuple(targets[row % len(targets)] for row in range(rows))),
            unshuffled_error=np.minimum(unmixed.standard_error, mixed.standard_error),
            people=_counts(regions.of_slot[regions.of_slot >= 0], len(regions.where)),
            mixing=mixing,
            left_out=self._left_out,
            of_slot=None if regions.is_at_slots else regions.of_slot,
            hidden=naming_chances(self._model, shuffler, groups),
            laws=laws_of(shuffler),
            losses=losses_by_size(shuffler, delta=shuffler.prepare().model.delta or self._column.release.delta),
            households=household_naming_chances(
                self._model, shuffler, self._column.people.household, self._column.release.delta
            ),
            sharpened=sharpened_places(
                summary,
                displaced.blur,
                regions.of_slot,
                displaced.where,
                shuffler,
                displacement=mixing.displacement,
                targets=targets,
                level=self._column.release.level,
            ),
        )


def regional_of(column: Column, view: View, shuffler: Shuffler, beside: Path, parts: Iterable[View]) -> RegionalResult:
    """Regional results of a view in parts; ``view`` has the model and public table of all parts."""
    by_place = PlacesInParts(column, view, shuffler, beside)
    for part in parts:
        by_place.take(part)
    return by_place.regional()


def _counts(numbers: NDArray[np.int16], length: int) -> Integers:
    """Count of each number below ``length``, made in parts to save memory."""
    found = np.zeros(length, dtype=np.int64)
    for start in range(0, numbers.size, SLOTS_AT_A_TIME):
        found += np.bincount(numbers[start : start + SLOTS_AT_A_TIME], minlength=length)
    return found


def _first(estimate: Estimate, rows: int) -> Estimate:
    """Estimate without its last rows, which are about slots outside of regions."""
    parts = ("target", "estimate", "standard_error", "sampling_error", "interval", "where")
    kept: dict[str, Any] = {
        name: None if (values := getattr(estimate, name)) is None else values[:rows] for name in parts
    }
    return replace(estimate, **kept)


def regions_of(column: Column, public: Table | None, shuffler: SlotShuffler, beside: Path, most: int) -> Regions:
    """Regions of a task, about ``most`` or fewer: labels, places, groups or stretches of the order.

    No region that is joined from several holds both people who are alone and others.
    """
    section, columns = groups_of(column.shuffler), {} if public is None else dict(public.columns)
    order, alone = shuffler.prepare().order, people_alone(shuffler)
    if section is not None and section.columns:
        points = rows_of([columns[name] for name in section.columns])
        metric, radius = section.metric or "euclidean", section.radius or 0.0
        groups = getattr(shuffler, "groups", None)
        at, site = distinct_rows(points) if groups is None else (points[groups.first_people], groups.sites)
        low, high = np.quantile(points, _CORE, axis=0)
        lonely = np.zeros(len(at), dtype=np.bool_)
        lonely[site[alone]] = True
        cells = cells_of(at, np.bincount(site), lonely, (low, high), most, metric=metric, radius=radius)
        places = [[float(f"{value:.6g}") for value in at] for at in cells.places]
        named = [dict(zip(section.columns, at, strict=True)) for at in places]
        return _marked(cells.of_site[site], tuple(named), alone, is_at_slots=True)
    named_by = [section.column] if section is not None and section.column else list(column.public)
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


def _marked(
    of_slot: NDArray[np.signedinteger[Any]],
    where: tuple[Mapping[str, Any], ...],
    alone: NDArray[np.bool_],
    *,
    is_at_slots: bool,
) -> Regions:
    """Regions with a mark on each region of unshuffled people, unless all people are unshuffled."""
    of_slot = of_slot.astype(np.int16)
    mixed = _counts(of_slot[(of_slot >= 0) & ~alone], len(where))
    if mixed.any():
        where = tuple(dict(each) | ({} if people else _UNMIXED) for each, people in zip(where, mixed, strict=True))
    return Regions(of_slot=of_slot, where=where, is_at_slots=is_at_slots)


def _labels(name: str, column: NDArray[Any], alone: NDArray[np.bool_], most: int) -> Placed:
    """Regions by the labels of a column, joined if too many; unshuffled people stay apart."""
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


def _along(order: Integers, alone: NDArray[np.bool_], most: int) -> Placed:
    """Regions along the reference order: numbered stretches, and one region of all unshuffled people."""
    mixed = order[~alone[order]]
    of_slot = np.empty(order.size, dtype=np.int64)
    where: list[Mapping[str, Any]] = []
    if mixed.size:
        room = min(most, max(1, mixed.size // _LEAST_IN_CELL))
        of_slot[mixed], ends = _stretches(np.ones(mixed.size, dtype=np.int64), room)
        where = [{"place": f"cell {number + 1}"} for number in range(len(ends))]
    if alone.any():
        of_slot[alone] = len(where)
        where.append({"place": "alone"})
    return of_slot, tuple(where)


def _stretches(people: Integers, most: int) -> tuple[Integers, list[tuple[int, int]]]:
    """Stretches of consecutive items, with about equally many people in each."""
    cells = np.minimum((np.cumsum(people) - people) * most // people.sum(), most - 1)
    _, joined = np.unique(cells, return_inverse=True)
    first = np.flatnonzero(np.diff(joined, prepend=-1))
    last = np.append(first[1:], joined.size) - 1
    return joined.astype(np.int64), list(zip(first.tolist(), last.tolist(), strict=True))


class Cells(NamedTuple):
    """Cell of each site (-1 if left out), and a place in the middle of each cell."""

    of_site: NDArray[np.int16]
    places: Floats  # shape (cells, columns)


def cells_of(
    at: Floats,
    sizes: Integers,
    alone: NDArray[np.bool_],
    core: tuple[Floats, Floats],
    most: int,
    *,
    metric: str,
    radius: float = 0.0,
) -> Cells:
    """Cells with about equally many people, or one for each place if there are at most ``most``.

    Of each place: how many people are there, and whether one of them is not shuffled. ``core`` are the corners of the
    map.

    There are never more than twice as many cells, which are cut across their longer side: no wider than a quarter of
    the map, or than the groups' ``radius`` if that is more, and none joins people who are not shuffled with others.
    What holds less than a tenth of the people of an average place or cell, and is farther than that from all that hold
    more, is left out: nothing could be learnt about it, and it would squeeze everything else.
    """
    places, place = distinct_rows(at)
    people = np.bincount(place, sizes).astype(np.int64)
    wide = 1.0 if most < 2 else max(_SHARE, min(1.0, 3 / most**0.5))
    reach = max(radius, wide * _across(*core, metric))
    parts, average = list(np.arange(len(places))[:, None]), people.sum() / len(places)
    if is_joined := len(places) > most:
        lonely = np.zeros(len(places), dtype=np.bool_)
        lonely[place[alone]] = True
        whole = _alike(places, people, most)
        average = people.sum() / len(whole)
        kinds = [kind for part in whole for kind in (part[~lonely[part]], part[lonely[part]])]
        parts = [near for kind in kinds for near in _near(places, kind, reach, metric)]
    centers = np.array([_middle(places[part], people[part]) for part in parts])
    shown = _shown(centers, np.array([people[part].sum() for part in parts]), average, reach, metric)
    shown = np.sort(shown[: 2 * most] if is_joined else shown)
    cell = np.full(len(places), -1, dtype=np.int16)
    for number, kept in enumerate(shown):
        cell[parts[kept]] = number
    return Cells(cell[place], centers[shown])


def _shown(centers: Floats, people: Integers, average: float, reach: float, metric: str) -> Integers:
    """Cells with enough people, and cells near to such a cell, the fullest cells first."""
    enough = people >= _FEWEST * average
    large = centers[enough]
    near = [(distances(np.broadcast_to(each, large.shape), large, metric) <= reach).any() for each in centers]
    order = np.argsort(-people, kind="stable")
    found: Integers = order[np.array(near)[order]]
    return found


def _alike(places: Floats, people: Integers, most: int) -> list[Integers]:
    """Parts of the places, each with about equally many people."""
    parts = [np.arange(len(places))]
    while len(parts) * 2 <= most:
        parts = [half for part in parts for half in _halves(places, people, part)]
    return parts


def _halves(places: Floats, people: Integers, part: Integers) -> list[Integers]:
    """Two parts of the places, with about equally many people in each."""
    if part.size < 2:
        return [part]
    side = int(np.argmax(np.ptp(places[part], axis=0)))
    along = part[np.argsort(places[part, side], kind="stable")]
    half = int(np.searchsorted(np.cumsum(people[along]), people[along].sum() / 2)) + 1
    half = min(max(half, 1), along.size - 1)
    return [along[:half], along[half:]]


def _near(places: Floats, part: Integers, reach: float, metric: str) -> list[Integers]:
    """Parts of the places, cut in two until no part is wider than the reach.

    Each cut is at the middle of the longer side. No places make no parts.
    """
    found, rest = [], [part] if part.size else []
    while rest:
        part = rest.pop()
        low, high = places[part].min(axis=0), places[part].max(axis=0)
        if part.size == 1 or _across(low, high, metric) <= reach:
            found.append(part)
            continue
        side = int(np.argmax(high - low))
        below = places[part, side] <= (low[side] + high[side]) / 2
        rest += [part[below], part[~below]]
    return found


def _across(low: Floats, high: Floats, metric: str) -> float:
    """Distance between the opposite corners ``low`` and ``high`` of a box."""
    return float(distances(low[None], high[None], metric)[0])


def _middle(places: Floats, people: Integers) -> Floats:
    """Place nearest to the average of the people's places.

    People live there, which the average itself does not promise.
    """
    away = places - np.average(places, axis=0, weights=people)
    found: Floats = places[np.argmin((away**2).sum(axis=1))]
    return found
