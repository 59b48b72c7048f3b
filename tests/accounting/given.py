"""Local models given by their loss or their matrix alone, and protocols of them, made without an edit of ``src``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.channels import Channel
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import UniformShuffleModel


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLoss(LocalModel):
    """Any randomizer of this loss."""

    kind: ClassVar[str] = "test-given-loss"
    loss: float
    remainder: float = 0.0
    num_messages: int = 1
    common: bool = True

    @property
    def guarantee(self) -> LocalDP:
        return LocalDP(epsilon=self.loss, delta=self.remainder)

    @property
    def is_common(self) -> bool:
        return self.common

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        del columns


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenChannel(LocalModel):
    """The randomizer with this matrix; ``claim``, where it is not None, is a loss that the matrix need not have."""

    kind: ClassVar[str] = "test-given-channel"
    rows: tuple[Any, ...]
    claim: float | None = None

    @property
    def guarantee(self) -> LocalDP:
        loss = self.channel().epsilon() if self.claim is None else self.claim
        return LocalDP(epsilon=loss)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        del columns

    def channel(self, *, exact: bool = False) -> Channel:
        del exact
        return Channel(np.array(self.rows, dtype=np.float64))


def uniformly(local: LocalModel, users: int) -> ProtocolModel:
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


def given(epsilon0: float, users: int, *, shuffle: ShuffleModel | None = None, **local: Any) -> ProtocolModel:
    model = GivenLoss(loss=epsilon0, **local)
    return ProtocolModel(local=model, shuffle=shuffle or UniformShuffleModel(num_users=users))


def response(size: int, epsilon0: float, users: int) -> ProtocolModel:
    return uniformly(KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=size), users)
