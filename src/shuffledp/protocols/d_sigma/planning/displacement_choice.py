"""Choice of a shuffler near a reference order by how far reports move: Mallows by blocks, or a noisy sort."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.table import Floats
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler, checked_order
from shuffledp.randomness.replayable import SeededSource

_PLACES = 20_000  # places measured at least, in three draws or more
_MOST_REFINED = 1_000_000  # members of all groups: some seconds


@dataclass(frozen=True, eq=False)
class LeastDisplacement:
    """Mechanism that moves reports least, with the mean displacements of all mechanisms that were tried.

    Args:
        shuffler: it, prepared.
        displacements: for each mechanism that was tried, how many ranks a report moves on average.
        reason: why, in one sentence.
    """

    shuffler: SlotShuffler
    displacements: Mapping[str, float]
    reason: str


def least_displacement(
    groups: Groups, alpha: float, delta: float | None = None, *, order: str | ArrayLike = "auto"
) -> LeastDisplacement:
    """Mechanism with the least mean displacement at a given loss: Mallows by blocks, or a noisy sort.

    Sorts are tried with adaptive spacing, and up to a million memberships with refined spacing too. It is displacement
    that is compared: a refined spacing can move reports less on the whole, and yet keep fewer in some of the groups.
    All is public: displacements are means over simulated draws with fixed seeds, so that everybody finds the same.

    Args:
        groups: the groups.
        alpha: loss of the order inside a group, 0 or more.
        delta: a remainder that is acceptable: Mallows and Laplace noise spend it (so that their pure loss is larger),
            and Gaussian noise is tried too, which has no pure loss; None if none.
        order: as for `shuffledp.MallowsShuffler`; found once for all.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> from shuffledp.protocols.d_sigma.people.assignment import Groups
        >>> found = least_displacement(Groups.from_radius(np.arange(300), 12), alpha=1.0)
        >>> list(found.displacements)
        ['mallows', 'noisy-sort, laplace', 'noisy-sort, laplace, refined']
    """
    validate.instance_of(Groups, groups=groups)
    reference = checked_order(groups, order)
    candidates: dict[str, SlotShuffler] = {
        "mallows": MallowsShuffler(groups=groups, alpha=alpha, delta=_spendable(alpha, delta), order=reference)
    } | _sorts(groups, alpha, delta, reference)
    found = {name: mean_displacement(each) for name, each in candidates.items()}
    best = min(found, key=lambda name: found[name])
    chosen = candidates[best]
    chosen.chosen_from = MappingProxyType(found)
    return LeastDisplacement(chosen, found, _why(best, found, groups))


def least_displaced(
    *, groups: Groups, alpha: float, delta: float | None = None, order: str | ArrayLike = "auto"
) -> SlotShuffler:
    """Shuffler that `least_displacement` chooses."""
    return least_displacement(groups, alpha, delta, order=order).shuffler


def check_choice(*, alpha: float, delta: float | None) -> None:
    """Refuse parameters that are invalid whatever the groups are."""
    validate.nonnegative(alpha=alpha)
    if delta is not None:
        validate.open_probability(delta=delta)


def _spendable(alpha: float, delta: float | None) -> float | None:
    """Remainder for mechanisms that may go without: ``delta`` if alpha is finite and above 0, else None."""
    return delta if 0 < alpha < math.inf else None


def _sorts(groups: Groups, alpha: float, delta: float | None, order: NDArray[np.int64]) -> dict[str, SlotShuffler]:
    """Noisy sorts by name, simpler gaps first.

    Laplace noise with refined gaps is tried only if no remainder is spent.
    """
    spent = _spendable(alpha, delta)
    kinds: dict[str, tuple[str, str, float | None]] = {"laplace": ("laplace", "adaptive", spent)}
    if delta is not None:
        kinds["gaussian"] = ("gaussian", "adaptive", delta)
    if _can_refine(groups):
        if spent is None:
            kinds["laplace, refined"] = ("laplace", "refined", None)
        if delta is not None:
            kinds["gaussian, refined"] = ("gaussian", "refined", delta)
    return {
        f"noisy-sort, {name}": NoisySortShuffler(
            groups=groups, alpha=alpha, noise=noise, delta=remainder, spacing=spacing, order=order
        )
        for name, (noise, spacing, remainder) in kinds.items()
    }


def _can_refine(groups: Groups) -> bool:
    return groups.num_memberships <= _MOST_REFINED


def _why(best: str, found: Mapping[str, float], groups: Groups) -> str:
    others = "; ".join(f"{name} {found[name]:.3g}" for name in found if name != best)
    untried = "" if _can_refine(groups) else " Refined spacing was not tried: the groups have too many members for it."
    return f"{best} moves a report by {found[best]:.3g} ranks on average, the least at this loss ({others}).{untried}"


def mean_displacement(shuffler: SlotShuffler, *, seed: int = 0) -> float:
    """Mean number of ranks that a report moves, over simulated draws; equal for equal seeds.

    Args:
        shuffler: it is prepared if it is not yet.
        seed: of the simulation.
    """
    return float(
        displacement_draws(shuffler, draws=max(3, -(-_PLACES // shuffler.prepare().order.size)), seed=seed).mean()
    )


def displacement_draws(shuffler: SlotShuffler, *, draws: int, seed: int) -> Floats:
    """Mean number of ranks that a report moves, one for each simulated draw, see `mean_displacement`."""
    ranks = np.arange(shuffler.prepare().order.size)
    sources = (SeededSource(seed).substream("displacement", number) for number in range(draws))
    return np.array([np.abs(shuffler.draw_ranks(source=source) - ranks).mean() for source in sources])
