"""Places on a line or a map, joined into cells where there are too many, and left out where few people are far away."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.groups.places import distinct_rows
from shuffledp.tasks.mixing import between

__all__ = ["Cells", "cells_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SHARE = 0.25  # of the way across the map: cells are no wider
_FEWEST = 0.1  # of the people of an average place: with fewer, a distant place is not shown
_CORE = (0.01, 0.99)  # between these quantiles of each column lies the map, whoever lives beyond


class Cells(NamedTuple):
    """A cell for every person.

    Attributes:
        of_person: the number of the person's cell; -1 for few people far away from all others.
        places: for each cell the place of some of its people in the middle of it, shape (cells, columns).
    """

    of_person: Integers
    places: Floats


def cells_of(points: Floats, alone: NDArray[np.bool_], most: int, *, metric: str, radius: float = 0.0) -> Cells:
    """The places themselves, or cells of about as many people each where there are more than ``most`` places.

    Cells are cut across their longer side. No cell is wider than a quarter of the map, or than the radius if that is
    more, and none joins people who are not shuffled with others. What holds less than a tenth of the people of an
    average place or cell, and is farther than that from all that hold more, is left out: nothing could be learnt about
    it, and it would squeeze everything else.

    Args:
        points: public coordinates, one row per person.
        alone: whether a person's report is not shuffled at all.
        most: number of cells, about; never more than twice as many.
        metric: of the coordinates.
        radius: of the groups, or 0.
    """
    places, of_person = distinct_rows(points)
    people = np.bincount(of_person)
    wide = 1.0 if most < 2 else max(_SHARE, min(1.0, 3 / most**0.5))
    low, high = np.quantile(points, _CORE, axis=0)
    reach = max(radius, wide * _across(low, high, metric))
    parts, average = list(np.arange(len(places))[:, None]), people.sum() / len(places)
    if is_joined := len(places) > most:
        lonely = np.zeros(len(places), dtype=np.bool_)
        lonely[of_person[alone]] = True
        whole = _alike(places, people, most)
        average = people.sum() / len(whole)
        kinds = [kind for part in whole for kind in (part[~lonely[part]], part[lonely[part]])]
        parts = [near for kind in kinds for near in _near(places, kind, reach, metric)]
    centers = np.array([_middle(places[part], people[part]) for part in parts])
    shown = _shown(centers, np.array([people[part].sum() for part in parts]), average, reach, metric)
    shown = np.sort(shown[: 2 * most] if is_joined else shown)
    cell = np.full(len(places), -1, dtype=np.int64)
    for number, kept in enumerate(shown):
        cell[parts[kept]] = number
    return Cells(cell[of_person], centers[shown])


def _shown(centers: Floats, people: Integers, average: float, reach: float, metric: str) -> Integers:
    """The cells that hold enough people or are near such a one, those of most people first."""
    enough = people >= _FEWEST * average
    large = centers[enough]
    near = [(between(np.broadcast_to(each, large.shape), large, metric) <= reach).any() for each in centers]
    order = np.argsort(-people, kind="stable")
    found: Integers = order[np.array(near)[order]]
    return found


def _alike(places: Floats, people: Integers, most: int) -> list[Integers]:
    """Parts of about as many people."""
    parts = [np.arange(len(places))]
    while len(parts) * 2 <= most:
        parts = [half for part in parts for half in _halves(places, people, part)]
    return parts


def _halves(places: Floats, people: Integers, part: Integers) -> list[Integers]:
    """Two parts of about as many people."""
    if part.size < 2:
        return [part]
    side = int(np.argmax(np.ptp(places[part], axis=0)))
    along = part[np.argsort(places[part, side], kind="stable")]
    half = int(np.searchsorted(np.cumsum(people[along]), people[along].sum() / 2)) + 1
    half = min(max(half, 1), along.size - 1)
    return [along[:half], along[half:]]


def _near(places: Floats, part: Integers, reach: float, metric: str) -> list[Integers]:
    """Cut in the middle of the longer side until nothing is wider than the reach; nothing from nothing."""
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
    """From one corner to the other."""
    return float(between(low[None], high[None], metric)[0])


def _middle(places: Floats, people: Integers) -> Floats:
    """The place nearest to the average of the people: somebody lives there."""
    away = places - np.average(places, axis=0, weights=people)
    found: Floats = places[np.argmin((away**2).sum(axis=1))]
    return found
