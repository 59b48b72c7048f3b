"""Noisy-sort shuffler: each person has a public position, noise is added, and reports leave in the noisy order."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.shuffle_models import SwapWindows
from shuffledp.core.table import Floats, Integers
from shuffledp.laws import NOISES, gaussian_alpha, gaussian_mu, sample_noisy_sort
from shuffledp.protocols.d_sigma.laws.loss_profiles import SizedProfile
from shuffledp.protocols.d_sigma.laws.spacing import adaptive_gaps, positions_of_gaps, refined_gaps, uniform_gaps
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.layout import ranks_by_group
from shuffledp.protocols.d_sigma.people.sensitivity import MeasuredOrder, position_spreads, windows
from shuffledp.protocols.d_sigma.shufflers.group_profiles import (
    gaussian_laws,
    laplace_laws,
    laplace_profiles,
    laplace_scales,
    profiles_of,
)
from shuffledp.protocols.d_sigma.shufflers.reference_order import (
    Prepared,
    SlotShuffleModel,
    SlotShuffler,
    crossing,
    window_sizes,
)
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import SwapGeometry, least_window_costs
from shuffledp.randomness.sources import RandomSource

SPACINGS = ("adaptive", "uniform", "refined")
_FAR = 1e140  # in units of the noise: people further apart never change places, and sums of squares stay floats
_LEAST_REFINED = 1e-250  # smaller budgets leave no digits to refine
_ROUND_UP = 1 + 1e-12
_PRICES = (0.3, 3.0, 30.0)  # of being among few: people are alike if they do alike at all of these
_CLASSES_PER_DOUBLING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySortShuffleModel(SlotShuffleModel):
    """Public description of a noisy sort, without groups and positions.

    Args:
        num_users: users in the batch, 1 or more.
        noise: "laplace" or "gaussian".
        spread: the largest spread of a group's positions in units of the noise, rounded up: the loss alpha of Laplace
            noise, and the mu of `shuffledp.laws.gaussian_delta` for Gaussian noise; 0 without groups.
        alpha: the loss of the order inside a group, infinity included; with a remainder it may be below the spread of
            Laplace noise, by the loss profile.
        delta: the remainder that goes with it.
        groups_digest: of the groups that ``alpha`` is about; None if there are none.
        windows: windows of the least mixed people, for Laplace noise.
        largest_group: people in the largest group; 0 without groups.
        num_alone: people who are the only ones in their block.
        num_colluding: people who may work together with the analyst.
    """

    kind: ClassVar[str] = "noisy-sort"
    num_users: int
    noise: str
    spread: float
    alpha: float
    delta: float = 0.0
    groups_digest: str | None = None
    windows: tuple[SwapWindows, ...] = ()
    largest_group: int = 0
    num_alone: int = 0
    num_colluding: int = 0

    def __post_init__(self) -> None:
        self._check_common()
        validate.one_of(NOISES, noise=self.noise)
        validate.nonnegative(spread=self.spread)
        least = (0.0 if self.delta else self.spread) if self.noise == "laplace" else self._gaussian_least()
        if self.alpha < least:
            raise validate.invalid(f"at least the loss of the spread, {least:.6g}", alpha=self.alpha)

    def _gaussian_least(self) -> float:
        if self.delta == 0:
            return math.inf if self.spread else 0.0
        return gaussian_alpha(self.spread, self.delta) if self.delta < 1 else 0.0

    @property
    def pure_loss(self) -> float:
        """Largest loss of the order inside a group, without a remainder: the spread, for Laplace noise."""
        return self.spread if self.noise == "laplace" or not self.spread else math.inf

    def swap_windows(self) -> tuple[SwapWindows, ...]:
        """Windows of ranks with swap costs: for Laplace noise of scale 1, twice the distance of positions."""
        return tuple(
            SwapWindows(sizes=self._honest(each.sizes), costs=each.costs, people=each.people) for each in self.windows
        )


class NoisySortShuffler(SlotShuffler):
    """Shuffler that sorts people by position plus noise; the slot at rank k gets the report of the k-th person.

    Positions follow a reference order. With groups, gaps between neighbors are chosen from public information so that
    no group loses more than the budget; the order is cut where no group crosses, and each block is sorted by itself.
    Noise is independent and of one law for everybody, which all theorems about sorting need.

    Guarantees:
        1. With Laplace noise (alpha, groups)-d_sigma privacy, whatever the reports are; with ``delta`` besides, (alpha,
           delta, groups)-d_sigma privacy by the loss profile, and a larger pure loss.
        2. With Gaussian noise (alpha, delta, groups)-d_sigma privacy, and no pure loss.
        3. Nobody's report leaves their block; equal positions come out in uniformly random order.
        4. alpha = 0 is the uniform law within each block, and alpha = infinity the identity, which hides nothing.

    Args:
        groups: public groups of people; None if only positions are given.
        alpha: loss of the order inside a group, 0 or more, infinity included; or None, and
        positions: a public number for each person, such as a time of arrival, at most 1e140 times the scale; one block.
        scale: of the noise around these positions, above 0; None is 1. Mean absolute value for Laplace noise,
            standard deviation for Gaussian.
        noise: "laplace" or "gaussian".
        spacing: "adaptive" (each gap as wide as the groups around it allow), "uniform" (all gaps equal) or "refined"
            (adaptive, then lengthened by a convex program: slower, and worth it where groups vary a lot).
        delta: the remainder, strictly between 0 and 1: Gaussian noise needs one. With Laplace noise, a finite alpha
            above 0 and no refined spacing, it is spent: the larger the groups, the less they are displaced.
        order: how `shuffledp.protocols.d_sigma.reference_order` finds the order, or the order itself; no ``positions``.

    Raises:
        InvalidParameterError: if not exactly one of ``alpha`` and ``positions`` is given, what goes with it is missing,
            or an argument is out of range.

    References:
        Sorting with Laplace noise is the delay shuffler of the imperfect shuffle model; its loss for groups, spacings
        and the Gaussian variant are our own (docs/theorems.md).

    Example:
        >>> shuffler = NoisySortShuffler(groups=Groups.from_radius([20, 21, 30, 31, 33], radius=2), alpha=1.0)
        >>> round(shuffler.model(5).alpha, 6)
        1.0
    """

    def __init__(
        self,
        *,
        groups: Groups | None = None,
        alpha: float | None = None,
        positions: ArrayLike | None = None,
        scale: float | None = None,
        noise: str = "laplace",
        spacing: str = "adaptive",
        delta: float | None = None,
        order: str | ArrayLike = "auto",
    ) -> None:
        if groups is not None:
            validate.instance_of(Groups, groups=groups)
        if (alpha is None) == (positions is None):
            raise InvalidParameterError(
                f"exactly one of alpha and positions must be given; got {'neither' if alpha is None else 'both'}."
            )
        if positions is None and (groups is None or scale is not None):
            wrong = "groups=None" if groups is None else f"scale={scale}"
            raise InvalidParameterError(
                f"alpha must be given with groups and without scale (positions are chosen for scale 1); got {wrong}."
            )
        validate.positive(scale=1 if scale is None else scale)
        self.check(alpha=alpha or 0.0, noise=noise, spacing=spacing, delta=delta, has_groups=groups is not None)
        self.groups, self.alpha, self.delta = groups, alpha, delta
        self.noise, self.spacing, self._order = noise, spacing, order
        self._at = None if positions is None else _checked_positions(positions, groups, float(scale or 1))

    @staticmethod
    def check(*, alpha: float | None, noise: str, spacing: str, delta: float | None, has_groups: bool = True) -> None:
        """Check that the parameters can be combined, before any groups are known."""
        validate.one_of(NOISES, noise=noise)
        validate.one_of(SPACINGS, spacing=spacing)
        if alpha is None:
            raise InvalidParameterError("alpha must be given; got none.")
        validate.nonnegative(alpha=alpha)
        if delta is not None:
            validate.open_probability(delta=delta)
        if delta is None and noise == "gaussian" and has_groups:
            raise InvalidParameterError("delta must be given for Gaussian noise with groups; got delta=None.")
        if delta is None or (noise == "gaussian" and has_groups):
            return
        if not has_groups or alpha == 0:
            raise InvalidParameterError(f"delta must be left out without groups and alpha; got delta={delta!r}.")
        if alpha == math.inf:
            raise validate.invalid("finite beside delta", alpha=alpha)
        if spacing == "refined":
            raise validate.invalid("'adaptive' or 'uniform' where Laplace noise has a delta", spacing=spacing)

    @property
    def _power(self) -> int:
        return 1 if self.noise == "laplace" else 2

    def _prepare(self) -> Prepared:
        if self._at is not None:
            order = np.argsort(self._at, kind="stable").astype(np.int64)
            starts, at = np.array([0, order.size]), self._at[order] - self._at.min()
        else:
            along = self._measured()
            order, gaps = along.order, self._gaps(along)
            starts = np.concatenate([[0], np.flatnonzero(np.isinf(gaps)) + 1, [order.size]])
            at = positions_of_gaps(gaps)
        return Prepared(order, starts, at, partial(self._described, order, starts, at))

    def _described(self, order: Integers, starts: Integers, at: Floats) -> NoisySortShuffleModel:
        """Public description of the sort; its computation takes longer than a draw."""
        spread = self._spread(self.groups, order, starts, at) if self.groups is not None else 0.0
        return NoisySortShuffleModel(
            num_users=order.size,
            noise=self.noise,
            spread=spread,
            alpha=self._loss(spread) if self.delta is None or self.noise == "gaussian" else float(self.alpha or 0),
            delta=self.delta or 0.0,
            groups_digest=None if self.groups is None else self.groups.digest,
            windows=worst_windows(at, starts) if self.noise == "laplace" else (),
            largest_group=0 if self.groups is None else int(self.groups.sizes.max()),
            num_alone=int((np.diff(starts) == 1).sum()),
        )

    def _gaps(self, along: MeasuredOrder) -> Floats:
        """Gap after each rank except the last, infinite at the end of a block."""
        groups, order, found = along.groups, along.order, along.windows
        budget = float(self.alpha or 0)
        if budget < math.inf:
            budget = min(budget, _FAR) if self.noise == "laplace" else gaussian_mu(budget, self.delta or 0.5)
        spreads = along.unit_spreads(self._power)
        if self._power == 1 and self.delta is not None:
            spreads = budget / laplace_scales(groups, order, budget, self.delta)
        gaps = adaptive_gaps(order.size, found.first, found.last, spreads, budget)
        if self.spacing == "uniform" and budget < math.inf:
            equal = uniform_gaps(order.size, float(spreads.max()), budget)
            return np.where(np.isinf(gaps), gaps, equal)
        if self.spacing == "refined" and _LEAST_REFINED < budget < math.inf:
            return refined_gaps(gaps, ranks_by_group(groups, order), budget, power=self._power)
        return gaps

    def _spread(self, groups: Groups, order: Integers, starts: Integers, at: Floats) -> float:
        """Largest spread of a group, infinite if it reaches into several blocks."""
        found = windows(groups, order)
        if crossing(starts, found.first, found.last).any():
            return math.inf
        spread = float(position_spreads(groups, order, at, power=self._power).max())
        return spread if self._power == 1 else math.sqrt(spread) * _ROUND_UP

    def _loss(self, spread: float) -> float:
        """Alpha of a spread: for Laplace noise the spread, for Gaussian noise alpha at ``delta``.

        It is 0 for Gaussian noise without ``delta``.
        """
        if self.noise == "laplace":
            return spread
        return gaussian_alpha(spread, self.delta) if self.delta is not None else 0.0

    def profiles(self, *, releases: int = 1) -> tuple[SizedProfile, ...]:
        """Loss profiles by group size, see `SlotShuffler.profiles`."""
        validate.integer_at_least(1, releases=releases)
        if self.noise == "laplace":
            return laplace_profiles(*self._placed(), releases)
        return profiles_of(self.order_laws(), releases)

    def order_laws(self) -> tuple[OrderLaw, ...]:
        """Laws by group size, see `SlotShuffler.order_laws`."""
        return (laplace_laws if self.noise == "laplace" else gaussian_laws)(*self._placed())

    def _placed(self) -> tuple[Groups, Integers, Floats, NDArray[np.bool_]]:
        """Groups, order, positions of the ranks, and mask of the groups that reach into several blocks."""
        groups, prepared = _given(self.groups), self.prepare()
        found = windows(groups, prepared.order)
        is_cut = crossing(prepared.starts, found.first, found.last)
        return groups, prepared.order, prepared.parameters, is_cut

    def rank_parts(self, *, source: RandomSource | None = None) -> Iterator[Integers]:
        """Parts of the permutation, see `SlotShuffler.rank_parts`: all ranks at once."""
        prepared = self.prepare()
        yield sample_noisy_sort(prepared.parameters, noise=self.noise, block_starts=prepared.starts[:-1], source=source)

    def swap_costs(self, person: int) -> Floats:
        """Costs of exchanges, see `SlotShuffler.swap_costs`: with Laplace noise twice the distance of the positions."""
        if self.noise != "laplace":
            raise UnsupportedModelError("swap costs need Laplace noise; with Gaussian noise no finite cost is enough.")
        prepared = self.prepare()
        rank, block = self._rank_and_block(person)
        at, costs = prepared.parameters, np.full(prepared.order.size, math.inf)
        costs[prepared.order[block]] = 2 * np.abs(at[block] - at[rank]) * _ROUND_UP
        return costs

    def swap_geometry(self) -> SwapGeometry:
        """Positions as they are, see `SlotShuffler.swap_geometry`; refused for Gaussian noise."""
        if self.noise != "laplace":
            raise UnsupportedModelError("swap costs need Laplace noise; with Gaussian noise no finite cost is enough.")
        prepared = self.prepare()
        return SwapGeometry(at=prepared.parameters, starts=prepared.starts, rebates=np.zeros(prepared.starts.size - 1))

    def d_sigma_for(self, groups: Groups) -> DSigmaPrivacy:
        """Guarantee for other groups, see `SlotShuffler.d_sigma_for`; infinite if a group crosses blocks."""
        self._same_people(groups)
        prepared = self.prepare()
        spread = self._spread(groups, prepared.order, prepared.starts, prepared.parameters)
        if self.noise == "gaussian" and self.delta is None:
            raise InvalidParameterError("delta must be given to state what Gaussian noise guarantees; got delta=None.")
        remainder = (self.delta or 0.0) if self.noise == "gaussian" else 0.0
        return DSigmaPrivacy(alpha=self._loss(spread), delta=remainder, groups_digest=groups.digest)


def _given(groups: Groups | None) -> Groups:
    if groups is None:
        raise InvalidParameterError("groups must be given with alpha; got groups=None.")
    return groups


def _checked_positions(positions: Any, groups: Groups | None, scale: float) -> Floats:
    try:
        at = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError("positions must be numbers, one per person.") from None
    if at.ndim != 1 or at.size == 0 or not np.isfinite(at).all():
        raise InvalidParameterError(f"positions must be one finite number per person; got shape {at.shape}.")
    if groups is not None and at.size != groups.num_users:
        raise InvalidParameterError(f"positions must be one for each of {groups.num_users} people; got {at.size}.")
    with np.errstate(over="ignore"):
        found: Floats = at / scale
    if not (np.abs(found) <= _FAR).all():
        raise InvalidParameterError(
            f"positions must be at most {_FAR:g} times the scale; got one of {np.abs(at).max():.6g}, scale={scale!r}."
        )
    return found


def worst_windows(at: Floats, starts: NDArray[np.int64]) -> tuple[SwapWindows, ...]:
    """Windows of consecutive ranks around the least mixed people, the cheapest window of each size.

    People who are mixed about equally well form a class. A window of a class costs the maximum over its people. Besides
    the sizes that are tried everywhere a class has its smallest block as a whole, at the cost of its dearest block.
    Classes that do better than another class at every size are left out, since the other class is the worse case.
    Positions ``at`` the ranks do not decrease in a block, in units of Laplace noise; for ``starts`` see `Prepared`.
    """
    blocks = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    sizes = list(window_sizes(int(np.diff(starts).max())))
    scores = np.full((len(_PRICES), at.size), np.inf)
    for size in sizes:
        cost = least_window_costs(at, blocks, size)
        for score, price in zip(scores, _PRICES, strict=True):
            np.minimum(score, price / np.sqrt(size) + cost, out=score)
    levels = np.floor(_CLASSES_PER_DOUBLING * np.log2(scores)).astype(np.int64)
    _, kinds, people = np.unique(levels, axis=1, return_inverse=True, return_counts=True)
    dearest = np.zeros((people.size, len(sizes)))
    for column, size in enumerate(sizes):
        np.maximum.at(dearest[:, column], kinds.ravel(), least_window_costs(at, blocks, size))
    whole = _whole_blocks(at, starts, blocks, kinds.ravel(), people.size)
    return tuple(
        _window(sizes, dearest[kind], int(people[kind]), whole[kind]) for kind in _not_better(sizes, dearest, whole)
    )


def _whole_blocks(
    at: Floats, starts: Integers, blocks: Integers, kinds: Integers, count: int
) -> list[tuple[int, float]]:
    """Smallest block size of each class, and largest cost of an exchange inside one of its blocks."""
    geometry = SwapGeometry(at=at, starts=starts, rebates=np.zeros(starts.size - 1))
    smallest, cost = np.full(count, at.size), np.zeros(count)
    np.minimum.at(smallest, kinds, np.diff(starts)[blocks])
    np.maximum.at(cost, kinds, geometry.block_costs()[blocks])
    return list(zip(smallest.tolist(), cost.tolist(), strict=True))


def _not_better(sizes: list[int], dearest: Floats, whole: list[tuple[int, float]]) -> list[int]:
    """Classes of people, except a class whose costs another class matches or exceeds at every size."""
    far = np.isinf(dearest)

    def is_worse(other: int, kind: int) -> bool:
        (size, cost), (other_size, other_cost) = whole[kind], whole[other]
        tried = other_size in sizes  # then its whole block is among the costs compared
        return bool((dearest[kind] <= dearest[other]).all()) and (tried or (size >= other_size and cost <= other_cost))

    kept: list[int] = []
    for kind in np.lexsort((-np.where(far, 0.0, dearest).sum(axis=1), -far.sum(axis=1))).tolist():
        if not any(is_worse(other, kind) for other in kept):
            kept.append(kind)
    return kept


def _window(sizes: list[int], costs: Floats, people: int, whole: tuple[int, float]) -> SwapWindows:
    found = {size: cost for size, cost in zip(sizes, costs.tolist(), strict=True) if math.isfinite(cost)}
    found.setdefault(*whole)
    return SwapWindows(sizes=tuple(sorted(found)), costs=tuple(found[size] for size in sorted(found)), people=people)
