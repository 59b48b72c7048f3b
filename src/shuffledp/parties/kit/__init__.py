"""Kit of a collection: a folder to copy to each party's machine, with all files except its keys.

Read `party_roles`, what each party runs and keeps; then `units` and `proxies`, the texts of its files; then `folders`,
which writes them. The examples under ``deploy/`` are made by the same functions.
"""
