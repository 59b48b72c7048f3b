"""Exact samplers that several randomizers use.

In reading order: `coins` (out of 2^64 words), `discrete_laplace`.
"""
