"""Evaluators: plain functions that compute the numbers of theorems, with errors on a stated side only.

In reading order: `binomial`, `binary_counts` and `covered_counts` (number of ones), `clone_counts`, `report_densities`,
`inversion` and `weighted_sums` (sums of reports).
"""
