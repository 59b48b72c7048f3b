"""Attack on orders: evidence from slots about which member of a group gave which answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import Game
from shuffledp.attacks.likelihood_scores import DIGITS, NeighboringInputs, report_scores
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.guarantees import DSigmaPrivacy
from shuffledp.core.local_models import LocalModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.protocols.d_sigma.attacks.order_tracers import OrderTelling, tell_orders
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.sensitivity import windows
from shuffledp.randomness.permutations import invert

_Holders = tuple[tuple[int, ...], ...]

_GROUPS = 2  # groups whose orders are played


def _own_slots(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """Evidence in slots of the first answer's holders, minus that in slots of the second answer's holders."""
    return float(evidence[list(holders[0])].sum() - evidence[list(holders[1])].sum())


def _along_the_order(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """Evidence along the reference order: difference between the mean positions of the two answers."""
    return -float(evidence @ (rank - (len(rank) - 1) / 2)) / len(rank)


def _along_the_numbers(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """Evidence along the people's numbers, to detect a shuffle that ignores the reference order."""
    places = np.arange(len(evidence))
    side = 1.0 if np.mean(holders[0]) < np.mean(holders[1]) else -1.0
    return -side * float(evidence @ (places - (len(places) - 1) / 2)) / len(places)


# Scores of views whose labels are slots, for two orders in which a group's members hold their answers.
ORDER_SCORES: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.int64], _Holders], float]] = {
    "own-slots": _own_slots,
    "along-the-order": _along_the_order,
    "along-the-numbers": _along_the_numbers,
}


def order_scores(view: View, model: LocalModel, inputs: NeighboringInputs, rank: NDArray[np.int64]) -> list[float]:
    """Scores of one view that has a report in every slot, one score for each of ``ORDER_SCORES``.

    A report's evidence is the log-likelihood ratio of the two answers.
    """
    evidence = np.zeros(len(rank))
    evidence[view.labels] = report_scores(view.reports.columns, model, inputs)
    return [round(score(evidence, rank, inputs.holders), DIGITS) for score in ORDER_SCORES.values()]


class OrderGame(Game):
    """Game about orders: both data sets hold the same answers, in two orders of a group's members.

    Who holds which answer is chosen along the public reference order: where exchanging them costs the shuffle most.
    """

    name = guarantee = "d-sigma"
    scores = tuple(ORDER_SCORES)
    trials = 10_000
    follows = True

    @classmethod
    def follow(cls, shuffler: Shuffler, **options: Any) -> OrderTelling | None:
        """Audit of the shuffler's loss profile, see `tell_orders`."""
        return tell_orders(shuffler, **options)

    @classmethod
    def why_not_about(cls, claim: PrivacyStatement, shuffler: Shuffler) -> str:
        """Reason why the game cannot refute a claim on orders; see `Game.why_not_about`."""
        groups = getattr(shuffler, "groups", None)
        if not isinstance(claim.guarantee, DSigmaPrivacy) or groups is None or not hasattr(shuffler, "prepare"):
            return "No game is known for orders inside groups where the shuffler does not say which groups these are."
        if groups.digest != claim.guarantee.groups_digest:
            return "The claim is about other groups than the shuffler's."
        return "" if groups.sizes.max() > 1 else "Every group is one person: there is no order to be told."

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Pairs of neighboring inputs, with members of the most sensitive groups as the holders of answers."""
        shuffler: Any = self.pipeline.shuffler
        prepared = shuffler.prepare()
        return [
            replace(pair, holders=holders) for pair in pairs for holders in holders_of(shuffler.groups, prepared.order)
        ]

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs; see `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.pipeline.shuffler
        prepared: Any = shuffler
        rank = invert(prepared.prepare().order)
        answers = inputs.answers(which, self.num_users)
        found = np.empty((runs, len(self.scores)))
        for row in found:
            view = shuffler.shuffle(randomizer.randomize(answers, source=self.source), source=self.source)
            row[:] = order_scores(view, randomizer.model, inputs, rank)
        self.tick(runs)
        return found


def holders_of(groups: Groups, order: NDArray[np.int64]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of holders in the most sensitive groups: lower and upper half; lowest and highest member."""
    rank = invert(order)
    found = []
    for number in np.argsort(-windows(groups, order).kendall, kind="stable")[:_GROUPS].tolist():
        members = groups[number]
        if members.size > 1:
            along = members[np.argsort(rank[members])].tolist()
            half = len(along) // 2
            found += [(tuple(along[:half]), tuple(along[-half:])), ((along[0],), (along[-1],))]
    return list(dict.fromkeys(found))
