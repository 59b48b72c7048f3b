"""Sums by additive shares in words.

In reading order: `shares_document`, `counted_bits_document`, `vector_sum_document`, `ways_document` (all ways to a
sum).
"""
