"""Evaluators: plain functions for the numbers of theorems, each with its errors on a stated side.

In reading order: `binomial`, `clone_counts`, `report_densities`, `inversion` and `weighted_sums` (sums of reports),
`share_mixing`.
"""
