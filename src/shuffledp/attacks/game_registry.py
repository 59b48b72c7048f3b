"""Registry of games, a line for each: which one is played for which guarantee and which view, and how often."""

from collections.abc import Mapping

from shuffledp.attacks.findings import Mode
from shuffledp.attacks.games import CentralGame, Game, LocalGame, OrderGame, RandomizerAndShuffler
from shuffledp.attacks.histogram_game import StatisticsGame
from shuffledp.attacks.share_game import SharesGame
from shuffledp.attacks.slot_games import RowGame, SlotGame
from shuffledp.attacks.walk_games import CollusionGame, WalkGame

# Of the games about one guarantee, the first that suits a pipeline is played: special ones stand before general ones.
GAMES: Mapping[str, type[Game]] = {
    "local-dp": LocalGame,
    "statistics": StatisticsGame,
    "shares": SharesGame,
    "colluders": CollusionGame,
    "network": WalkGame,
    "slots": SlotGame,
    "central-dp": RowGame,
    "labels": CentralGame,
    "d-sigma": OrderGame,
}

DEFAULT_TRIALS = {kind: game.trials for kind, game in GAMES.items()}


def games_of(pipeline: RandomizerAndShuffler, num_users: int, mode: Mode) -> Mapping[str, type[Game]]:
    """Games that can be played with a pipeline, by type of guarantee.

    Raises:
        UnsupportedModelError: if sufficient statistics are asked for and not known.
    """
    found: dict[str, type[Game]] = {}
    for game in GAMES.values():
        if game.guarantee not in found and game.suits(pipeline, num_users, mode):
            found[game.guarantee] = game
    return found
