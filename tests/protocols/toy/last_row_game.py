"""Attack on two shuffles: the first person's report is looked for in the last row, where two mirrors would put it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import SCORES, NeighboringInputs, report_scores, view_scores
from shuffledp.core.flow import Shuffler, View
from shuffledp.core.local_models import ProtocolModel


class LastRowGame(CentralGame):
    """Game about two shuffles, in which the last row counts too."""

    name = "twice"
    scores = (*SCORES, "last-row")

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whoever shuffles)
        return model.shuffle.kind == "twice"

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        model = self.pipeline.randomizer.model

        def read(views: Sequence[View]) -> NDArray[np.float64]:
            last = [report_scores(view.reports.take(slice(-1, None)).columns, model, inputs)[0] for view in views]
            return np.column_stack([view_scores(views, model, inputs), last])

        return read
