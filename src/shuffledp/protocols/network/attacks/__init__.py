"""Attacks on random walks: games of colluders and of observers of links."""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
