"""Registry of shufflers: one line for each kind.

The table ``[shuffler]`` of a task file and the table of the documentation are generated from it: the keyword arguments
of a shuffler are the keys of the file. A module that is added to this package is made known here, once; a shuffler is
imported when a task names it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from shuffledp import shufflers
from shuffledp.core.flow import Shuffler
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.protocols import d_sigma, network, shares


@dataclass(frozen=True, slots=True)
class Described:
    """Model of a shuffle that needs no task: it takes the number of people and at most one further number.

    Args:
        model: the model of the number of people, and of that number.
        number: what the number is called; "" if there is none.
    """

    model: Callable[..., ShuffleModel]
    number: str = ""


@dataclass(frozen=True, slots=True)
class ShufflerKind:
    """Kind of shuffler: its constructor, and its facts for a task file.

    Args:
        find: finds what makes the shuffler of some keyword arguments.
        about: what it is about that the run brings along: "groups" of people, a "graph" of them, or nothing.
        keeps_public: whether labels are people or their slots, so that what is public of them stays beside reports.
        check: finds what refuses keyword arguments that do not go together, while what it is about is not known yet.
        without: keyword arguments that are no keys of a task file.
        best_for: when to choose it, in a few words.
        described: by which names ``--shuffler`` knows it; by none if only a task says all that it needs.
    """

    find: Callable[[], Callable[..., Shuffler]]
    about: str = ""
    keeps_public: bool = False
    check: Callable[[], Callable[..., None]] | None = None
    without: tuple[str, ...] = ()
    best_for: str = ""
    described: Mapping[str, Described] = field(default_factory=dict)

    @property
    def make(self) -> Callable[..., Shuffler]:
        """Constructor of the shuffler, by keyword arguments."""
        return self.find()


def _uniform(num_users: int) -> ShuffleModel:
    return shufflers.UniformShuffleModel(num_users=num_users)


def _none(num_users: int) -> ShuffleModel:
    return shufflers.IdentityShuffleModel(num_users=num_users)


def _worst(num_users: int, imperfection: float) -> ShuffleModel:
    """Worst shuffle with this imperfection."""
    return shares.ImperfectShuffleModel(num_users=num_users, imperfection=imperfection, construction="assumed")


def _in_one_block(num_users: int, concentration: float, *, distance: str) -> ShuffleModel:
    """Mallows shuffle of all people in one block."""
    import numpy as np

    from shuffledp.protocols.d_sigma.people.assignment import Groups

    everybody = Groups.from_labels(np.zeros(num_users, dtype=np.int64))
    return d_sigma.MallowsShuffler(
        groups=everybody, concentration=concentration, distance=distance, per_block=False
    ).model(num_users)


_DISTANCES = {
    "mallows": "kendall",
    "mallows-kendall": "kendall",
    "mallows-hamming": "hamming",
    "mallows-cayley": "cayley",
}

KINDS: dict[str, ShufflerKind] = {
    "uniform": ShufflerKind(
        lambda: shufflers.UniformShuffler,
        best_for="the most privacy, where a shuffler is trusted: every order is equally likely",
        described={"uniform": Described(_uniform)},
    ),
    "none": ShufflerKind(
        lambda: shufflers.IdentityShuffler,
        keeps_public=True,
        best_for="for comparison: every report stays its sender's, and statements promise epsilon0",
        described={"none": Described(_none)},
    ),
    "imperfect": ShufflerKind(
        lambda: shares.imperfect_shuffler,
        best_for="a shuffler for which every order is possible, and nearly equally likely",
        described={"imperfect": Described(_worst, "imperfection")},
    ),
    # order inside groups of people
    "mallows": ShufflerKind(
        lambda: d_sigma.MallowsShuffler,
        "groups",
        True,
        lambda: d_sigma.MallowsShuffler.check,
        best_for="hiding who said what inside every group, while reports stay near their senders",
        described={
            name: Described(partial(_in_one_block, distance=distance), "concentration")
            for name, distance in _DISTANCES.items()
        },
    ),
    "noisy-sort": ShufflerKind(
        lambda: d_sigma.NoisySortShuffler,
        "groups",
        True,
        lambda: d_sigma.NoisySortShuffler.check,
        without=("positions", "scale"),
        best_for="the same by sorting positions plus noise, where groups vary in size",
    ),
    # reports that people pass on
    "network": ShufflerKind(
        lambda: network.RandomWalkShuffler,
        "graph",
        True,
        best_for="no trusted shuffler: people pass reports on along a graph",
    ),
}
