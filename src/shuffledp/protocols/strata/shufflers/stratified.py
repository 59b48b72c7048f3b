"""Stratified shuffling: a uniform shuffle inside each stratum, whose region or weight may be public.

A public column beside the reports divides the crowd: what is known of a report's sender leaves only the people of one
stratum to hide among.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shuffledp.core import validate
from shuffledp.core.flow import Reports, View
from shuffledp.core.shuffle_models import ColludingShuffleModel, LabelMeaning
from shuffledp.core.table import Table
from shuffledp.core.text import count_of
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.randomness.sources import RandomSource
from shuffledp.shufflers.uniform import UniformShuffleModel


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedShuffleModel(ColludingShuffleModel):
    """Public description of a uniform shuffle inside each stratum.

    Args:
        sizes: people in each stratum, 1 or more.
        num_colluding: people who may work together with the analyst and hide nobody, in whichever strata.
        design_effect: factor by which the people's weights multiply the variance of an estimate, 1 or more.
        rounding: as of `shuffledp.protocols.strata.people.strata.Strata`, 0 or more.
    """

    kind: ClassVar[str] = "stratified"
    labels: ClassVar[LabelMeaning] = LabelMeaning.STRATUM
    sizes: tuple[int, ...]
    num_colluding: int = 0
    design_effect: float = 1.0
    rounding: float = 0.0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_strata=len(self.sizes))
        for size in self.sizes:
            validate.integer_at_least(1, sizes=size)
        self._check_colluding()
        validate.positive(design_effect=self.design_effect)
        validate.probability(rounding=self.rounding)

    @property
    def num_users(self) -> int:  # type: ignore[override]
        """Number of people in all strata."""
        return sum(self.sizes)

    @property
    def in_words(self) -> str:
        """Name of the shuffle, with the number of strata."""
        return f"a uniform shuffle inside each of {count_of(len(self.sizes), 'stratum', 'strata')}"

    def beside_reports(self, columns: str) -> str:
        """Sentence on the public ``columns`` of a stratum, or, without columns, on batches as strata."""
        if not columns:
            return "Each report is released beside the number of its batch; the strata are these batches."
        return f"Each report is released beside {columns} of its stratum."

    @property
    def num_labels(self) -> int:
        """Number of labels, one for each stratum."""
        return len(self.sizes)

    @property
    def num_alone(self) -> int:  # type: ignore[override]
        """Number of people who are alone in their stratum."""
        return self.sizes.count(1)

    @property
    def worst_off(self) -> UniformShuffleModel:
        """Worst case: uniform shuffle of the smallest stratum, with all colluders in it."""
        return UniformShuffleModel(num_users=max(min(self.sizes) - self.num_colluding, 1))

    @property
    def mixing(self) -> tuple[str, ...]:
        """Remark on the people for whom the loss is stated."""
        people = count_of(min(self.sizes), "person", "people")
        honest = self.worst_off.num_users
        counted = f", of whom {honest:,} are counted as honest" if honest < min(self.sizes) else ""
        return (
            f"Each report hides among those of its own stratum alone. This is about the smallest of "
            f"{count_of(len(self.sizes), 'stratum', 'strata')}, of {people}{counted}; nobody's guarantee is weaker.",
        )


@dataclass(frozen=True)
class StratifiedShuffler:
    """Shuffler that publishes the reports of each stratum as a multiset, beside the stratum's public columns.

    Guarantees:
        1. Given the multiset of reports in each stratum, all orders of the view inside strata are equally likely, and
           independent between strata, exactly.
        2. The view has one row of public columns for each stratum, and none for a person: of weights it shows the mean
           of a stratum alone.

    Args:
        strata: of the people whose reports are to be shuffled.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1, 2, 1])
        >>> strata = Strata.of({"region": ["north", "south", "north", "south"]}, by="region")
        >>> view = StratifiedShuffler(strata).shuffle(reports)
        >>> view, view.labels.tolist(), view.label_table["region"].tolist()
        (View(4 reports of 'k-rr', 'stratified' shuffle, labels are strata), [0, 0, 1, 1], ['north', 'south'])
    """

    strata: Strata

    def __post_init__(self) -> None:
        validate.instance_of(Strata, strata=self.strata)

    def model(self, num_users: int) -> StratifiedShuffleModel:
        """Public description of the shuffle; ``num_users`` must be the number of users in the strata."""
        validate.integer_at_least(1, num_users=num_users)
        if num_users != self.strata.num_users:
            raise validate.invalid(f"the people of the strata, {self.strata.num_users}", num_users=num_users)
        return StratifiedShuffleModel(
            sizes=self.strata.sizes, design_effect=self.strata.design_effect, rounding=self.strata.rounding
        )

    def shuffle(
        self,
        reports: Reports,
        *,
        public: Table | None = None,  # noqa: ARG002 (detached: guarantee 2)
        source: RandomSource | None = None,
    ) -> View:
        """View with each report's stratum as its label; reports are shuffled inside each stratum.

        The view's constructor permutes the reports of equal labels, which is the shuffle.

        Args:
            reports: one row per message, those of one person after each other, in the order of the strata's people.
            public: ignored (guarantee 2).
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if the number of people differs from that of the strata.
        """
        model = self.model(reports.num_users)
        labels = np.repeat(self.strata.of_person, reports.model.num_messages)
        return View(reports=reports, labels=labels, label_table=self.strata.table, shuffle=model, source=source)
