"""Random regular graphs."""

from collections import Counter

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects


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
