"""Benchmarks: ratios in one run, against the previous algorithm and against peers."""
