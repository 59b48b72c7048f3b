"""Randomizers for sums: additive shares of numbers and vectors, and counted bits.

In reading order: `split_and_mix` with `polya` (its noise), `vector_sum` with `vector_rounding` and `discrete_gaussian`,
`counted_bits`; `hosts` (shares over several hosts); `delays` (reports sent at random times).
"""
