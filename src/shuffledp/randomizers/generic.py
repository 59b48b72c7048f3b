"""Any randomizer of which nothing is known but its local guarantee: a description for accounting, not a mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from shuffledp._validate import nonnegative, probability
from shuffledp.errors import UnsupportedModelError
from shuffledp.guarantees import LocalDP
from shuffledp.models import LocalModel

__all__ = ["LdpModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LdpModel(LocalModel):
    """The class of all randomizers with a given local guarantee, one and the same for everybody.

    What is stated about it holds for each of them; of a given one, its own model may say more.

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
    epsilon0: float = field()  # a field of its own, where the base reads it off the guarantee
    delta0: float = 0.0
    is_adaptive: bool = False

    def __post_init__(self) -> None:
        nonnegative(epsilon0=self.epsilon0)
        probability(delta0=self.delta0)

    @property
    def guarantee(self) -> LocalDP:
        """What was given."""
        return LocalDP(epsilon=self.epsilon0, delta=self.delta0)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """No reports are of this model: it describes a class of randomizers, and is not one."""
        del columns
        raise UnsupportedModelError(f"{self.kind!r} describes a class of randomizers: it has no reports of its own.")
