"""Attacks on shuffles near an order: order games, inference from neighbors, and re-identification."""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
