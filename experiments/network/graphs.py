"""The graphs of the paper, what it prints of them, and whose reports to follow."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from experiments.running import DATA
from shuffledp.people.graphs import Graph
from shuffledp.testing import SeededSource


@dataclass(frozen=True)
class Printed:
    """One line of Table 4: people and irregularity; the folder of the data, or None where there are none to be had."""

    people: int
    irregularity: float
    folder: str | None


PRINTED = {
    "Facebook": Printed(22_470, 5.0064, "musae_facebook"),
    "Twitch": Printed(9_498, 7.584, "twitch_de"),
    "Deezer": Printed(28_281, 3.5633, "deezer_europe"),
    "Enron": Printed(33_696, 36.866, "email_enron"),
    "Google": Printed(855_802, 20.642, None),
}


def files_of(names: Sequence[str]) -> list[Path]:
    """What is read for these graphs; nothing for those that are drawn, or known by their numbers alone."""
    folders = [PRINTED[name].folder for name in names if name in PRINTED]
    return [_file(folder) for folder in folders if folder is not None]


def _file(folder: str) -> Path:
    return DATA / folder / f"{folder}.npz"


def raw_edges(name: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The edges, each once with the smaller number first, and the people with an edge to themselves, as published."""
    folder = PRINTED[name].folder
    if folder is None:
        raise FileNotFoundError(f"of {name} only the number of people and the irregularity are known")
    with np.load(_file(folder)) as stored:
        return stored["edges"], stored["self_loops"]


def graph_of(name: str) -> Graph:
    """The largest part of a graph of the paper, or "regular DEGREE PEOPLE", drawn with a fixed seed."""
    if name.startswith("regular "):
        degree, people = map(int, name.split()[1:])
        return Graph.random_regular(degree, people, source=SeededSource(degree))
    return Graph.from_edges(raw_edges(name)[0]).largest_component()


def remote_and_other_people(graph: Graph, count: int) -> NDArray[np.int64]:
    """Half of them where the slowest parts of walks are heaviest, which is in remote corners, and half at random."""
    roots = 1 / np.sqrt(graph.degrees)
    weights = np.repeat(roots, graph.degrees) * roots[graph.neighbors]
    matrix: Any = csr_array((weights, graph.neighbors, graph.starts), shape=(graph.num_users,) * 2)
    first = np.sqrt(graph.stationary)
    _, vectors = eigsh(matrix, k=count // 2 + 1, which="LA", tol=1e-4, v0=np.cos(np.arange(graph.num_users)))
    remote = np.argmax(np.abs(vectors / first[:, None]), axis=0)
    others = np.random.default_rng(4).choice(graph.num_users, count - count // 2, replace=False)
    return np.unique(np.concatenate([remote, others])).astype(np.int64)


def laws_after(
    graph: Graph, starts: NDArray[np.int64], rounds: Iterable[int]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Laws of the places of some people's reports, a column for each, after each number of rounds, ascending."""
    shares = (1 / graph.degrees)[graph.neighbors]
    moves = csr_array((shares, graph.neighbors, graph.starts), shape=(graph.num_users,) * 2)
    laws, done = np.zeros((graph.num_users, len(starts))), 0
    laws[starts, np.arange(len(starts))] = 1.0
    for number in rounds:
        for _ in range(number - done):
            laws = moves @ laws
        done = number
        yield number, laws
