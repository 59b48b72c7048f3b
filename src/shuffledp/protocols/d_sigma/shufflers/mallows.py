"""Mallows shuffler: random orders near a reference order, likelier the fewer pairs they reverse."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.described import without_none
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.shuffle_models import PositionLaw, SwapWindows
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import DISTANCES, stay_probability
from shuffledp.laws.mallows_sampling import mallows_parts
from shuffledp.protocols.d_sigma.laws.loss_profiles import SizedProfile
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import MeasuredOrder, blocks_between, windows
from shuffledp.protocols.d_sigma.shufflers.group_profiles import block_concentrations, mallows_laws, profiles_of
from shuffledp.protocols.d_sigma.shufflers.reference_order import (
    Prepared,
    SlotShuffleModel,
    SlotShuffler,
    crossing,
    window_sizes,
)
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import SwapGeometry
from shuffledp.randomness.sources import RandomSource, resolve_source

_NEGLIGIBLE = 45.0  # places of weight below exp(-45) are left out

# By how much exchanging two people whose ranks are this far apart changes a distance, at most.
_CHANGES: dict[str, Callable[[Any], Any]] = {  # of a number or an array of them
    "kendall": lambda apart: 2 * apart - 1,
    "hamming": lambda apart: 0 * apart + 2,
    "cayley": lambda apart: 0 * apart + 1,
}
# The sensitivity of a group of this many people who stand next to each other; of others it is no smaller.
_LEAST: dict[str, Callable[[int], int]] = {
    "kendall": lambda group: group * (group - 1) // 2,
    "hamming": lambda group: group,
    "cayley": lambda group: group - 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MallowsShuffleModel(SlotShuffleModel):
    """Public description of a Mallows shuffle, without the groups.

    Blocks of equal size and concentration are counted together. Without the groups it cannot be checked that alpha is
    the exact loss, only that it is not below what any groups as large would lose.

    Args:
        num_users: users in the batch, 1 or more.
        groups_digest: of the groups that ``alpha`` is about.
        alpha: the loss of the order inside a group, infinity included.
        distance: "kendall", "hamming" or "cayley".
        block_sizes: the number of people of each kind of block.
        concentrations: of each kind of block; 0 is a uniform shuffle of the block, and infinity none at all.
        block_counts: how many blocks of each kind there are.
        delta: the remainder that goes with it; 0 for a pure loss.
        largest_group: people in the largest group.
        num_alone: people who are the only ones in their block.
        num_colluding: people who may work together with the analyst.
        pure_alpha: the loss without a remainder, where ``alpha`` has one; else None.
    """

    kind: ClassVar[str] = "mallows"
    num_users: int
    groups_digest: str
    alpha: float
    distance: str
    block_sizes: tuple[int, ...]
    concentrations: tuple[float, ...]
    block_counts: tuple[int, ...]
    delta: float = 0.0
    largest_group: int = 0
    num_alone: int = 0
    num_colluding: int = 0
    pure_alpha: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of all keys, without ``pure_alpha`` if it is None."""
        return without_none(super(MallowsShuffleModel, self).to_dict(), "pure_alpha")

    @property
    def pure_loss(self) -> float:
        """Largest loss of the order inside a group, without a remainder."""
        return self.alpha if self.pure_alpha is None else self.pure_alpha

    def __post_init__(self) -> None:
        self._check_common()
        if (self.pure_alpha is None) == (self.delta > 0):
            raise InvalidParameterError("pure_alpha must be given beside a delta above 0, and only there.")
        validate.nonnegative(pure_alpha=self.pure_loss)
        validate.one_of(DISTANCES, distance=self.distance)
        if not len(self.block_sizes) == len(self.concentrations) == len(self.block_counts):
            raise InvalidParameterError("block_sizes, concentrations and block_counts must have one length.")
        for size, theta, count in self._kinds():
            validate.integer_at_least(1, block_sizes=size, block_counts=count)
            validate.nonnegative(concentrations=theta)
        people = sum(size * count for size, _, count in self._kinds())
        if people != self.num_users:
            raise validate.invalid(f"the number of people in all blocks, {people}", num_users=self.num_users)
        alone = sum(count for size, _, count in self._kinds() if size == 1)
        if alone != self.num_alone:
            raise validate.invalid(f"the number of blocks of one person, {alone}", num_alone=self.num_alone)
        if self.largest_group > 1 and self.pure_loss < math.inf:
            self._check_alpha()

    def _check_alpha(self) -> None:
        """Refuse an alpha below the least loss that groups can have in blocks of these concentrations.

        Groups lose least on neighboring ranks: two people in a block, and the largest group in the block that costs it
        least.
        """
        group = self.largest_group
        holding = [theta for size, theta, _ in self._kinds() if size >= group]
        if not holding:
            raise validate.invalid(f"at most the largest block, {max(self.block_sizes)}", largest_group=group)
        most = max((theta for size, theta, _ in self._kinds() if size > 1), default=0.0)
        least = max(
            _product_rounded_up(most, _LEAST[self.distance](2)),
            _product_rounded_up(min(holding), _LEAST[self.distance](group)),
        )
        if self.pure_loss < least:
            name = "alpha" if self.pure_alpha is None else "pure_alpha"
            raise validate.invalid(f"at least the loss of the concentrations, {least:.6g}", **{name: self.pure_loss})

    def _kinds(self) -> "zip[tuple[int, float, int]]":
        return zip(self.block_sizes, self.concentrations, self.block_counts, strict=True)

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Windows of ranks in the least mixed blocks: no other block is both smaller and more concentrated.

        Exchanging two people whose ranks differ by w changes Kendall's distance by at most 2 w - 1, Hamming's by 2 and
        Cayley's by 1.
        """
        found: list[SwapWindows] = []
        least = -1.0
        for size, theta, count in sorted(self._kinds()):
            if size > 1 and theta <= least:
                continue
            least = max(least, theta if size > 1 else least)
            sizes = window_sizes(size)
            costs = tuple(self._cost(theta, window) for window in sizes)
            found.append(SwapWindows(sizes=self._honest(sizes), costs=costs, people=size * count))
        return tuple(found)

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Position laws that cover every kind of block; empty if there are colluders.

        Of Hamming's and Cayley's distance a report stays where it is with one probability, and all other places are
        equally likely. Of Kendall's, exchanging neighbors changes every probability by a factor of at most e^theta; so
        nobody's law, sorted, falls faster than that of the person at the end of the block, e^(-theta) a place. Blocks
        that are no smaller and no more concentrated than another are left out.
        """
        if self.num_colluding:
            return ()
        laws: list[PositionLaw] = []
        most = -1.0
        for size, theta, _ in sorted(self._kinds(), key=lambda kind: (kind[0], -kind[1])):
            if (math.inf if size == 1 else theta) > most:
                most = math.inf if size == 1 else theta
                laws.append(_position_law(size, theta, self.distance))
        return tuple(laws)

    def _cost(self, theta: float, window: int) -> float:
        return _product_rounded_up(theta, _CHANGES[self.distance](window - 1) if window > 1 else 0)


class MallowsShuffler(SlotShuffler):
    """Shuffler that fills the slot at rank k with the report of the person at rank w[k], w from a Mallows law.

    Pr[w] is proportional to exp(-concentration * distance(w, identity)) in each block of the reference order, and
    blocks are independent. Row j of the label table is person j's, and the report beside it is one from nearby.

    Guarantees:
        1. (alpha, groups)-d_sigma privacy, whatever the reports are: alpha is the largest of concentration times the
           exact sensitivity, which distinct reports attain.
        2. With ``delta``, (alpha, delta, groups)-d_sigma privacy by the exact loss profile of groups without gaps, and
           a larger pure loss besides.
        3. Nobody's report leaves their block; with infinite concentration everybody is a block of their own.
        4. alpha = 0 is the uniform law within each block, and alpha = infinity the identity, which hides nothing.

    Args:
        groups: public groups of people.
        alpha: loss of the order inside a group, 0 or more, infinity included; or None, and
        concentration: "theta" in papers: the same for all blocks, 0 or more.
        distance: "kendall", "hamming" or "cayley"; of the latter two all ranks of a block are equally near.
        order: how `shuffledp.protocols.d_sigma.reference_order` finds the order, or the order itself.
        per_block: whether each block that no group crosses gets its own concentration, else the costliest one's.
        delta: a remainder to spend, strictly between 0 and 1, beside a finite ``alpha`` above 0 and for Kendall's
            distance: the larger the groups, the less they are displaced for it; None for a pure loss.

    Raises:
        InvalidParameterError: if not exactly one of ``alpha`` and ``concentration`` is given, or one is out of range.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 4.3. Sensitivity
        and blocks are our own.

    Example:
        >>> groups = Groups.from_labels(["a", "b", "b", "a", "c"])
        >>> shuffler = MallowsShuffler(groups=groups, alpha=1.0)
        >>> shuffler.model(5).alpha, shuffler.model(5).num_alone
        (1.0, 1)
    """

    groups: Groups

    def __init__(
        self,
        *,
        groups: Groups,
        alpha: float | None = None,
        concentration: float | None = None,
        distance: str = "kendall",
        order: str | ArrayLike = "auto",
        per_block: bool = True,
        delta: float | None = None,
    ) -> None:
        validate.instance_of(Groups, groups=groups)
        self.check(alpha=alpha, concentration=concentration, distance=distance, per_block=per_block, delta=delta)
        self.groups, self.distance, self.per_block = groups, distance, per_block
        self.alpha, self.concentration, self.delta = alpha, concentration, delta
        self._order = order

    @staticmethod
    def check(
        *,
        alpha: float | None,
        concentration: float | None,
        distance: str,
        per_block: bool,
        delta: float | None = None,
    ) -> None:
        """Check that the parameters can be combined, before any groups are known."""
        validate.one_of(DISTANCES, distance=distance)
        if (alpha is None) == (concentration is None):
            given = "neither" if alpha is None else "both"
            raise InvalidParameterError(f"exactly one of alpha and concentration must be given; got {given}.")
        validate.nonnegative(alpha=0 if alpha is None else alpha)
        validate.nonnegative(concentration=0 if concentration is None else concentration)
        validate.instance_of(bool, per_block=per_block)
        if delta is not None:
            validate.open_probability(delta=delta)
            if concentration is not None or distance != "kendall":
                raise InvalidParameterError(
                    f"delta must be left out but beside alpha, for Kendall's distance; got delta={delta!r}, "
                    f"concentration={concentration!r}, distance={distance!r}."
                )
            if not 0 < float(alpha or 0) < math.inf:
                raise validate.invalid("finite and above 0 beside delta", alpha=alpha)

    def _prepare(self) -> Prepared:
        along = self._measured()
        starts, sensitivities = blocks_between(along.windows, self.groups.num_users, self.distance)
        if not self.per_block:
            starts, sensitivities = starts[[0, -1]], sensitivities[[sensitivities.argmax()]]
        thetas = self._concentrations(along, starts, sensitivities)
        losses = {(float(theta), int(cost)) for theta, cost in zip(thetas, sensitivities, strict=True)}
        pure = max(_product_rounded_up(*each) for each in losses)
        starts, thetas = _cut_where_infinite(starts, thetas)
        sizes = np.diff(starts)
        kinds = sorted(Counter(zip(sizes.tolist(), thetas.tolist(), strict=True)).items())
        model = MallowsShuffleModel(
            num_users=self.groups.num_users,
            groups_digest=self.groups.digest,
            alpha=pure if self.delta is None else float(self.alpha or 0),
            delta=self.delta or 0.0,
            pure_alpha=None if self.delta is None else pure,
            distance=self.distance,
            block_sizes=tuple(size for (size, _), _ in kinds),
            concentrations=tuple(theta for (_, theta), _ in kinds),
            block_counts=tuple(count for _, count in kinds),
            largest_group=int(self.groups.sizes.max()),
            num_alone=int((sizes == 1).sum()),
        )
        return Prepared(along.order, starts, thetas, lambda: model)

    def _concentrations(self, along: MeasuredOrder, starts: Integers, sensitivities: Integers) -> Floats:
        """Largest concentration of each block within the budget; infinite where no group needs its order hidden."""
        if self.concentration is not None:
            return np.full(sensitivities.size, float(self.concentration))
        budget = float(self.alpha or 0)
        if self.delta is not None:
            return block_concentrations(along.windows, starts, budget, self.delta)
        distinct, place = np.unique(sensitivities, return_inverse=True)
        return np.array([_quotient_rounded_down(budget, each) for each in distinct.tolist()])[place]

    def rank_parts(self, *, source: RandomSource | None = None) -> Iterator[Integers]:
        """Parts of the permutation, see `SlotShuffler.rank_parts`: for Kendall's distance, a million ranks each."""
        prepared = self.prepare()
        return mallows_parts(np.diff(prepared.starts), prepared.parameters, self.distance, resolve_source(source))

    def swap_costs(self, person: int) -> Floats:
        """Costs of exchanges, see `SlotShuffler.swap_costs`."""
        prepared = self.prepare()
        rank, block = self._rank_and_block(person)
        theta = float(prepared.parameters[np.searchsorted(prepared.starts, rank, side="right") - 1])
        apart = np.abs(np.arange(block.start, block.stop) - rank)
        costs = np.full(prepared.order.size, math.inf)
        with np.errstate(over="ignore"):
            costs[prepared.order[block]] = (
                np.nextafter(theta * _CHANGES[self.distance](apart), math.inf) if theta else 0.0
            )
        costs[person] = 0.0
        return costs

    def profiles(self, *, releases: int = 1) -> tuple[SizedProfile, ...]:
        """Loss profiles by group size, see `SlotShuffler.profiles`; exact for groups without gaps."""
        validate.integer_at_least(1, releases=releases)
        return profiles_of(self.order_laws(), releases)

    def order_laws(self) -> tuple[OrderLaw, ...]:
        """Laws by group size, see `SlotShuffler.order_laws`."""
        prepared = self.prepare()
        first = windows(self.groups, prepared.order).first
        thetas = prepared.parameters[np.searchsorted(prepared.starts, first, side="right") - 1]
        return mallows_laws(self.groups, prepared.order, thetas, self.distance)

    def swap_geometry(self) -> SwapGeometry:
        """Ranks spaced by the concentration, see `SlotShuffler.swap_geometry`; only for Kendall's distance."""
        if self.distance != "kendall":
            raise UnsupportedModelError(f"swap costs are distances for Kendall's; got distance={self.distance!r}.")
        return SwapGeometry.of_concentrations(self.prepare().starts, self.prepare().parameters)

    def d_sigma_for(self, groups: Groups) -> DSigmaPrivacy:
        """Guarantee for other groups, see `SlotShuffler.d_sigma_for`; infinite if a group crosses blocks.

        With a single concentration it is alpha times the ratio of the sensitivities (Theorem 4.4).
        """
        self._same_people(groups)
        prepared = self.prepare()
        found = windows(groups, prepared.order)
        costs = found.sensitivities(self.distance)
        thetas = prepared.parameters[np.searchsorted(prepared.starts, found.first, side="right") - 1]
        if (crossing(prepared.starts, found.first, found.last) & (costs > 0)).any():
            return DSigmaPrivacy(alpha=math.inf, groups_digest=groups.digest)
        losses = {(float(theta), int(cost)) for theta, cost in zip(thetas, costs, strict=True)}
        return DSigmaPrivacy(alpha=max(_product_rounded_up(*each) for each in losses), groups_digest=groups.digest)


def _position_law(size: int, theta: float, distance: str) -> PositionLaw:
    if theta == math.inf or size == 1:
        return PositionLaw(weights=(1.0,), counts=(1,), whose="somebody whose report is not moved")
    whose = f"anybody in a block of {size}"
    if theta == 0:
        return PositionLaw(weights=(1 / size,), counts=(size,), whose=whose)
    if distance != "kendall":
        stays = stay_probability(size, theta, distance=distance)
        return PositionLaw(weights=(stays, (1 - stays) / (size - 1)), counts=(1, size - 1), whose=whose)
    places = np.arange(min(size, math.ceil(_NEGLIGIBLE / theta)))
    weights = np.exp(-theta * places)
    weights = np.maximum(weights / weights.sum(), 0.0)
    return PositionLaw(
        weights=tuple(weights.tolist()), counts=(1,) * places.size, whose=f"at an end of a block of {size}"
    )


def _cut_where_infinite(starts: Integers, thetas: Floats) -> tuple[Integers, Floats]:
    """Starts and concentrations of blocks, after each block of infinite concentration is cut into single people."""
    sizes = np.diff(starts)
    if not (np.isinf(thetas) & (sizes > 1)).any():
        return starts, thetas
    infinite = np.isinf(np.repeat(thetas, sizes))
    first = np.zeros(infinite.size, dtype=np.bool_)
    first[starts[:-1]] = True
    kept = np.flatnonzero(first | infinite)
    return np.append(kept, starts[-1]), np.repeat(thetas, sizes)[kept]


def _quotient_rounded_down(budget: float, sensitivity: int) -> float:
    """Largest float whose product with the sensitivity is within the budget."""
    if sensitivity == 0 or math.isinf(budget):
        return math.inf
    nearest = budget / sensitivity
    return nearest if Fraction(nearest) * sensitivity <= Fraction(budget) else math.nextafter(nearest, 0)


def _product_rounded_up(theta: float, sensitivity: int) -> float:
    """Product of theta and sensitivity, rounded up; 0 where the sensitivity is 0."""
    if sensitivity == 0 or theta in (0, math.inf):
        return 0.0 if sensitivity == 0 else theta
    exact = Fraction(theta) * sensitivity
    nearest = theta * sensitivity
    return nearest if nearest == math.inf or Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
