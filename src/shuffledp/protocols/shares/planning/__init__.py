"""Planning of sums: the fewest certified messages of shares, or the fewest counted bits.

In reading order: `certified_messages`, `calibrated_bits`, `calibrated_vectors`; `sum_comparison` (all ways to a sum).
"""
