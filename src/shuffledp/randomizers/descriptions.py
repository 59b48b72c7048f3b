"""Randomizers described for accounting alone: by a loss, a matrix, Laplace noise, or personal losses.

No device runs them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import LocalModel
from shuffledp.core.report_laws import PersonalLosses
from shuffledp.core.validate import instance_of, integer_at_least, invalid, nonnegative, positive, probability

_LARGEST_EPSILON0 = 300.0
_LOSS_GUARD = 1 + 1e-14


class _Description(LocalModel):
    """Base of randomizer descriptions for accounting alone; they have no reports."""

    __slots__ = ()
    describes: ClassVar[str] = "a law for accounting"

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:  # noqa: ARG002
        """Refuse all columns: the model has no reports."""
        raise UnsupportedModelError(f"{self.kind!r} describes {self.describes}: it has no reports of its own.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelModel(_Description):
    """Randomizer given as a matrix: each person sends one output, drawn from the input's row.

    Args:
        matrix: the channel; entries may be 0. Where one input gives an output that another never gives, there is no
            local guarantee, and still shuffling may give one.

    Raises:
        InvalidParameterError: for anything but a channel with two inputs or more.

    Example:
        >>> flip = Channel([[0.75, 0.25], [0.25, 0.75]])
        >>> round(ChannelModel(matrix=flip).epsilon0, 4)
        1.0986
    """

    kind: ClassVar[str] = "channel"
    matrix: Channel

    def __post_init__(self) -> None:
        instance_of(Channel, matrix=self.matrix)
        if len(self.matrix.inputs) < 2:
            raise invalid("a channel with two inputs or more", matrix=f"{len(self.matrix.inputs)} input")

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee: epsilon is the largest log-ratio of two entries of a column, rounded up.

        Infinite where just one of the two is 0.
        """
        epsilon = self.matrix.epsilon()
        return LocalDP(epsilon=(epsilon + (self._rounding if epsilon else 0.0)) * _LOSS_GUARD)

    @property
    def total_variation(self) -> float:
        """Largest total variation between two rows, rounded up."""
        return min((self.matrix.delta(0.0) + self._rounding) * _LOSS_GUARD, 1.0)

    @property
    def _rounding(self) -> float:
        """Bound on the change of a log-ratio when rows of floats are scaled to a sum of 1."""
        if self.matrix.is_exact:
            return 0.0
        return 1e-15 + 2 * max(abs(math.fsum(row) - 1) for row in self.matrix.matrix.tolist())

    def channel(self, *, exact: bool = False) -> Channel:
        """Given matrix as a channel."""
        if exact or not self.matrix.is_exact:
            return self.matrix
        return Channel(self.matrix.matrix.astype(np.float64), self.matrix.inputs, self.matrix.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceModel(_Description):
    """Number in [0, 1] plus real-valued Laplace noise of scale 1/epsilon0.

    A description for accounting: with floating-point numbers the noise would not have this law. What runs on devices is
    `DiscreteLaplaceMean`.

    Args:
        epsilon0: local privacy loss in nats, above 0 and at most 300.

    Raises:
        InvalidParameterError: if ``epsilon0`` is out of range.

    Example:
        >>> round(LaplaceModel(epsilon0=1.0).total_variation, 4)
        0.3935
    """

    kind: ClassVar[str] = "laplace"
    epsilon0: float = field()  # here a field; the base class reads it off the guarantee

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon0, int | float) and 0 < self.epsilon0 <= _LARGEST_EPSILON0):
            raise invalid(f"above 0 and at most {_LARGEST_EPSILON0:g}", epsilon0=self.epsilon0)
        object.__setattr__(self, "epsilon0", float(self.epsilon0))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float) -> Self:
        """Model with exactly this local loss.

        Every epsilon0 is representable.
        """
        return cls(epsilon0=epsilon0)

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of loss epsilon0.

        Densities of two inputs differ by exp(epsilon0 times their distance) at most.
        """
        return LocalDP(epsilon=self.epsilon0)

    @property
    def total_variation(self) -> float:
        """Total variation between inputs 0 and 1: 1 - exp(-epsilon0 / 2), rounded up."""
        return min(-math.expm1(-self.epsilon0 / 2) * _LOSS_GUARD, 1.0)

    @property
    def laplace_steps(self) -> float:
        """Number of steps: infinity, as the inputs are real numbers."""
        return math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalizedResponseModel(_Description):
    """k-ary randomized response with a personal local loss for each person.

    The histogram of losses is public. A description for accounting: who has which loss must not be guessed from a
    report. With more than one loss reports have no common law, and an estimate would have to weight them.

    Args:
        domain_size: number k of values, 2 or more.
        epsilons: the different local losses in nats, each above 0 and at most 300, ascending.
        counts: how many people have each loss, 1 or more.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    Example:
        >>> people = PersonalizedResponseModel.from_epsilons(domain_size=4, epsilons=[1.0, 0.5, 1.0])
        >>> people.epsilons, people.counts
        ((0.5, 1.0), (1, 2))
    """

    kind: ClassVar[str] = "k-rr-personalized"
    domain_size: int
    epsilons: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        integer_at_least(2, domain_size=self.domain_size)
        instance_of(tuple, epsilons=self.epsilons, counts=self.counts)
        for epsilon in self.epsilons:
            positive(epsilons=epsilon)
        if not self.epsilons or max(self.epsilons) > _LARGEST_EPSILON0:
            raise invalid(f"at least one number, and at most {_LARGEST_EPSILON0:g}", epsilons=self.epsilons)
        if any(one >= other for one, other in pairwise(self.epsilons)):
            raise invalid("different and ascending", epsilons=self.epsilons)
        for count in self.counts:
            integer_at_least(1, counts=count)
        if len(self.counts) != len(self.epsilons):
            raise invalid(f"one number for each of {len(self.epsilons)} epsilons", counts=self.counts)

    @classmethod
    def from_epsilons(cls, *, domain_size: int, epsilons: Iterable[float]) -> Self:
        """Model of people with these losses, one loss for each person."""
        found = sorted(Counter(float(epsilon) for epsilon in epsilons).items())
        losses, counts = tuple(epsilon for epsilon, _ in found), tuple(count for _, count in found)
        return cls(domain_size=domain_size, epsilons=losses, counts=counts)

    @property
    def guarantee(self) -> LocalDP:
        """Guarantee of the people with the largest loss."""
        return LocalDP(epsilon=self.epsilons[-1])

    @property
    def is_common(self) -> bool:
        """True if all people have the same loss."""
        return len(self.epsilons) == 1

    @property
    def personal_losses(self) -> PersonalLosses:
        """Personal losses, and the number of people with each loss."""
        return PersonalLosses(domain_size=self.domain_size, epsilons=self.epsilons, counts=self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LdpModel(_Description):
    """Class of all randomizers with a given local guarantee.

    All people apply the same randomizer. What is stated about it holds for each of them; of a given one, its own model
    may say more.

    Args:
        epsilon0: local privacy loss in nats, 0 or more; infinity if nothing is known.
        delta0: local remainder, from 0 to 1.
        is_adaptive: whether a report may depend on the reports before it and on its place after the shuffle.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    Example:
        >>> LdpModel(epsilon0=1.0).guarantee
        LocalDP(epsilon=1.0, delta=0.0, neighbors=<Neighbors.REPLACE_ONE: 'replace-one'>)
    """

    kind: ClassVar[str] = "ldp"
    describes: ClassVar[str] = "a class of randomizers"
    epsilon0: float = field()  # here a field; the base class reads it off the guarantee
    delta0: float = 0.0
    is_adaptive: bool = False

    def __post_init__(self) -> None:
        nonnegative(epsilon0=self.epsilon0)
        probability(delta0=self.delta0)

    @property
    def guarantee(self) -> LocalDP:
        """Guarantee with the given epsilon and delta."""
        return LocalDP(epsilon=self.epsilon0, delta=self.delta0)
