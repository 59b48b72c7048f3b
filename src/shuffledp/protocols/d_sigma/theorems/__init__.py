"""Theorems about the order inside groups.

One file, after one paper: `meehan22`.
"""
