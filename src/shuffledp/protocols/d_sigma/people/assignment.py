"""Groups of people by public information."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.upward_calls import ShownByFacts
from shuffledp.core.validate import integer_at_least, invalid
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.public_points import PublicPoints, Runs, as_runs, distinct_rows, joined, members

_AT_A_TIME = 2**20  # people
_MOST_PEOPLE = 2**31 - 1  # places are kept as 32-bit integers


@dataclass(frozen=True, eq=False)
class Groups(ShownByFacts):
    """Groups of the people 0, ..., n - 1, which may overlap, with one own group for each person.

    Groups come from public information, and tell an observer nothing new. People with the same public values form a
    *site*, and a group is a set of sites, kept as runs of numbers: at most 8 bytes times the sum of the groups' sizes
    over sites, far less for intervals and balls of a dense map, and never a table of people by people.

    Made by `from_radius`, `from_neighbors`, `from_graph`, `from_labels` or `from_lists`. Iterating gives every group
    as an ascending int64 array of people, and ``len`` how many groups there are; `members` gives one person's.

    Guarantees:
        1. Every person is a member of their own group.
        2. The digest depends on the family of groups with two members or more, and on nothing else: not on the way in
           which it was made, nor on the order or repetition of groups.

    Args:
        sites: the site of every person, int64 array of shape (n,).
        sets: the groups, as runs of sites.
        own: the number of every person's own group, int64 array of shape (n,).

    References:
        [MRCJ22] Meehan, Roy Chowdhury, Chaudhuri and Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 4.1.

    Example:
        >>> groups = Groups.from_radius([20, 21, 30, 31, 33], radius=2)
        >>> [members.tolist() for members in groups]
        [[0, 1], [0, 1], [2, 3], [2, 3, 4], [3, 4]]
        >>> groups.members(4).tolist(), groups.sizes.tolist()
        ([3, 4], [2, 2, 2, 3, 2])
    """

    sites: Integers
    sets: Runs
    own: Integers

    def __post_init__(self) -> None:
        for array in (self.sites, *self.sets, self.own):
            array.setflags(write=False)

    # ---- ways to make them ------------------------------------------------------------------------------------------

    @classmethod
    def from_radius(cls, points: ArrayLike, radius: ArrayLike, metric: str = "euclidean") -> Self:
        """Groups by distance: a person's group is all people within a radius.

        Args:
            points: public numbers, shape (people,) for a line (ages, incomes) or (people, columns); for "haversine"
                latitude and longitude in degrees.
            radius: one distance, or one per person, 0 or more; in the units of the points, and in kilometers for
                "haversine". Radius 0 joins people with equal points, and with nobody else.
            metric: "euclidean", "manhattan" or "haversine" (great circles on a sphere of 6371.0088 km).

        Raises:
            InvalidParameterError: if a point is not finite, a radius is negative, NaN, or too small beside the
                coordinates (by 1e-149) to tell distances apart, or the shapes disagree.
        """
        places = PublicPoints(points, metric)
        radii = _as_radii(radius, places.of_person.size)
        if radii.ndim == 0:
            centers = np.arange(places.sizes.size)
            sets = joined(places.balls(centers, np.full(centers.size, float(radii))))
            return cls(places.of_person, sets, places.of_person)
        pairs, own = distinct_rows(np.column_stack([places.of_person, radii]))
        return cls(places.of_person, joined(places.balls(pairs[:, 0].astype(np.int64), pairs[:, 1])), own)

    @classmethod
    def from_neighbors(cls, points: ArrayLike, neighbors: int, metric: str = "euclidean") -> Self:
        """Groups by number of neighbors: a person's group is the smallest ball with this many others or more.

        People at the same distance, up to a factor of 1 + 1e-12, are in or out together, so that a group can be larger;
        so are all who are nearer than 1e-149 times the largest coordinate. Groups are not always symmetric.

        Args:
            points: as in `from_radius`.
            neighbors: number of others, from 1 to people - 1.
            metric: as in `from_radius`.

        Raises:
            InvalidParameterError: if a point is not finite, or there are fewer others.
        """
        integer_at_least(1, neighbors=neighbors)
        places = PublicPoints(points, metric)
        people = places.of_person.size
        if neighbors >= people:
            raise invalid(f"below the number of people, {people}", neighbors=neighbors)
        centers = np.arange(places.sizes.size)
        return cls(places.of_person, joined(places.balls(centers, places.reach(neighbors + 1))), places.of_person)

    @classmethod
    def from_graph(cls, graph: Any, hops: int | None = None, neighbors: int | None = None) -> Self:
        """Groups in a graph: a person's group is all people near the person's node.

        Args:
            graph: a `shuffledp.people.graphs.Graph`, or what `shuffledp.people.graphs.Graph.of` accepts.
            hops: largest number of edges of a path to a member. Either this or ``neighbors``.
            neighbors: number of strongest ties by edge weight, 1 or more; ties of equal weight are in or out together,
                and people with fewer ties have all of them.

        Raises:
            InvalidParameterError: if not exactly one of the two is given, the graph has no node, or strongest ties are
                asked of a graph without weights.
        """
        graph = Graph.of(graph)
        if (hops is None) == (neighbors is None):
            raise InvalidParameterError(
                f"exactly one of hops and neighbors must be given; got hops={hops!r}, neighbors={neighbors!r}."
            )
        if graph.num_users == 0:
            raise InvalidParameterError("graph must have one node or more; got none.")
        people = np.arange(graph.num_users)
        sets = graph.balls(hops) if hops is not None else _strongest(graph, neighbors)
        return cls(people, as_runs(*sets), people)

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> Self:
        """Groups by label, such as a region or a school class: a person's group is all people with the same label.

        Args:
            labels: one label per person, text or numbers, none of them missing.

        Raises:
            InvalidParameterError: if there is none, one is missing, or they do not have one dimension.
        """
        array = np.asarray(labels)
        if array.ndim != 1 or array.size == 0:
            raise InvalidParameterError(f"labels must be one per person, one or more; got shape {array.shape}.")
        may_miss = array.tolist() if array.dtype.kind not in "biuUS" else []  # a list takes many times as much memory
        missing = np.array([label is None or label != label for label in may_miss], dtype=np.bool_)  # noqa: PLR0124
        if missing.any():
            raise InvalidParameterError(
                f"labels must not be missing; labels[{missing.argmax()}] is, and {missing.sum()} in all."
            )
        try:
            distinct, sites = np.unique(array, return_inverse=True)
        except TypeError:
            raise InvalidParameterError("labels must be of one type, all text or all numbers.") from None
        numbers = np.arange(distinct.size + 1)
        return cls(sites, Runs(numbers, np.column_stack([numbers[:-1], numbers[1:]]).astype(np.int32)), sites)

    @classmethod
    def from_lists(cls, lists: Iterable[ArrayLike], num_users: int | None = None) -> Self:
        """Explicit groups, arbitrary and overlapping.

        If there is one list per person, and it holds that person, then it is that person's own group; otherwise a
        person's own group is the largest that they are in.

        Args:
            lists: groups, each of the numbers of one person or more; repetitions within a list do not matter.
            num_users: number of people n; None is one more than the largest number.

        Raises:
            InvalidParameterError: if there is no list, one is empty, a number is no person, or a person is in no list.
        """
        parts = [_as_people(place, each) for place, each in enumerate(lists)]
        if not parts:
            raise InvalidParameterError("lists must be one group or more; got none.")
        starts = np.cumsum([0, *(part.size for part in parts)])
        everybody = np.concatenate(parts)
        if num_users is None:
            num_users = int(everybody.max()) + 1
        integer_at_least(1, num_users=num_users)
        _check_people(everybody, starts, int(num_users))
        return cls(np.arange(num_users), as_runs(starts, everybody), _own_groups(everybody, starts, int(num_users)))

    # ---- what they are ----------------------------------------------------------------------------------------------

    @property
    def num_users(self) -> int:
        """Number of people n."""
        return self.sites.size

    def __len__(self) -> int:
        return self.sets.starts.size - 1

    def __iter__(self) -> Iterator[Integers]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Integers:
        """People of group ``number``, ascending."""
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} groups; got {number}")
        return np.sort(self._people[members(self._seats[self._runs_of(number)])])

    def members(self, person: int) -> Integers:
        """People of a person's own group, ascending, the person included."""
        integer_at_least(0, person=person)
        if person >= self.num_users:
            raise invalid(f"below the number of people, {self.num_users}", person=person)
        return self[int(self.own[person])]

    @cached_property
    def sizes(self) -> Integers:
        """Number of people in each group, in the order of iteration.

        ``sizes[own]`` is for each person's own group.
        """
        return np.add.reduceat(np.diff(self._seats, axis=1)[:, 0], self.sets.starts[:-1])

    @property
    def num_memberships(self) -> int:
        """Number of memberships: the sum of the groups' sizes."""
        return int(self.sizes.sum())

    @cached_property
    def site_sizes(self) -> Integers:
        """Number of people at each site."""
        return np.bincount(self.sites)

    @property
    def first_people(self) -> Integers:
        """First person at each site."""
        first = np.empty(self.site_sizes.size, dtype=np.int64)
        for start in range(0, self.num_users, _AT_A_TIME)[::-1]:
            part = self.sites[start : start + _AT_A_TIME]
            first[part[::-1]] = np.arange(start, start + part.size)[::-1]  # of one site, the last assigned stays
        return first

    @property
    def sites_held(self) -> Integers:
        """Number of sites in each group."""
        lengths = np.diff(self.sets.runs, axis=1)[:, 0].astype(np.int64)
        return np.add.reduceat(lengths, self.sets.starts[:-1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest of the groups, in hexadecimal, equal for equal groups.

        The form: people who are in the same groups of two or more form a class, classes are numbered by their first
        person, and each group is the SHA-256 of its classes; then number of people, classes and sorted hashes.
        """
        from shuffledp.protocols.d_sigma.people.group_digest import digest_of

        return digest_of(self)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Groups) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def facts(self) -> dict[str, str]:
        """Summary for a notebook: numbers of people and groups, and sizes of groups."""
        least, middle, most = np.quantile(self.sizes, [0, 0.5, 1]) if len(self) else (0, 0, 0)
        return {
            "people": f"{self.num_users:,}",
            "groups": f"{len(self):,}",
            "people in a group": f"{least:,.0f} to {most:,.0f}, in half of the groups at most {middle:,.0f}",
        }

    def __repr__(self) -> str:
        largest = int(self.sizes.max())
        return f"Groups({self.num_users} people, {len(self)} groups of at most {largest})"

    def _runs_of(self, number: int) -> slice:
        return slice(int(self.sets.starts[number]), int(self.sets.starts[number + 1]))

    @cached_property
    def _people(self) -> Integers:
        """People, site by site."""
        return np.argsort(self.sites, kind="stable")

    @cached_property
    def _seats(self) -> Integers:
        """Groups as runs of places in ``_people``."""
        return np.append(0, np.cumsum(self.site_sizes))[self.sets.runs]


def _as_radii(radius: ArrayLike, people: int) -> Floats:
    try:
        radii = np.asarray(radius, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("radius must be a number, or one per person.") from None
    if radii.shape not in ((), (people,)):
        raise InvalidParameterError(f"radius must be one number or one for each of {people} people; got {radii.shape}.")
    wrong = np.flatnonzero(~(np.atleast_1d(radii) >= 0))
    if wrong.size:
        name = f"radius[{wrong[0]}]" if radii.ndim else "radius"
        raise invalid("0 or more", **{name: float(np.atleast_1d(radii)[wrong[0]])})
    return radii


def _strongest(graph: Graph, neighbors: int | None) -> tuple[Integers, Integers]:
    """Each person and the neighbors along the heaviest edges, as starts and ascending members."""
    integer_at_least(1, neighbors=neighbors)
    if graph.weights is None:
        raise InvalidParameterError("graph must have edge weights for its strongest ties; give hops instead.")
    nodes = np.repeat(np.arange(graph.num_users), graph.degrees)
    order = np.lexsort((-graph.weights, nodes))  # nodes stay together, so their starts do not move
    last = np.minimum(graph.starts[:-1] + int(neighbors or 0), graph.starts[1:]) - 1
    least = np.full(graph.num_users, np.inf)
    some = graph.degrees > 0
    least[some] = graph.weights[order][last[some]]
    kept = graph.weights >= least[nodes]
    keys = np.sort(
        np.concatenate([nodes[kept], np.arange(graph.num_users)]) * graph.num_users
        + np.concatenate([graph.neighbors[kept], np.arange(graph.num_users)])
    )
    owners, ends = np.divmod(keys, graph.num_users)
    return np.searchsorted(owners, np.arange(graph.num_users + 1)).astype(np.int64), ends


def _as_people(place: int, group: ArrayLike) -> Integers:
    array = np.asarray(group)
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameterError(f"lists must be groups of one person or more; lists[{place}] is not.")
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidParameterError(f"lists must hold integers; lists[{place}] has dtype {array.dtype}.")
    people = np.unique(array)
    for person in people[[0, -1]].tolist():
        if not 0 <= person < _MOST_PEOPLE:
            raise InvalidParameterError(
                f"lists must hold people by their numbers, 0 or more and below {_MOST_PEOPLE}; the group at place "
                f"{place}, counted from 0, holds {person}."
            )
    return people.astype(np.int64)


def _check_people(everybody: Integers, starts: Integers, num_users: int) -> None:
    outside = np.flatnonzero((everybody < 0) | (everybody >= num_users))
    if outside.size:
        place = int(np.searchsorted(starts, outside[0], side="right")) - 1
        raise InvalidParameterError(
            f"lists must hold people by their numbers from 0 to {num_users - 1}; the group at place {place}, counted "
            f"from 0, holds {everybody[outside[0]]}."
        )
    present = np.unique(everybody)
    if present.size < num_users:
        first = int(np.searchsorted(present - np.arange(present.size), 1))
        raise InvalidParameterError(
            f"lists must hold every person; person {first} is in none, and {num_users - present.size} in all. "
            "A person without a group is a list of one."
        )


def _own_groups(everybody: Integers, starts: Integers, num_users: int) -> Integers:
    sizes = np.diff(starts)
    groups = np.repeat(np.arange(sizes.size), sizes)
    if sizes.size == num_users and np.count_nonzero(everybody == groups) == num_users:
        return np.arange(num_users)
    order = np.lexsort((groups, -sizes[groups], everybody))
    first = np.searchsorted(everybody[order], np.arange(num_users))
    return groups[order][first]
