"""Evaluators: the numbers behind the theorems, plain functions of plain numbers, each erring on a stated side.

In reading order: `binomial`, `clone_counts`, `atom_sums`, `report_densities`, `inversion` and `weighted_sums` (sums
of reports), `delta_curves`, `share_mixing`.
"""
