"""No shuffling: every report stays beside its sender. The baseline that every shuffler is compared with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shuffledp import _validate
from shuffledp.flow import Reports, View
from shuffledp.models import LabelMeaning, PositionLaw, ShuffleModel
from shuffledp.statements import Trust
from shuffledp.table import Table

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["IdentityShuffleModel", "IdentityShuffler"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityShuffleModel(ShuffleModel):
    """What is public when nothing is shuffled.

    Args:
        num_users: users in the batch, 1 or more.
    """

    kind: ClassVar[str] = "none"
    labels: ClassVar[LabelMeaning] = LabelMeaning.SUBMITTER
    num_users: int

    def __post_init__(self) -> None:
        _validate.integer_at_least(1, num_users=self.num_users)

    @property
    def keeps_places(self) -> bool:
        """Labels are the senders' numbers."""
        return True

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Everybody's report is where everybody knows it to be."""
        return (PositionLaw(weights=(1.0,), counts=(1,)),)

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Nobody besides one's own device: there is no shuffler."""
        return ()


class IdentityShuffler:
    """Publishes each report under its sender's number, with that sender's public columns.

    Guarantees:
        1. The label beside a report is its sender's number; the local guarantee is all there is.
    """

    def model(self, num_users: int) -> IdentityShuffleModel:
        """The public description for this many users."""
        return IdentityShuffleModel(num_users=num_users)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: "RandomSource | None" = None) -> View:
        """The view whose labels are the senders' places in the input.

        Args:
            reports: one row per message, those of one person after each other.
            public: one row per person, or None; it becomes the label table.
            source: randomness of the order among several messages of one person.

        Raises:
            InvalidParameterError: if there is no report, or not the same number of them from everybody.
        """
        labels = np.arange(len(reports)) // reports.model.num_messages
        model = self.model(reports.num_users)
        return View(reports=reports, labels=labels, label_table=public, shuffle=model, source=source)
