"""Theorems about disjoint strata."""

import shuffledp.accounting  # noqa: F401 - its registry imports modules from here, and must begin first
