"""Walks of all reports at once, laws of positions, and spectra, beside bare numpy, networkx and scipy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import eigsh

from benchmarks.timing import compare
from shuffledp.graphs import Graph
from shuffledp.graphs.spectrum import _normalized
from shuffledp.laws import position_distribution, sample_walks

DATA = Path(__file__).parents[2] / "shared" / "data"
REAL = ("musae_facebook", "twitch_de", "deezer_europe", "email_enron")


def bare_walks(graph: Graph, num_rounds: int) -> Callable[[], object]:
    """The same steps by numpy: statistical randomness, floats, nothing counted."""
    draw = np.random.default_rng()
    degrees = graph.degrees

    def walk() -> object:
        positions = np.arange(graph.num_users)
        for _ in range(num_rounds):
            chosen = (draw.random(positions.size) * degrees[positions]).astype(np.int64)
            positions = graph.neighbors[graph.starts[positions] + chosen]
        return positions

    return walk


def networkx_walks(graph: Graph, num_rounds: int) -> dict[str, Callable[[], object]]:
    """A loop over the lists of neighbors of networkx, if it is installed."""
    try:
        import networkx as nx
    except ImportError:
        return {}
    people = range(graph.num_users)
    peer = nx.Graph([(u, int(v)) for u in people for v in graph.neighbors_of(u) if u < v])
    around = {person: list(peer[person]) for person in people}
    draw = np.random.default_rng()

    def walk() -> object:
        positions = list(people)
        for _ in range(num_rounds):
            chances = draw.random(len(positions))
            positions = [
                around[here][int(chance * len(around[here]))] for here, chance in zip(positions, chances, strict=True)
            ]
        return positions

    return {"networkx, a loop": walk}


def main() -> None:
    """Regular graphs of 30,000 and a million people, and the real graphs if they are there."""
    graph = Graph.random_regular(8, 30_000)
    sample_walks(graph, 200)  # compiles
    print("\n30,000 people, 8 neighbors each, 100 rounds\n")
    contestants = {"shuffledp": lambda: sample_walks(graph, 100), "bare numpy": bare_walks(graph, 100)}
    compare(contestants | networkx_walks(graph, 100), floor="bare numpy")
    print("\nthe law from one start, 30,000 people, 1,000 rounds\n")
    compare({"shuffledp": lambda: position_distribution(graph, 0, 1000)}, floor="shuffledp", rounds=5)
    for name in REAL if DATA.is_dir() else ():
        edges = np.load(DATA / name / f"{name}.npz")["edges"]
        real = Graph.from_edges(edges).largest_component()
        print(f"\nboth ends of the spectrum, {name}\n")
        matrix = _normalized(real)

        def ours(real: Graph = real) -> object:
            return Graph(real.starts, real.neighbors).spectral_gap

        def arpack(matrix: object = matrix) -> object:
            return [
                eigsh(matrix, k=k, which=which, tol=1e-8, return_eigenvectors=False)
                for k, which in ((2, "LA"), (1, "SA"))
            ]

        compare({"shuffledp": ours, "ARPACK": arpack}, floor="shuffledp", rounds=3)
    large = Graph.random_regular(10, 1_000_000)
    print("\na million people, 10 neighbors each, 100 rounds\n")
    compare({"shuffledp": lambda: sample_walks(large, 100)}, floor="shuffledp", rounds=3)


if __name__ == "__main__":
    main()
