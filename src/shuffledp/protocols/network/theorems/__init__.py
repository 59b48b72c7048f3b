"""Theorems about random walks: privacy against the analyst, colluders and observers of links."""
