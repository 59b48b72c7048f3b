"""Split and mix: the randomizer of additive shares."""

import shuffledp.randomizers  # noqa: F401 - its registry imports modules from here, and must begin first
