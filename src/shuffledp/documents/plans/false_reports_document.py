"""Influence of one false report over numbers of people, drawn for the page of a plan."""

import math
from dataclasses import replace
from typing import Any, cast

from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.documents.blocks import PAGE, Picture, Text
from shuffledp.documents.charts.crowd_charts import crowd_chart
from shuffledp.documents.document import Section
from shuffledp.planning.crowd_losses import crowds_around, robustness
from shuffledp.survey import Column


def false_reports_section(column: Column, stated: PrivacyStatement, people: int, number: int) -> Section | None:
    """Section that draws the influence of one false report; None where it is unknown or unlimited.

    Also None where it depends on who sends the report.

    The column has this ``number`` in its task, and so many ``people`` are planned.
    """
    section, guarantee = cast(Any, column.randomizer), stated.guarantee
    if not hasattr(section, "epsilon0") or column.shuffler.needs_strata or column.shuffler.needs_graph:
        return None
    if not isinstance(guarantee, CentralDP) or not (0 < guarantee.epsilon < math.inf and 0 < guarantee.delta < 1):
        return None

    def make(epsilon0: float) -> LocalModel:
        model: LocalModel = replace(section, epsilon0=epsilon0).randomizer().model
        return model

    if make(section.epsilon0).num_messages > 1:  # of which a theorem about one message knows too little
        return None
    found = robustness(make, crowds_around(people), epsilon=guarantee.epsilon, delta=guarantee.delta)
    if found is None:
        return None
    model = make(section.epsilon0)
    what = "a share" if isinstance(model, FrequencyModel) else "the mean"
    one = _moved_by_truth(model)
    loss = f"epsilon = {in_digits(guarantee.epsilon, 'at most')} and delta = {guarantee.delta:g}"
    return Section(
        anchor=f"false-{column.value}",
        title="What one false report can do",
        blocks=(
            Text(
                f"Another answer of one person moves {what} a little. Another report, in place of that person's, moves "
                f"it by so many times as much at most, at {loss} after all. A shuffle lets each report say more for "
                "the same promise, so that a false one is worth less; it finds none of them.",
                on=PAGE,
            ),
            Picture(
                crowd_chart(
                    found.people,
                    {
                        "shuffled": [swing / one for swing in found.shuffled],
                        "not shuffled": [found.alone / one] * len(found.people),
                    },
                    name=f"false-reports-{number}",
                    title="Answers that one false report is worth, against the number of people",
                    measured="answers that it is worth, at most",
                    caption="Through a uniform shuffle, with as large an epsilon0 as one quick theorem allows; f false "
                    "reports are worth f times as many.",
                ),
                has_files=False,
                on=PAGE,
            ),
        ),
    )


def _moved_by_truth(model: LocalModel) -> float:
    """Largest change of the sum of answers by another answer of one person."""
    if isinstance(model, MeanModel) and model.dimension == 1:
        return model.upper - model.lower
    return 2.0 if isinstance(model, MeanModel) else 1.0  # opposite unit vectors; one person's share
