"""Theorems about the order inside groups."""
