"""Groups, exact sensitivities and reference orders: seconds, and the sensitivities that the orders reach."""

import resource
import time
from math import comb

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import compare
from shuffledp.people.graphs import Graph
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import order_sensitivity
from shuffledp.randomness.permutations import invert

PEOPLE = 10_000


def planted(rng: np.random.Generator, width: int) -> Groups:
    """Windows of so many people along a hidden order, each at a random place around its owner."""
    hidden = rng.permutation(PEOPLE)
    first = np.clip(np.arange(PEOPLE) - rng.integers(0, width, PEOPLE), 0, PEOPLE - width)
    return Groups.from_lists([hidden[first[rank] : first[rank] + width] for rank in invert(hidden)], PEOPLE)


def preferential(rng: np.random.Generator, links: int) -> Graph:
    """Barabasi and Albert: every new node links to so many others, with probability in proportion to their degrees."""
    ends: list[int] = []
    edges = []
    chosen = list(range(links))
    for node in range(links, PEOPLE):
        edges += [(node, other) for other in chosen]
        ends += [*chosen, *([node] * links)]
        others: set[int] = set()
        while len(others) < links:
            others.add(ends[rng.integers(len(ends))])
        chosen = sorted(others)
    return Graph.from_edges(edges)


def regular(rng: np.random.Generator, degree: int) -> Graph:
    """Nodes of one degree: random pairs of half-edges, exchanged until none is a loop or there twice."""
    pairs = rng.permutation(np.repeat(np.arange(PEOPLE), degree)).reshape(-1, 2)
    while True:
        keys = pairs.min(axis=1) * PEOPLE + pairs.max(axis=1)
        _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
        bad = np.flatnonzero((pairs[:, 0] == pairs[:, 1]) | (count[place] > 1))
        if bad.size == 0:
            return Graph.from_edges(pairs)
        for one, other in zip(bad, rng.integers(0, len(pairs), bad.size), strict=True):
            pairs[one, 1], pairs[other, 1] = pairs[other, 1], pairs[one, 1]


def by_sorting(groups: list[NDArray[np.int64]], order: NDArray[np.int64]) -> int:
    """The straightforward way: each group's ranks, sorted."""
    rank = invert(order)
    largest = 0
    for group in groups:
        ranks = np.sort(rank[group])
        b = np.arange(1, ranks.size)
        outside = 2 * (np.diff(ranks) - 1) * np.minimum(b, ranks.size - b)
        largest = max(largest, comb(ranks.size, 2) + int(outside.sum()))
    return largest


def print_orders(rng: np.random.Generator) -> None:
    """What breadth first reaches, what the portfolio with local search does, and what no order goes below."""
    points = rng.random((PEOPLE, 2))
    instances = {
        "planted windows of 50": planted(rng, 50),
        "line, radius 0.01": Groups.from_radius(rng.random(PEOPLE), 0.01),
        "plane, radius 0.03": Groups.from_radius(points, 0.03),
        "Barabasi-Albert (3), balls of 1": Groups.from_graph(preferential(rng, 3), hops=1),
        "6-regular, balls of 1": Groups.from_graph(regular(rng, 6), hops=1),
    }
    print("| groups of 10,000 people | paper's bound, breadth first | exact, breadth first | exact, auto | least | s |")
    print("|---|---|---|---|---|---|")
    for name, groups in instances.items():
        bfs = reference_order(groups, method="bfs")
        start = time.perf_counter()
        best = reference_order(groups, coordinates=points if name.startswith("plane") else None)
        seconds = time.perf_counter() - start
        values = [
            order_sensitivity(groups, bfs, distance="kendall-width"),
            order_sensitivity(groups, bfs),
            order_sensitivity(groups, best),
            comb(int(groups.sizes.max()), 2),
        ]
        print(f"| {name} | {' | '.join(f'{value:,}' for value in values)} | {seconds:.1f} |")


def print_many(rng: np.random.Generator) -> None:
    """A million people over 40,000 places, and on a line."""
    places = rng.random((40_000, 2)) * 500
    for name, points, radius in (
        ("40,000 places", places[rng.integers(0, 40_000, 1_000_000)], 20.0),
        ("a line", rng.random(1_000_000), 0.0005),
    ):
        start = time.perf_counter()
        groups = Groups.from_radius(points, radius)
        made = time.perf_counter()
        value = order_sensitivity(groups, np.argsort(groups.sites, kind="stable"))
        end = time.perf_counter()
        print(
            f"10^6 people on {name}: {groups.num_memberships:,} memberships, "
            f"{groups.sets.runs.nbytes / 2**20:.0f} MiB; made in {made - start:.1f} s; "
            f"sensitivity {value:,} in {end - made:.2f} s"
        )
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def main() -> None:
    """Print everything that the README of this folder records."""
    rng = np.random.default_rng(0)
    groups = Groups.from_radius(rng.random((PEOPLE, 2)), 0.1)
    order = rng.permutation(PEOPLE)
    lists = list(groups)
    print(f"{groups.num_memberships:,} memberships:")
    compare(
        {
            "order_sensitivity": lambda: order_sensitivity(groups, order),
            "each group sorted, numpy": lambda: by_sorting(lists, order),
        },
        floor="order_sensitivity",
    )
    print_orders(rng)
    print_many(rng)


if __name__ == "__main__":
    main()
