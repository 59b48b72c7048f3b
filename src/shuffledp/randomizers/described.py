"""Laws given for accounting alone: an explicit matrix, and Laplace noise of real numbers. No mechanisms."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp._validate import instance_of, invalid
from shuffledp.channels import Channel
from shuffledp.errors import UnsupportedModelError
from shuffledp.guarantees import LocalDP
from shuffledp.models import LocalModel

__all__ = ["ChannelModel", "LaplaceModel"]

_LARGEST_EPSILON0 = 300.0
_LOSS_GUARD = 1 + 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelModel(LocalModel):
    """A randomizer given as a matrix: everybody sends one output of it, drawn from the row of their input.

    Args:
        matrix: the channel; entries may be 0. Where one input gives an output that another never gives, there is no
        local
            guarantee, and still shuffling may give one.

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
        """The largest log-ratio of two entries of a column, rounded up; infinite where one of them alone is 0."""
        return LocalDP(epsilon=self.matrix.epsilon() * _LOSS_GUARD)

    @property
    def total_variation(self) -> float:
        """The largest distance of two rows, rounded up."""
        return min(self.matrix.delta(0.0) * _LOSS_GUARD, 1.0)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """No reports are of this model: it is a description."""
        raise _no_reports(self.kind, columns)

    def channel(self, *, exact: bool = False) -> Channel:
        """The matrix that was given."""
        if exact or not self.matrix.is_exact:
            return self.matrix
        return Channel(self.matrix.matrix.astype(np.float64), self.matrix.inputs, self.matrix.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceModel(LocalModel):
    """A number of [0, 1] with Laplace noise of scale 1/epsilon0 added, in real numbers.

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
    epsilon0: float = field()  # a field of its own, where the base reads it off the guarantee

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon0, int | float) and 0 < self.epsilon0 <= _LARGEST_EPSILON0):
            raise invalid(f"above 0 and at most {_LARGEST_EPSILON0:g}", epsilon0=self.epsilon0)
        object.__setattr__(self, "epsilon0", float(self.epsilon0))

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float) -> Self:
        """The model itself: every epsilon0 is representable."""
        return cls(epsilon0=epsilon0)

    @property
    def guarantee(self) -> LocalDP:
        """Densities of two inputs differ by exp(epsilon0 ``abs(x - x')``) at most."""
        return LocalDP(epsilon=self.epsilon0)

    @property
    def total_variation(self) -> float:
        """That of inputs 0 and 1, 1 - exp(-epsilon0 / 2), rounded up."""
        return min(-math.expm1(-self.epsilon0 / 2) * _LOSS_GUARD, 1.0)

    @property
    def laplace_steps(self) -> float:
        """Real numbers."""
        return math.inf

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """No reports are of this model: it is a description."""
        raise _no_reports(self.kind, columns)


def _no_reports(kind: str, columns: Mapping[str, NDArray[Any]]) -> UnsupportedModelError:
    del columns
    return UnsupportedModelError(f"{kind!r} describes a law for accounting: it has no reports of its own.")
