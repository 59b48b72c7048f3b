"""De Finetti attack: shuffled groups still show which public features go with which answers."""

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.flow import View
from shuffledp.core.table import Floats
from shuffledp.protocols.d_sigma.attacks.side_information import SideInformation, needed, reports_by_slot

_LEAST = 1e-9  # a share of 0 would never come back
_BALANCED = 20  # rounds in which people's chances are fitted to their group's counts


class DeFinettiAttack:
    """Attack that guesses answers by naive Bayes on public features, learned from the shuffled groups.

    Answers inside a group are exchangeable, and groups differ in their features and in their answers. So people's
    chances and the model improve each other: from chances, how often each feature goes with each answer; from the
    model, whose of the group's answers is whose, such that they add up to what the group's reports say.

    Args:
        num_rounds: of improving, 0 or more; with 0 everybody's chances are the shares in their group.

    References:
        Kifer, "Attacks on Privacy and deFinetti's Theorem", SIGMOD 2009; here with randomized answers.
    """

    def __init__(self, *, num_rounds: int = 30) -> None:
        validate.integer_at_least(0, num_rounds=num_rounds)
        self.num_rounds = int(num_rounds)

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """Likeliest answer of each person; on ties the smallest answer.

        Args:
            view: of randomized response, with slots; in which slot of a group a report lies is not looked at.
            side_information: with ``blocks`` and ``features``.

        Raises:
            InvalidParameterError: if one of these is not known, or there is not one report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        found: NDArray[np.int64] = self.posterior(view, side_information).argmax(axis=1)
        return found

    def posterior(self, view: View, side_information: SideInformation) -> Floats:
        """Probability of each answer for each person, shape (people, values). Arguments as in `infer`."""
        # Numbers of categories may be large: only those that occur count, so that tables stay small.
        features = [np.unique(column, return_inverse=True)[1] for column in needed(side_information, "features").T]
        blocks = np.unique(needed(side_information, "blocks"), return_inverse=True)[1]
        model = view.reports.model
        said = reports_by_slot(view, len(blocks))
        p, q, size = (getattr(model, name) for name in ("p", "q", "domain_size"))
        people = np.bincount(blocks)[:, None]
        told = _summed(blocks, np.eye(size)[said])
        counts = np.maximum((told - people * q) / (p - q), _LEAST)
        counts *= people / counts.sum(axis=1, keepdims=True)
        found: Floats = (counts / people)[blocks]
        for _ in range(self.num_rounds):
            found = _balanced(_likelihoods(features, found), blocks, counts)
        return found


def _summed(blocks: NDArray[np.int64], chances: Floats) -> Floats:
    """Sums of the rows of ``chances`` over the people of each block, shape (blocks, values)."""
    return np.column_stack([np.bincount(blocks, column) for column in chances.T])


def _likelihoods(features: list[NDArray[np.int64]], chances: Floats) -> Floats:
    """Likelihood of each person's features given each answer, from expected counts plus one."""
    logs = np.zeros_like(chances)
    for column in features:
        table = _summed(column, chances) + 1
        logs += np.log(table / table.sum(axis=0))[column]
    found: Floats = np.exp(logs - logs.max(axis=1, keepdims=True)) + _LEAST
    return found


def _balanced(weights: Floats, blocks: NDArray[np.int64], counts: Floats) -> Floats:
    """Probability of each answer for each person: weights scaled to the expected counts of each block.

    A factor for each block and answer scales the weights, in rounds that bring the sums nearer to the block's counts.
    """
    factors = counts.copy()
    for _ in range(_BALANCED):
        chances = weights * factors[blocks]
        chances /= chances.sum(axis=1, keepdims=True)
        factors *= counts / np.maximum(_summed(blocks, chances), _LEAST)
        factors /= factors.sum(axis=1, keepdims=True)
    chances = weights * factors[blocks]
    found: Floats = chances / chances.sum(axis=1, keepdims=True)
    return found
