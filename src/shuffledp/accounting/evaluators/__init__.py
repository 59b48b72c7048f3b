"""Evaluators: plain functions that compute the numbers of theorems, erring to a stated side only.

In reading order: `binomial`, `clone_counts`, `report_densities`, `inversion` and `weighted_sums` (sums of reports),
`share_mixing`.
"""
