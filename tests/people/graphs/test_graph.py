"""Graphs hold each edge once, whatever they are made from, and balls are what walking finds."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.people.graphs import Graph, union


def edges_of(graph):
    return [(u, int(v)) for u in range(graph.num_users) for v in graph.neighbors_of(u) if u < v]


@pytest.mark.parametrize("seed", range(8))
def test_edges_are_undirected_and_each_is_there_once(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    pairs = rng.integers(0, n, (60, 2))
    graph = Graph.from_edges(pairs, num_users=n)
    assert edges_of(graph) == sorted({(min(u, v), max(u, v)) for u, v in pairs.tolist() if u != v})
    assert graph.num_edges == len(edges_of(graph))
    assert graph.dropped_loops == np.count_nonzero(pairs[:, 0] == pairs[:, 1])
    assert graph.degrees.sum() == 2 * graph.num_edges
    assert graph == Graph.from_edges(pairs[::-1, ::-1], num_users=n)


def test_an_edge_that_is_named_twice_keeps_its_largest_weight():
    graph = Graph.from_edges([(0, 1), (2, 1), (1, 0)], weights=[1.0, 5.0, 3.0])
    assert edges_of(graph) == [(0, 1), (1, 2)]
    assert graph.weights.tolist() == [3.0, 3.0, 5.0, 5.0]
    assert graph != Graph.from_edges([(0, 1), (1, 2)])
    assert graph != Graph.from_edges([(0, 1), (1, 2)], weights=[1, 2])


def test_a_graph_may_have_isolated_nodes_or_no_edges_or_no_nodes():
    assert Graph.from_edges([(0, 1)], num_users=5).degrees.tolist() == [1, 1, 0, 0, 0]
    assert Graph.from_edges([], num_users=3).num_edges == 0
    assert Graph.from_edges([]).num_users == 0
    assert Graph.from_edges(np.empty((0, 2), dtype=int), num_users=2).balls(3)[1].tolist() == [0, 1]


def test_edges_may_be_whole_floats_a_set_or_an_iterator():
    pairs = [(0, 1), (1, 2)]
    assert Graph.from_edges(np.array(pairs, dtype=float)) == Graph.from_edges(set(pairs)) == Graph.from_edges(pairs)
    assert Graph.from_edges(pair for pair in pairs) == Graph.from_edges(pairs)
    assert Graph.from_edges(set()).num_users == 0


def test_what_was_merged_and_dropped_shows():
    graph = Graph.from_edges([(0, 1), (1, 0), (2, 1), (2, 2)], weights=[1, 1, 1, 1])
    assert repr(graph) == "Graph(3 people, 2 edges, weighted, 1 repeated merged, 1 loop dropped)"


def test_walks_of_nobody_have_no_gap():
    assert Graph.from_edges([]).spectral_gap == 0
    assert Graph.from_edges([], num_users=1).spectral_gap == 1


def test_a_graph_can_not_be_changed():
    graph = Graph.from_edges([(0, 1)])
    with pytest.raises(ValueError, match="read-only"):
        graph.neighbors[0] = 5
    with pytest.raises(AttributeError):
        graph.starts = graph.neighbors


@pytest.mark.parametrize("seed", range(4))
def test_a_ball_is_what_so_many_steps_reach(seed):
    rng = np.random.default_rng(seed)
    n = 30
    graph = Graph.from_edges(rng.integers(0, n, (28, 2)), num_users=n)
    for hops in (0, 1, 2, 5, 100):
        starts, members = graph.balls(hops)
        for node in range(n):
            reached = {node}
            for _ in range(hops):
                reached |= {int(v) for u in reached for v in graph.neighbors_of(u)}
            assert members[starts[node] : starts[node + 1]].tolist() == sorted(reached)


class OfNetworkx:
    """As much of a networkx graph as is read: nodes with names, and edges with attributes."""

    nodes = ("ann", "bob", "cid")

    def __init__(self, data):
        self.data = data

    def edges(self, data=False):
        pairs = [("cid", "ann"), ("bob", "cid")]
        return [(*pair, each) for pair, each in zip(pairs, self.data, strict=True)] if data else pairs


class OfIgraph:
    """As much of an igraph graph as is read."""

    def __init__(self, attributes):
        self.es = type("Edges", (dict,), {"attributes": dict.keys})(attributes)

    def get_edgelist(self):
        return [(0, 2), (1, 2)]

    def vcount(self):
        return 3


PLAIN = Graph.from_edges([(0, 2), (1, 2)])
WEIGHED = Graph.from_edges([(0, 2), (1, 2)], weights=[4.0, 7.0])
MATRIX = np.array([[0, 0, 4], [0, 0, 0], [0, 7, 0]])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PLAIN, PLAIN),
        (OfNetworkx([{}, {}]), PLAIN),
        (OfNetworkx([{"weight": 4}, {}]), PLAIN),
        (OfNetworkx([{"weight": 4}, {"weight": 7}]), WEIGHED),
        (OfIgraph({}), PLAIN),
        (OfIgraph({"weight": [4.0, 7.0]}), WEIGHED),
        (sp.csr_array(MATRIX), WEIGHED),
        (sp.coo_matrix(MATRIX + MATRIX.T), WEIGHED),
        (sp.csc_array(MATRIX > 0), PLAIN),
    ],
)
def test_graphs_of_other_libraries_are_read(source, expected):
    assert Graph.of(source) == expected


@pytest.mark.parametrize("as_type", [str, Path])
def test_a_graph_is_read_from_the_name_of_its_file(tmp_path, as_type):
    np.savez(tmp_path / "friends.npz", edges=[(0, 1), (1, 2)], weights=[2.0, 1.0])
    (tmp_path / "friends.csv").write_text("0,1\n1,2\n")
    assert Graph.of(as_type(tmp_path / "friends.csv")) == Graph.from_edges([(0, 1), (1, 2)])
    assert Graph.of(as_type(tmp_path / "friends.npz")) == Graph.from_edges([(0, 1), (1, 2)], weights=[2.0, 1.0])
    with pytest.raises(InputDataError, match=r"absent\.csv cannot be read: there is no such file"):
        Graph.of(as_type(tmp_path / "absent.csv"))


REFUSED = [
    (
        lambda: Graph.from_edges([(0, 3)], num_users=3),
        "below 3; the edge at place 0, counted from 0, names 3",
    ),
    (lambda: Graph.from_edges([(0, 1), (-1, 1)]), "the edge at place 1, counted from 0, names -1"),
    (lambda: Graph.from_edges([(0.0, 1.5)]), "edges must be whole numbers; got edges=1.5"),
    (lambda: Graph.from_edges([(0.0, np.nan)]), "edges must be whole numbers; got edges=nan"),
    (lambda: Graph.from_edges([(0.0, 1e300)]), "edges must be whole numbers"),
    (lambda: Graph.from_edges([("a", "b")]), "edges must be integers of shape"),
    (lambda: Graph.from_edges([(0, 1, 2)]), r"got shape \(1, 3\)"),
    (lambda: Graph.from_edges(np.array([[0, 2**63]], dtype=np.uint64)), "edges must be nodes below"),
    (lambda: Graph.from_edges([], num_users=-1), "num_users must be an integer that is 0 or more"),
    (lambda: Graph.from_edges([], num_users=2**31), "num_users must be at most 2147483647"),
    (lambda: Graph.from_edges([(0, 1)], weights=[1, 2]), "weights must be one number per edge, 1 in all"),
    (lambda: Graph.from_edges([(0, 1)], weights=[-1]), r"weights\[0\]=-1.0"),
    (lambda: Graph.from_edges([(0, 1)], weights=[np.nan]), r"weights\[0\]=nan"),
    (lambda: Graph.from_edges([(0, 1)], weights=["heavy"]), "weights must be numbers"),
    (lambda: Graph.of(3), "graph must be a Graph, .* or a file's name; got graph of type int"),
    (lambda: Graph.of(sp.csr_array((2, 3))), r"square matrix; got shape \(2, 3\)"),
    (lambda: PLAIN.balls(-1), "hops must be an integer"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call()


def test_numbers_of_networkx_that_are_0_to_n_are_kept():
    networkx = pytest.importorskip("networkx")
    listed = networkx.Graph([(2, 0), (0, 1)])  # which lists 2 first
    assert Graph.from_networkx(listed).neighbors_of(0).tolist() == [1, 2]
    assert Graph.from_networkx(networkx.Graph([(7, 3), (3, 5)])).neighbors_of(1).tolist() == [0, 2]


SQUARE = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
CROSS = Graph.from_edges([(0, 2), (1, 3)])


def test_sides_and_parts_are_those_of_all_graphs():
    assert union([SQUARE]) is SQUARE
    both = union([SQUARE, CROSS, SQUARE])
    assert both.num_edges == 6
    assert SQUARE.is_bipartite
    assert not both.is_bipartite
    assert not CROSS.is_connected
    assert union([CROSS, SQUARE]).is_connected
    assert union([Graph.from_edges([(0, 1)], 5)] * 2).num_users == 5
