"""Theorems about additive shares in imperfect rounds.

In reading order: `share_sums` (any noise), `additive_shares`, `gaussian_shares`, `share_mixing` over `buffer_weights`;
`binomial_noise` (counted bits).
"""
