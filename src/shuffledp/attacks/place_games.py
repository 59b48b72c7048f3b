"""Attacks on places: a person's label or row in the view, learned from shuffles of marked reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import (
    DIGITS,
    SCORES,
    NeighboringInputs,
    ScoredViews,
    labels_of,
    log_sum_per_view,
    seen_in,
    view_scores,
)
from shuffledp.core.flow import DISTINCT_LABELS, Reports, Shuffler, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.table import Floats
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.randomness.sources import RandomSource

PROBES = 1_000  # shuffles from which the law of one person's place is learned
_FEW_PROBES = 100  # enough to show a fixed order
_NOT_SEEN = 0.5  # added to the count of each place, so that no chance is 0
_LARGEST_SEARCH = 1024  # most people among whom the most predictable row is searched
_UNEVEN = 4.0  # standard errors from which on rows do not count as even
_BY_CHANCE = 1e-6  # even rows would reach a count with this probability: beyond it they are not even
_SURER = 1.25  # another person's likeliest place must be this many times as likely as the named person's

Counts = NDArray[np.int64]


class _PlaceGame(CentralGame):
    """Base of games in which the places of all people are learned from shuffles of marked reports.

    Played is the person named; up to 1,024 people, also the one whose place is the surest, if it is surer than that of
    the person named and than chance would have it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._counts: dict[int, Counts] = {}
        self._rows = self.source.substream("rows")  # its own stream: reading rows does not change the runs

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Pairs of answers for the named person, and for the person whose place is easiest to predict."""
        people = sorted({pair.person for pair in pairs})
        counts = place_counts(self.pipeline.shuffler, self.num_users, people, probes_for(self.training), self._rows)
        self._counts = dict(zip(everybody(self.num_users, people), counts, strict=True))
        return [
            replace(pair, person=person)
            for pair in pairs
            for person in dict.fromkeys([pair.person, surest_of(self._counts, pair.person, self.num_users)])
        ]


class SlotGame(_PlaceGame):
    """Game about slots, in which the view is visible and each report has a different label.

    "slots" is the exact log-likelihood ratio of everything that is seen, for the law of one person's place: given that
    it is at a place, all other places hold independent reports of everybody else's answer. That law is learned from
    shuffles of marked reports, so that it is the shuffler's own, whatever its model says.
    """

    name = "slots"
    scores = (*SCORES, "slots")

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever makes the labels)
        """Whether each report has a different label; see `Game.suits`."""
        return model.shuffle.labels in DISTINCT_LABELS

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known: dict[int, Floats] = {}

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        model, chances = self.pipeline.randomizer.model, self._learned(inputs.person)

        def slots(views: Sequence[View]) -> Floats:
            found = np.zeros(len(views))
            filled, seen = seen_in(views, model, inputs)
            if seen is not None:
                found[filled] = _weighed(seen, chances)
            return np.round(found, DIGITS)

        return lambda views: np.column_stack([view_scores(views, model, inputs), slots(views)])

    def _learned(self, person: int) -> Floats:
        """Log-chances of a person's places by `place_chances`, computed once for each person."""
        if person not in self._known:
            self._known[person] = place_chances(self.pipeline.shuffler, self.num_users, person, self.source)
        return self._known[person]


class RowGame(_PlaceGame):
    """Game about rows of a view without labels.

    Rows tell nothing if they are shuffled, and everything if not. "rows" is the log-likelihood ratio of everything that
    is seen in the light of where reports end, and "likeliest-row" that of what lies in one person's likeliest row. Both
    are the "histogram" where rows look even.
    """

    name = "central-dp"
    scores = (*SCORES, "rows", "likeliest-row")

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever drops the labels)
        """Whether views have no labels; see `Game.suits`."""
        return model.shuffle.labels is LabelMeaning.NONE

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        model, person = self.pipeline.randomizer.model, inputs.person
        if person not in self._counts:
            probes = probes_for(self.training)
            (self._counts[person],) = place_counts(
                self.pipeline.shuffler, self.num_users, [person], probes, self._rows, search=False
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


def _weighed(seen: ScoredViews, chances: Floats) -> Floats:
    """Log-likelihood ratio of views, given the log-chances of one person's places."""
    weights = chances[np.minimum(seen.labels, len(chances) - 1)] - seen.others
    one, other = (log_sum_per_view(weights + answer, seen.starts) for answer in (seen.first, seen.second))
    return one - other


def probes_for(runs: int) -> int:
    """Number of shuffles of marked reports to make for a game of ``runs`` runs."""
    return min(PROBES, max(_FEW_PROBES, runs))


def everybody(num_users: int, people: Sequence[int]) -> Sequence[int]:
    """People to follow in a search for the most predictable place.

    All people of a small batch, and only ``people`` in a large batch.
    """
    return range(num_users) if num_users <= _LARGEST_SEARCH else people


def surest_of(counts: Mapping[int, Counts], named: int, num_users: int) -> int:
    """Person whose place is easiest to predict; ``named`` if no other person is surely easier.

    Counts are as in `place_counts`.
    """
    from scipy.stats import binom  # slow to import

    surest = {person: int(found.max()) for person, found in counts.items()}
    worst = max(surest, key=surest.__getitem__)
    probes = max(int(found.sum()) for found in counts.values())
    if num_users > _LARGEST_SEARCH or surest[worst] <= binom.isf(_BY_CHANCE / num_users**2, probes, 1 / num_users):
        return named
    return worst if surest[worst] > _SURER * surest[named] else named


def log_shares(counts: Counts) -> Floats:
    """Log-chance of each place, from the number of times a report was seen there."""
    found: Floats = np.log((counts + _NOT_SEEN) / (counts + _NOT_SEEN).sum())
    return found


def looks_even(counts: Counts) -> bool:
    """Whether places look equally likely: Pearson's statistic is near its mean for equally likely places."""
    probes, places = int(counts.sum()), len(counts)
    if probes < 2 or places < 2:
        return True
    statistic = float((counts.astype(np.float64) ** 2).sum()) * places / probes - probes
    spread = np.sqrt(2 * (places - 1) * (probes - 1) / probes)
    return bool(statistic - (places - 1) <= _UNEVEN * spread)


def place_counts(
    shuffler: Shuffler, num_users: int, people: Sequence[int], probes: int, source: RandomSource, *, search: bool = True
) -> Counts:
    """Counts of people's reports in each place, in shuffles of marked reports.

    A place is a label, or a row if there are no labels.

    Followed are ``people`` or, in a ``search`` in a batch of at most 1,024, everybody; shape (followed, num_users).
    """
    followed = np.array(everybody(num_users, people) if search else people, dtype=np.int64)
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=max(2, num_users))
    marked = Reports({"value": np.arange(num_users)}, model)
    counts = np.zeros((len(followed), num_users), dtype=np.int64)
    for _ in range(probes):
        view = shuffler.shuffle(marked, source=source)
        places = np.full(num_users, num_users)  # past the last place: lost
        places[view.reports["value"]] = labels_of(view)
        found = places[followed]
        there = np.flatnonzero(found < num_users)
        counts[there, found[there]] += 1
    return counts


def place_chances(shuffler: Shuffler, num_users: int, person: int, source: RandomSource) -> Floats:
    """Log-chance of each label for one person's report, learned from shuffles of marked reports."""
    return log_shares(place_counts(shuffler, num_users, [person], PROBES, source, search=False)[0])
