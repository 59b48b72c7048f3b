"""Entries of network shuffling in the kernel's registries."""

from shuffledp.protocols import network
from shuffledp.protocols.family import Family, FirstTask, ShufflerKind, TaskPart

_WALK = """
[shuffler]
kind = "network"  # there is no shuffler: people pass reports on to each other
overlay = {contacts = 100}  # to at most so many others; `shuffledp graph design` compares overlays
"""


def _upper_bounds() -> tuple[object, ...]:
    unwatched = (
        network.NetworkOverlap(),
        network.NetworkSingle(),
        network.NetworkParts(),
        network.NetworkColluders(),
        network.NetworkOnion(),
        network.NetworkGate(),
    )
    return *unwatched, network.NetworkConstantPattern(unwatched)


FAMILY = Family(
    "network",
    shufflers={
        "network": ShufflerKind(
            lambda: network.RandomWalkShuffler,
            "graph",
            True,
            section=lambda: network.NetworkSection,
            best_for="no trusted shuffler: people pass reports on along a graph",
        ),
    },
    task=TaskPart(first={"walk": FirstTask("A survey from hand to hand", tables=_WALK)}),
    theorems={
        "oblivious-shuffle": _upper_bounds,
        "": lambda: (network.NetworkHistogram(), network.NetworkFirstHop()),
    },
    calibrations={"slots": lambda: network.slots},
    games=lambda: (network.CollusionGame, network.TrafficGame, network.WalkGame),
    files=lambda: network.GraphFiles,
    document=lambda: network.WalksDocument,
)
