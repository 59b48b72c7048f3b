"""Attack on additive shares, with its game."""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
