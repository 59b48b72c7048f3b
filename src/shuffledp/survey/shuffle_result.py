"""Base of results that a kind of shuffle adds to a release, for example estimates by place.

A family of protocols has a subclass for what its shuffles add; a uniform shuffle of everybody adds nothing.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement


class ShuffleResult:
    """Base of results that a kind of shuffle adds to a column's release, such as estimates by place."""

    __slots__ = ()

    @property
    def regions(self) -> Estimate | None:
        """Estimates by region or place, a row for each target, with ``where``; None if there are none."""
        return None

    @property
    def further_columns(self) -> tuple[str, ...]:
        """Names of the columns that estimates by region or place have besides the usual ones, in file order."""
        return () if self.regions is None else ("where",)

    @property
    def of_slot(self) -> NDArray[np.int16] | None:
        """Number of each slot's region, from 0; None without regions, or if public columns give regions."""
        return None

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the estimates by region or place."""
        return [] if self.regions is None else self.regions.rows()

    def warnings(self, model: ProtocolModel) -> tuple[str, ...]:
        """Warnings to read before the estimates of this protocol; empty if there are none."""
        del model
        return ()

    def detailed(self, statements: tuple[PrivacyStatement, ...]) -> tuple[PrivacyStatement, ...]:
        """Statements of the release, with details of the shuffle for the joint loss with later releases."""
        return statements

    @abstractmethod
    def written(self, *, seeded: bool) -> dict[str, Any]:
        """Keys of ``statement.json`` with this result; fewer where a seed can replay the shuffle."""
