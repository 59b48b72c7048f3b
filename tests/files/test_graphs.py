"""Edge lists are read in the forms in which they are passed around, and nothing else is taken for one."""

import gzip

import numpy as np
import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.people_files import read_graph
from shuffledp.people.graphs import Graph

PLAIN = Graph.from_edges([(0, 1), (2, 1)])
WEIGHED = Graph.from_edges([(0, 1), (2, 1)], weights=[0.5, 3])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,1\n2,1\n", PLAIN),
        ("source,target\n0,1\n2,1\n", PLAIN),
        ("# from somewhere\n0\t1\n2\t1\n", PLAIN),
        ("0 1\r\n2 1", PLAIN),
        ("\ufefffrom,to,weight\n0,1,0.5\n\n2,1,3\n", WEIGHED),
    ],
)
def test_a_text_file_has_an_edge_a_line(text, expected, tmp_path):
    plain, packed = tmp_path / "edges.csv", tmp_path / "edges.csv.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_graph(plain) == read_graph(packed) == expected


def test_an_npz_file_has_an_array_of_edges(tmp_path):
    np.savez(tmp_path / "a.npz", edges=np.array([[0, 1], [2, 1]], dtype=np.int32))
    np.savez(tmp_path / "b.npz", edges=[[0, 1], [2, 1]], weights=[0.5, 3])
    assert read_graph(tmp_path / "a.npz") == PLAIN
    assert read_graph(tmp_path / "b.npz") == WEIGHED
    assert read_graph(tmp_path / "a.npz", num_users=9).num_users == 9
    np.savez(tmp_path / "none.npz", edges=np.empty((0, 2), dtype=np.int64))
    assert read_graph(tmp_path / "none.npz", num_users=9) == Graph.from_edges([], num_users=9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no edges"),
        (b"# nothing\n", "has no edges"),
        (b"a,b\n", "has no edges: its only line"),
        (b"0;1\n", "has no edges: its only line"),
        (b"0;1\n# 2;3\n\n", "has no edges: its only line"),
        (b"O,1\n0,1\n", "line 1 holds something else than numbers"),
        (b"0\n1\n", "line 1 must have two columns, or three with weights; it has 1"),
        (b"0,1,2,3\n", "it has 4"),
        (b"a,b\n\n0.5,1\n", "line 3 must have integers in its first two columns"),
        (b"0,nan\n0,1\n0,nan\n", "line 1 holds something else than numbers"),
        (b"0,inf\n", "line 1 must have integers"),
        (b"# ours\n0,1\nx,y\n", "line 3 holds something else than numbers"),
        (b"0,1\n1,2,3\n", "line 2 has 3 columns, and the first one has 2"),
        (b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_what_is_no_edge_list_is_refused(content, message, tmp_path):
    (tmp_path / "edges.csv").write_bytes(content)
    with pytest.raises(InputDataError, match=message):
        read_graph(tmp_path / "edges.csv")


def test_a_file_without_edges_and_no_file_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", nodes=[1])
    with pytest.raises(InputDataError, match="an array named edges"):
        read_graph(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", edges=np.array([[object(), 1]]))
    with pytest.raises(InputDataError, match="cannot be read"):
        read_graph(tmp_path / "b.npz")
    np.savez(tmp_path / "whole.npz", edges=np.arange(200).reshape(100, 2))
    for name, length in (("cut.npz", 400), ("start.npz", 4), ("empty.npz", 0)):
        (tmp_path / name).write_bytes((tmp_path / "whole.npz").read_bytes()[:length])
        with pytest.raises(InputDataError, match=r"is no \.npz file of numpy, or only the beginning of one"):
            read_graph(tmp_path / name)
    with pytest.raises(InputDataError, match="no such file"):
        read_graph(tmp_path / "c.csv")
    (tmp_path / "d.csv").write_text("0,7\n")
    with pytest.raises(InvalidParameterError, match="below 3; the edge"):
        read_graph(tmp_path / "d.csv", num_users=3)


def test_a_number_far_above_how_many_people_are_named_is_refused(tmp_path):
    (tmp_path / "edges.csv").write_text("0,1\n1,2000000000\n")
    with pytest.raises(InputDataError, match="names 3 different people, and line 2 has the number 2000000000"):
        read_graph(tmp_path / "edges.csv")
    (tmp_path / "edges.csv").write_text("0,1\n1,1000000\n")
    assert read_graph(tmp_path / "edges.csv").num_users == 1_000_001


def test_a_number_that_nobody_can_have_is_named_by_its_line(tmp_path):
    (tmp_path / "edges.csv").write_text("# ours\nfrom,to\n0,1\n1,-2\n")
    with pytest.raises(InputDataError, match="from 0 on; line 4 names -2"):
        read_graph(tmp_path / "edges.csv")
    (tmp_path / "edges.csv").write_text("0,1\n1,99999999999999999999\n")
    with pytest.raises(InputDataError, match="line 2 must have integers in its first two columns, of at most 2"):
        read_graph(tmp_path / "edges.csv")
    np.savez(tmp_path / "a.npz", edges=[[0, 1], [1, -2]])
    with pytest.raises(InputDataError, match="from 0 on; one of its edges names -2"):
        read_graph(tmp_path / "a.npz")


def test_a_folder_is_said_to_be_none(tmp_path):
    with pytest.raises(InputDataError, match="it is not a file"):
        read_graph(tmp_path)
