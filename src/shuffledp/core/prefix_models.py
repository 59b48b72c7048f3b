"""Models of reports on prefixes of codes, from which a search finds frequent words."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.local_models import LocalModel


class PrefixModel(LocalModel):
    """Randomizer whose reports are each about one level of prefixes of a code, or about the whole code.

    A code of ``num_bits`` bits is cut into ``num_levels`` chunks of ``prefix_bits`` bits, filled up with zeros. Each
    report of level t supports one of the ``hash_range`` extensions of each prefix of t chunks; those of the last part
    support codes. A report supports its sender's own with probability ``p``, and another given one with ``q`` at most.
    """

    __slots__ = ()
    num_bits: int

    @property
    @abstractmethod
    def prefix_bits(self) -> int:
        """Number of bits in a chunk."""

    @property
    def hash_range(self) -> int:
        """Number of values of a chunk, which equals the number of values of a report.

        It is also the number of extensions of a prefix by one chunk.
        """
        return 1 << self.prefix_bits

    @property
    def num_levels(self) -> int:
        """Number of chunks of a code."""
        return -(-self.num_bits // self.prefix_bits)

    @property
    @abstractmethod
    def level_share(self) -> float:
        """Probability that a report is about a given level of prefixes.

        Reports about no level are of the part for estimates.
        """

    @property
    @abstractmethod
    def p(self) -> float:
        """Probability that a report supports its own sender's code or prefix extension."""

    @property
    def q(self) -> float:
        """Probability that a report about whole codes supports a particular code other than its sender's."""
        return 1 / self.hash_range

    @property
    def first_chunk_told(self) -> float:
        """Probability that one report alone contains the true first chunk of its sender's code."""
        return self.level_share * self.p

    @abstractmethod
    def prepared(self, columns: Mapping[str, NDArray[Any]], part: int) -> Any:
        """Reports of one part, prepared for counting.

        ``part`` is a level, or `num_levels` for whole codes.
        """

    @abstractmethod
    def extension_counts(self, prepared: Any, prefix: int) -> NDArray[np.int64]:
        """Number of reports of a level that support each extension of a prefix, shape (hash_range,)."""

    @abstractmethod
    def code_counts(self, prepared: Any, codes: Sequence[int]) -> NDArray[np.int64]:
        """Number of reports that support each whole code, shape (codes,).

        They are of the part for estimates; codes are filled up to whole chunks.
        """


def told_alone(local: LocalModel) -> float:
    """Probability that one report alone contains the true first letters of a text; 0 for other answers."""
    return local.first_chunk_told if isinstance(local, PrefixModel) else 0.0
