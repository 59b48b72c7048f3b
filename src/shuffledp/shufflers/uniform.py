"""The uniform shuffler: every order of the reports is equally likely, and nothing else is seen."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffledp import _validate
from shuffledp.flow import Reports, View
from shuffledp.models import LabelMeaning, ShuffleModel
from shuffledp.table import Table

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["UniformShuffleModel", "UniformShuffler"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformShuffleModel(ShuffleModel):
    """What is public about a uniform shuffle.

    Args:
        num_users: users in the batch, 1 or more.
    """

    kind: ClassVar[str] = "uniform"
    labels: ClassVar[LabelMeaning] = LabelMeaning.NONE
    num_users: int

    def __post_init__(self) -> None:
        _validate.integer_at_least(1, num_users=self.num_users)

    @property
    def is_uniform(self) -> bool:
        """Every order of all the reports is equally likely."""
        return True


class UniformShuffler:
    """Publishes the reports as a multiset.

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
        """The public description for this many users."""
        return UniformShuffleModel(num_users=num_users)

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached: guarantee 2)
        source: "RandomSource | None" = None,
    ) -> View:
        """The view: the constructor's own permutation is the shuffle.

        Args:
            reports: one row per message.
            public: ignored (guarantee 2).
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if there is no report, or not the same number of them from everybody.
        """
        return View(reports=reports, shuffle=self.model(reports.num_users), source=source)
