"""The distinguishing game: run the protocol on one of two neighbouring data sets, and score what may be seen of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.scores import SCORES, read_view, report_scores
from shuffledp.flow import Randomizer, Shuffler

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["GAMES", "Game", "RandomizerAndShuffler"]

_REPORTS_AT_A_TIME = 1 << 12
_RUNS_BETWEEN_TICKS = 100


@runtime_checkable
class RandomizerAndShuffler(Protocol):
    """What an audit plays: a `shuffledp.Pipeline`, or anything else with these two parts."""

    @property
    def randomizer(self) -> Randomizer:
        """Runs on a person's device."""

    @property
    def shuffler(self) -> Shuffler:
        """Makes the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Game(ABC):
    """What may be seen under a type of guarantee, and how it is scored.

    Class attributes: ``scores`` (names), ``trials`` (the default number of runs with each data set).
    """

    scores: ClassVar[tuple[str, ...]]
    trials: ClassVar[int]
    pipeline: RandomizerAndShuffler
    num_users: int
    source: "RandomSource"
    tick: Callable[[int], None]

    @abstractmethod
    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Independent runs with one of the two data sets; shape (runs, scores)."""


class LocalGame(Game):
    """Seen is the report that leaves the first person's device.

    The randomizer gets a column of equal answers: its reports are independent, one for each row.
    """

    __slots__ = ()
    scores = ("own-report",)
    trials = 100_000

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """See `Game.play`."""
        randomizer = self.pipeline.randomizer
        found = np.empty((runs, 1))
        for start in range(0, runs, _REPORTS_AT_A_TIME):
            batch = found[start : start + _REPORTS_AT_A_TIME, 0]
            answers = np.array([getattr(inputs, which)] * len(batch))
            reports = randomizer.randomize(answers, source=self.source)
            batch[:] = report_scores(reports.columns, randomizer.model, inputs)
            self.tick(len(batch))
        return found


class CentralGame(Game):
    """Seen is the view. Every run is a run of the real randomizer and of the real shuffler; nothing is replaced."""

    __slots__ = ()
    scores = tuple(SCORES)
    trials = 10_000

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """See `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.pipeline.shuffler
        answers = inputs.answers(which, self.num_users)
        found = np.empty((runs, len(self.scores)))
        for run in range(runs):
            reports = randomizer.randomize(answers, source=self.source)
            view = shuffler.shuffle(reports, source=self.source)
            found[run] = read_view(view, randomizer.model, inputs)
            if (run + 1) % _RUNS_BETWEEN_TICKS == 0:
                self.tick(_RUNS_BETWEEN_TICKS)
        self.tick(runs % _RUNS_BETWEEN_TICKS)
        return found


GAMES: Mapping[str, type[Game]] = {"local-dp": LocalGame, "central-dp": CentralGame}
