"""Theorems about random walks: what the analyst, colluders and observers of links learn."""
