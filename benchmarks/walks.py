"""Walks of all reports at once, laws, spectra, accounting and large graphs, beside bare numpy, networkx and scipy.

``python -m benchmarks.walks large`` is a graph of a million people and ten million edges, by itself, with its memory.
"""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import eigsh

import shuffledp as sdp
from benchmarks.timing import compare
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph, describe_graph
from shuffledp.people.graphs.spectrum import _normalized
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_sampling import sample_walks

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


def twitch_table() -> object:
    """Guarantees of both protocols after twenty numbers of rounds, as a table for choosing one."""
    graph = Graph.from_edges(np.load(DATA / "twitch_de" / "twitch_de.npz")["edges"])
    bit = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    found = []
    for rounds in range(10, 210, 10):
        for protocol, dummies in (("all", None), ("single", bit)):
            walks = sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol=protocol, dummies=dummies)
            model = ProtocolModel(local=bit.model, shuffle=walks.model(graph.num_users))
            found.append(sdp.account(model, delta=2e-6))
    return found


def large_graph() -> None:
    """From a list of edges to its description, both ends of the spectrum among it, and 100 rounds of walks."""
    people, edges = 10**6, 10**7
    pairs = np.random.default_rng(0).integers(0, people, (edges, 2), dtype=np.int32)
    laps = [(time.perf_counter(), time.process_time())]
    graph = Graph.from_edges(pairs, people)
    laps.append((time.perf_counter(), time.process_time()))
    found = describe_graph(graph).parts[0]
    laps.append((time.perf_counter(), time.process_time()))
    sample_walks(graph.largest_component(), 100)
    laps.append((time.perf_counter(), time.process_time()))
    for name, before, after in zip(("built", "described", "walked 100 rounds"), laps, laps[1:], strict=False):
        print(f"{name} in {after[0] - before[0]:.1f} s, {after[1] - before[1]:.1f} s of one core")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak {peak:.2f} GiB; {found.num_edges:,} edges, irregularity {found.irregularity:.6f}")
    print(f"gap {found.spectral_gap:.8f}, certainly {found.spectral_gap - found.spectrum_error:.6f} or more")


def main() -> None:
    """Regular graphs of 30,000 and a million people, and the real graphs if they are there."""
    graph = Graph.random_regular(8, 30_000)
    sample_walks(graph, 200)  # compiles
    print("\n30,000 people, 8 neighbors each, 100 rounds\n")
    contestants = {"shuffledp": lambda: sample_walks(graph, 100), "bare numpy": bare_walks(graph, 100)}
    compare(contestants | networkx_walks(graph, 100), floor="bare numpy")
    print("\nthe law from one start, 30,000 people, 1,000 rounds\n")
    compare({"shuffledp": lambda: position_distribution(graph, 0, 1000)}, floor="shuffledp", rounds=5)
    if DATA.is_dir():
        print("\nTwitch, 20 numbers of rounds, both protocols: bounds of positions and guarantees\n")
        compare({"shuffledp": twitch_table}, floor="shuffledp", rounds=3)
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
    large_graph() if sys.argv[1:] == ["large"] else main()
