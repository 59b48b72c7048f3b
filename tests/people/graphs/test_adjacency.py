"""Parts, sides, stationary laws and irregularity.

Random regular graphs.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph, adjacency, describe_graph
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

DATA = Path(__file__).parents[3].parent / "shared" / "data"
IRREGULARITY = {
    "musae_facebook": 4.018105395978805,
    "twitch_de": 7.915203165389501,
    "deezer_europe": 2.467505914422095,
    "email_enron": 13.265519875987906,
}
GAPS = {
    "musae_facebook": 0.004439778655244031,
    "twitch_de": 0.1810879289447357,
    "deezer_europe": 0.00299303916350,
    "email_enron": 0.00352693952955,
}

GRAPHS = {
    "paw": [(0, 1), (1, 2), (0, 2), (2, 3)],
    "ring of 4": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "ring of 5": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "two rings": [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)],
    "triangle and edge": [(0, 1), (1, 2), (0, 2), (3, 4)],
    "star": [(0, 1), (0, 2), (0, 3)],
}


def searched(edges, people) -> tuple[set[frozenset[int]], bool]:
    """The parts, and whether each has two sides, by walking from person to person."""
    around = {person: {v for u, v in edges if u == person} | {u for u, v in edges if v == person} for person in people}
    side: dict[int, int] = {}
    parts, two_sided = set(), True
    for first in people:
        if first in side:
            continue
        side[first], queue = 0, [first]
        for person in queue:
            for other in around[person] - {person}:
                if other not in side:
                    side[other] = 1 - side[person]
                    queue.append(other)
                two_sided &= side[other] != side[person]
        parts.add(frozenset(queue))
    return parts, two_sided


def check(graph: Graph, edges) -> bool:
    parts, two_sided = searched(edges, range(graph.num_users))
    found = {frozenset(np.flatnonzero(graph.components == part).tolist()) for part in set(graph.components.tolist())}
    assert found == parts
    assert graph.is_bipartite == two_sided
    assert graph.is_connected == (len(parts) == 1)
    assert graph.largest_component().num_users == max(map(len, parts))
    return two_sided


@pytest.mark.parametrize("name", GRAPHS)
def test_parts_and_sides_are_those_that_a_search_finds(name):
    check(Graph.from_edges(GRAPHS[name]), GRAPHS[name])


def test_random_graphs_with_isolated_people_fall_into_the_parts_that_a_search_finds():
    rng = np.random.default_rng(5)
    sides = set()
    for _ in range(60):
        n = int(rng.integers(1, 15))
        edges = rng.integers(0, n, (int(rng.integers(0, n + 1)), 2)).tolist()
        sides.add(check(Graph.from_edges(edges, n), edges))
    assert sides == {True, False}


def test_the_compiled_search_finds_what_scipy_finds():
    rng, sides = np.random.default_rng(6), set()
    for _ in range(30):
        graph = Graph.from_edges(rng.integers(0, 12, (int(rng.integers(0, 12)), 2)), 12)
        (one, two_sided), (other, again) = (
            search(graph.starts, graph.neighbors) for search in (adjacency._search_plainly, adjacency._search_compiled)
        )
        assert one.tolist() == other.tolist()
        assert two_sided == again
        sides.add(bool(again))
    assert sides == {True, False}


def test_parts_are_in_the_order_of_their_first_people_and_nobody_is_lost():
    graph = Graph.from_edges([(0, 5), (5, 3), (1, 2), (6, 1)], 7, weights=[1.0, 2.0, 3.0, 4.0])
    parts = graph.parts()
    assert [part.num_users for part in parts] == [3, 3, 1]
    assert parts[0] == Graph.from_edges([(0, 2), (2, 1)], weights=[1.0, 2.0])
    assert parts[1] == Graph.from_edges([(0, 1), (2, 0)], weights=[3.0, 4.0])
    assert parts[2] == Graph.from_edges([], 1, weights=[])
    assert sum(part.num_edges for part in parts) == graph.num_edges
    assert Graph.from_edges([], 0).parts() == ()
    whole = Graph.from_edges([(0, 1), (1, 2)])
    assert whole.parts() == (whole,)


def test_the_largest_part_keeps_the_order_and_the_weights_of_its_people():
    graph = Graph.from_edges([(0, 9), (2, 4), (4, 7), (7, 2)], weights=[9.0, 1.0, 2.0, 3.0])
    part = graph.largest_component()
    assert part == Graph.from_edges([(0, 1), (1, 2), (2, 0)], weights=[1.0, 2.0, 3.0])


def test_the_stationary_law_is_kept_by_the_walk_and_says_how_irregular_a_graph_is():
    graph = Graph.from_edges(GRAPHS["paw"])
    assert graph.stationary.tolist() == [0.25, 0.25, 0.375, 0.125]
    assert graph.irregularity == pytest.approx(4 * 0.28125, rel=1e-15)
    assert Graph.from_edges(GRAPHS["ring of 5"]).irregularity == 1.0


def test_what_was_left_out_of_an_edge_list_is_counted():
    graph = Graph.from_edges([(0, 1), (1, 0), (0, 1), (2, 2), (1, 2)])
    assert (graph.num_edges, graph.merged_edges, graph.dropped_loops) == (2, 2, 1)


def test_a_digest_tells_graphs_apart_by_their_people_and_edges_alone():
    ring = GRAPHS["ring of 4"]
    digests = {
        Graph.from_edges(ring).digest,
        Graph.from_edges(ring[::-1], weights=[1, 2, 3, 4]).digest,
        Graph.from_edges(ring, 5).digest,
        Graph.from_edges(ring[:3]).digest,
    }
    assert len(digests) == 3


EMPTY = {"musae_facebook": 12716.7565618506, "twitch_de": 5456.3390759, "deezer_europe": 14524.04122292426}


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
@pytest.mark.parametrize("name", EMPTY)
def test_real_graphs_leave_as_many_people_empty_as_expected(name):
    found = describe_graph(Graph.from_edges(np.load(DATA / name / f"{name}.npz")["edges"])).parts[0]
    assert found.expected_empty == pytest.approx(EMPTY[name], rel=1e-8)


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here")
@pytest.mark.parametrize("name", IRREGULARITY)
def test_real_graphs_have_the_irregularity_and_the_gap_that_were_worked_out_with_other_programs(name):
    graph = Graph.from_edges(np.load(DATA / name / f"{name}.npz")["edges"]).largest_component()
    assert graph.irregularity == pytest.approx(IRREGULARITY[name], rel=1e-12)
    assert graph.spectral_gap == pytest.approx(GAPS[name], abs=1e-9)


@pytest.mark.parametrize(("degree", "people"), [(1, 2), (2, 7), (3, 4), (4, 5), (8, 100), (49, 50), (30, 41)])
def test_everybody_has_as_many_neighbors_and_none_twice(degree, people):
    graph = Graph.random_regular(degree, people, SeededSource(people))
    assert graph.degrees.tolist() == [degree] * people
    assert (graph.dropped_loops, graph.merged_edges) == (0, 0)


@pytest.mark.deep
def test_all_two_regular_graphs_of_five_people_come_up_equally_often():
    source = SeededSource(3)
    drawn = Counter(Graph.random_regular(2, 5, source).digest for _ in range(3000))
    assert len(drawn) == 12  # rings of five people
    counts = np.array(list(drawn.values()))
    assert_fits(counts, np.full(12, 1 / 12))
    skewed = np.repeat([1.25, 0.75], 6) / 12
    assert_rejects(counts, skewed)


def test_the_same_source_gives_the_same_graph_and_none_another_each_time():
    assert Graph.random_regular(4, 50, SeededSource(1)) == Graph.random_regular(4, 50, SeededSource(1))
    assert Graph.random_regular(4, 50) != Graph.random_regular(4, 50)


@pytest.mark.parametrize(
    ("degree", "people", "message"),
    [
        (3, 5, "degree \\* num_users must be even; got degree=3 with num_users=5"),
        (5, 5, "degree must be below num_users=5; got degree=5"),
        (-1, 5, "degree must be an integer that is 1 or more"),
        (0, 8, "degree must be an integer that is 1 or more"),
        (2.5, 6, "degree must be an integer"),
        (1, 0, "num_users must be an integer that is 1 or more"),
    ],
)
def test_graphs_that_there_are_not_are_refused(degree, people, message):
    with pytest.raises(InvalidParameterError, match=message):
        Graph.random_regular(degree, people)
