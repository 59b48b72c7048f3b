"""Theorems about disjoint strata."""
