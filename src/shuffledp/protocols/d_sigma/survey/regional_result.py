"""Results of a shuffle near a reference order: estimates by place, and chances of naming reports."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.order_laws import OrderLaw
from shuffledp.core.statements import PrivacyStatement
from shuffledp.protocols.d_sigma.planning.group_losses import SizedLoss
from shuffledp.protocols.d_sigma.planning.group_mixing import Mixing, mixing_warnings
from shuffledp.protocols.d_sigma.planning.households import HouseholdOdds
from shuffledp.protocols.d_sigma.planning.order_composition import with_order_laws
from shuffledp.protocols.d_sigma.planning.personal_promises import SpreadOverPeople
from shuffledp.protocols.d_sigma.theorems.meehan22 import ReidentificationBound
from shuffledp.survey.shuffle_result import ShuffleResult


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharpened:
    """Estimates for the people of wide cells, beside the estimates for the cells' slots.

    Args:
        obstacle: why nothing is sharpened, a sentence; "" where it is, and where nothing was blurred.
        estimate: one row per cell and target, with ``where``; None if there is an obstacle.
        displaced: average of what lies in the slots of the cell, shape (rows,).
        people: slots of each cell, shape (cells,).
    """

    obstacle: str = ""
    estimate: Estimate | None = None
    displaced: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    people: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the sharpened estimate, each with the key ``displaced``; none if there is an obstacle."""
        if self.estimate is None:
            return []
        return [
            row | {"displaced": each} for row, each in zip(self.estimate.rows(), self.displaced.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingChances:
    """Chances that an attacker who knows all answers names the slot of a report; None where unknown.

    Args:
        by_group: the odds for somebody of the largest group.
        by_smallest: those in the smallest group, of the groups whose people are not alone.
        by_all: those of a person in the middle of the order, whom everybody nearby hides.
        named: chances over people, each hidden by everybody nearby: what a plan says.
    """

    by_group: ReidentificationBound | None = None
    by_smallest: ReidentificationBound | None = None
    by_all: ReidentificationBound | None = None
    named: SpreadOverPeople | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionalResult(ShuffleResult):
    """Estimates by place after a shuffle near a reference order, with the chances of naming reports.

    Args:
        estimate: one row per region and target, with ``where``.
        unshuffled_error: the standard error of each row if nothing were shuffled, at most, shape (rows,).
        people: how many people's slots are in each region.
        mixing: what the shuffle does to the groups.
        left_out: people who are too few, and too far away from others, for an estimate of their own.
        of_slot: the number of the region of each slot, from 0; None if the slots' public columns tell it.
        hidden: chances with which the slot of a person's report is named.
        losses: of the order inside groups, by their size: the pure loss, and that beside a remainder.
        laws: of these losses, as numbers that other releases add up with.
        households: chances of naming the slots of households, if the task says how many people these have.
        sharpened: estimates for the people of wide cells, after a sort with Laplace noise.
    """

    estimate: Estimate
    unshuffled_error: NDArray[np.float64]
    people: NDArray[np.int64]
    mixing: Mixing
    left_out: int = 0
    of_slot: NDArray[np.int16] | None = None
    hidden: NamingChances = field(default_factory=NamingChances)
    losses: tuple[SizedLoss, ...] = ()
    laws: tuple[OrderLaw, ...] = ()
    households: tuple[HouseholdOdds, ...] = ()
    sharpened: Sharpened = field(default_factory=Sharpened)

    @property
    def regions(self) -> Estimate:
        """Estimates by place, one row for each region and target."""
        return self.estimate

    @property
    def further_columns(self) -> tuple[str, ...]:
        """Names of the columns beside the estimates: the error without the shuffle, and the place."""
        return ("unshuffled_error", "where")

    @property
    def reidentification(self) -> dict[str, Any]:
        """The known odds of reidentification, as dictionaries for JSON."""
        found = {"largest": self.hidden.by_group, "smallest": self.hidden.by_smallest, "middle": self.hidden.by_all}
        return {name: each.to_dict() | {"success": each.success} for name, each in found.items() if each is not None}

    def rows(self) -> list[dict[str, Any]]:
        """Rows of ``estimate``, each with the key ``unshuffled_error``."""
        errors = self.unshuffled_error.tolist()
        return [row | {"unshuffled_error": error} for row, error in zip(self.estimate.rows(), errors, strict=True)]

    def warnings(self, model: ProtocolModel) -> tuple[str, ...]:
        """Warnings about groups that the shuffle mixes too little, or too much."""
        return mixing_warnings(self.mixing, [model], self.hidden.named)

    def detailed(self, statements: tuple[PrivacyStatement, ...]) -> tuple[PrivacyStatement, ...]:
        """Statements, with losses by group size in the statement on the order."""
        return with_order_laws(statements, self.laws)

    def written(self, *, seeded: bool) -> dict[str, Any]:
        """Dictionary of the sharpened estimates, the mixing of groups, and the odds of reidentification.

        A seed undoes the shuffle: if ``seeded``, no odds are given, and the loss of the order is infinite.
        """
        sharp = {"sharpened": rows} if (rows := self.sharpened.rows()) else {}
        if seeded:
            return sharp | {"mixing": self.mixing.to_dict() | {"alpha": "inf", "delta": 0.0}}
        return sharp | {
            "mixing": self.mixing.to_dict(),
            "reidentification": self.reidentification,
            "losses": [each.to_dict() for each in self.losses],
            **({"households": [each.to_dict() for each in self.households]} if self.households else {}),
        }
