"""Split and mix: the randomizer of additive shares.

In reading order: `split_and_mix` with `polya` (its noise), `vector_sum` with `vector_rounding` and `discrete_gaussian`,
`counted_bits`; `hosts` (shares over several hosts); `delays` (reports sent at random times).
"""
