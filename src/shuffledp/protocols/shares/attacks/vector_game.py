"""Attack on sums of vectors by the sum along the direction in which two data sets differ."""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.core.flow import Reports, Shuffler
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.sum_models import GaussianShareModel
from shuffledp.protocols.shares.analyzers.sums import SumAnalyzer


class VectorsGame(CentralGame):
    """Game about sums of vectors, scored by the noisy sum along the differing direction.

    In that direction the likelihood ratio of Gaussian noise rises.
    """

    name = "vectors"
    scores = ("along",)

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever the rounds are)
        """Whether reports are shares of vectors; see `Game.suits`."""
        return isinstance(model.local, GaussianShareModel)

    @classmethod
    def worst_inputs(cls, model: LocalModel) -> Sequence[NeighboringInputs]:
        """Opposite vectors of the largest length along the diagonal, all others 0; see `Game.worst_inputs`."""
        vectors = cast(GaussianShareModel, model)
        each = vectors.upper / math.sqrt(vectors.dimension) * (1 - 1e-12)
        first, second, others = ((value,) * vectors.dimension for value in (each, -each, 0.0))
        return (NeighboringInputs(first=first, second=second, others=others),)

    @classmethod
    def why_unreadable(cls, model: LocalModel, reports: Sequence[tuple[NeighboringInputs, Reports]]) -> str:  # noqa: ARG003
        """Always "", since every view can be read; see `Game.why_unreadable`."""
        return ""

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        model, analyzer = cast(GaussianShareModel, self.pipeline.randomizer.model), SumAnalyzer()
        direction = np.asarray(inputs.first, dtype=np.float64) - np.asarray(inputs.second, dtype=np.float64)
        people = self.num_users
        return lambda views: np.array(
            [[float(model.decode(analyzer.summarize(view).residues, people) @ direction)] for view in views]
        )
