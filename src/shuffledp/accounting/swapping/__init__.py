"""Numerics of the swap bound: certified quadrature, majorants, the reservoir, and searches.

In reading order: `certified_losses` (what is asked), `private_bounds` and `channel_bounds` (the two products),
`searches`, `report_classes` (laws), `tilted_integrals` (F, from above), `majorants` (sums of exponentials above it),
`linear_programme`, `reservoirs`; `envelopes` (many epsilons at once).
"""
