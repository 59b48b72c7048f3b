"""Analyzers of sums from shares.

In reading order: `totals` (their base), `sums`, `bit_counts`.
"""
