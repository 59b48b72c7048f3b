"""Attack on counted bits by the number of ones, which is all that the view reveals."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.core.flow import Reports, Shuffler
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.sum_models import BitSumModel


class BitsGame(CentralGame):
    """Game about counted bits, scored by the number of ones in the view.

    The likelihood ratio rises with it.
    """

    name = "bits"
    scores = ("ones",)

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever the buffer is)
        """Whether reports are bits to be counted; see `Game.suits`."""
        return isinstance(model.local, BitSumModel)

    @classmethod
    def worst_inputs(cls, model: LocalModel) -> Sequence[NeighboringInputs]:
        """Pair of answers at both ends of the range; other people's answers do not matter; see `Game.worst_inputs`."""
        bits = cast(BitSumModel, model)
        return (NeighboringInputs(first=bits.upper, second=bits.lower, others=bits.lower),)

    @classmethod
    def why_unreadable(cls, model: LocalModel, reports: Sequence[tuple[NeighboringInputs, Reports]]) -> str:  # noqa: ARG003
        """Always "", since every view can be read; see `Game.why_unreadable`."""
        return ""

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        del inputs
        return lambda views: np.array([[float(np.count_nonzero(view.reports["bit"]))] for view in views])
