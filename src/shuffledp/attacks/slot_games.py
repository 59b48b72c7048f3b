"""Games about places in a view, by label or by row: where one person's report lies is learned, and then used."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.places import (
    Counts,
    everybody,
    log_shares,
    looks_even,
    place_chances,
    place_counts,
    probes_for,
    surest_of,
)
from shuffledp.attacks.scores import DIGITS, SCORES, Seen, seen_in, sum_per_view, view_scores
from shuffledp.flow import View

__all__ = ["RowGame", "SlotGame"]

Floats = NDArray[np.float64]


class _PlaceGame(CentralGame):
    """Where everybody's report ends is learned from shuffles of marked reports.

    Played is the person named; up to 1,024 people, also the one whose place is the surest, if it is surer than that of
    the person named and than chance would have it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._counts: dict[int, Counts] = {}
        self._rows = self.source.substream("rows")  # of its own, so that runs are the same whether rows are looked at

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Each pair of answers, of the person named and of the one whose place is the surest."""
        people = sorted({pair.person for pair in pairs})
        counts = place_counts(self.pipeline.shuffler, self.num_users, people, self._probes(), self._rows)
        self._counts = dict(zip(everybody(self.num_users, people), counts, strict=True))
        return [
            replace(pair, person=person)
            for pair in pairs
            for person in dict.fromkeys([pair.person, surest_of(self._counts, pair.person, self.num_users)])
        ]

    def _probes(self) -> int:
        """No more than pay off beside so many runs."""
        return probes_for(self.training)


class SlotGame(_PlaceGame):
    """Seen is the view, with a different label beside each report.

    "slots" is the exact log-likelihood ratio of everything that is seen, for the law of one person's place: given that
    it is at a place, all other places hold independent reports of everybody else's answer. That law is learned from
    shuffles of marked reports, so that it is the shuffler's own, whatever its model says.
    """

    scores = (*SCORES, "slots")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known: dict[int, Floats] = {}

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """See `CentralGame.reading`."""
        model, chances = self.pipeline.randomizer.model, self._learned(inputs.person)

        def slots(views: Sequence[View]) -> Floats:
            found = np.zeros(len(views))
            filled, seen = seen_in(views, model, inputs)
            if seen is not None:
                found[filled] = _weighed(seen, chances)
            return np.round(found, DIGITS)

        return lambda views: np.column_stack([view_scores(views, model, inputs), slots(views)])

    def _learned(self, person: int) -> Floats:
        """As `place_chances`, once for each person."""
        if person not in self._known:
            self._known[person] = place_chances(self.pipeline.shuffler, self.num_users, person, self.source)
        return self._known[person]


class RowGame(_PlaceGame):
    """Seen is a view without labels, whose rows should tell nothing; those of a shuffler with one order tell all.

    "rows" is the log-likelihood ratio of everything that is seen in the light of where reports end, and "likeliest-row"
    that of what lies in one person's likeliest row. Both are the "histogram" where rows look even.
    """

    scores = (*SCORES, "rows", "likeliest-row")

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """See `CentralGame.reading`."""
        model, person = self.pipeline.randomizer.model, inputs.person
        if person not in self._counts:
            (self._counts[person],) = place_counts(
                self.pipeline.shuffler, self.num_users, [person], self._probes(), self._rows, search=False
            )
        counts = self._counts[person]
        even, chances, likeliest = looks_even(counts), log_shares(counts), int(counts.argmax())

        def read(views: Sequence[View]) -> Floats:
            known = view_scores(views, model, inputs)
            rows = np.repeat(known[:, :1], 2, axis=1)
            filled, seen = seen_in(views, model, inputs)
            if seen is not None and not even:
                own = np.where(seen.labels == likeliest, seen.first - seen.second, 0.0)
                rows[filled] = np.column_stack([_weighed(seen, chances), np.add.reduceat(own, seen.starts)])
            return np.column_stack([known, np.round(rows, DIGITS)])

        return read


def _weighed(seen: Seen, chances: Floats) -> Floats:
    """The log-likelihood ratio of views in which one person's report has these log-chances of its places."""
    weights = chances[np.minimum(seen.labels, len(chances) - 1)] - seen.others
    one, other = (sum_per_view(weights + answer, seen.starts) for answer in (seen.first, seen.second))
    return one - other
