"""Attacks on random walks: games against colluders and against observers of links."""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
