"""Draw ``ratios.svg``: what each theorem promises over the best possible epsilon, against the number of users.

Run it to write the picture anew, in half a minute: ``python docs/figures/ratios.py``. Its panels are the last ones of
what ``shuffledp account --epsilon0 0.7 --users 10000 --delta 1e-6 --sharp --figure all.svg`` draws, and of the same for
``--randomizer oue --categories 2``.
"""

from dataclasses import replace
from pathlib import Path

from shuffledp.accounting import SHARP_THEOREMS
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.documents.charts.curves import Curves
from shuffledp.documents.charts.drawing import draw
from shuffledp.documents.charts.epsilon_charts import ratio_chart
from shuffledp.randomizers import LdpModel, OptimizedUnaryEncoding
from shuffledp.shufflers import UniformShuffleModel

EPSILON0, DELTA, PEOPLE = 0.7, 1e-6, 10_000
LOCAL: dict[str, LocalModel] = {
    "Any randomizer": LdpModel(epsilon0=EPSILON0),
    "Unary encoding (oue) of two categories": OptimizedUnaryEncoding(epsilon0=EPSILON0, domain_size=2).model,
}


def curves_of(local: LocalModel) -> Curves:
    """All theorems against the number of users."""

    def describe(users: int) -> ProtocolModel:
        return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))

    return Curves.over_users(describe, people=PEOPLE, delta=DELTA, theorems=SHARP_THEOREMS)


def picture() -> str:
    """The whole picture as SVG."""
    charts = {title: ratio_chart(curves_of(local), name="ratios") for title, local in LOCAL.items()}
    panels = [
        replace(panel, title=(title, f"epsilon0 = {EPSILON0:g}, delta = {DELTA:g}"))
        for title, chart in charts.items()
        for panel in chart.panels
    ]
    whole = replace(charts["Any randomizer"], panels=tuple(panels))
    return draw(whole).as_file(heading="How close to the best possible").decode()


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
