"""Keys of a task file about strata.

One file: `stratified_section`.
"""
