"""Group preservation: share of a group's reports that a shuffle leaves in the group's own slots."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import kendall_kept_in_interval
from shuffledp.protocols.d_sigma.laws.preservation_laws import ROUND_UP, cayley_lost_law, hamming_lost_law
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import lay, ranks_of
from shuffledp.randomness.sources import RandomSource

_LOST_LAWS = {"cayley": cayley_lost_law, "hamming": hamming_lost_law}
_LONGEST_EXACT = 5_000_000  # people times members up to which a law is written out
_MOST_WORK = 5_000_000  # terms: some seconds


class _PreparedBlocks(Protocol):
    @property
    def order(self) -> Integers: ...
    @property
    def starts(self) -> Integers: ...
    @property
    def parameters(self) -> Floats: ...
    @property
    def model(self) -> ShuffleModel: ...


class SlotPermutation(Protocol):
    """Shuffler that moves reports between slots: `MallowsShuffler` or `NoisySortShuffler`."""

    def prepare(self) -> _PreparedBlocks:
        """Reference order, its blocks, and the parameters of the shuffle."""

    def draw(self, *, source: RandomSource | None = None) -> Integers:
        """Secret permutation: the person whose report lies in each person's slot."""


@dataclass(frozen=True, eq=False)
class Preservation:
    """Preserved share of each group's reports: the mean, and eta, met with probability 1 - delta or more.

    Groups are in the order in which `Groups` iterates.

    Args:
        sizes: people in each group.
        mean: the expected share.
        least: eta: the share that is kept with probability 1 - delta at least.
        is_exact: for each group, whether ``least`` is a bound; else it is an estimate from draws.
        is_mean_exact: for each group, whether ``mean`` is exact; else it is an estimate from draws.
        delta: the probability that belongs to ``least``.
        num_draws: how many draws the estimates rest on.
    """

    sizes: Integers
    mean: Floats
    least: Floats
    is_exact: NDArray[np.bool_]
    is_mean_exact: NDArray[np.bool_]
    delta: float
    num_draws: int

    def __repr__(self) -> str:
        mean, least = (f"{each.min():.4g} to {each.max():.4g}" for each in (self.mean, self.least))
        return (
            f"Preservation({self.sizes.size} groups keep {mean} of their reports on average, "
            f"{int(self.is_mean_exact.sum())} means exact; and {least} with probability {1 - self.delta:g}, "
            f"{int(self.is_exact.sum())} bounds exact; {self.num_draws} draws)"
        )


def preservation(
    shuffler: SlotPermutation,
    groups: Groups,
    *,
    delta: float = 0.01,
    num_draws: int = 200,
    source: RandomSource | None = None,
) -> Preservation:
    """Share of reports that a Mallows shuffle or noisy sort leaves in each group's slots: mean and eta.

    Exact for the Mallows laws of Hamming's and Cayley's distance (Theorem A.4, corrected, and a Markov chain), where it
    does not matter which people of a block a group has. For Kendall's the mean is exact where a group is an interval of
    ranks of one block. The rest is estimated from simulated draws, which nobody's report goes into.

    Args:
        shuffler: what shuffles.
        groups: groups in question; they may differ from the shuffler's.
        delta: strictly between 0 and 1.
        num_draws: of the simulation, 1 or more.
        source: None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range, or the groups are of other people.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 4.4, Theorem A.4.
    """
    validate.open_probability(delta=delta)
    validate.integer_at_least(1, num_draws=num_draws)
    prepared = shuffler.prepare()
    if groups.num_users != prepared.order.size:
        raise InvalidParameterError(f"groups must be of {prepared.order.size} people; got {groups.num_users}.")
    shares = np.array([_kept(shuffler.draw(source=source), groups) for _ in range(num_draws)])
    mean, least = shares.mean(axis=0), np.quantile(shares, delta, axis=0, method="lower")
    is_exact = np.zeros(len(groups), dtype=np.bool_)
    places = _places(prepared, groups, range(len(groups)))
    for number, law in _laws(prepared, places).items():
        mean[number], least[number], is_exact[number] = _mean(law), _eta(law, delta), True
    is_mean_exact = is_exact.copy()
    for number, expected in _kendall_means(prepared, places).items():
        mean[number], is_mean_exact[number] = expected, True
    return Preservation(groups.sizes, mean, least, is_exact, is_mean_exact, delta, int(num_draws))


def exact_means(
    shuffler: SlotPermutation, groups: Groups, numbers: Iterable[int], *, most_work: int = _MOST_WORK
) -> dict[int, float]:
    """Expected preserved share of the given groups, for each group with a known formula.

    It is known for groups that are all of a block, whatever the shuffle; for groups inside a block, under the Mallows
    laws of Hamming's and Cayley's distance; and for intervals of ranks of a block, under Kendall's.

    Args:
        shuffler: what shuffles.
        groups: groups in question; they may differ from the shuffler's.
        numbers: which of them.
        most_work: laws are worked out in the order of ``numbers`` up to about this number of terms.

    Returns:
        Group number to share, without the groups where it is not known, or not worked out.
    """
    prepared = shuffler.prepare()
    places = _places(prepared, groups, numbers)
    whole = {number: 1.0 for number, place in places.items() if place.members == place.size}
    laws = _laws(prepared, {number: place for number, place in places.items() if number not in whole}, most_work)
    return whole | {number: _mean(law) for number, law in laws.items()} | _kendall_means(prepared, places, most_work)


def _kept(permutation: Integers, groups: Groups) -> Floats:
    """Share of each group's slots that hold one of its reports."""
    member = np.zeros(permutation.size, dtype=np.bool_)
    shares = np.empty(len(groups))
    for number, group in enumerate(groups):
        member[group] = True
        shares[number] = member[permutation[group]].mean()
        member[group] = False
    return shares


class _Place(NamedTuple):
    """Group inside one block, with the parameter of the block's shuffle."""

    size: int  # people in the block
    parameter: float
    members: int
    start: int | None  # its first rank in the block, if it has all ranks from there on


def _places(prepared: _PreparedBlocks, groups: Groups, numbers: Iterable[int]) -> dict[int, _Place]:
    """Block size, parameter, members and start of each given group inside one block, by group number.

    Other groups are left out.
    """
    layout, sizes, starts = lay(groups, prepared.order), np.diff(prepared.starts), prepared.starts
    found: dict[int, _Place] = {}
    for number in numbers:
        ranks = ranks_of(layout, number)
        first, last = int(ranks[0]), int(ranks[-1])
        block, other = np.searchsorted(starts, [first, last], side="right") - 1
        if block == other:
            start = int(first - starts[block]) if last - first + 1 == ranks.size else None
            found[number] = _Place(int(sizes[block]), float(prepared.parameters[block]), ranks.size, start)
    return found


def _laws(prepared: _PreparedBlocks, places: dict[int, _Place], most_work: float = math.inf) -> dict[int, Floats]:
    """Law of the number of reports that a group loses, by group number.

    Empty except for Hamming's and Cayley's distance.
    """
    law_of = _LOST_LAWS.get(getattr(prepared.model, "distance", ""))
    if law_of is None:
        return {}
    known: dict[_Place, Floats] = {}
    found: dict[int, Floats] = {}
    for number, place in places.items():
        key, work = place._replace(start=None), place.size * place.members
        if key not in known and work <= min(_LONGEST_EXACT, most_work):
            known[key] = law_of(place.size, place.parameter, place.members)
            most_work -= work
        if key in known:
            found[number] = known[key]
    return found


def _mean(law: Floats) -> float:
    """Expected share of reports that a group keeps."""
    return 1 - float(law @ np.arange(law.size)) / (law.size - 1)


def _eta(law: Floats, delta: float) -> float:
    """Largest share that a group keeps with probability at least 1 - delta.

    Rounding only lowers the share.
    """
    beyond = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0) * ROUND_UP
    most = int(np.flatnonzero(beyond <= delta)[0])
    return 1 - most / (law.size - 1)


def _kendall_means(
    prepared: _PreparedBlocks, places: dict[int, _Place], most_work: float = math.inf
) -> dict[int, float]:
    """Expected share kept by groups that are intervals of ranks, by group number.

    Empty except for Kendall's distance.
    """
    known: dict[_Place, float] = {}
    found: dict[int, float] = {}
    for number, place in places.items() if getattr(prepared.model, "distance", "") == "kendall" else ():
        size, theta, members, start = place
        if start is None:
            continue
        if place not in known and size <= most_work:
            kept = members if math.isinf(theta) else kendall_kept_in_interval(size, theta, start, start + members)
            known[place] = kept / members
            most_work -= size
        if place in known:
            found[number] = known[place]
    return found
