"""Public points, numbered so that nearby points mostly get nearby numbers; balls are runs of these numbers.

A ball over neighboring numbers takes a few runs, however many numbers it holds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid, one_of
from shuffledp.randomness.permutations import invert

METRICS = ("euclidean", "manhattan", "haversine")
EARTH_RADIUS = 6371.0088  # km, the mean radius of the reference ellipsoid (IUGG)

_ROWS_AT_A_TIME = 1 << 20
_AT_A_TIME = 1 << 21  # members of balls, while they are lists of Python
_LEAF = 4
_SLACK = 1 + 1e-12  # a distance may come out a little larger when it is computed another way
_LEAST = 2.0**-498  # of the largest coordinate: squares of smaller distances are no floats


class Runs(NamedTuple):
    """Sets of integers, each stored as runs of consecutive integers.

    Set h is the union of the runs ``starts[h]`` to ``starts[h + 1]``, ascending and apart; run r is the integers from
    ``runs[r, 0]`` up to and without ``runs[r, 1]``.
    """

    starts: Integers
    runs: NDArray[np.int32]


def as_runs(starts: Integers, members: Integers) -> Runs:
    """Sets as runs of consecutive integers; set h is ``members[starts[h] : starts[h + 1]]``.

    No set is empty, and the members of each are ascending.
    """
    new = np.ones(members.size, dtype=np.bool_)
    new[1:] = members[1:] != members[:-1] + 1
    new[starts[:-1]] = True
    first = np.flatnonzero(new)
    last = np.append(first[1:], members.size) - 1
    runs = np.column_stack([members[first], members[last] + 1]).astype(np.int32)
    return Runs(np.searchsorted(first, starts).astype(np.int64), runs)


def joined(parts: Iterable[Runs]) -> Runs:
    """Sets of all parts as one `Runs`, one part after the other."""
    starts, runs = zip(*parts, strict=True)
    offsets = np.cumsum([0, *(len(each) for each in runs)])
    shifted = [each[:-1] + offset for each, offset in zip(starts, offsets[:-1], strict=True)]
    return Runs(np.append(np.concatenate(shifted), offsets[-1]).astype(np.int64), np.concatenate(runs))


def members(runs: NDArray[np.integer]) -> Integers:
    """Integers of all runs, one run after the other."""
    lengths = (runs[:, 1] - runs[:, 0]).astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.repeat(runs[:, 0] - before, lengths) + np.arange(lengths.sum())


class PublicPoints:
    """Distinct points among the rows of ``points``, each with a number.

    Points are in degrees for the metric "haversine".

    ``of_person`` is the number of every person's place, and ``sizes`` how many people are at each.

    Raises:
        InvalidParameterError: if there is no point, one is not finite or no place on the globe, or the shape is wrong.
    """

    def __init__(self, points: ArrayLike, metric: str) -> None:
        from scipy.spatial import KDTree

        one_of(METRICS, metric=metric)
        self._globe = metric == "haversine"
        columns = _as_columns(points)
        distinct, inverse = distinct_rows(_normal_angles(columns) if self._globe else columns)
        at = distinct
        if self._globe:
            latitude, longitude = np.radians(distinct).T
            around = np.cos(latitude)
            at = np.column_stack([around * np.cos(longitude), around * np.sin(longitude), np.sin(latitude)])
        self._line = at.shape[1] == 1
        self._x = at[:, 0]
        # In units of a power of 2 above the largest coordinate, which changes no digit, squares do not overflow.
        self._exponent = 0 if self._globe else int(np.frexp(np.abs(at).max())[1])
        at = np.ldexp(at, -self._exponent)
        self._power = 1.0 if metric == "manhattan" or self._line else 2.0
        if not self._line:  # in the order of the leaves of a k-d tree a ball is a few runs of numbers
            leaves = KDTree(at, leafsize=_LEAF).indices
            at = at[leaves]
            inverse = invert(leaves)[inverse]
        self._at = at
        self._tree = KDTree(at)
        self.of_person: Integers = inverse
        self.sizes: Integers = np.bincount(inverse)

    def reach(self, people: int) -> Floats:
        """Radius around each place that covers ``people`` people, its own included, rounded up by 1e-12.

        In kilometers or the units of the points; where others are needed at least about 1e-150 of the largest
        coordinate.
        """
        count = min(people, len(self._at))
        reach = np.empty(len(self._at))
        step = max(1, _AT_A_TIME // count)
        for first in range(0, len(self._at), step):
            near = self._at[first : first + step]
            distances, found = (
                np.asarray(each) for each in self._tree.query(near, np.arange(1, count + 1), p=self._power)
            )
            enough = np.cumsum(self.sizes[found], axis=1) >= people
            reach[first : first + step] = distances[np.arange(len(near)), enough.argmax(axis=1)]
        if self._globe:
            return 2.0 * EARTH_RADIUS * np.arcsin(np.minimum(reach / 2.0, 1.0)) * _SLACK
        others = self.sizes < people
        reach[others] = np.maximum(reach[others], _LEAST)
        with np.errstate(over="ignore", under="ignore"):
            reach = np.ldexp(reach * _SLACK, self._exponent)
        reach[others] = np.maximum(reach[others], np.nextafter(0.0, 1.0))
        return reach

    def balls(self, centers: Integers, radii: Floats) -> Iterator[Runs]:
        """Balls around the centers: the places within each center's radius, in parts of several balls."""
        if self._line:
            yield self._intervals(centers, radii)
            return
        alone, radii = radii == 0, self._in_tree(radii)
        first, step = 0, 64
        while first < len(centers):
            part = slice(first, first + step)
            found = self._tree.query_ball_point(self._at[centers[part]], radii[part], p=self._power, return_sorted=True)
            for place in np.flatnonzero(alone[part]):
                found[place] = [int(centers[part][place])]
            sizes = np.array([len(each) for each in found])
            yield as_runs(np.append(0, np.cumsum(sizes)), np.concatenate(found).astype(np.int64))
            first += len(sizes)
            step = int(np.clip(_AT_A_TIME // max(int(sizes.mean()), 1), 1, 1 << 16))

    def _in_tree(self, radii: Floats) -> Floats:
        """Radii in the units of the search tree."""
        if self._globe:  # the chord through the ball below an arc of this length
            return 2.0 * np.sin(np.minimum(radii / EARTH_RADIUS, np.pi) / 2.0) * _SLACK
        with np.errstate(over="ignore", under="ignore"):
            scaled: Floats = np.minimum(np.ldexp(radii, -self._exponent), 4.0 * self._at.shape[1])
        small = (radii > 0) & (scaled < _LEAST)
        if self._power == 2 and small.any():
            raise invalid("0, or above 1e-149 times the largest coordinate", radius=float(radii[small][0]))
        return scaled

    def _intervals(self, centers: Integers, radii: Floats) -> Runs:
        """Balls on a line, each a single run: all j with |x_i - x_j| <= r in floats."""
        x = self._x
        with np.errstate(over="ignore"):  # a difference that is no float is larger than every finite radius
            low = _first_true(lambda j: x[centers] - x[j] <= radii, np.zeros_like(centers), centers)
            high = _first_true(lambda j: x[j] - x[centers] > radii, centers, np.full_like(centers, x.size))
        return Runs(np.arange(centers.size + 1), np.column_stack([low, high]).astype(np.int32))


def rows_of(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns side by side as rows; a single column is not copied."""
    return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)


def distinct_rows(columns: Floats) -> tuple[Floats, Integers]:
    """Distinct rows in ascending order, and the index of each row among them."""
    order = np.argsort(columns[:, 0]) if columns.shape[1] == 1 else np.lexsort(columns.T[::-1])
    new = np.ones(len(order), dtype=np.bool_)
    inverse, found = np.empty(len(order), dtype=np.int64), -1
    for start in range(0, len(order), _ROWS_AT_A_TIME):  # else memory of several times the rows
        here = order[start : start + _ROWS_AT_A_TIME]
        before = columns[order[max(start - 1, 0) : start + here.size - 1]]
        is_new = (columns[here[here.size - len(before) :]] != before).any(axis=1)
        new[start + here.size - len(before) : start + here.size] = is_new
        inverse[here] = found + np.cumsum(new[start : start + here.size])
        found = int(inverse[here[-1]])
    return columns[order[new]], inverse


def _first_true(holds: Callable[[Integers], NDArray[np.bool_]], low: Integers, high: Integers) -> Integers:
    """Smallest number for each place, from ``low`` on, that meets a monotone condition; else ``high``."""
    while (open_ := low < high).any():
        middle = (low + high) // 2
        held = holds(np.where(open_, middle, 0))
        high = np.where(open_ & held, middle, high)
        low = np.where(open_ & ~held, middle + 1, low)
    return low


def _as_columns(points: ArrayLike) -> Floats:
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("points must be numbers, one row per person.") from None
    if array.ndim not in (1, 2) or array.size == 0:
        raise InvalidParameterError(
            f"points must be one row or more, of shape (people,) or (people, columns); got shape {array.shape}."
        )
    array = array.reshape(len(array), -1)
    if ((array == 0) & np.signbit(array)).any():
        array = array + 0.0  # -0.0 becomes 0.0
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise InvalidParameterError(f"points must be finite; points[{wrong[0]}] is not, and {wrong.size} in all.")
    return array


def _normal_angles(degrees: Floats) -> Floats:
    """Latitude and longitude in a normal form, in which equal places have equal numbers."""
    if degrees.shape[1] != 2:
        raise InvalidParameterError(
            "points must be columns of latitude and longitude for the metric 'haversine'; "
            f"got {degrees.shape[1]} columns."
        )
    wrong = np.flatnonzero((np.abs(degrees[:, 0]) > 90) | (degrees[:, 1] < -180) | (degrees[:, 1] > 360))
    if wrong.size:
        raise InvalidParameterError(
            "points must be latitudes from -90 to 90 and longitudes from -180 to 360 degrees; "
            f"points[{wrong[0]}] is not, and {wrong.size} in all."
        )
    latitude, longitude = degrees.T
    longitude = np.where(np.abs(latitude) == 90, 0.0, np.where(longitude >= 180, longitude - 360, longitude))
    return np.column_stack([latitude, longitude + 0.0])


def distances(here: Floats, there: Floats, metric: str | None) -> Floats:
    """Distances between paired rows of points: kilometers for "haversine", else the columns' unit.

    The metric None is "euclidean".
    """
    if metric == "haversine":
        (lat, lon), (lat2, lon2) = np.radians(here).T, np.radians(there).T
        half = np.sin((lat2 - lat) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon2 - lon) / 2) ** 2
        arc: Floats = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
        return arc
    apart: Floats = np.abs(here - there)
    total: Floats = apart.sum(axis=1) if metric == "manhattan" else np.sqrt((apart**2).sum(axis=1))
    return total
