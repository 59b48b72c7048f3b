"""Strata in words."""
