"""Sections of shufflers that hide the order inside groups: one class per kind, whose fields are the keys."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp import _validate
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import View
from shuffledp.groups import Groups
from shuffledp.groups.orders import METHODS
from shuffledp.laws import DISTANCES, NOISES
from shuffledp.shufflers import MallowsShuffler, NoisySortShuffler, SlotShuffler, least_displacement
from shuffledp.shufflers.noisy_sort import SPACINGS
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.shufflers import ShufflerSection

__all__ = ["AutoSection", "GroupedSection", "MallowsSection", "NoisySortSection"]

Integers = NDArray[np.int64]


class GroupedSection(ShufflerSection):
    """A shuffle that hides the order inside groups, and leaves every report near its sender."""

    __slots__ = ()
    needs_groups: ClassVar[bool] = True
    order: str  # the method that finds the reference order

    @property
    def keeps_public(self) -> bool:
        """Attached: a slot is a person's, and what is public of that person stays there."""
        return True

    @abstractmethod
    def around(self, groups: Groups, order: Integers) -> SlotShuffler:
        """The shuffler of these groups around this reference order."""

    def shuffler(self, grouping: Grouping | None = None) -> SlotShuffler:
        """The shuffler of these groups.

        Raises:
            InvalidParameterError: if there are none.
        """
        if grouping is None:
            raise InvalidParameterError(
                f"groups must be given for a {self.kind!r} shuffle, which is about them; got None. They are made from "
                "the input: `shuffledp plan TASK.toml --input FILE` says what to expect."
            )
        return self.around(grouping.groups, grouping.order(self.order))

    def could_have_made(self, view: View) -> bool:
        """Whether each slot has one report; that the description fits the groups is seen where these are made."""
        return view.labels is not None and len(view) == view.shuffle.num_users


@dataclass(frozen=True, slots=True, kw_only=True)
class MallowsSection(GroupedSection):
    """A Mallows permutation around the reference order; the keys are those of `shuffledp.MallowsShuffler`.

    Args:
        alpha: the loss of the order inside a group, 0 or more; 0 is uniform within blocks, infinity shuffles nothing.
        concentration: in place of alpha, the concentration itself.
        distance: "kendall", "hamming" or "cayley".
        order: how the reference order is found, as in `shuffledp.groups.reference_order`.
        per_block: whether each block gets the largest concentration that alpha allows it.

    Raises:
        InvalidParameterError: as the shuffler does.
    """

    kind: ClassVar[str] = "mallows"
    alpha: float | None = None
    concentration: float | None = None
    distance: str = "kendall"
    order: str = "auto"
    per_block: bool = True

    def __post_init__(self) -> None:
        if (self.alpha is None) == (self.concentration is None):
            given = "neither" if self.alpha is None else "both"
            raise InvalidParameterError(f"exactly one of alpha and concentration must be given; got {given}.")
        _validate.nonnegative(alpha=self.alpha or 0.0, concentration=self.concentration or 0.0)
        _validate.one_of(METHODS, order=self.order)
        _validate.one_of(DISTANCES, distance=self.distance)

    def around(self, groups: Groups, order: Integers) -> SlotShuffler:
        """The Mallows shuffler."""
        return MallowsShuffler(
            groups=groups,
            alpha=self.alpha,
            concentration=self.concentration,
            distance=self.distance,
            order=order,
            per_block=self.per_block,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySortSection(GroupedSection):
    """A sort by position plus noise; the keys are those of `shuffledp.NoisySortShuffler`.

    Args:
        alpha: the loss of the order inside a group, 0 or more.
        noise: "laplace", or "gaussian" with ``delta``.
        spacing: how positions are spread: "adaptive", "uniform" or "refined".
        delta: the remainder of the loss, for Gaussian noise.
        order: how the reference order is found.

    Raises:
        InvalidParameterError: as the shuffler does.
    """

    kind: ClassVar[str] = "noisy-sort"
    alpha: float
    noise: str = "laplace"
    spacing: str = "adaptive"
    delta: float | None = None
    order: str = "auto"

    def __post_init__(self) -> None:
        _validate.nonnegative(alpha=self.alpha)
        _validate.one_of(METHODS, order=self.order)
        _validate.one_of(NOISES, noise=self.noise)
        _validate.one_of(SPACINGS, spacing=self.spacing)
        if (self.delta is None) == (self.noise == "gaussian"):
            verb = "given" if self.delta is None else "left out"
            raise InvalidParameterError(f"delta must be {verb} for noise {self.noise!r}; got delta={self.delta!r}.")
        if self.delta is not None:
            _validate.open_probability(delta=self.delta)

    def around(self, groups: Groups, order: Integers) -> SlotShuffler:
        """The noisy sort."""
        return NoisySortShuffler(
            groups=groups, alpha=self.alpha, noise=self.noise, spacing=self.spacing, delta=self.delta, order=order
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoSection(GroupedSection):
    """Whichever of the others displaces least for the groups at hand, at the same loss.

    Args:
        alpha: the loss of the order inside a group, 0 or more.
        delta: a remainder, if the loss may have one: then Gaussian noise is a candidate too.
        order: how the reference order is found.

    Raises:
        InvalidParameterError: if a number is out of range.
    """

    kind: ClassVar[str] = "auto"
    alpha: float
    delta: float | None = None
    order: str = "auto"

    def __post_init__(self) -> None:
        _validate.nonnegative(alpha=self.alpha)
        _validate.one_of(METHODS, order=self.order)
        if self.delta is not None:
            _validate.open_probability(delta=self.delta)

    def around(self, groups: Groups, order: Integers) -> SlotShuffler:
        """Whichever moves reports least, in simulated draws: the choice follows from public information alone."""
        return least_displacement(groups, self.alpha, self.delta, order=order).shuffler
