"""The registry of shufflers: one line for each kind.

The table ``[shuffler]`` of a task file and the table of the documentation are generated from it: the keyword arguments
of a shuffler are the keys of the file. A module that is added to this package is made known here, once; a shuffler is
imported when a task names it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shuffledp import shufflers
from shuffledp.core.flow import Shuffler


@dataclass(frozen=True, slots=True)
class ShufflerKind:
    """A kind of shuffler: how it is made, and the facts that a task file takes from it.

    Args:
        find: finds what makes the shuffler of some keyword arguments.
        about: what it is about that the run brings along: "groups" of people, a "graph" of them, or nothing.
        keeps_public: whether labels are people or their slots, so that what is public of them stays beside reports.
        check: finds what refuses keyword arguments that do not go together, while what it is about is not known yet.
        without: keyword arguments that are no keys of a task file.
        best_for: when to choose it, in a few words.
    """

    find: Callable[[], Callable[..., Shuffler]]
    about: str = ""
    keeps_public: bool = False
    check: Callable[[], Callable[..., None]] | None = None
    without: tuple[str, ...] = ()
    best_for: str = ""

    @property
    def make(self) -> Callable[..., Shuffler]:
        """The shuffler of some keyword arguments."""
        return self.find()


KINDS: dict[str, ShufflerKind] = {
    "uniform": ShufflerKind(
        lambda: shufflers.UniformShuffler,
        best_for="the most privacy, where a shuffler is trusted: every order is equally likely",
    ),
    "none": ShufflerKind(
        lambda: shufflers.IdentityShuffler,
        keeps_public=True,
        best_for="for comparison: every report stays its sender's, and statements promise epsilon0",
    ),
    "imperfect": ShufflerKind(
        lambda: shufflers.imperfect_shuffler,
        best_for="a shuffler for which every order is possible, and nearly equally likely",
    ),
    # order inside groups of people
    "mallows": ShufflerKind(
        lambda: shufflers.MallowsShuffler,
        "groups",
        True,
        lambda: shufflers.MallowsShuffler.check,
        best_for="hiding who said what inside every group, while reports stay near their senders",
    ),
    "noisy-sort": ShufflerKind(
        lambda: shufflers.NoisySortShuffler,
        "groups",
        True,
        lambda: shufflers.NoisySortShuffler.check,
        without=("positions", "scale"),
        best_for="the same by sorting positions plus noise, where groups vary in size",
    ),
    # reports that people pass on
    "network": ShufflerKind(
        lambda: shufflers.RandomWalkShuffler,
        "graph",
        True,
        best_for="no trusted shuffler: people pass reports on along a graph",
    ),
}
