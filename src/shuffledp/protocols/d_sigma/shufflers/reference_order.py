"""Base of the shufflers near a public reference order: each slot gets one report, from a person nearby."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.shuffle_models import ColludingShuffleModel, LabelMeaning
from shuffledp.core.table import Floats, Integers, Table
from shuffledp.core.text import plural
from shuffledp.protocols.d_sigma.laws.loss_profiles import SizedProfile
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.orders import reference_order
from shuffledp.protocols.d_sigma.people.sensitivity import MeasuredOrder
from shuffledp.protocols.d_sigma.shufflers.swap_geometry import SwapGeometry
from shuffledp.randomness.permutations import is_permutation
from shuffledp.randomness.sources import RandomSource, resolve_source

_STEP = 1.25  # between the sizes of windows that are tried: fewer of them only make the swap-cost theorem less tight


class SlotShuffleModel(ColludingShuffleModel):
    """Public description of a shuffle that hides the order inside groups, without the groups themselves.

    Args:
        groups_digest: `shuffledp.Groups.digest` of the groups that ``alpha`` is about; None if there are none.
        alpha: the loss of the order inside a group, infinity included; the mechanism's own, rounded up.
        delta: the remainder that goes with it; 0 for a pure loss.
        largest_group: people in the largest group; 0 without groups.
        num_alone: people who are the only ones in their block: their reports are not shuffled at all.
        num_colluding: people who may work together with the analyst and hide nobody, wherever they are.
    """

    __slots__ = ()
    labels: ClassVar[LabelMeaning] = LabelMeaning.SLOT
    groups_digest: str | None
    alpha: float
    delta: float
    largest_group: int
    num_alone: int

    @property
    def d_sigma(self) -> DSigmaPrivacy | None:
        """Guarantee of the shuffle alone about the order inside groups; None without groups."""
        if self.groups_digest is None:
            return None
        return DSigmaPrivacy(alpha=self.alpha, delta=self.delta, groups_digest=self.groups_digest)

    @property
    def pure_loss(self) -> float:
        """Largest loss of the order inside a group, without a remainder; infinite if the loss needs a remainder."""
        return math.inf if self.delta else self.alpha

    @property
    def mixing(self) -> tuple[str, ...]:
        """Remark that people are mixed with neighbors only, and on the number of people not mixed at all."""
        alone, people, windows = self.num_alone, self.num_users, self.swap_windows()
        if alone == people:
            return ()
        if windows and all(max(each.sizes) == people and max(each.costs) == 0 for each in windows):
            return ("Everybody is mixed with everybody: this is the uniform shuffle.",)
        if not alone:
            return ("Everybody is mixed with neighbors only.",)
        are = plural(alone, "person is", "people are")
        return (
            f"{alone:,} of {people:,} {are} alone: their reports are not shuffled at all. The others are mixed with "
            "neighbors only.",
        )

    def _honest(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Smallest number of honest people in windows of these sizes, the person in the middle included."""
        return tuple(max(1, size - self.num_colluding) for size in sizes)

    def _check_common(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)
        validate.nonnegative(alpha=self.alpha)
        validate.probability(delta=self.delta)
        self._check_colluding()
        for name in ("largest_group", "num_alone"):
            validate.integer_at_least(0, **{name: getattr(self, name)})
            if getattr(self, name) > self.num_users:
                raise validate.invalid(f"at most num_users={self.num_users}", **{name: getattr(self, name)})


@dataclass(frozen=True, eq=False)
class Prepared:
    """Facts that a shuffler computes once from public information; its model is made at first use."""

    order: Integers  # the reference order: who stands at rank 0, 1, ...
    starts: Integers  # the first rank of each block, and the number of people last; blocks do not mix
    parameters: Floats  # what is drawn with: the concentration of each block, or the position of each rank
    describe: Callable[[], SlotShuffleModel]

    @cached_property
    def model(self) -> SlotShuffleModel:
        """Public description of the shuffle."""
        return self.describe()


class SlotShuffler:
    """Base of shufflers that permute the ranks of a reference order: each slot gets a report from nearby.

    Subclasses prepare from public information only, and draw a permutation of ranks.

    Attributes:
        chosen_from: where `least_displacement` chose this shuffler, how many ranks each that was tried moves a report
            on average, by name; else empty.
    """

    chosen_from: Mapping[str, float] = MappingProxyType({})
    groups: Groups | None
    alpha: float | None
    _order: "str | ArrayLike"
    _along: MeasuredOrder | None = None  # kept where several alphas are tried

    def prepare(self) -> Prepared:
        """Order, blocks and public description; computed at the first call."""
        return self._prepared

    @cached_property
    def _prepared(self) -> Prepared:
        return self._prepare()

    def with_alpha(self, alpha: float) -> Self:
        """Copy of the shuffler with another alpha above 0; all copies share one measurement of the groups.

        Raises:
            InvalidParameterError: for another alpha, or if this shuffler has none.
        """
        validate.positive(alpha=alpha)
        if self.groups is None or self.alpha is None:
            raise InvalidParameterError("a shuffler must have groups and alpha to get another alpha.")
        self._along = self._measured()
        other = copy(self)
        vars(other).pop("_prepared", None)
        other.alpha, other.chosen_from = alpha, MappingProxyType({})
        return other

    def _measured(self) -> MeasuredOrder:
        """Groups along the reference order, taken from ``_along`` if known; else the order is found or checked."""
        if self._along is not None:
            return self._along
        if self.groups is None:
            raise InvalidParameterError("groups must be given with alpha; got groups=None.")
        self._order = checked_order(self.groups, self._order)  # the one that was given is not kept
        return MeasuredOrder(self.groups, self._order)

    @abstractmethod
    def _prepare(self) -> Prepared:
        """Order, blocks and public description for `prepare`."""

    @abstractmethod
    def rank_parts(self, *, source: RandomSource | None = None) -> Iterator[Integers]:
        """Secret permutation w in parts, from rank 0 on: the slot at rank k gets the report from rank w[k].

        A part is as long as suits the law; where it can, only a part of the permutation is in memory.
        """

    def draw_ranks(self, *, source: RandomSource | None = None) -> Integers:
        """Secret permutation w of all ranks, as one array: the parts of `rank_parts` joined."""
        return np.concatenate([*self.rank_parts(source=source)])

    def moves(self, *, source: RandomSource | None = None) -> Iterator[tuple[Integers, Integers]]:
        """Pairs of slots and of the people whose reports fill them, part after part along the reference order.

        At rank k that is the slot of ``order[k]`` and the report of ``order[w[k]]``: no other way to compose is private
        for every reference order.

        Raises:
            InvalidParameterError: at the end, if what was drawn is no permutation.
        """
        order, start = self.prepare().order, 0
        seen = np.zeros(order.size, dtype=np.bool_)
        for ranks in self.rank_parts(source=source):
            if start + ranks.size > order.size:
                break
            seen[ranks] = True
            yield order[start : start + ranks.size], order[ranks]
            start += ranks.size
        if not seen.all():
            raise InvalidParameterError(f"ranks must hold each of 0, ..., {order.size - 1} once; some are missing.")

    def draw(self, *, source: RandomSource | None = None) -> Integers:
        """Secret permutation sigma* of people: person j's slot gets the report of person ``sigma_star[j]``.

        Args:
            source: None is the cryptographic source.
        """
        sigma_star = np.empty(self.prepare().order.size, dtype=np.int64)
        for slots, owners in self.moves(source=source):
            sigma_star[slots] = owners
        return sigma_star

    @abstractmethod
    def d_sigma_for(self, groups: Groups) -> DSigmaPrivacy:
        """Guarantee of the same shuffle for other groups of the same people, from its loss on them.

        Raises:
            InvalidParameterError: if they are groups of another number of people.
        """

    @abstractmethod
    def profiles(self, *, releases: int = 1) -> tuple[SizedProfile, ...]:
        """Loss profiles of the groups of two people or more, one for each size class, the smallest groups first.

        Several releases are independent shuffles of the same kind, in each of which the same group may have exchanged
        its answers: the losses of each group are added up before the worst group is taken.

        Args:
            releases: how many, 1 or more.

        Raises:
            InvalidParameterError: if there are no groups.
        """

    @abstractmethod
    def order_laws(self) -> tuple[OrderLaw, ...]:
        """Laws of the loss of one release, as numbers, by size class of groups.

        Only for groups of two people or more.

        From them, and those of other releases about equal groups, all together are added up group by group.

        Raises:
            InvalidParameterError: if there are no groups.
        """

    def model(self, num_users: int) -> SlotShuffleModel:
        """Public description of the shuffle.

        Raises:
            InvalidParameterError: if the shuffler was made for another number of people.
        """
        validate.integer_at_least(1, num_users=num_users)
        found = self.prepare().model
        if num_users != found.num_users:
            raise validate.invalid(f"the number of people of the groups, {found.num_users}", num_users=num_users)
        return found

    @abstractmethod
    def swap_costs(self, person: int) -> Floats:
        """Cost of exchanging a person with each other person; infinite where the two are not mixed.

        Exchanging the two changes the probability of every permutation by a factor of at most exp(cost).

        Returns:
            Shape (people,), rounded up; 0 for the person.

        Raises:
            InvalidParameterError: if there is no such person, counted from 0.
            UnsupportedModelError: if no such cost is finite, as with Gaussian noise.
        """

    def swap_geometry(self) -> SwapGeometry:
        """Swap costs as distances along the order.

        Raises:
            UnsupportedModelError: if they are none: for Gaussian noise, and for other Mallows laws than Kendall's.
        """
        raise UnsupportedModelError(f"swap costs are no distances for {type(self).__name__}.")

    def _rank_and_block(self, person: int) -> tuple[int, slice]:
        """Rank of a person, and the ranks of that person's block."""
        prepared = self.prepare()
        validate.integer_at_least(0, person=person)
        if person >= prepared.order.size:
            raise validate.invalid(f"below the number of people, {prepared.order.size}", person=person)
        rank = int(np.flatnonzero(prepared.order == person)[0])
        block = int(np.searchsorted(prepared.starts, rank, side="right")) - 1
        return rank, slice(int(prepared.starts[block]), int(prepared.starts[block + 1]))

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        """View in which each slot, with its person's public columns, holds one report from nearby.

        Args:
            reports: one row per person, in the order of the groups' people.
            public: one row per person, or None; it becomes the label table.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is not one report from everybody.
            UnsupportedModelError: if people send several reports each, which no theorem here covers.
        """
        (view,) = self.view_parts(reports, public=public, source=source, size=max(len(reports), 1))
        return view

    def view_parts(
        self, reports: Reports, *, size: int, public: Table | None = None, source: RandomSource | None = None
    ) -> Iterator[View]:
        """Parts of the view of `shuffle`, ``size`` slots each; all slots are filled before the first part.

        Memory: the reports before and after, and what `rank_parts` holds of the permutation: a part or the whole.
        """
        if reports.model.num_messages != 1:
            raise UnsupportedModelError(
                f"a shuffle that keeps slots needs one report per person; {reports.model.kind!r} sends "
                f"num_messages={reports.model.num_messages}. Use a uniform shuffle."
            )
        model, source = self.model(reports.num_users), resolve_source(source)
        shuffled = reports.moved(self.moves(source=source))
        return self._parts_of(shuffled, public, model, source, size)

    def _parts_of(
        self, shuffled: Reports, public: Table | None, model: SlotShuffleModel, source: RandomSource, size: int
    ) -> Iterator[View]:
        for start in range(0, len(shuffled), size):
            part = shuffled.take(slice(start, start + size))
            slots = np.arange(start, start + len(part))
            yield View(reports=part, labels=slots, label_table=public, shuffle=model, source=source)

    def _same_people(self, groups: Groups) -> None:
        validate.instance_of(Groups, groups=groups)
        if groups.num_users != self.prepare().order.size:
            raise InvalidParameterError(
                f"groups must be of the same {self.prepare().order.size} people; got {groups.num_users}."
            )


def checked_order(groups: Groups, order: "str | ArrayLike") -> Integers:
    """Reference order, given or found by a method."""
    if isinstance(order, str):
        return reference_order(groups, method=order)
    given = np.asarray(order)
    if not is_permutation(given) or given.size != groups.num_users:
        raise InvalidParameterError(
            f"order must be a method or hold each of 0, ..., {groups.num_users - 1} once; got shape {given.shape}."
        )
    return given.astype(np.int64, copy=True)


def crossing(starts: Integers, first: Integers, last: Integers) -> NDArray[np.bool_]:
    """Mask of the windows of ranks that reach into more than one block."""
    found: NDArray[np.bool_] = np.searchsorted(starts, first, "right") != np.searchsorted(starts, last, "right")
    return found


def window_sizes(most: int) -> tuple[int, ...]:
    """Window sizes from 1 to ``most``, ascending, each at most a quarter (or 1) above the size before."""
    sizes = [1]
    while sizes[-1] < most:
        sizes.append(min(max(sizes[-1] + 1, int(sizes[-1] * _STEP)), most))
    return tuple(sizes)
