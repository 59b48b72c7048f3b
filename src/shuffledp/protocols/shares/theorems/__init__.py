"""Theorems about additive shares in imperfect rounds."""
