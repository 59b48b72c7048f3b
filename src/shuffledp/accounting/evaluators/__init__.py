"""Evaluators: the numbers behind the theorems, plain functions of plain numbers, each erring on a stated side.

In reading order: `binomial`, `clone_counts`, `report_densities`, `inversion` and `weighted_sums` (sums of reports),
`share_mixing`.
"""
