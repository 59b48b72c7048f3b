"""Attacks on orders: places of reports, inference from neighbors, and re-identification."""

import shuffledp.attacks  # noqa: F401 - its registry imports modules from here, and must begin first
