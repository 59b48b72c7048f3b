"""Theorems about random walks: what the analyst, colluders and observers of links learn."""

import shuffledp.accounting  # noqa: F401 - its registry imports modules from here, and must begin first
