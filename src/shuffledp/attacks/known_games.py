"""Which games can be played with which pipelines, and with how many runs if nothing is said."""

from collections.abc import Mapping

from shuffledp.attacks.findings import Mode
from shuffledp.attacks.games import CentralGame, Game, LocalGame, OrderGame, RandomizerAndShuffler, SharesGame
from shuffledp.attacks.places import DISTINCT
from shuffledp.attacks.slot_games import RowGame, SlotGame
from shuffledp.attacks.statistics import StatisticsGame, has_statistics
from shuffledp.attacks.walk_games import CollusionGame, WalkGame
from shuffledp.errors import UnsupportedModelError
from shuffledp.models import LabelMeaning
from shuffledp.randomizers import SplitAndMixModel
from shuffledp.shufflers import RandomWalkShuffler

__all__ = ["DEFAULT_TRIALS", "games_of"]

_VIEWS: Mapping[str, type[Game]] = {
    "central-dp": RowGame,
    "labels": CentralGame,
    "shares": SharesGame,
    "slots": SlotGame,
    "network": WalkGame,
    "colluders": CollusionGame,
    "statistics": StatisticsGame,
}

_ALL: Mapping[str, type[Game]] = {"local-dp": LocalGame, "d-sigma": OrderGame, **_VIEWS}

DEFAULT_TRIALS = {kind: game.trials for kind, game in _ALL.items()}


def games_of(pipeline: RandomizerAndShuffler, num_users: int, mode: Mode) -> Mapping[str, type[Game]]:
    """By type of guarantee, the games that can be played with a pipeline.

    Of shares nothing is guaranteed before they are shuffled, so that there is nothing to play for local claims.

    Raises:
        UnsupportedModelError: if sufficient statistics are asked for and not known.
    """
    local, shuffler = pipeline.randomizer.model, pipeline.shuffler
    shuffle = shuffler.model(num_users)
    if mode is Mode.STATISTICS and not (shuffle.is_uniform and has_statistics(local)):
        raise UnsupportedModelError(
            "views can be drawn by their statistics after a uniform shuffle of categories only, by k-ary randomized "
            "response or, of few categories, by another randomizer whose chances of all reports are listed; got "
            f"{local.kind!r} reports in a {shuffle.kind!r} shuffle. Leave out --statistics (mode='statistics'): the "
            "runs are then those of the pipeline itself."
        )
    if isinstance(local, SplitAndMixModel):
        return {"central-dp": SharesGame}
    kind = "slots" if shuffle.labels in DISTINCT else "labels"
    if shuffle.labels is LabelMeaning.NONE:
        kind = "central-dp"
    if mode is Mode.STATISTICS:
        kind = "statistics"
    if isinstance(shuffler, RandomWalkShuffler):
        kind = "colluders" if shuffler.num_colluding else "network"
    return {"local-dp": LocalGame, "central-dp": _VIEWS[kind], "d-sigma": OrderGame}
