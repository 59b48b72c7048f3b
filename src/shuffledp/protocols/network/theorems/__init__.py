"""Theorems about random walks: privacy against the analyst, colluders and observers of links.

In reading order: `network_walks` (common hypotheses), `network_overlap`, `network_single`, `network_colluders`,
`network_gate`, `network_in_parts`, `network_constant_pattern`; `network_limits` (lower bounds).
"""
