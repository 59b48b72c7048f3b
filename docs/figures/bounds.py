"""Draw ``bounds.svg``: every theorem's epsilon against the number of users, the local loss and delta.

Run it to write the picture anew: ``python docs/figures/bounds.py``. It is what
``shuffledp account --randomizer ldp --epsilon0 1 --users 10000 --delta 1e-6 --figure bounds.svg`` draws.
"""

from pathlib import Path

from shuffledp.accounting import examine
from shuffledp.core.local_models import ProtocolModel
from shuffledp.documents.account_document import figure_of
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import UniformShuffleModel


def picture() -> str:
    """The whole picture as SVG."""
    model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=10_000))
    return figure_of(examine(model, delta=1e-6), ".svg").decode()


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
