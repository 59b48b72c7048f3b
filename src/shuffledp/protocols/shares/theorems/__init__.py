"""Theorems about additive shares in imperfect rounds."""

import shuffledp.accounting  # noqa: F401 - its registry imports modules from here, and must begin first
