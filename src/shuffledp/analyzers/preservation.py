"""How much of a group's own answers stays in the group's slots: what a shuffle leaves to be learnt about groups."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError
from shuffledp.groups import Groups, windows
from shuffledp.laws import cayley_lost_law, hamming_lost_law, kendall_kept_in_interval
from shuffledp.permutations import invert

if TYPE_CHECKING:
    from shuffledp.models import ShuffleModel
    from shuffledp.randomness import RandomSource

__all__ = ["Preservation", "SlotPermutation", "preservation"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUND_UP = 1 + 1e-6
_LOST_LAWS = {"cayley": cayley_lost_law, "hamming": hamming_lost_law}
_LONGEST_EXACT = 5_000_000  # people times members up to which a law is written out


class _PreparedBlocks(Protocol):
    order: Integers
    starts: Integers
    parameters: Floats
    model: "ShuffleModel"


class SlotPermutation(Protocol):
    """A shuffler that keeps slots: `shuffledp.MallowsShuffler`, `shuffledp.NoisySortShuffler`."""

    def prepare(self) -> _PreparedBlocks:
        """Reference order, blocks and parameters."""

    def draw(self, *, source: "RandomSource | None" = None) -> Integers:
        """The secret permutation of people."""


@dataclass(frozen=True, eq=False)
class Preservation:
    """For each group, in the order of iteration, the share of its slots that hold one of its own reports.

    Args:
        sizes: people in each group.
        mean: the expected share.
        least: eta: the share that is kept with probability 1 - delta at least.
        is_exact: for each group, whether ``least`` is a bound and ``mean`` exact; else both are estimates from draws.
        delta: the probability that belongs to ``least``.
        num_draws: how many draws the estimates rest on.
    """

    sizes: Integers
    mean: Floats
    least: Floats
    is_exact: NDArray[np.bool_]
    delta: float
    num_draws: int


def preservation(
    shuffler: SlotPermutation,
    groups: Groups,
    *,
    delta: float = 0.01,
    num_draws: int = 200,
    source: "RandomSource | None" = None,
) -> Preservation:
    """(eta, delta)-preservation of each group, by a Mallows shuffle or a noisy sort.

    Exact for the Mallows laws of Hamming's and Cayley's distance (Theorem A.4, corrected, and a Markov chain), where it
    does not matter which people of a block a group has. For Kendall's the mean is exact where a group is an interval of
    ranks of one block. The rest is estimated from simulated draws, which nobody's report goes into.

    Args:
        shuffler: what shuffles.
        groups: the groups asked about; they may be others than those of the shuffler.
        delta: strictly between 0 and 1.
        num_draws: of the simulation, 1 or more.
        source: None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range, or the groups are of other people.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 4.4, Theorem A.4.
    """
    _validate.open_probability(delta=delta)
    _validate.integer_at_least(1, num_draws=num_draws)
    prepared = shuffler.prepare()
    if groups.num_users != prepared.order.size:
        raise InvalidParameterError(f"groups must be of {prepared.order.size} people; got {groups.num_users}.")
    shares = np.array([_kept(shuffler.draw(source=source), groups) for _ in range(num_draws)])
    mean, least = shares.mean(axis=0), np.quantile(shares, delta, axis=0, method="lower")
    is_exact = np.zeros(len(groups), dtype=np.bool_)
    distance = getattr(prepared.model, "distance", None)
    if distance in _LOST_LAWS:
        for number, (expected, eta) in _by_law(prepared, groups, distance, delta).items():
            mean[number], least[number], is_exact[number] = expected, eta, True
    elif distance == "kendall":
        for number, expected in _in_intervals(prepared, groups).items():
            mean[number] = expected
    return Preservation(groups.sizes, mean, least, is_exact, delta, int(num_draws))


def _kept(permutation: Integers, groups: Groups) -> Floats:
    """The share of each group's slots that hold one of its reports."""
    member = np.zeros(permutation.size, dtype=np.bool_)
    shares = np.empty(len(groups))
    for number, group in enumerate(groups):
        member[group] = True
        shares[number] = member[permutation[group]].mean()
        member[group] = False
    return shares


def _by_law(prepared: _PreparedBlocks, groups: Groups, distance: str, delta: float) -> dict[int, tuple[float, float]]:
    """Mean and eta of the groups that lie in one block, from the law of how many reports a set loses."""
    found: dict[int, tuple[float, float]] = {}
    known: dict[tuple[int, float, int], tuple[float, float]] = {}
    for number, (size, theta, members) in _within_blocks(prepared, groups).items():
        key = (size, theta, members)
        if size * members > _LONGEST_EXACT:
            continue
        if key not in known:
            law = _LOST_LAWS[distance](size, theta, members)
            known[key] = 1 - float(law @ np.arange(law.size)) / members, _eta(law, delta)
        found[number] = known[key]
    return found


def _eta(law: Floats, delta: float) -> float:
    """The largest share that is kept with probability 1 - delta: fewer than so many are lost, rounded safely."""
    beyond = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0) * _ROUND_UP
    most = int(np.flatnonzero(beyond <= delta)[0])
    return 1 - most / (law.size - 1)


def _in_intervals(prepared: _PreparedBlocks, groups: Groups) -> dict[int, float]:
    """The exact mean of the groups that are all the people of an interval of ranks of one block."""
    found = windows(groups, prepared.order)
    inside = _within_blocks(prepared, groups)
    starts = prepared.starts
    exact: dict[int, float] = {}
    known: dict[tuple[int, float, int, int], float] = {}
    for number, (size, theta, members) in inside.items():
        if found.last[number] - found.first[number] + 1 != members:
            continue
        start = int(found.first[number] - starts[np.searchsorted(starts, found.first[number], side="right") - 1])
        key = (size, theta, start, members)
        if key not in known:
            kept = members if math.isinf(theta) else kendall_kept_in_interval(size, theta, start, start + members)
            known[key] = kept / members
        exact[number] = known[key]
    return exact


def _within_blocks(prepared: _PreparedBlocks, groups: Groups) -> dict[int, tuple[int, float, int]]:
    """Size and concentration of its block, and number of members, of each group that lies in one block."""
    rank = invert(prepared.order)
    sizes = np.diff(prepared.starts)
    found: dict[int, tuple[int, float, int]] = {}
    for number, group in enumerate(groups):
        blocks = np.searchsorted(prepared.starts, rank[group], side="right") - 1
        if blocks.min() == blocks.max():
            block = int(blocks[0])
            found[number] = (int(sizes[block]), float(prepared.parameters[block]), int(group.size))
    return found
