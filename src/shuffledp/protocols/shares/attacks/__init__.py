"""Attacks on additive shares and on counted bits, each with its game.

In reading order: `share_game`, `bits_game`, `vector_game`.
"""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
