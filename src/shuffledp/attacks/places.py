"""Where in a view people's reports end, by label or by row: learned from shuffles of marked reports."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from shuffledp.flow import Reports, Shuffler
from shuffledp.models import LabelMeaning
from shuffledp.randomizers import KaryRandomizedResponseModel

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = [
    "DISTINCT",
    "PROBES",
    "Counts",
    "everybody",
    "log_shares",
    "looks_even",
    "place_chances",
    "place_counts",
    "probes_for",
    "surest_of",
]

DISTINCT = (LabelMeaning.SLOT, LabelMeaning.POSITION)  # a different label beside each report

PROBES = 1_000  # shuffles by which the law of one person's place is learned
_FEW_PROBES = 100  # show an order that is always the same
_NOT_SEEN = 0.5  # counted for a place in which no probe ended
_LARGEST_SEARCH = 1024  # people among whom the one is looked for whose row is the surest
_UNEVEN = 4.0  # standard errors from which on rows are not taken for even
_BY_CHANCE = 1e-6  # a count that even rows would reach so rarely is none of theirs
_SURER = 1.25  # how much surer somebody else's row must be than that of the person named

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def probes_for(runs: int) -> int:
    """No more shuffles of marked reports than pay off beside so many runs."""
    return min(PROBES, max(_FEW_PROBES, runs))


def everybody(num_users: int, people: Sequence[int]) -> Sequence[int]:
    """Whose reports are followed where the surest place is looked for: ``people`` only, in a batch too large."""
    return range(num_users) if num_users <= _LARGEST_SEARCH else people


def surest_of(counts: Mapping[int, Counts], named: int, num_users: int) -> int:
    """The person whose place is the surest, if it is surer than that of the one named and than chance would have it.

    Args:
        counts: of `place_counts`, for each person followed.
        named: one of them, who is meant if nobody's place is much surer.
        num_users: people in the batch.
    """
    surest = {person: int(found.max()) for person, found in counts.items()}
    worst = max(surest, key=surest.__getitem__)
    probes = max(int(found.sum()) for found in counts.values())
    if num_users > _LARGEST_SEARCH or surest[worst] <= binom.isf(_BY_CHANCE / num_users**2, probes, 1 / num_users):
        return named
    return worst if surest[worst] > _SURER * surest[named] else named


def log_shares(counts: Counts) -> Floats:
    """The log of the chance of each place, from how often a report was seen there."""
    found: Floats = np.log((counts + _NOT_SEEN) / (counts + _NOT_SEEN).sum())
    return found


def looks_even(counts: Counts) -> bool:
    """Whether Pearson's statistic is near its mean under even places, with its variance there."""
    probes, places = int(counts.sum()), len(counts)
    if probes < 2 or places < 2:
        return True
    statistic = float((counts.astype(np.float64) ** 2).sum()) * places / probes - probes
    spread = np.sqrt(2 * (places - 1) * (probes - 1) / probes)
    return bool(statistic - (places - 1) <= _UNEVEN * spread)


def place_counts(
    shuffler: Shuffler,
    num_users: int,
    people: Sequence[int],
    probes: int,
    source: "RandomSource",
    *,
    search: bool = True,
) -> Counts:
    """How often people's reports got each label, or without labels each row, in shuffles of marked reports.

    Args:
        shuffler: gives each report a different label, or none.
        num_users: people in the batch.
        people: whose reports are followed.
        probes: shuffles.
        source: randomness.
        search: follow everybody's, in a batch of at most 1,024.

    Returns:
        Shape (people followed, num_users), in the order of ``people`` or of everybody.
    """
    followed = np.array(everybody(num_users, people) if search else people, dtype=np.int64)
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=max(2, num_users))
    marked = Reports({"value": np.arange(num_users)}, model)
    counts = np.zeros((len(followed), num_users), dtype=np.int64)
    for _ in range(probes):
        view = shuffler.shuffle(marked, source=source)
        labels = np.arange(len(view)) if view.labels is None else view.labels
        places = np.full(num_users, num_users)  # beyond all: lost
        places[view.reports["value"]] = labels
        found = places[followed]
        there = np.flatnonzero(found < num_users)
        counts[there, found[there]] += 1
    return counts


def place_chances(shuffler: Shuffler, num_users: int, person: int, source: "RandomSource") -> Floats:
    """The log of the chance that one person's report gets each label, learned from shuffles of marked reports.

    Args:
        shuffler: gives each report a different label.
        num_users: people in the batch.
        person: whose report is followed.
        source: randomness.
    """
    return log_shares(place_counts(shuffler, num_users, [person], PROBES, source, search=False)[0])
