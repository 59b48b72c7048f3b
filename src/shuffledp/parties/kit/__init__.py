"""Kit of a collection: a folder for each party, to be copied to its machine, with all files but its keys.

Read `party_roles`, what each party runs and keeps; then `units` and `proxies`, the texts of its files; then `folders`,
which writes them. The examples under ``deploy/`` are made by the same functions.
"""
