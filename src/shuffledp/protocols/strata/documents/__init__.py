"""Strata in words.

One file: `strata_document`.
"""
