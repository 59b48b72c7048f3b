"""Theorems about disjoint strata.

One file: `smallest_stratum`.
"""
