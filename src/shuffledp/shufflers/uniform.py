"""Uniform shuffler, and the baseline without a shuffler."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp.core import validate
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import NOTHING_SHUFFLED, LabelMeaning, PositionLaw, ShuffleModel
from shuffledp.core.statement_terms import Trust
from shuffledp.core.table import Table
from shuffledp.randomness.sources import RandomSource


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformShuffleModel(ShuffleModel):
    """Public description of a uniform shuffle.

    Args:
        num_users: users in the batch, 1 or more.
    """

    kind: ClassVar[str] = "uniform"
    labels: ClassVar[LabelMeaning] = LabelMeaning.NONE
    num_users: int

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)

    @property
    def is_uniform(self) -> bool:
        """True: every order of all reports is equally likely, if there are no colluders."""
        return True


class UniformShuffler:
    """Shuffler that publishes the reports in no order, as a multiset.

    Guarantees:
        1. Given the multiset of reports, all orders of the view are equally likely, exactly.
        2. Public columns are detached: they are not in the view at all, because a row of theirs beside a report would
           tell whose report it is.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1, 2, 1])
        >>> UniformShuffler().shuffle(reports)
        View(4 reports of 'k-rr', 'uniform' shuffle, no labels)
    """

    def model(self, num_users: int) -> UniformShuffleModel:
        """Public description of a uniform shuffle of this number of users."""
        return UniformShuffleModel(num_users=num_users)

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached: guarantee 2)
        source: RandomSource | None = None,
    ) -> View:
        """View of the reports in random order.

        The view's constructor permutes the rows, which is the shuffle.

        Args:
            reports: one row per message.
            public: ignored (guarantee 2).
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is no report, or not the same number of them from everybody.
        """
        return View(reports=reports, shuffle=self.model(reports.num_users), source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityShuffleModel(ShuffleModel):
    """Public description of a release without a shuffle.

    Args:
        num_users: users in the batch, 1 or more.
    """

    kind: ClassVar[str] = "none"
    labels: ClassVar[LabelMeaning] = LabelMeaning.SUBMITTER
    in_words: ClassVar[str] = "no shuffle"
    passage: ClassVar[str] = "without a shuffle"
    step: ClassVar[tuple[str, str]] = ("Not shuffled", "reports stay with their senders")
    num_users: int

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)

    @property
    def keeps_places(self) -> bool:
        """True: a report's label is its sender's number."""
        return True

    def beside_reports(self, columns: str) -> str:
        """Sentence on the data released with each report: the sender's number and public ``columns``."""
        also = columns and f" and {columns}"
        return f"Nothing is shuffled: each report is released beside its sender's row number{also}."

    def position_laws(self) -> tuple[PositionLaw, ...]:
        """Position laws with one certain place, since each report is at its sender's place."""
        return (PositionLaw(weights=(1.0,), counts=(1,)),)

    def obstacle(self, epsilon0: float) -> str:
        """Reason why there is no amplification: nothing is shuffled."""
        del epsilon0
        return NOTHING_SHUFFLED

    @property
    def trust(self) -> tuple[Trust, ...]:
        """Empty tuple: there is no shuffler to trust.

        The person's own device is trusted all the same.
        """
        return ()


class IdentityShuffler:
    """Baseline shuffler that publishes each report with its sender's number and public columns.

    Guarantees:
        1. The label beside a report is its sender's number; the local guarantee is all there is.
    """

    def model(self, num_users: int) -> IdentityShuffleModel:
        """Public description of a release without a shuffle, for this number of users."""
        return IdentityShuffleModel(num_users=num_users)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        """View whose labels are the senders' numbers.

        Reports are one row per message, those of one person after each other; ``public``, one row per person, becomes
        the label table. The rest, errors too, is as for `UniformShuffler.shuffle`.
        """
        labels = np.arange(len(reports)) // reports.model.num_messages
        model = self.model(reports.num_users)
        return View(reports=reports, labels=labels, label_table=public, shuffle=model, source=source)
