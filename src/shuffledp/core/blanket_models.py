"""Public descriptions of randomizers that send a response and a blanket of random messages.

Each person sends one response about the answer, and fills so many slots with uniform answers, or leaves them empty. All
messages of everybody are shuffled together, and none can be told from the others.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.local_models import LocalModel


class BlanketModel(LocalModel):
    """Base of models in which a person sends one response and ``slots`` further messages, random or empty.

    The response is the true answer with probability ``p``, and each other one with ``q``. A message with the number
    ``domain_size`` is empty.
    """

    __slots__ = ()
    domain_size: int
    slots: int

    @property
    @abstractmethod
    def p(self) -> float:
        """Probability that the response is the true answer."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Probability that the response is a particular wrong answer."""

    @property
    @abstractmethod
    def filled(self) -> float:
        """Probability that a further message has a uniformly random answer; else it is empty."""

    @property
    def num_messages(self) -> int:  # type: ignore[override]
        """Number of messages of a person: the response and the slots."""
        return 1 + self.slots

    @property
    def messages_per_round(self) -> int:  # type: ignore[override]
        """Number of one person's messages in one shuffle: all messages of the person."""
        return self.num_messages

    @property
    def blanket_messages(self) -> float:
        """Expected number of a person's messages with a uniformly random answer."""
        return self.slots * self.filled

    @property
    def swing(self) -> float:
        """Largest change of one answer's estimated count when one person's messages are replaced."""
        return self.num_messages / (self.p - self.q)

    def noise_variance(self, share: float) -> float:
        """Variance that randomizing adds to the estimate of a share, times the number of people."""
        k, p, q = self.domain_size, self.p, self.q
        of_blanket = self.blanket_messages / k * (1 - 1 / k)
        return (share * p * (1 - p) + (1 - share) * q * (1 - q) + of_blanket) / (p - q) ** 2

    @abstractmethod
    def answer_counts(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Number of messages with each answer; empty messages are left out."""
