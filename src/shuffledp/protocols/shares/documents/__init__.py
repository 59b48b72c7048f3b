"""Sums by additive shares in words."""
