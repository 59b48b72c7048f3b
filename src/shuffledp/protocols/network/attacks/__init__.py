"""Attacks on random walks: games with colluders and with observers of links.

In reading order: `walk_games` (colluders), `traffic_game` (observers of links).
"""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
