"""Games about reports that walk along a graph: against the analyst alone, and against one who is told by colluders."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.attacks.scores import SCORES, view_scores
from shuffledp.attacks.walks import WALK_SCORES, SightingReader, WalkReader, most_exposed, trace_walks
from shuffledp.flow import View
from shuffledp.shufflers import RandomWalkShuffler

__all__ = ["CollusionGame", "WalkGame"]


class WalkGame(CentralGame):
    """Seen are the reports and who handed them in.

    Played is the one whose report is hidden worst, on graphs that are searched, and the person whom the inputs name.
    """

    scores = (*SCORES, *WALK_SCORES)

    @property
    def shuffler(self) -> RandomWalkShuffler:
        """That of the pipeline."""
        return cast(RandomWalkShuffler, self.pipeline.shuffler)

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Each pair of answers, of the one who is most exposed and of the person named, if it is not the first."""
        worst = most_exposed(self.shuffler)
        return [
            replace(pair, person=person) for pair in pairs for person in dict.fromkeys([pair.person or worst, worst])
        ]

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """See `CentralGame.reading`."""
        model = self.pipeline.randomizer.model
        reader = WalkReader(self.shuffler, model, inputs)

        def read(views: Sequence[View]) -> NDArray[np.float64]:
            return np.column_stack([view_scores(views, model, inputs), reader.scores(views)])

        return read


class CollusionGame(WalkGame):
    """The same with what passed through the hands of colluders, who are the neighbors of the person asked about.

    Walks are drawn round by round, so that it is known who passed what on to whom; they end in the shuffler's own view.
    """

    scores = (*WalkGame.scores, "sightings", "bags-and-sightings")

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """See `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.shuffler
        answers, read = inputs.answers(which, self.num_users), self.reading(inputs)
        reader = SightingReader(shuffler, randomizer.model, inputs)
        bags = WalkGame.scores.index("bags")
        found = np.empty((runs, len(self.scores)))
        for row in found:
            reports = randomizer.randomize(answers, source=self.source)
            trace = trace_walks(shuffler, source=self.source)
            view = shuffler.hand_in(reports, trace[-1], source=self.source)
            seen = read([view])[0]
            sighted = reader.score(reports.columns, trace)
            row[:] = *seen, sighted, seen[bags] + sighted
            self.tick(1)
        return found
