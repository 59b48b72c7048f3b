"""Files of tasks with strata.

One file: `strata_files`.
"""
