"""Attacks on the people of a pilot: rho of a majority vote, and shares of rightly guessed answers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shuffledp.core.described import Described
from shuffledp.core.flow import View
from shuffledp.core.table import Floats, Integers
from shuffledp.protocols.d_sigma.attacks.de_finetti import DeFinettiAttack
from shuffledp.protocols.d_sigma.attacks.evaluation import MajorityVote
from shuffledp.protocols.d_sigma.attacks.neighborhoods import NeighborhoodBayes
from shuffledp.protocols.d_sigma.attacks.side_information import InferenceAttack, SideInformation
from shuffledp.protocols.d_sigma.attacks.vote_vulnerability import VULNERABLE_FROM, Vote

RUNS = 50  # over which rho counts
_MOST_SAMPLED = 4_000  # people, for answers of more than two values
_ROUNDS_OF_DE_FINETTI = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessed(Described):
    """Success of the attacks that were played, as shares of right guesses.

    Args:
        best: the largest of them.
        attack: which attack that is.
        every: the share of each attack, by name.
    """

    best: float
    attack: str
    every: dict[str, float]


class PilotAttacks:
    """Attacks on one pilot, with side information that is equal for all shuffles.

    Args:
        answers: everybody's true answer, numbers from 0 on, shape (people,).
        channel: Pr[report | answer] of randomized response, rows of answers.
        neighbors: slots looked at for each person, as `similar_people` finds them.
        features: further public numbers of categories, shape (people, columns); None if there are none.
    """

    def __init__(
        self, answers: Integers, channel: Floats, neighbors: Integers, features: Integers | None = None
    ) -> None:
        self.answers, self.channel, self.neighbors, self.features = answers, channel, neighbors, features
        self._vote = Vote(answers=answers, neighbors=neighbors, truth=float(channel[0, 0]), runs=RUNS)
        self._chances = self._vote.chances() if len(channel) == 2 else None
        self._always = None if self._chances is None else self._vote.nearly_always(self._chances)
        count = min(answers.size, _MOST_SAMPLED)
        self._sampled = np.linspace(0, answers.size - 1, count).astype(np.int64)

    @property
    def naive(self) -> float:
        """Share of right guesses by always saying the commonest answer."""
        return float(np.bincount(self.answers).max() / self.answers.size)

    def rho(self, permutation: Integers, randomize: Callable[[Integers], Integers]) -> float:
        """Rho: share of people whom the vote guesses right in nearly all runs with this permutation.

        Of two answers it is exact given the permutation. Of more, runs are drawn for some thousand people spread over
        all.

        Args:
            permutation: person whose report lies in each slot.
            randomize: draws everybody's report.
        """
        if self._always is not None:
            there = self.neighbors >= 0
            alike = (there & (self.answers[permutation[self.neighbors]] == self.answers[:, None])).sum(axis=1)
            return float(self._always[np.arange(alike.size), alike].mean())
        looked = self.neighbors[self._sampled]
        right = np.zeros(looked.shape[0], dtype=np.int64)
        for _ in range(RUNS):
            said = randomize(self.answers)[permutation]
            right += _plurality(said, looked, len(self.channel)) == self.answers[self._sampled]
        return float((right >= VULNERABLE_FROM * RUNS - 1e-9).mean())

    def chance_level(self, randomize: Callable[[Integers], Integers], draw: Callable[[], Integers]) -> float:
        """Rho after a uniform shuffle of all people: the level that chance alone explains.

        Exact for two answers.
        """
        if self._always is not None:
            return self._vote.in_cells(np.zeros(self.answers.size, dtype=np.int64)).fixed
        return float(np.mean([self.rho(draw(), randomize) for _ in range(3)]))

    def guessed(self, view: View, placement: Floats | None, blocks: Integers | None) -> Guessed:
        """Best attack on one view: the majority vote, the neighborhood posterior, or de Finetti's.

        Whoever always says the commonest answer looks at no report; no attack that does worse is called the best.

        Args:
            view: of randomized response.
            placement: where the person's own report may be, see `placement`; None if anywhere.
            blocks: the number of everybody's stretch of the order, whose reports are taken together; None leaves out
                de Finetti's attack, and so does a pilot without further features.
        """
        near = SideInformation(neighbors=self.neighbors, placement=placement)
        found = {"vote": self._right(MajorityVote(), view, near), "posterior": 0.0}
        found["posterior"] = self._right(NeighborhoodBayes(), view, near)
        if blocks is not None and self.features is not None:
            told = SideInformation(blocks=blocks, features=self.features)
            found["de Finetti"] = self._right(DeFinettiAttack(num_rounds=_ROUNDS_OF_DE_FINETTI), view, told)
        found["the commonest answer"] = self.naive
        best = max(found, key=lambda name: found[name])
        return Guessed(best=found[best], attack=best, every=found)

    def _right(self, attack: InferenceAttack, view: View, known: SideInformation) -> float:
        return float((attack.infer(view, known) == self.answers).mean())


def _plurality(said: Integers, looked: Integers, values: int) -> Integers:
    """Commonest value in the slots looked at; on ties the value commoner overall, then the smaller one."""
    there = looked >= 0
    total = np.bincount(said, minlength=values) / (2 * said.size)
    votes = np.stack([(there & (said[looked] == value)).sum(axis=1) + total[value] for value in range(values)])
    found: Integers = votes.argmax(axis=0)
    return found
