"""Groups are what brute force finds, in every way of making them; the digest knows the family and nothing else."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.public_points import EARTH_RADIUS


def own_groups(groups):
    return [groups.members(person).tolist() for person in range(groups.num_users)]


def haversine(points):
    latitude, longitude = np.radians(points).T
    a = np.sin((latitude[:, None] - latitude) / 2) ** 2
    b = np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(a + b, 1)))


def distances(points, metric):
    points = np.asarray(points, dtype=float).reshape(len(points), -1)
    if metric == "haversine":
        return haversine(points)
    differences = np.abs(points[:, None] - points)
    return differences.sum(axis=2) if metric == "manhattan" else np.sqrt((differences**2).sum(axis=2))


def points_of(kind, n, rng):
    """Integers repeat and tie; floats do neither; places on the globe lie also at the poles and the date line."""
    if kind == "line":
        return rng.integers(-9, 9, n)
    if kind == "floats":
        return rng.random((n, 3)) * 10
    if kind == "grid":
        return rng.integers(0, 8, (n, 2))
    globe = np.column_stack([rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)])
    globe[rng.random(n) < 0.2] = [90, 20]
    globe[rng.random(n) < 0.1] = [0, 180]
    globe[rng.random(n) < 0.1] = [0, -180]
    return globe


KINDS = [
    ("line", "euclidean"),
    ("line", "manhattan"),
    ("floats", "euclidean"),
    ("floats", "manhattan"),
    ("grid", "euclidean"),
    ("grid", "manhattan"),
    ("globe", "haversine"),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("kind", "metric"), KINDS)
def test_a_group_is_everybody_within_the_radius(kind, metric, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    points = points_of(kind, n, rng)
    apart = distances(points, metric)
    scale = 2000.3 if metric == "haversine" else 1
    for radius in (0.0 if metric != "haversine" else 0.001, 2.0 * scale, rng.integers(0, 6, n) * scale + 0.001, 1e9):
        groups = Groups.from_radius(points, radius, metric)
        reached = apart <= (radius if np.ndim(radius) == 0 else radius[:, None])
        assert own_groups(groups) == [np.flatnonzero(row).tolist() for row in reached]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("kind", "metric"), KINDS)
def test_a_group_is_the_smallest_ball_with_so_many_others(kind, metric, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    points = points_of(kind, n, rng)
    apart = distances(points, metric)
    for neighbors in {1, min(5, n - 1), n - 1}:
        groups = Groups.from_neighbors(points, neighbors, metric)
        reach = np.sort(apart, axis=1)[:, neighbors]
        reached = apart <= (reach * (1 + 1e-9) + 1e-6 * (metric == "haversine"))[:, None]
        assert own_groups(groups) == [np.flatnonzero(row).tolist() for row in reached]


FAR = [(1e200, 0.0), (0.0, 0.0), (3e200, 0.0)]
TINY = [(1e-200, 0.0), (0.0, 0.0), (3e-200, 0.0)]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize(("points", "unit"), [(FAR, 1e200), (TINY, 1e-200), ([(5e-324, 0.0), (0.0, 0.0)] * 2, 5e-324)])
def test_coordinates_whose_squares_are_no_floats_are_compared_all_the_same(points, unit, metric):
    near = distances(np.array(points) / unit, metric)
    for columns in (points, [x for x, _ in points]):
        for radius in (0.0, unit, 2 * unit, 1e308, math.inf):
            expected = [np.flatnonzero(row <= min(radius / unit, 9)).tolist() for row in near]
            assert own_groups(Groups.from_radius(columns, radius, metric)) == expected
        reach = np.sort(near, axis=1)[:, 1]
        expected = [np.flatnonzero(row <= each).tolist() for row, each in zip(near, reach, strict=True)]
        assert own_groups(Groups.from_neighbors(columns, 1, metric)) == expected


def test_radius_0_joins_equal_points_only_however_near_others_are():
    points = [(1e-200, 0.0), (0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]
    for metric in ("euclidean", "manhattan", "haversine"):
        assert own_groups(Groups.from_radius(points, 0.0, metric)) == [[0], [1, 2], [1, 2], [3]]
        mixed = own_groups(Groups.from_radius(points, [0.0, 0.0, 1e-3, 500.0], metric))
        assert mixed == [[0], [1, 2], [0, 1, 2], [0, 1, 2, 3]]


def test_the_ends_of_the_floats_do_not_overflow():
    ends = np.array([1.7e308, -1.7e308, 0.0])
    for points in (ends, np.column_stack([ends, ends]), np.column_stack([ends, ends[::-1], ends])):
        for metric in ("euclidean", "manhattan"):
            assert own_groups(Groups.from_radius(points, math.inf, metric)) == [[0, 1, 2]] * 3
            assert own_groups(Groups.from_radius(points, 1e300, metric)) == [[0], [1], [2]]
            assert {len(group) for group in own_groups(Groups.from_neighbors(points, 1, metric))} <= {2, 3}
    assert own_groups(Groups.from_radius(ends, 1.7e308)) == [[0, 2], [1, 2], [0, 1, 2]]


def test_points_whose_distances_cannot_be_told_apart_beside_others_still_have_neighbors():
    points = [(1.0, 0.0), (1e-200, 0.0), (0.0, 0.0)]
    assert own_groups(Groups.from_neighbors(points, 1)) == [[0, 1, 2], [1, 2], [1, 2]]
    with pytest.raises(InvalidParameterError, match="radius must be 0, or above 1e-149 times the largest coordinate"):
        Groups.from_radius(points, 1e-200)


def test_a_difference_of_floats_is_what_decides_on_a_line():
    x = np.arange(40) * 0.1  # 0.3 - 0.2 < 0.1 < 0.4 - 0.3 as floats
    expected = [np.flatnonzero(np.abs(x - each) <= 0.1).tolist() for each in x]
    assert own_groups(Groups.from_radius(x, 0.1)) == expected


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 50])
def test_a_group_is_everybody_within_so_many_hops(hops):
    rng = np.random.default_rng(hops)
    n = 60
    edges = rng.integers(0, n, (55, 2))
    graph = Graph.from_edges(edges, num_users=n)
    near = np.eye(n, dtype=bool)
    step = near.copy()
    step[edges[:, 0], edges[:, 1]] = step[edges[:, 1], edges[:, 0]] = True
    for _ in range(hops):
        near = near @ step
    assert own_groups(Groups.from_graph(graph, hops=hops)) == [np.flatnonzero(row).tolist() for row in near]


@pytest.mark.parametrize("seed", range(5))
def test_strongest_ties_are_those_of_the_largest_weights(seed):
    rng = np.random.default_rng(seed)
    n = 30
    graph = Graph.from_edges(rng.integers(0, n, (90, 2)), weights=rng.integers(0, 5, 90), num_users=n)
    found = own_groups(Groups.from_graph(graph, neighbors=2))
    for person in range(n):
        part = slice(graph.starts[person], graph.starts[person + 1])
        weights, ends = graph.weights[part], graph.neighbors[part]
        least = np.sort(weights)[::-1][min(2, weights.size) - 1] if weights.size else 0
        assert found[person] == sorted({person, *ends[weights >= least].tolist()})


def test_labels_make_one_group_each():
    groups = Groups.from_labels(["b", "a", "b", "c"])
    assert [group.tolist() for group in groups] == [[1], [0, 2], [3]]
    assert own_groups(groups) == [[0, 2], [1], [0, 2], [3]]
    assert groups.sizes.tolist() == [1, 2, 1]


def test_lists_are_the_groups_themselves():
    groups = Groups.from_lists([[2, 0, 2], [1, 2], np.array([3])], 4)
    assert [group.tolist() for group in groups] == [[0, 2], [1, 2], [3]]
    assert own_groups(groups) == [[0, 2], [1, 2], [0, 2], [3]]


def test_one_list_per_person_gives_everybody_their_own():
    assert own_groups(Groups.from_lists([[0, 1, 2], [1], [2, 1]])) == [[0, 1, 2], [1], [1, 2]]


def test_the_largest_list_is_somebodys_own_where_there_is_not_one_per_person():
    assert own_groups(Groups.from_lists([[0, 1], [0, 1, 2], [2]])) == [[0, 1], [0, 1, 2], [2]]
    assert own_groups(Groups.from_lists([[0, 1], [0, 1, 2]])) == [[0, 1, 2]] * 3


@pytest.mark.parametrize("seed", range(8))
def test_everybody_is_in_their_own_group(seed):
    rng = np.random.default_rng(seed)
    n = 50
    graph = Graph.from_edges(rng.integers(0, n, (40, 2)), weights=rng.random(40), num_users=n)
    for groups in (
        Groups.from_radius(rng.random((n, 2)), rng.random(n) / 9),
        Groups.from_neighbors(rng.random((n, 2)), 3),
        Groups.from_graph(graph, hops=1),
        Groups.from_graph(graph, neighbors=1),
        Groups.from_labels(rng.integers(0, 9, n)),
        Groups.from_lists([*(rng.permutation(n)[:5] for _ in range(7)), range(n)]),
    ):
        assert all(person in groups.members(person) for person in range(n))
        assert sum(len(group) for group in groups) == groups.num_memberships == groups.sizes.sum()
        assert len(groups) == len(list(groups))


def test_people_with_equal_values_share_a_site_and_the_memory_is_that_of_the_sites():
    rng = np.random.default_rng(0)
    places = rng.random((400, 2))
    groups = Groups.from_radius(places[rng.integers(0, 400, 100_000)], 0.2)
    assert groups.site_sizes.size == len(groups) == 400
    assert groups.sets.runs.nbytes < groups.num_memberships / 100
    line = Groups.from_radius(rng.random(50_000), 0.2)
    assert line.num_memberships > 5e8
    assert line.sets.runs.nbytes == 8 * 50_000


# ---- digest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_digest_does_not_depend_on_how_the_groups_were_made(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 7, (50, 2))
    groups = Groups.from_radius(points, 1)
    lists = [group.tolist() for group in groups]
    again = Groups.from_lists([*lists[::-1], *lists[:3], *([person] for person in range(50))])
    assert groups.digest == again.digest
    assert groups == again
    assert hash(groups) == hash(again)
    assert groups == Groups.from_radius(points[:, ::-1], 1)


def test_the_digest_tells_families_apart():
    families = [
        [[0, 1], [2], [3]],
        [[0, 2], [1], [3]],
        [[0, 1], [2, 3]],
        [[0, 1, 2], [3]],
        [[0, 1, 2], [0, 1], [3]],
        [[0, 1], [2], [3], [4]],
        [[0], [1], [2], [3]],
        [[0], [1], [2], [3], [4]],
    ]
    assert len({Groups.from_lists(lists).digest for lists in families}) == len(families)
    assert Groups.from_lists([[0, 1], [2]]) != Groups.from_lists([[0, 2], [1]])


def test_the_digest_is_stable_over_versions():
    groups = Groups.from_lists([[0, 1], [1, 2, 3]])
    assert groups.digest == "4823a5181e8bd7b53d83ff49016769e1a0257b1766a4bc031fdeb60124a53ea6"


def test_groups_can_not_be_changed():
    groups = Groups.from_labels([1, 1, 2])
    with pytest.raises(AttributeError):
        groups.own = None
    with pytest.raises(ValueError, match="read-only"):
        groups.own[0] = 1
    assert repr(groups) == "Groups(3 people, 2 groups of at most 2)"


# ---- refusals --------------------------------------------------------------------------------------------------------

PATH = Graph.from_edges([(0, 1), (1, 2)])

REFUSED = [
    (lambda: Groups.from_radius([], 1), r"points must be one row or more.*shape \(0,\)"),
    (lambda: Groups.from_radius([0.0, np.nan, np.inf], 1), r"points must be finite; points\[1\] is not, and 2 in all"),
    (lambda: Groups.from_radius(["x"], 1), "points must be numbers"),
    (lambda: Groups.from_radius(np.zeros((2, 2, 2)), 1), "points must be one row"),
    (lambda: Groups.from_radius([1, 2], -1), "radius must be 0 or more; got radius=-1.0"),
    (lambda: Groups.from_radius([1, 2], np.nan), "radius must be 0 or more; got radius=nan"),
    (lambda: Groups.from_radius([1, 2], [1, -2]), r"radius must be 0 or more; got radius\[1\]=-2.0|radius\[1\]"),
    (lambda: Groups.from_radius([1, 2], [1, 2, 3]), "radius must be one number or one for each of 2 people"),
    (lambda: Groups.from_radius([1, 2], "far"), "radius must be a number"),
    (lambda: Groups.from_radius([1, 2], 1, "cosine"), "metric must be one of"),
    (lambda: Groups.from_radius([1, 2], 1, "haversine"), "latitude and longitude .*got 1 columns"),
    (lambda: Groups.from_radius([[91, 0]], 1, "haversine"), r"latitudes from -90 to 90.*points\[0\]"),
    (lambda: Groups.from_radius([[0, -181]], 1, "haversine"), "longitudes from -180 to 360"),
    (lambda: Groups.from_neighbors([1, 2], 0), "neighbors must be an integer that is 1 or more"),
    (lambda: Groups.from_neighbors([1, 2], 2), "neighbors must be below the number of people, 2; got neighbors=2"),
    (lambda: Groups.from_graph(PATH), "exactly one of hops and neighbors"),
    (lambda: Groups.from_graph(PATH, hops=1, neighbors=1), "exactly one of hops and neighbors"),
    (lambda: Groups.from_graph(PATH, hops=-1), "hops must be an integer that is 0 or more"),
    (lambda: Groups.from_graph(PATH, neighbors=1), "graph must have edge weights"),
    (lambda: Groups.from_graph([(0, 1)], hops=1), "graph must be a Graph"),
    (lambda: Groups.from_graph(Graph.from_edges([]), hops=1), "graph must have one node or more"),
    (lambda: Groups.from_labels([]), "labels must be one per person"),
    (lambda: Groups.from_labels(np.array(["a", None], dtype=object)), r"labels must not be missing; labels\[1\]"),
    (lambda: Groups.from_labels([1.0, np.nan]), r"labels must not be missing; labels\[1\]"),
    (lambda: Groups.from_labels(np.array(["a", 1], dtype=object)), "labels must be of one type"),
    (lambda: Groups.from_lists([]), "lists must be one group or more"),
    (lambda: Groups.from_lists([[0], []]), r"lists\[1\] is not"),
    (
        lambda: Groups.from_lists([[0, 1], [2, 5]], 5),
        "from 0 to 4; the group at place 1, counted from 0, holds 5",
    ),
    (lambda: Groups.from_lists([[0, -1]]), "group at place 0, counted from 0, holds -1"),
    (lambda: Groups.from_lists([[0, 2], [4]]), "person 1 is in none, and 2 in all"),
    (lambda: Groups.from_lists([[0, 1]], 2**40), "person 2 is in none, and 1099511627774 in all"),
    (lambda: Groups.from_lists([[1, 2**30]]), "person 0 is in none, and 1073741823 in all"),
    (lambda: Groups.from_lists([[0], [2**62]]), "group at place 1, counted from 0, holds 4611686018427387904"),
    (
        lambda: Groups.from_lists([np.array([2**64 - 1], dtype=np.uint64)]),
        "group at place 0, counted from 0, holds 18446744073709551615",
    ),
    (lambda: Groups.from_lists([[-1]]), "group at place 0, counted from 0, holds -1"),
    (lambda: Groups.from_lists([[0.0]]), r"lists must hold integers; lists\[0\]"),
    (lambda: Groups.from_lists([[0]], 0), "num_users must be an integer that is 1 or more"),
    (lambda: Groups.from_labels([1]).members(1), "person must be below the number of people, 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_a_group_number_that_is_too_large_ends_an_iteration():
    with pytest.raises(IndexError):
        Groups.from_labels([1])[1]
