"""The registry of shufflers: one line for each kind.

The table ``[shuffler]`` of a task file and the table of the documentation are generated from it: the keyword arguments
of a shuffler are the keys of the file. A module that is added to this package is made known here, once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.core.flow import Shuffler
from shuffledp.shufflers.imperfect import imperfect_shuffler
from shuffledp.shufflers.mallows import MallowsShuffler
from shuffledp.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.shufflers.random_walk import RandomWalkShuffler
from shuffledp.shufflers.uniform import IdentityShuffler, UniformShuffler


@dataclass(frozen=True, slots=True)
class ShufflerKind:
    """A kind of shuffler: how it is made, and the facts that a task file takes from it.

    Args:
        make: the shuffler of some keyword arguments.
        about: what it is about that the run brings along: "groups" of people, a "graph" of them, or nothing.
        keeps_public: whether labels are people or their slots, so that what is public of them stays beside reports.
        check: refuses keyword arguments that do not go together, while what it is about is not known yet.
        without: keyword arguments that are no keys of a task file.
        best_for: when to choose it, in a few words.
    """

    make: Callable[..., Shuffler]
    about: str = ""
    keeps_public: bool = False
    check: Callable[..., None] | None = None
    without: tuple[str, ...] = ()
    best_for: str = ""


KINDS: dict[str, ShufflerKind] = {
    "uniform": ShufflerKind(
        UniformShuffler, best_for="the most privacy, where a shuffler is trusted: every order is equally likely"
    ),
    "none": ShufflerKind(
        IdentityShuffler,
        keeps_public=True,
        best_for="for comparison: every report stays its sender's, and statements promise epsilon0",
    ),
    "imperfect": ShufflerKind(
        imperfect_shuffler, best_for="a shuffler for which every order is possible, and nearly equally likely"
    ),
    # order inside groups of people
    "mallows": ShufflerKind(
        MallowsShuffler,
        "groups",
        True,
        MallowsShuffler.check,
        best_for="hiding who said what inside every group, while reports stay near their senders",
    ),
    "noisy-sort": ShufflerKind(
        NoisySortShuffler,
        "groups",
        True,
        NoisySortShuffler.check,
        without=("positions", "scale"),
        best_for="the same by sorting positions plus noise, where groups vary in size",
    ),
    # reports that people pass on
    "network": ShufflerKind(
        RandomWalkShuffler, "graph", True, best_for="no trusted shuffler: people pass reports on along a graph"
    ),
}
