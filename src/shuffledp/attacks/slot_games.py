"""Games about views whose labels keep part of the order: where one person's report lies is learned, and then used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.scores import DIGITS, SCORES, seen_in, sum_per_view, view_scores
from shuffledp.flow import Reports, Shuffler, View
from shuffledp.models import LabelMeaning
from shuffledp.randomizers import KaryRandomizedResponseModel

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["DISTINCT", "PROBES", "SlotGame", "place_chances"]

DISTINCT = (LabelMeaning.SLOT, LabelMeaning.POSITION)  # a different label beside each report

PROBES = 1_000  # shuffles by which the law of one person's place is learned
_NOT_SEEN = 0.5  # counted for a place in which no probe ended


class SlotGame(CentralGame):
    """Seen is the view, with a different label beside each report.

    "slots" is the exact log-likelihood ratio of everything that is seen, for the law of one person's place: given that
    it is at a place, all other places hold independent reports of everybody else's answer. That law is learned from
    shuffles of marked reports, so that it is the shuffler's own, whatever its model says.
    """

    scores = (*SCORES, "slots")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known: dict[int, NDArray[np.float64]] = {}

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """See `CentralGame.reading`."""
        model, chances = self.pipeline.randomizer.model, self._learned(inputs.person)

        def slots(views: Sequence[View]) -> NDArray[np.float64]:
            found = np.zeros(len(views))
            filled, seen = seen_in(views, model, inputs)
            if seen is not None:
                weights = chances[seen.labels] - seen.others
                one, other = (sum_per_view(weights + answer, seen.starts) for answer in (seen.first, seen.second))
                found[filled] = one - other
            return np.round(found, DIGITS)

        return lambda views: np.column_stack([view_scores(views, model, inputs), slots(views)])

    def _learned(self, person: int) -> NDArray[np.float64]:
        """As `place_chances`, once for each person."""
        if person not in self._known:
            self._known[person] = place_chances(self.pipeline.shuffler, self.num_users, person, self.source)
        return self._known[person]


def place_chances(shuffler: Shuffler, num_users: int, person: int, source: "RandomSource") -> NDArray[np.float64]:
    """The log of the chance that one person's report gets each label, learned from shuffles of marked reports.

    Args:
        shuffler: gives each report a different label.
        num_users: people in the batch.
        person: whose report is marked.
        source: randomness.
    """
    marked = np.zeros(num_users, dtype=np.int64)
    marked[person] = 1
    model = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2)
    counts = np.full(num_users, _NOT_SEEN)
    for _ in range(PROBES):
        view = shuffler.shuffle(Reports({"value": marked}, model), source=source)
        labels = np.arange(len(view)) if view.labels is None else view.labels
        counts[labels[view.reports["value"] == 1]] += 1
    found: NDArray[np.float64] = np.log(counts / counts.sum())
    return found
