"""Analyzers of sums from shares."""
