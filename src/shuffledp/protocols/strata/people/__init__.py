"""Strata of people by public columns.

One file: `strata`.
"""
