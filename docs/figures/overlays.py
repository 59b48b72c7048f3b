"""Draw ``overlays.svg``: overlays of ten thousand people beside walks on a random graph.

Run it to write the picture anew: ``python docs/figures/overlays.py``. It is what
``shuffledp graph design --users 10000 --contacts 40 --figure overlays.svg`` draws.
"""

from pathlib import Path

from shuffledp.protocols.network.documents.walk_charts import designs_figure
from shuffledp.protocols.network.planning.overlay_designs import design_overlays


def picture() -> str:
    """The whole picture as SVG."""
    return designs_figure(design_overlays(10_000, contacts=40)).decode()


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
